// The profile of a session: what is asked of the daemon; the rest is the workbench's.
import { useMemo, useState } from 'preact/hooks';
import type { Session } from '../api';
import { address, setQuery } from '../route';
import { Downloads } from '../ui/downloads';
import { percent } from '../ui/format';
import type { Action } from '../workbench/menu';
import type { Params } from '../workbench/params';
import { Workbench } from '../workbench/workbench';
import { questionOf, useProfile, useThreads, type Loaded } from './profile_data';
import { partOf } from './source';
import type { SessionViewProps } from './table';

const RANGES: [value: string, text: string][] = [['', 'all'], ['10', 'last 10 s'], ['60', 'last 60 s'], ['600', 'last 10 min']];
const LEVELS: [value: string, text: string][] = [
	['', 'where several'], ['none', 'not at all'], ['process', 'by process'], ['process,thread', 'by thread'],
];

function Choice({ text, name, query, values }: { text: string; name: string; query: URLSearchParams; values: [string, string][] }) {
	return (
		<label>{text} <select value={query.get(name) ?? ''} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
			{values.map(([value, said]) => <option key={value} value={value}>{said}</option>)}
		</select></label>
	);
}

function Asked({ session, query, loaded }: { session: Session; query: URLSearchParams; loaded: Loaded }) {
	const range = query.get('from') || query.get('to');
	const checks: [name: string, text: string][] = [['inline', 'Inlined'], ['lines', 'Lines'], ['fold_templates', 'Fold templates']];

	return (
		<>
			{session.events.length > 1 ? <label>Event <select value={query.get('event') || loaded.event}
				onChange={(event) => setQuery({ event: event.currentTarget.value })}>
				{session.events.map((event) => <option key={event}>{event}</option>)}
			</select></label> : null}
			{(['thread', 'pid'] as const).map((key) => query.get(key) && <button key={key} type="button" class="chip"
				onClick={() => setQuery({ [key]: null }, false)}>{key} {query.get(key)} ×</button>)}
			{range ? <button type="button" class="chip" onClick={() => setQuery({ from: null, to: null }, false)}>
				{query.get('from') || 'start'} to {query.get('to') || 'end'} ×</button>
				: <Choice text="Time" name="last" query={query} values={RANGES} />}
			<Choice text="Split" name="by" query={query} values={LEVELS} />
			{checks.map(([name, text]) => (
				<label key={name} class="check"><input type="checkbox" checked={query.get(name) === '1'}
					onChange={(event) => setQuery({ [name]: event.currentTarget.checked ? '1' : null })} />{text}</label>
			))}
		</>
	);
}

function Notes({ loaded }: { loaded: Loaded }) {
	const total = loaded.columns.total[0], notes: string[] = [];

	if (loaded.logShort)
		notes.push('The sample log does not reach back as far as was asked for; this is what it has.');
	if (loaded.folded)
		notes.push(`${percent(total > 0 ? loaded.folded.weight / total : 0)} of the profile is counted with its callers: branches too small or too many to be sent.`);
	if (!notes.length)
		return null;
	return <ul class="warnings">{notes.map((note) => <li key={note}>{note}</li>)}</ul>;
}

// Code of a file can have a source; the kernel's and a JIT's is not there.
function sourceOf(id: number, query: URLSearchParams, text: string, module: string): Action[] {
	if (!module || module.startsWith('['))
		return [];
	return [{ text: 'Show its source lines', href: address('source', id, { ...partOf(query), function: text, module }) }];
}

export function ProfileView({ session, query }: SessionViewProps) {
	const { loaded, problem } = useProfile(session, query);
	const [wantsThreads, setWantsThreads] = useState(false);
	const threads = useThreads(session, query, wantsThreads);
	const params = useMemo<Params>(() => ({
		get: (key) => query.get(key) ?? '',
		set: (changes, step) => setQuery(changes, !step),
	}), [query]);
	const empty = !loaded || loaded.columns.samples[0] === 0;

	return (
		<>
			{problem ? <p class="note bad" role="alert">{problem}</p> : null}
			{empty ? <p class="note" role="status">{!loaded ? 'The profile is on its way…' : session.state === 'running'
				? 'No samples yet: the target has not used the CPU so far.' : 'There are no samples in it.'}</p> : null}
			{loaded && !empty ? (
				<>
					<Notes loaded={loaded} />
					<Workbench columns={loaded.columns} unit={loaded.unit} params={params} byThread={threads.byThread}
						threadsProblem={threads.problem} needThreads={() => setWantsThreads(true)}
						actions={(text, module) => sourceOf(session.id, query, text, module)} aside={<Downloads id={session.id} params={questionOf(query)} />}>
						<Asked session={session} query={query} loaded={loaded} />
					</Workbench>
				</>
			) : null}
		</>
	);
}
