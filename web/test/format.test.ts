import { strictEqual } from 'node:assert';
import { test } from 'node:test';
import { bytes, count, counted, duration, moment, percent, weight } from '../src/ui/format';

test('counts have groups of three', () => {
	strictEqual(count(1234567), '1,234,567');
	strictEqual(counted(1, 'process', 'processes'), '1 process');
	strictEqual(counted(2000, 'sample'), '2,000 samples');
});

test('bytes have a unit that fits', () => {
	strictEqual(bytes(0), '0 B');
	strictEqual(bytes(1023), '1023 B');
	strictEqual(bytes(1536), '1.5 KiB');
	strictEqual(bytes(200 * 1024 * 1024), '200 MiB');
	strictEqual(bytes(1024 ** 5 * 3), '3072 TiB');
});

test('a share is never rounded to nothing or to all without reason', () => {
	strictEqual(percent(0), '0 %');
	strictEqual(percent(0.0012), '0.12 %');
	strictEqual(percent(0.00001), '< 0.01 %');
	strictEqual(percent(0.5), '50.0 %');
	strictEqual(percent(1), '100 %');
});

test('a duration has at most two units', () => {
	strictEqual(duration(0.42), '0.4 s');
	strictEqual(duration(3), '3 s');
	strictEqual(duration(119), '119 s');
	strictEqual(duration(200), '3 min 20 s');
	strictEqual(duration(180), '3 min');
	strictEqual(duration(3600 * 5 + 60 * 12), '5 h 12 min');
	strictEqual(duration(86400 * 12 + 3600 * 3), '12 d 3 h');
});

test('a weight is time or a count', () => {
	strictEqual(weight(0, 'nanoseconds'), '0 s');
	strictEqual(weight(1500, 'nanoseconds'), '1.5 µs');
	strictEqual(weight(25e6, 'nanoseconds'), '25.0 ms');
	strictEqual(weight(2.5e9, 'nanoseconds'), '2.50 s');
	strictEqual(weight(3e12, 'nanoseconds'), '50 min');
	strictEqual(weight(1234, 'count'), '1,234');
});

test('a moment of today has no date', () => {
	const at = new Date(2026, 1, 3, 4, 5, 6);

	strictEqual(moment(at.toISOString(), new Date(2026, 1, 3, 23)), '04:05:06');
	strictEqual(moment(at.toISOString(), new Date(2026, 1, 4)), '2026-02-03 04:05:06');
});
