// What each thread, processor or process did over time: one low plot a row, all over the same time.
import { useEffect, useRef } from 'preact/hooks';
import { percent } from '../ui/format';
import type { Range } from './heat';

export interface Strip {
	id: number; // of the thread, processor or process
	name: string;
	pid: number;
	total: number;
	weights: number[];
}

export interface Timeline {
	from_ns: number; // since the session's start
	to_ns: number;
	columns: number;
	unit: 'nanoseconds' | 'count';
	rows: Strip[];
	others: Strip | null; // those that have no row of their own, together
	log_short: boolean;
}

const HEIGHT = 20;

// What fills a column from bottom to top: one processor's time, or the most that there is.
export function fullColumn(timeline: Timeline): number {
	if (timeline.unit === 'nanoseconds')
		return Math.max(1, (timeline.to_ns - timeline.from_ns) / timeline.columns);
	return timeline.rows.reduce((most, row) => row.weights.reduce((a, b) => Math.max(a, b), most), 1);
}

function drawStrip(canvas: HTMLCanvasElement, strip: Strip, full: number, range: Range | null, timeline: Timeline): void {
	const context = canvas.getContext('2d')!;
	const style = getComputedStyle(document.documentElement);
	const second = timeline.columns / ((timeline.to_ns - timeline.from_ns) / 1e9);
	const first = timeline.from_ns / 1e9;

	context.clearRect(0, 0, canvas.width, canvas.height);
	if (range) {
		context.fillStyle = style.getPropertyValue('--accent-soft');
		context.fillRect((range.from - first) * second, 0, (range.to - range.from) * second, HEIGHT);
	}
	context.fillStyle = style.getPropertyValue('--accent');
	strip.weights.forEach((weight, column) => {
		// What is there at all is seen.
		const height = weight > 0 ? Math.max(1, Math.min(1, weight / full) * HEIGHT) : 0;

		context.fillRect(column, HEIGHT - height, 1, height);
	});
}

interface RowProps {
	strip: Strip;
	timeline: Timeline;
	range: Range | null;
	address: string | null;
	label: string;
	sum: number;
}

function StripRow({ strip, timeline, range, address, label, sum }: RowProps) {
	const canvas = useRef<HTMLCanvasElement>(null);

	useEffect(() => drawStrip(canvas.current!, strip, fullColumn(timeline), range, timeline), [timeline, range?.from, range?.to]);
	return (
		<li class="strip">
			<span class="strip-name" title={label}>
				{address ? <a href={address}>{label}</a> : label}
			</span>
			<span class="strip-share">{percent(sum ? strip.total / sum : 0)}</span>
			<canvas ref={canvas} width={timeline.columns} height={HEIGHT} role="img" aria-label={`${label} over time`} />
		</li>
	);
}

interface Props {
	timeline: Timeline;
	by: string;
	range: Range | null;
	addressOf(strip: Strip): string | null;
}

export function Strips({ timeline, by, range, addressOf }: Props) {
	const all = timeline.others ? [...timeline.rows, timeline.others] : timeline.rows;
	const sum = all.reduce((total, row) => total + row.total, 0);
	const labelOf = (strip: Strip) =>
		strip === timeline.others ? 'all others' : by === 'cpu' ? `CPU ${strip.id}` : `${strip.name || '(no name)'} (${strip.id})`;

	return (
		<ul class="strips">
			{all.map((strip) => (
				<StripRow
					key={strip === timeline.others ? 'others' : strip.id}
					strip={strip}
					timeline={timeline}
					range={range}
					address={strip === timeline.others ? null : addressOf(strip)}
					label={labelOf(strip)}
					sum={sum}
				/>
			))}
		</ul>
	);
}
