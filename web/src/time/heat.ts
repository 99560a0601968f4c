// The heat map's geometry and colours, without a canvas: a column is a second, a row a part of it, the begin of the
// second at the bottom.
export interface HeatMap {
	from_ns: number; // since the session's start
	seconds: number;
	rows: number;
	first_second: number;
	max: number; // of samples
	samples: number[]; // seconds * rows, column by column
	log_short: boolean;
}

// Seconds since the session's start; from <= t < to.
export interface Range {
	from: number;
	to: number;
}

export interface Cell {
	column: number;
	row: number;
}

export const columnWidth = (seconds: number, room: number): number => Math.max(3, Math.min(24, Math.floor(room / seconds)));

const between = (n: number, max: number) => Math.min(Math.max(n, 0), max);

// The cell at a place of the picture, which has the given size of cells; the nearest one for a place outside.
export function cellAt(map: HeatMap, x: number, y: number, width: number, height: number): Cell {
	return {
		column: between(Math.floor(x / width), map.seconds - 1),
		row: between(map.rows - 1 - Math.floor(y / height), map.rows - 1),
	};
}

const index = (map: HeatMap, cell: Cell) => cell.column * map.rows + cell.row;

export const samplesAt = (map: HeatMap, cell: Cell): number => map.samples[index(map, cell)] ?? 0;

export const beginOf = (map: HeatMap, cell: Cell): number => map.first_second + cell.column + cell.row / map.rows;

// What lies between two cells in time, both included, in whichever order they were touched.
export function rangeOf(map: HeatMap, a: Cell, b: Cell): Range {
	const [first, last] = index(map, a) <= index(map, b) ? [a, b] : [b, a];

	return { from: beginOf(map, first), to: beginOf(map, last) + 1 / map.rows };
}

export const inRange = (map: HeatMap, cell: Cell, range: Range): boolean => {
	const middle = beginOf(map, cell) + 0.5 / map.rows;

	return range.from <= middle && middle < range.to;
};

export function samplesIn(map: HeatMap, range: Range): number {
	let sum = 0;

	for (let column = 0; column < map.seconds; column++)
		for (let row = 0; row < map.rows; row++)
			if (inRange(map, { column, row }, range))
				sum += samplesAt(map, { column, row });
	return sum;
}

// How much of the full colour a cell gets: steps between few samples are seen as well as those between many.
export const strength = (samples: number, max: number): number => (max > 0 ? Math.sqrt(samples / max) : 0);

export type Rgb = [number, number, number];

// "#rrggbb", as the style's variables have it.
export function parseColour(text: string): Rgb {
	const digits = /^#([0-9a-f]{6})$/i.exec(text.trim())?.[1];
	const n = digits ? parseInt(digits, 16) : 0;

	return [n >> 16, (n >> 8) & 255, n & 255];
}

export const mix = (from: Rgb, to: Rgb, part: number): Rgb =>
	[0, 1, 2].map((i) => Math.round(from[i] + (to[i] - from[i]) * part)) as Rgb;

// Of an address: null when it says no range.
export function readRange(query: URLSearchParams): Range | null {
	const [from, to] = ['from', 'to'].map((key) => (query.has(key) ? Number(query.get(key)) : NaN));

	return from >= 0 && to > from ? { from, to } : null;
}

// As short as three decimals allow.
export const secondsText = (s: number): string => String(Math.round(s * 1000) / 1000);
