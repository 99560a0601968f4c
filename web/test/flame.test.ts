import { deepStrictEqual, ok, strictEqual } from 'node:assert';
import { test } from 'node:test';
import { changeFill, Colours, contrast, FILLS, paletteOf } from '../src/flame/colours';
import { Boxes, firstRightOf, layOut, nodeAtWeight } from '../src/flame/layout';
import { TextWidths } from '../src/flame/text';
import type { Columns } from '../src/profile/columns';
import { KIND, Names } from '../src/profile/names';
import { profileOf, randomStacks } from './trees';

const EVERYWHERE = { first: 0, last: 1e9 };

type Box = [text: string, row: number, x: number, w: number];

function boxesOf(c: Columns, left: number, right: number, width: number, rows = EVERYWHERE): { boxes: Box[]; runs: Box[]; all: Boxes } {
	const all = new Boxes();
	const both: [Box[], Box[]] = [[], []];

	layOut(c, { left, right }, width, rows, all);
	for (let i = 0; i < all.count; i++)
		both[all.isRun[i]].push([c.names.text[c.name[all.node[i]]], all.row[i], all.x[i], all.w[i]]);
	return { boxes: both[0], runs: both[1], all };
}

test('boxes are as wide as their share, children at the left', () => {
	const c = profileOf([['a;b', 5], ['a', 1], ['c', 4]]);

	deepStrictEqual(boxesOf(c, 0, 100, 1000).boxes, [['all', 0, 0, 1000], ['a', 1, 0, 600], ['b', 2, 0, 500], ['c', 1, 600, 400]]);
});

test('a window shows what is in it, and its callers over the whole width', () => {
	const c = profileOf([['a;b', 5], ['a', 1], ['c;d', 4]]);

	deepStrictEqual(boxesOf(c, 60, 100, 1000).boxes, [['all', 0, 0, 1000], ['c', 1, 0, 1000], ['d', 2, 0, 1000]]);
	deepStrictEqual(boxesOf(c, 20, 40, 1000).boxes, [['all', 0, 0, 1000], ['a', 1, 0, 1000], ['b', 2, 0, 1000]]);
	deepStrictEqual(boxesOf(c, 0, 100, 1000, { first: 1, last: 1 }).boxes.map(([text]) => text), ['a', 'c']);
	strictEqual(boxesOf(c, 0, 100, 1000, { first: 1, last: 1 }).all.rows, 3);
});

test('siblings too narrow to be seen are one box, and none is looked into', () => {
	const many: [string, number][] = Array.from({ length: 50 }, (_, i) => [`n${i};below`, 1]);
	const c = profileOf([['a', 9950], ...many]);
	const { boxes, runs } = boxesOf(c, 0, c.total[0], 1000);

	deepStrictEqual(boxes.map(([text]) => text), ['all', 'a']);
	deepStrictEqual(runs.map(([, row, x, w]) => [row, x, Math.round(w)]), [[1, 995, 5]]);
});

test('every part of a large tree is found again where it was drawn', () => {
	const c = profileOf(randomStacks(3, 2000));

	for (const [left, right] of [[0, c.total[0]], [c.total[0] * 0.31, c.total[0] * 0.34], [c.total[0] * 0.9, c.total[0]]]) {
		const { all } = boxesOf(c, left, right, 900);
		ok(all.count > 10);
		for (let i = 0; i < all.count; i++) {
			if (all.isRun[i])
				continue;
			const weight = left + ((all.x[i] + all.w[i] / 2) / 900) * (right - left);
			strictEqual(nodeAtWeight(c, all.row[i], weight), all.node[i]);
		}
	}
});

test('outside of all boxes there is no node', () => {
	const c = profileOf([['a;b', 5], ['a', 1], ['c', 4]]);

	strictEqual(nodeAtWeight(c, 2, 55), -1); // a's own part
	strictEqual(nodeAtWeight(c, 3, 10), -1);
	strictEqual(nodeAtWeight(c, 0, -1), -1);
	strictEqual(firstRightOf(c, 1e9), c.count);
});

test('a window without width has no boxes', () => {
	strictEqual(boxesOf(profileOf([['a', 1]]), 5, 5, 1000).all.count, 0);
});

test('text can be read on every fill, in both themes', () => {
	for (const [dark, ground] of [[false, [255, 255, 255]], [true, [29, 27, 25]]] as [boolean, [number, number, number]][]) {
		const { fills, faded, text } = paletteOf(dark, ground);

		strictEqual(fills.length, FILLS);
		for (const fill of [...fills, ...faded])
			ok(contrast(fill, text) >= 4.5, `${text} on ${fill}: ${contrast(fill, text).toFixed(2)}`);
	}
});

test('contrast is that of the guidelines', () => {
	strictEqual(contrast('#000000', '#ffffff'), 21);
	ok(Math.abs(contrast('#767676', '#ffffff') - 4.54) < 0.01);
});

test('a module keeps its colour while others come', () => {
	const names = new Names();
	const colours = new Colours();
	const fills = (): number[] => names.text.map((_, i) => colours.fillOf(i, 'module'));

	for (let i = 0; i < 10; i++) {
		names.modules.push(`lib${i}.so`);
		names.add(`f${i}`, i, KIND.user);
	}
	colours.prepare(names, [3, 1, 2]);
	const before = fills();
	strictEqual(new Set(before).size, 10);
	names.modules.push('late.so');
	names.add('g', 10, KIND.user);
	colours.prepare(names, [10, 9, 3]);
	deepStrictEqual(fills().slice(0, 10), before);
	strictEqual(fills()[10], colours.fillOfModule('late.so'));
});

test('a change is grey when it is none, and the stronger the more it is', () => {
	const steps = [-1, -0.6, -0.1, 0, 0.1, 0.6, 1].map(changeFill);

	strictEqual(new Set(steps).size, 7);
	deepStrictEqual(steps, [...steps].sort((a, b) => a - b));
	ok(steps[6] < FILLS);
});

test('text is clipped to its room', () => {
	const widths = new TextWidths((text) => [...text].length * 7);

	strictEqual(widths.clip('malloc', 42), 'malloc');
	strictEqual(widths.clip('malloc', 41), 'mall…');
	strictEqual(widths.clip('malloc', 21), 'ma…');
	strictEqual(widths.clip('malloc', 20), '');
	strictEqual(widths.clip('😀😀😀😀', 21), '😀😀…');
});
