// Another tree of the same samples: only some stacks, without some frames, recursion made one.
import type { Columns } from './columns';
import { Tree } from './tree';

export interface Filters {
	readonly only: readonly string[]; // functions: stacks that have one of them
	readonly without: readonly string[]; // functions: stacks that have none of them
	readonly hide: readonly string[]; // functions: their frames go, what they called moves up
	readonly recursion: boolean; // repeated cycles of calls become one
}

export const NO_FILTERS: Filters = { only: [], without: [], hide: [], recursion: false };

export function filtersAnything(f: Filters): boolean {
	return f.only.length + f.without.length + f.hide.length > 0 || f.recursion;
}

function setOf(c: Columns, keys: readonly string[]): Uint8Array {
	const set = new Uint8Array(c.names.funcCount);

	for (const key of keys) {
		const func = c.names.funcOfKey(key);
		if (func >= 0)
			set[func] = 1;
	}
	return set;
}

const LONGEST_CYCLE = 16;

// Where a call from `parent` to `name` closes a cycle for the second time: a b a b is a b. What is
// left out is on the stack all the same, so that no function's total changes. -1: it does not.
function repeated(tree: Tree, parent: number, name: number): number {
	const { func } = tree.names;
	let again = parent;

	for (let length = 1; length <= LONGEST_CYCLE && again > 0; length++, again = tree.parent[again]) {
		if (func[tree.name[again]] !== func[name])
			continue;
		let a = parent, b = tree.parent[again], same = 1;
		for (; same < length && b > 0 && func[tree.name[a]] === func[tree.name[b]]; same++) {
			a = tree.parent[a];
			b = tree.parent[b];
		}
		if (same === length)
			return again;
	}
	return -1;
}

// The root stays, whatever is hidden. Samples that are filtered out are not in any total.
export function filter(c: Columns, f: Filters): Columns {
	const tree = new Tree(c.names, c.name[0]);
	const only = setOf(c, f.only), without = setOf(c, f.without), hide = setOf(c, f.hide);
	const to = new Int32Array(c.count);
	let focusEnd = f.only.length ? 0 : c.count;

	for (let i = 0; i < c.count; i++) {
		const func = c.names.func[c.name[i]];
		if (i > 0 && without[func]) {
			i = c.end[i] - 1;
			continue;
		}
		if (only[func] && i >= focusEnd)
			focusEnd = c.end[i];
		to[i] = i === 0 ? 0 : target(tree, f, hide[func] === 1, to[c.parent[i]], c.name[i]);
		if (i < focusEnd) {
			tree.self[to[i]] += c.self[i];
			tree.samples[to[i]] += c.selfSamples[i];
		}
	}
	return f.only.length + f.without.length ? withoutEmpty(tree.columns()) : tree.columns();
}

function target(tree: Tree, f: Filters, hidden: boolean, parent: number, name: number): number {
	if (hidden)
		return parent;
	const again = f.recursion ? repeated(tree, parent, name) : -1;
	return again >= 0 ? again : tree.child(parent, name);
}

// Without the branches that no sample is left in.
function withoutEmpty(c: Columns): Columns {
	const tree = new Tree(c.names, c.name[0]);
	const to = new Int32Array(c.count);

	for (let i = 0; i < c.count; i++) {
		if (i > 0 && c.samples[i] === 0 && c.total[i] === 0) {
			i = c.end[i] - 1;
			continue;
		}
		to[i] = i === 0 ? 0 : tree.child(to[c.parent[i]], c.name[i]);
		tree.self[to[i]] = c.self[i];
		tree.samples[to[i]] = c.selfSamples[i];
	}
	return tree.columns();
}
