import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { beginOf, cellAt, columnWidth, inRange, mix, parseColour, rangeOf, readRange, samplesIn, strength } from '../src/time/heat';

// Seconds 10 and 11 in four parts each.
const map = { from_ns: 10e9, seconds: 2, rows: 4, first_second: 10, max: 9, samples: [1, 2, 3, 4, 5, 6, 7, 9], log_short: false };

test('the bottom of a column is the begin of its second', () => {
	deepStrictEqual(cellAt(map, 0, 39, 10, 10), { column: 0, row: 0 });
	deepStrictEqual(cellAt(map, 19, 0, 10, 10), { column: 1, row: 3 });
	strictEqual(beginOf(map, { column: 1, row: 3 }), 11.75);
});

test('a place outside is the nearest cell', () => {
	deepStrictEqual(cellAt(map, -5, 99, 10, 10), { column: 0, row: 0 });
	deepStrictEqual(cellAt(map, 99, -5, 10, 10), { column: 1, row: 3 });
});

test('a range goes up through columns, whichever end was touched first', () => {
	const [a, b] = [{ column: 0, row: 2 }, { column: 1, row: 0 }];

	deepStrictEqual(rangeOf(map, a, b), { from: 10.5, to: 11.25 });
	deepStrictEqual(rangeOf(map, b, a), { from: 10.5, to: 11.25 });
	strictEqual(samplesIn(map, rangeOf(map, a, b)), 3 + 4 + 5);
	deepStrictEqual(rangeOf(map, a, a), { from: 10.5, to: 10.75 });
});

test('a cell is in the range that its middle is in', () => {
	strictEqual(inRange(map, { column: 0, row: 0 }, { from: 10.1, to: 11 }), true);
	strictEqual(inRange(map, { column: 0, row: 0 }, { from: 10.2, to: 11 }), false);
});

test('few samples are seen, none are not', () => {
	strictEqual(strength(0, 9), 0);
	strictEqual(strength(9, 9), 1);
	ok(strength(1, 100) >= 0.1);
	strictEqual(strength(0, 0), 0);
});

test('colours', () => {
	deepStrictEqual(parseColour(' #ff8000 '), [255, 128, 0]);
	deepStrictEqual(mix([0, 0, 0], [255, 128, 0], 0.5), [128, 64, 0]);
});

test('an address without a range, or with one that is none', () => {
	strictEqual(readRange(new URLSearchParams('')), null);
	strictEqual(readRange(new URLSearchParams('from=3')), null);
	strictEqual(readRange(new URLSearchParams('from=3&to=3')), null);
	strictEqual(readRange(new URLSearchParams('from=x&to=3')), null);
	deepStrictEqual(readRange(new URLSearchParams('from=0&to=3.5')), { from: 0, to: 3.5 });
});

test('columns stay wide enough to be hit', () => {
	strictEqual(columnWidth(10, 1000), 24);
	strictEqual(columnWidth(100, 1000), 10);
	strictEqual(columnWidth(100000, 1000), 3);
});
