import { deepStrictEqual } from 'node:assert';
import { test } from 'node:test';
import { optionsOf, readChoice } from '../src/views/options';

const usual = { duration_s: 30, frequency_hz: 99, event: '', unwind: 'auto', kernel: true };

test('what was kept is taken as far as it is of the right kind', () => {
	deepStrictEqual(readChoice(JSON.stringify({ duration_s: 5, frequency_hz: '99', kernel: false, more: 1 })), {
		...usual,
		duration_s: 5,
		kernel: false,
	});
});

test('what is no choice at all is as none', () => {
	for (const text of [null, '', '{', 'null', '[]', '7', '"x"'])
		deepStrictEqual(readChoice(text), usual);
});

test('until stopped and the default event are left to the daemon', () => {
	deepStrictEqual(optionsOf({ ...usual, duration_s: 0 }), { frequency_hz: 99, kernel: true, unwind: 'auto' });
	deepStrictEqual(optionsOf({ ...usual, event: 'page-faults' }), {
		frequency_hz: 99,
		kernel: true,
		unwind: 'auto',
		duration_s: 30,
		events: ['page-faults'],
	});
});
