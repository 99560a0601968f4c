import { deepStrictEqual } from 'node:assert';
import { test } from 'node:test';
import { keepOrder } from '../src/ui/steady';

const same = (text: string) => text;

test('rows keep their places, new ones come last', () => {
	deepStrictEqual(keepOrder(['a', 'b', 'c'], ['x', 'c', 'a'], same), ['a', 'c', 'x']);
});

test('without an order of before all is as it came', () => {
	deepStrictEqual(keepOrder([], ['b', 'a'], same), ['b', 'a']);
});
