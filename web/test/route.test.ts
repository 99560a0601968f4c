import { deepStrictEqual, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { address, parseRoute } from '../src/route';

function parsed(hash: string): [string, number, string] {
	const { view, session, query } = parseRoute(hash);

	return [view, session, query.toString()];
}

test('without an address there are the targets', () => {
	for (const hash of ['', '#', '#/'])
		deepStrictEqual(parsed(hash), ['targets', 0, '']);
});

test('an address names a view and its query', () => {
	deepStrictEqual(parsed('#/sessions?q=a%3Fb&x=1'), ['sessions', 0, 'q=a%3Fb&x=1']);
	deepStrictEqual(parsed('#/session/12/ledger'), ['ledger', 12, '']);
	deepStrictEqual(parsed('#/session/12?search=x'), ['profile', 12, 'search=x']);
});

test('a session without a number leads to the list', () => {
	for (const hash of ['#/session', '#/session/', '#/session/x/profile', '#/session/0/profile', '#/session/-1'])
		deepStrictEqual(parsed(hash), ['sessions', 0, '']);
});

test('an address is read back', () => {
	strictEqual(address('targets'), '#/targets');
	deepStrictEqual(parsed(address('profile', 5, { search: 'operator<=>(a&b)?', zoom: '3' })), [
		'profile',
		5,
		new URLSearchParams({ search: 'operator<=>(a&b)?', zoom: '3' }).toString(),
	]);
});
