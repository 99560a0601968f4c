// One function, line by line: what each of its lines has cost, beside its text where the daemon may read it.
import { useEffect, useState } from 'preact/hooks';
import { getSource, type Session, type Source, type SourceLine } from '../api';
import { address } from '../route';
import { count, counted, percent } from '../ui/format';
import type { SessionViewProps } from './table';

const PART_KEYS = ['event', 'from', 'to', 'last', 'thread', 'pid'];

// Of the query of an address: which part of the session it is about.
export function partOf(query: URLSearchParams): Record<string, string> {
	return Object.fromEntries([...query].filter(([key]) => PART_KEYS.includes(key)));
}

// Lines that cost nothing between two that did are shown when their text is there; else a gap is.
export function withGaps(lines: SourceLine[]): (SourceLine | null)[] {
	return lines.flatMap((line, i) => (i > 0 && line.line !== lines[i - 1].line + 1 ? [null, line] : [line]));
}

function Line({ line, total }: { line: SourceLine; total: number }) {
	const cost = (n: number) => (
		<td class="number share" style={{ '--share': `${(100 * n) / total}%` }}>
			{n ? percent(n / total) : ''}
		</td>
	);

	return (
		<tr class={line.total ? 'hot' : undefined}>
			<td class="number">{line.line}</td>
			<td class="number">{line.samples ? count(line.samples) : ''}</td>
			{cost(line.self)}
			{cost(line.total)}
			<td>
				<code>{line.text ?? ''}</code>
			</td>
		</tr>
	);
}

function Lines({ source }: { source: Source }) {
	return (
		<table class="source">
			<caption>
				{source.file || 'no source file is known'}
				{source.other_files > 0 && <span class="muted"> · and {counted(source.other_files, 'other file')}</span>}
				{source.why_no_text && <span class="muted"> · without text: {source.why_no_text}</span>}
			</caption>
			<thead>
				<tr>
					<th scope="col" class="number">line</th>
					<th scope="col" class="number">samples</th>
					<th scope="col" class="number">self</th>
					<th scope="col" class="number">total</th>
					<th scope="col">source</th>
				</tr>
			</thead>
			<tbody>
				{withGaps(source.lines).map((line, i) =>
					line ? (
						<Line key={line.line} line={line} total={source.total || 1} />
					) : (
						<tr key={`gap ${i}`} class="gap">
							<td colSpan={5}>…</td>
						</tr>
					),
				)}
			</tbody>
		</table>
	);
}

function useSource(session: Session, query: URLSearchParams): { source: Source | null; why: string } {
	const [answer, setAnswer] = useState<{ source: Source | null; why: string }>({ source: null, why: '' });
	const name = query.get('function');

	useEffect(() => {
		setAnswer({ source: null, why: '' });
		if (name)
			getSource(session.id, { ...partOf(query), function: name, module: query.get('module') }).then(
				(source) => setAnswer({ source, why: '' }),
				(error: Error) => setAnswer({ source: null, why: error.message }),
			);
	}, [session.id, query.toString()]);
	return answer;
}

export function SourceView({ session, query }: SessionViewProps) {
	const { source, why } = useSource(session, query);
	const name = query.get('function');
	const module = query.get('module');

	if (!name)
		return (
			<p class="note">
				Of which function? Choose one in the <a href={address('profile', session.id)}>profile</a>.
			</p>
		);
	return (
		<section class="panel source-card">
			<h2>
				{name} <span class="muted">{module}</span>
			</h2>
			<p>
				<a href={address('profile', session.id, partOf(query))}>Back to the profile</a>
			</p>
			{source ? <Lines source={source} /> : <p class="muted">{why || 'Loading…'}</p>}
		</section>
	);
}
