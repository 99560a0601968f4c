// Two sessions, or two times of sessions: which functions take more or less, and the tree of both as a differential
// flame graph. What is compared is in the address.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { getDiff, type Diff, type DiffFunction, type Session } from '../api';
import { useCell } from '../cell';
import { changeFill } from '../flame/colours';
import { columnsFromJson, type Columns } from '../profile/columns';
import { setQuery } from '../route';
import { sessions } from '../state';
import { percent } from '../ui/format';
import { Flame } from '../workbench/flame';
import type { ViewProps } from './table';

const SHOWN = 200;

const STRONGEST = 4; // times what is significant, where a change has the full colour

type Side = 'base' | 'other';

function columnsOf(diff: Diff, side: Side): Columns {
	const none = diff.names.map(() => 0);

	return columnsFromJson({
		...diff, files: [''], name_file: none, name_line: none, self: diff[`self_${side}`], samples_total: diff[`samples_${side}`],
	});
}

function DiffFlame({ diff, side }: { diff: Diff; side: Side }) {
	const { columns, both } = useMemo(() => {
		const both = { base: columnsOf(diff, 'base'), other: columnsOf(diff, 'other') };

		return { columns: both[side], both };
	}, [diff, side]);
	const share = (one: Side, node: number) => percent(both[one].total[node] / (diff[one].scale || 1));

	return (
		<Flame columns={columns} label="Differential flame graph" unit={diff.unit} flames={false} match={null} place="" small
			fillOf={useMemo(() => (node: number) => changeFill(diff.significant[node] ? diff.z[node] / diff.z_limit / STRONGEST : 0), [diff])}
			telling={useMemo(() => (c: Columns, node: number) => ({
				title: c.names.text[c.name[node]],
				lines: [c.names.moduleOf(c.name[node]), `${share('base', node)} before, ${share('other', node)} after`,
					diff.significant[node] ? '' : 'may be chance'].filter(Boolean),
			}), [diff, side])}
			onPlace={() => {}} onSearch={() => {}} />
	);
}

function SidePicker({ side, title, all, query }: { side: Side; title: string; all: Session[]; query: URLSearchParams }) {
	return (
		<fieldset class="side">
			<legend>{title}</legend>
			<select aria-label={`Session of ${title}`} value={query.get(side) ?? ''}
				onChange={(event) => setQuery({ [side]: event.currentTarget.value })}>
				<option value="">choose a session</option>
				{all.map((one) => <option key={one.id} value={one.id}>#{one.id} {one.name || one.target_text}</option>)}
			</select>
			{(['from', 'to'] as const).map((end) => (
				<label key={end}>
					{end} <input type="number" min="0" step="any" placeholder={end === 'from' ? 'start' : 'end'}
						value={query.get(`${side}_${end}`) ?? ''}
						onChange={(event) => setQuery({ [`${side}_${end}`]: event.currentTarget.value })} /> s
				</label>
			))}
		</fieldset>
	);
}

function swapped(query: URLSearchParams): Record<string, string | null> {
	const ends = ['', '_from', '_to'];

	return Object.fromEntries(ends.flatMap((end) => [[`base${end}`, query.get(`other${end}`)], [`other${end}`, query.get(`base${end}`)]]));
}

const points = (n: number) => `${n > 0 ? '+' : n < 0 ? '−' : ''}${percent(Math.abs(n))}`;

function Row({ one, diff }: { one: DiffFunction; diff: Diff }) {
	const { base, other } = diff;
	const change = one.significant_self ? (one.delta_self > 0 ? 'grown' : 'shrunk') : 'chance';

	return (
		<tr class={change}>
			<td class="function" title={one.module}>{one.name}</td>
			<td class="number">{percent(one.self_base / (base.scale || 1))}</td>
			<td class="number">{percent(one.self_other / (other.scale || 1))}</td>
			<td class="number change">{points(one.delta_self)}</td>
			<td class={`number ${one.significant_share ? '' : 'muted'}`}>{points(one.delta_share)}</td>
			<td class="muted">
				{change === 'chance' ? 'may be chance' : one.self_base === 0 ? 'new' : one.self_other === 0 ? 'vanished' : change}
			</td>
		</tr>
	);
}

function Functions({ diff }: { diff: Diff }) {
	return (
		<div class="panel scroll" tabIndex={0} role="region" aria-label="Functions">
			<table class="compare">
				<thead>
					<tr>
						<th scope="col">function</th>
						<th scope="col" class="number">self before</th>
						<th scope="col" class="number">self after</th>
						<th scope="col" class="number">change</th>
						<th scope="col" class="number">with callees</th>
						<th scope="col">verdict</th>
					</tr>
				</thead>
				<tbody>{diff.functions.slice(0, SHOWN).map((one) => <Row key={`${one.name}\n${one.module}`} one={one} diff={diff} />)}</tbody>
			</table>
		</div>
	);
}

function useDiff(query: URLSearchParams): { diff: Diff | null; why: string } {
	const [answer, setAnswer] = useState<{ diff: Diff | null; why: string }>({ diff: null, why: '' });

	const { widths, ...asked } = Object.fromEntries(query);

	useEffect(() => {
		setAnswer({ diff: null, why: '' });
		if (asked.base && asked.other)
			getDiff(asked).then((diff) => setAnswer({ diff, why: '' }), (error: Error) => setAnswer({ diff: null, why: error.message }));
	}, [JSON.stringify(asked)]);
	return answer;
}

export function CompareView({ query }: ViewProps) {
	const all = useCell(sessions) ?? [];
	const { diff, why } = useDiff(query);
	const chosen = query.get('base') && query.get('other');
	const side = query.get('widths') === 'base' ? 'base' : 'other';

	return (
		<>
			<div class="tools">
				<SidePicker side="base" title="Before" all={all} query={query} />
				<SidePicker side="other" title="After" all={all} query={query} />
				<button type="button" onClick={() => setQuery(swapped(query))}>Swap</button>
				<label>
					Widths{' '}
					<select value={side} onChange={(event) => setQuery({ widths: event.currentTarget.value })}>
						<option value="other">after</option>
						<option value="base">before, with what has vanished</option>
					</select>
				</label>
			</div>
			{!chosen ? <p class="note">Choose two sessions, or one session and two times of it.</p>
				: !diff ? <p class="note" role="status">{why || 'Comparing…'}</p> : (
					<>
						<p class="note">
							Shares of all that was sampled on each side, so that rate, duration and processors do not matter. Red has
							grown, blue has shrunk; grey may be chance.
						</p>
						<div class="workbench"><DiffFlame diff={diff} side={side} /></div>
						<Functions diff={diff} />
					</>
				)}
		</>
	);
}
