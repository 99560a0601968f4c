// Callers and callees: trees that begin at one function, over all places where it stands.
import type { Columns } from './columns';
import { Tree } from './tree';

// Of all places of the function that are not below another of it: so each sample counts once.
function outermost(c: Columns, func: number): number[] {
	const nodes: number[] = [];

	for (let i = 0; i < c.count; ) {
		if (c.names.func[c.name[i]] === func) {
			nodes.push(i);
			i = c.end[i];
		} else {
			i++;
		}
	}
	return nodes;
}

// What the function called, with itself as the root. Recursion stays: it is below the root.
export function callees(c: Columns, func: number): Columns {
	const tree = new Tree(c.names, c.names.funcName[func]);
	const path = new Int32Array(c.height + 1);

	for (const top of outermost(c, func)) {
		for (let i = top; i < c.end[top]; i++) {
			const level = c.depth[i] - c.depth[top];
			path[level] = level === 0 ? 0 : tree.child(path[level - 1], c.name[i]);
			tree.self[path[level]] += c.self[i];
			tree.samples[path[level]] += c.selfSamples[i];
		}
	}
	return tree.columns();
}

// Parts of the profile on their way from callee to caller.
interface Shares {
	readonly node: Int32Array; // the caller to come
	readonly weight: Float64Array;
	readonly samples: Float64Array;
}

// Grows callers from the root on, each from those of its shares, which stand side by side in `order`. Beyond the first
// level only what is heavy enough goes on: a profile with a hundred thousand deep stacks does not become as many chains
// that nobody can see.
function growCallers(c: Columns, tree: Tree, { node, weight, samples }: Shares, least: number): void {
	const order = new Int32Array(node.length).map((_, i) => i), sorted = new Int32Array(node.length);
	const counts = new Int32Array(c.names.count), sums = new Float64Array(c.names.count), at = new Int32Array(c.names.count);
	const waiting = [{ to: 0, from: 0, until: node.length }];

	while (waiting.length) {
		const { to, from, until } = waiting.pop()!;
		const found: number[] = [];
		for (let k = from; k < until; k++) {
			const caller = node[order[k]], name = c.name[caller];
			if (caller > 0 && counts[name]++ === 0)
				found.push(name);
			if (caller > 0)
				sums[name] += weight[order[k]];
		}
		let end = from;
		for (const name of found) {
			at[name] = -1;
			if (to === 0 || sums[name] >= least) {
				at[name] = end;
				waiting.push({ to: tree.child(to, name), from: end, until: end += counts[name] });
			}
			counts[name] = sums[name] = 0;
		}
		for (let k = from; k < until; k++) {
			const share = order[k], caller = node[share], name = c.name[caller];
			if (caller > 0 && at[name] >= 0) {
				sorted[at[name]++] = share;
				node[share] = c.parent[caller];
			} else {
				tree.self[to] += weight[share];
				tree.samples[to] += samples[share];
			}
		}
		order.set(sorted.subarray(from, end), from);
	}
}

const LEAST_SHARE = 1 / 5000; // less than a pixel of a wide screen

// Who called the function: itself as the root, its callers below, theirs below those.
export function callers(c: Columns, func: number): Columns {
	const tree = new Tree(c.names, c.names.funcName[func]);
	const places = outermost(c, func);
	const weight = Float64Array.from(places, (i) => c.total[i]);

	growCallers(c, tree, {
		node: Int32Array.from(places, (i) => c.parent[i]), weight, samples: Float64Array.from(places, (i) => c.samples[i]),
	}, weight.reduce((sum, w) => sum + w, 0) * LEAST_SHARE);
	return tree.columns();
}

// The whole profile upside down: where samples ended, and below that who called it.
export function inverted(c: Columns): Columns {
	const tree = new Tree(c.names, c.name[0]);
	const node = new Int32Array(c.count);

	for (let i = 0; i < c.count; i++)
		node[i] = c.self[i] > 0 ? i : 0;
	growCallers(c, tree, { node, weight: c.self, samples: c.selfSamples }, c.total[0] * LEAST_SHARE);
	return tree.columns();
}
