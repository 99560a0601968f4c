// How a session samples that a click on a target starts; kept from one visit to the next.
import type { Options } from '../api';
import { Cell, useCell } from '../cell';
import { keep, remember } from '../keep';
import { status } from '../state';

interface Choice {
	duration_s: number; // 0: until stopped
	frequency_hz: number;
	event: string; // '': what the daemon takes by default
	unwind: string;
	kernel: boolean;
}

const DEFAULT: Choice = { duration_s: 30, frequency_hz: 99, event: '', unwind: 'auto', kernel: true };
const KEY = 'options';

const DURATIONS: [number, string][] = [
	[5, '5 s'],
	[10, '10 s'],
	[30, '30 s'],
	[60, '1 min'],
	[300, '5 min'],
	[3600, '1 h'],
	[0, 'until stopped'],
];
const RATES = [19, 49, 99, 199, 499, 999, 1999];
const UNWINDS: [string, string][] = [
	['auto', 'auto'],
	['dwarf', 'DWARF'],
	['fp', 'frame pointers'],
];

// What was kept may be of another version of this page.
export function readChoice(text: string | null): Choice {
	let kept: Partial<Choice> | null = null;

	try {
		kept = JSON.parse(text ?? '') as Partial<Choice> | null;
	} catch {
		// Nothing, or nothing of use.
	}
	const choice = { ...DEFAULT };

	for (const key of Object.keys(DEFAULT) as (keyof Choice)[])
		if (kept && typeof kept[key] === typeof DEFAULT[key])
			Object.assign(choice, { [key]: kept[key] });
	return choice;
}

const choice = new Cell<Choice>(readChoice(remember(KEY)));

function change(part: Partial<Choice>): void {
	choice.set({ ...choice.get(), ...part });
	keep(KEY, JSON.stringify(choice.get()));
}

export function optionsOf({ duration_s, frequency_hz, event, unwind, kernel }: Choice): Options {
	return { frequency_hz, kernel, unwind, ...(duration_s && { duration_s }), ...(event && { events: [event] }) };
}

export const chosenOptions = (): Options => optionsOf(choice.get());

export function OptionsBar() {
	const now = useCell(choice);
	const events = useCell(status)?.events.filter((event) => event.there) ?? [];
	// One that was kept may not be there any more.
	const event = events.length === 0 || events.some((one) => one.name === now.event) ? now.event : '';

	return (
		<div class="options">
			<label>
				For
				<select value={now.duration_s} onChange={(e) => change({ duration_s: Number(e.currentTarget.value) })}>
					{DURATIONS.map(([s, text]) => (
						<option key={s} value={s}>
							{text}
						</option>
					))}
				</select>
			</label>
			<label>
				Rate
				<select value={now.frequency_hz} onChange={(e) => change({ frequency_hz: Number(e.currentTarget.value) })}>
					{RATES.map((hz) => (
						<option key={hz} value={hz}>
							{hz} Hz
						</option>
					))}
				</select>
			</label>
			<label>
				Event
				<select value={event} onChange={(e) => change({ event: e.currentTarget.value })}>
					<option value="">default</option>
					{events.map((one) => (
						<option key={one.name} value={one.name}>
							{one.name}
						</option>
					))}
				</select>
			</label>
			<label>
				Stacks
				<select value={now.unwind} onChange={(e) => change({ unwind: e.currentTarget.value })}>
					{UNWINDS.map(([value, text]) => (
						<option key={value} value={value}>
							{text}
						</option>
					))}
				</select>
			</label>
			<label class="check">
				<input type="checkbox" checked={now.kernel} onChange={(e) => change({ kernel: e.currentTarget.checked })} />
				Kernel
			</label>
		</div>
	);
}
