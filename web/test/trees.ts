// Profiles for tests, made of stacks whose truth is known.
import type { Columns } from '../src/profile/columns';
import { KIND, Names } from '../src/profile/names';
import { Tree } from '../src/profile/tree';

export type Stack = [path: string, weight: number];

// "a;b;c": functions from the outermost on; "libc:read" is one of a module.
export function profileOf(stacks: readonly Stack[]): Columns {
	const names = new Names();
	const ids = new Map<string, number>();
	names.add('all', -1, KIND.root);
	const tree = new Tree(names, 0);

	function nameOf(text: string): number {
		let id = ids.get(text);
		if (id === undefined) {
			const [, module = '', name] = /^(?:(\w+):)?(.+)$/.exec(text)!;
			if (module && !names.modules.includes(module))
				names.modules.push(module);
			id = names.add(name, names.modules.indexOf(module), KIND.user);
			ids.set(text, id);
		}
		return id;
	}
	for (const [path, weight] of stacks) {
		let node = 0;
		for (const text of path ? path.split(';') : [])
			node = tree.child(node, nameOf(text));
		tree.self[node] += weight * 10;
		tree.samples[node] += weight;
	}
	return tree.columns();
}

// The stacks that a tree holds, sorted, of samples.
export function stacksOf(c: Columns): Stack[] {
	const stacks: Stack[] = [];

	for (let i = 0; i < c.count; i++) {
		if (c.selfSamples[i] === 0)
			continue;
		const path: string[] = [];
		for (let node = i; node > 0; node = c.parent[node])
			path.push(c.names.text[c.name[node]]);
		stacks.push([path.reverse().join(';'), c.selfSamples[i]]);
	}
	return stacks.sort(([a], [b]) => (a < b ? -1 : 1));
}

// The same numbers each time.
export function random(seed: number): () => number {
	let state = seed;
	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
}

// Stacks of a few functions, so that all kinds of recursion are among them.
export function randomStacks(seed: number, count: number): Stack[] {
	const next = random(seed);

	return Array.from({ length: count }, () => {
		const depth = 1 + Math.floor(next() * 9);
		const path = Array.from({ length: depth }, () => 'abcde'[Math.floor(next() * 5)]);
		return [path.join(';'), 1 + Math.floor(next() * 20)];
	});
}

// What a function's total is by its meaning: the samples of the stacks that have it.
export function totalOf(stacks: readonly Stack[], text: string): number {
	return stacks.reduce((sum, [path, weight]) => sum + (path.split(';').includes(text) ? weight : 0), 0);
}
