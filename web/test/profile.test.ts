import { deepStrictEqual, ok, strictEqual, throws } from 'node:assert';
import { test } from 'node:test';
import type { TreeDelta } from '../src/api';
import { columnsFromJson, heaviestChild, nextSibling, pathTo, previousSibling, type Columns, type ProfileTree } from '../src/profile/columns';
import { filter, NO_FILTERS } from '../src/profile/focus';
import { functionKey, keyModule, keyText, KINDS } from '../src/profile/names';
import { nodeAt, placeOf, sameNode } from '../src/profile/places';
import { callees, callers, inverted } from '../src/profile/sandwich';
import { nextMatch, search } from '../src/profile/search';
import { Growing } from '../src/profile/stream';
import { sortRows, topRows } from '../src/profile/top';
import { profileOf, randomStacks, stacksOf, totalOf, type Stack } from './trees';

const json = (): ProfileTree => ({
	kinds: [...KINDS], modules: ['', 'prog', '[kernel]'], files: ['', 'a.c'],
	names: ['all', 'main', 'read', 'work'], name_module: [0, 1, 2, 1], name_kind: [0, 3, 4, 3],
	name_file: [0, 1, 0, 1], name_line: [0, 7, 0, 0],
	depth: [0, 1, 2, 2, 1], name: [0, 1, 2, 3, 3], self: [0, 100, 30, 50, 20], samples_total: [20, 18, 3, 5, 2],
});

test('the columns of a dump have totals, parents, ends and places', () => {
	const c = columnsFromJson(json());

	deepStrictEqual([...c.total], [200, 180, 30, 50, 20]);
	deepStrictEqual([...c.parent], [-1, 0, 1, 1, 0]);
	deepStrictEqual([...c.end], [5, 4, 3, 4, 5]);
	deepStrictEqual([...c.start], [0, 0, 0, 30, 180]);
	deepStrictEqual([...c.selfSamples], [0, 10, 3, 5, 2]);
	strictEqual(c.height, 3);
	strictEqual(c.names.placeOf(1), 'a.c:7');
	strictEqual(c.names.placeOf(3), 'a.c');
	strictEqual(c.names.moduleOf(2), '[kernel]');
});

test('what is no preorder is refused', () => {
	const bad = (changes: Partial<ProfileTree>) => () => columnsFromJson({ ...json(), ...changes });

	throws(bad({ depth: [0, 2, 2, 2, 1] }), /node 1 does not fit/);
	throws(bad({ depth: [0, 1, 2, 2, 0] }), /node 4 does not fit/);
	throws(bad({ name: [0, 1, 2, 9, 3] }), /node 3 does not fit/);
	throws(bad({ names: undefined }), /no "names"/);
});

test('an empty profile is a root without weight', () => {
	const c = columnsFromJson({ ...json(), depth: [], name: [], self: [], samples_total: [] });

	deepStrictEqual([c.count, c.total[0], c.height], [1, 0, 1]);
});

test('steps to children and siblings stay in the family', () => {
	const c = columnsFromJson(json());

	strictEqual(heaviestChild(c, 1), 3);
	strictEqual(heaviestChild(c, 2), -1);
	strictEqual(nextSibling(c, 2), 3);
	strictEqual(nextSibling(c, 3), -1);
	strictEqual(previousSibling(c, 4), 1);
	strictEqual(previousSibling(c, 0), -1);
	deepStrictEqual(pathTo(c, 3), [0, 1, 3]);
});

test('a tree that grew out of order has the same columns', () => {
	const stacks = randomStacks(1, 300);
	const forward = profileOf(stacks), backward = profileOf([...stacks].reverse());

	deepStrictEqual(stacksOf(forward), stacksOf(backward));
	deepStrictEqual([...forward.depth], [...backward.depth]);
	deepStrictEqual([...forward.total], [...backward.total]);
	strictEqual(forward.samples[0], stacks.reduce((sum, [, weight]) => sum + weight, 0));
});

function delta(changes: Partial<TreeDelta>): TreeDelta {
	return { reset: false, event: 'cpu-clock', unit: 'nanoseconds', total: 0, samples: 0, folded: { weight: 0, nodes: 0 }, log_short: false, modules: [], names: [], nodes: [], self: [], ...changes };
}

test('deltas add up, and a reset begins anew', () => {
	const growing = new Growing();

	strictEqual(growing.columns().count, 1);
	growing.apply(delta({ modules: ['prog'], names: [['all', -1, 0], ['main', 0, 3], ['work', 0, 3]],
		nodes: [[-1, 0], [0, 1], [1, 2]], self: [[2, 100, 1]] }));
	deepStrictEqual(stacksOf(growing.columns()), [['main;work', 1]]);
	growing.apply(delta({ self: [[2, 300, 3]] }));
	deepStrictEqual([...growing.columns().total], [300, 300, 300]);
	growing.apply(delta({ names: [['able', 0, 3]], nodes: [[1, 3]], self: [[3, 50, 1]] }));
	deepStrictEqual(stacksOf(growing.columns()), [['main;able', 1], ['main;work', 3]]);
	growing.apply(delta({ reset: true, names: [['all', -1, 0]], nodes: [[-1, 0]], self: [[0, 7, 1]] }));
	deepStrictEqual(stacksOf(growing.columns()), [['', 1]]);
});

test('deltas of what never came are refused', () => {
	const growing = new Growing();

	throws(() => growing.apply(delta({ nodes: [[-1, 0]] })), /name 0 before/);
	throws(() => growing.apply(delta({ names: [['all', -1, 0]], nodes: [[-1, 0], [5, 0]] })), /node 5 before/);
	throws(() => growing.apply(delta({ self: [[9, 1, 1]] })), /node 9 before/);
});

test('a place is found again in a tree that has grown', () => {
	const small = profileOf([['main;work;hot', 5], ['main;idle', 1]]);
	const large = profileOf([['able', 3], ['main;idle', 1], ['main;deal;hot', 9], ['main;work;cold', 1], ['main;work;hot', 5]]);

	for (let i = 0; i < small.count; i++) {
		const there = nodeAt(large, placeOf(small, i));
		strictEqual(large.names.text[large.name[there]], small.names.text[small.name[i]]);
		strictEqual(large.depth[there], small.depth[i]);
		strictEqual(sameNode(small, i, large), there);
	}
	strictEqual(nodeAt(small, 'nonsense'), -1);
	strictEqual(nodeAt(small, ''), 0);
	const cold = nodeAt(large, placeOf(large, large.count - 2));
	strictEqual(small.names.text[small.name[sameNode(large, cold, small)]], 'work');
});

test('a search counts each sample once', () => {
	const stacks: Stack[] = [['a;foo;b;foo;foobar', 4], ['a;foo', 2], ['a;b', 3], ['Foo', 1]];
	const c = profileOf(stacks);

	deepStrictEqual([search(c, 'foo').frames, search(c, 'foo').samples, search(c, 'foo').weight], [4, 7, 70]);
	deepStrictEqual([search(c, 'Foo').frames, search(c, 'Foo').samples], [1, 1]);
	deepStrictEqual([search(c, '/^foo$/').frames, search(c, '/^foo$/').samples], [2, 6]);
	strictEqual(search(c, '/^FOO$/i').samples, 7);
	strictEqual(search(c, '/^fo').samples, 6); // while it is being typed
	strictEqual(search(c, 'none').frames, 0);
	throws(() => search(c, '/(/'), /regular expression/i);
});

test('a search by module, and steps from match to match', () => {
	const c = profileOf([['main;libc:read', 4], ['main;libc:write;x', 2], ['main;read', 3]]);
	const { match, samples } = search(c, 'module:libc');

	strictEqual(samples, 6);
	const first = nextMatch(c, match, 0, 1), second = nextMatch(c, match, first, 1);
	ok(first > 0 && second > first);
	strictEqual(nextMatch(c, match, second, 1), first);
	strictEqual(nextMatch(c, match, first, -1), second);
	strictEqual(nextMatch(c, search(c, 'none').match, 0, 1), -1);
});

test('totals of functions count a recursion once', () => {
	for (let seed = 1; seed <= 5; seed++) {
		const stacks = randomStacks(seed, 200), c = profileOf(stacks);

		for (const row of topRows(c, 'function')) {
			strictEqual(row.samples, totalOf(stacks, row.text), row.text);
			strictEqual(row.selfSamples, stacks.reduce((sum, [path, weight]) => sum + (path.endsWith(row.text) ? weight : 0), 0));
			strictEqual(row.total, row.samples * 10);
		}
	}
});

test('tables by module, sorted', () => {
	const c = profileOf([['prog:main;libc:read;libc:copy', 4], ['prog:main;prog:work', 2]]);
	const rows = sortRows(topRows(c, 'module'), 'self', false);

	deepStrictEqual(rows.map((row) => [row.text, row.selfSamples, row.samples]), [['libc', 4, 4], ['prog', 2, 6]]);
	deepStrictEqual(sortRows(rows, 'text', false).map((row) => row.text), ['prog', 'libc']);
	deepStrictEqual(sortRows(rows, 'total', false).map((row) => row.text), ['prog', 'libc']);
});

const funcOf = (c: Columns, text: string): number => c.names.funcOfKey(functionKey(text, ''));

test('callers and callees of one function are added up over its places', () => {
	const c = profileOf([['a;f;x', 5], ['b;c;f', 2], ['b;f;x;y', 1], ['a;f;g;f;x', 3], ['a', 9]]);

	deepStrictEqual(stacksOf(callees(c, funcOf(c, 'f'))), [['', 2], ['g;f;x', 3], ['x', 5], ['x;y', 1]]);
	// 5 + 3 called by a alone; f below f is not counted again
	deepStrictEqual(stacksOf(callers(c, funcOf(c, 'f'))), [['a', 8], ['b', 1], ['c;b', 2]]);
});

test('callers, callees and the table agree', () => {
	for (let seed = 1; seed <= 5; seed++) {
		const stacks = randomStacks(seed, 200), c = profileOf(stacks);

		for (const text of 'abcde') {
			strictEqual(callees(c, funcOf(c, text)).samples[0], totalOf(stacks, text));
			strictEqual(callers(c, funcOf(c, text)).samples[0], totalOf(stacks, text));
		}
		strictEqual(inverted(c).samples[0], c.samples[0]);
	}
});

test('upside down each stack is read from its end', () => {
	deepStrictEqual(stacksOf(inverted(profileOf([['a;b;c', 5], ['b;c', 2], ['a', 1]]))), [['a', 1], ['c;b', 2], ['c;b;a', 5]]);
});

test('filters keep, drop and hide', () => {
	const stacks: Stack[] = [['a;b;c', 5], ['a;d', 2], ['e;b', 1]];
	const filtered = (changes: object): Stack[] => stacksOf(filter(profileOf(stacks), { ...NO_FILTERS, ...changes }));

	deepStrictEqual(filtered({}), stacks);
	deepStrictEqual(filtered({ only: ['/b'] }), [['a;b;c', 5], ['e;b', 1]]);
	deepStrictEqual(filtered({ only: ['/c', '/d'] }), [['a;b;c', 5], ['a;d', 2]]);
	deepStrictEqual(filtered({ without: ['/b'] }), [['a;d', 2]]);
	deepStrictEqual(filtered({ hide: ['/b'] }), [['a;c', 5], ['a;d', 2], ['e', 1]]);
	deepStrictEqual(filtered({ hide: ['/a', '/b', '/e'] }), [['', 1], ['c', 5], ['d', 2]]);
	deepStrictEqual(filtered({ only: ['/nowhere'] }), []);
	strictEqual(filter(profileOf(stacks), { ...NO_FILTERS, only: ['/c'] }).count, 4);
});

test('a recursion becomes one call, a cycle one round', () => {
	const collapsed = (path: string): Stack[] => stacksOf(filter(profileOf([[path, 1]]), { ...NO_FILTERS, recursion: true }));

	deepStrictEqual(collapsed('m;f;f;f;f;x'), [['m;f;x', 1]]);
	deepStrictEqual(collapsed('m;a;b;a;b;a;b;x'), [['m;a;b;x', 1]]);
	deepStrictEqual(collapsed('m;a;b;c;a;b;c;d'), [['m;a;b;c;d', 1]]);
	deepStrictEqual(collapsed('m;a;b;a;c'), [['m;a;b;a;c', 1]]); // no cycle: nothing came twice in a row
});

test('collapsed recursion leaves the totals of all functions as they were', () => {
	for (let seed = 1; seed <= 8; seed++) {
		const stacks = randomStacks(seed, 300);
		const c = filter(profileOf(stacks), { ...NO_FILTERS, recursion: true });

		ok(c.count < profileOf(stacks).count);
		for (const row of topRows(c, 'function')) {
			strictEqual(row.samples, totalOf(stacks, row.text));
			strictEqual(row.selfSamples, stacks.reduce((sum, [path, weight]) => sum + (path.endsWith(row.text) ? weight : 0), 0));
		}
	}
});

test('a key has the module and the name, whatever is in it', () => {
	const key = functionKey('operator/<a, b>', 'libx.so');

	strictEqual(keyModule(key), 'libx.so');
	strictEqual(keyText(key), 'operator/<a, b>');
});
