// When the samples were taken: a heat map of single seconds, and a strip for each thread, processor or process. A range
// of it is kept in the address, from where the profile of that range is one step away.
import { useState } from 'preact/hooks';
import { getHeatMap, getTimeline } from '../api';
import { address, setQuery } from '../route';
import * as heat from '../time/heat';
import { HeatMapView } from '../time/heatmap';
import { Strips, type Strip, type Timeline } from '../time/strips';
import { usePoll } from '../ui/poll';
import type { SessionViewProps } from './table';

const EVERY_MS = 2500;
const ENDED_EVERY_MS = 60000;
const ROWS = 50;
const COLUMNS = 400;

function RangeForm({ range, onRange }: { range: heat.Range | null; onRange(range: heat.Range | null): void }) {
	function typed(event: Event): void {
		const form = (event.currentTarget as HTMLElement).closest('form')!;
		const [from, to] = [...form.querySelectorAll('input')].map((input) => input.valueAsNumber);

		if (from >= 0 && to > from)
			onRange({ from, to });
	}

	return (
		<form class="range" onSubmit={(event) => event.preventDefault()}>
			<label>
				from <input type="number" min="0" step="any" value={range ? heat.secondsText(range.from) : ''} onChange={typed} /> s
			</label>
			<label>
				to <input type="number" min="0" step="any" value={range ? heat.secondsText(range.to) : ''} onChange={typed} /> s
			</label>
			{range && (
				<button type="button" onClick={() => onRange(null)}>
					All of it
				</button>
			)}
		</form>
	);
}

function RangeLinks({ id, range }: { id: number; range: heat.Range }) {
	const [from, to] = [heat.secondsText(range.from), heat.secondsText(range.to)];

	return (
		<p class="range-links">
			<a class="button" href={address('profile', id, { from, to })}>
				Profile of the range
			</a>
			<a class="button" href={address('compare', 0, { base: String(id), other: String(id), other_from: from, other_to: to })}>
				Compare it with all
			</a>
		</p>
	);
}

export function TimeView({ session, query }: SessionViewProps) {
	const [map, setMap] = useState<heat.HeatMap | null>(null);
	const [timeline, setTimeline] = useState<Timeline | null>(null);
	const [why, setWhy] = useState('');
	const by = query.get('by') ?? 'thread';
	const range = heat.readRange(query);
	const choose = (chosen: heat.Range | null) =>
		setQuery({ from: chosen && heat.secondsText(chosen.from), to: chosen && heat.secondsText(chosen.to) });

	async function load(): Promise<void> {
		try {
			setMap(await getHeatMap(session.id, { rows: ROWS }));
			setTimeline(await getTimeline(session.id, { by, columns: COLUMNS }));
			setWhy('');
		} catch (error) {
			setWhy((error as Error).message);
			throw error;
		}
	}
	usePoll(load, session.state === 'running' ? EVERY_MS : ENDED_EVERY_MS, [session.id, session.state, by]);

	function addressOf(strip: Strip): string | null {
		const own: Record<string, string> = range ? { from: heat.secondsText(range.from), to: heat.secondsText(range.to) } : {};

		if (by === 'cpu')
			return null;
		return address('profile', session.id, { ...own, [by === 'thread' ? 'thread' : 'pid']: String(strip.id) });
	}

	if (!map)
		return <p class="note">{why || 'Loading…'}</p>;
	if (map.seconds === 0)
		return <p class="note">No samples yet: the target has not used the CPU so far.</p>;
	return (
		<div class="time">
			<section class="panel" aria-label="Heat map">
				<HeatMapView map={map} range={range} onRange={choose} />
				<div class="range-bar">
					<RangeForm range={range} onRange={choose} />
					{range && <RangeLinks id={session.id} range={range} />}
				</div>
				{map.log_short && <p class="note">The log of single samples begins later than the session: what is older is only in the whole profile.</p>}
			</section>
			<section class="panel" aria-label="Over time">
				<label class="strips-by">
					A strip for each{' '}
					<select value={by} onChange={(event) => setQuery({ by: event.currentTarget.value })}>
						<option value="thread">thread</option>
						<option value="cpu">processor</option>
						<option value="process">process</option>
					</select>
				</label>
				{timeline && <Strips timeline={timeline} by={by} range={range} addressOf={addressOf} />}
			</section>
		</div>
	);
}
