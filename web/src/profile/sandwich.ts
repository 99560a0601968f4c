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

interface Share {
	node: number; // in the profile: the caller to come
	weight: number;
	samples: number;
}

// Grows one level of callers at a time from those that are heavy enough: a profile with a hundred
// thousand deep stacks does not become as many chains that nobody can see.
function growCallers(c: Columns, tree: Tree, shares: Share[], least: number): void {
	let level: { at: number; shares: Share[] }[] = [{ at: 0, shares }];

	while (level.length) {
		const next = new Map<number, Share[]>();
		for (const { at, shares: below } of level) {
			for (const s of below) {
				if (s.node <= 0) {
					tree.self[at] += s.weight;
					tree.samples[at] += s.samples;
					continue;
				}
				const child = tree.child(at, c.name[s.node]);
				const list = next.get(child);
				s.node = c.parent[s.node];
				if (list)
					list.push(s);
				else
					next.set(child, [s]);
			}
		}
		level = [];
		for (const [at, list] of next) {
			let weight = 0, samples = 0;
			for (const s of list) {
				weight += s.weight;
				samples += s.samples;
			}
			if (weight >= least) {
				level.push({ at, shares: list });
			} else {
				tree.self[at] += weight;
				tree.samples[at] += samples;
			}
		}
	}
}

const LEAST_SHARE = 1 / 5000; // less than a pixel of a wide screen

// Who called the function: itself as the root, its callers below, theirs below those.
export function callers(c: Columns, func: number): Columns {
	const tree = new Tree(c.names, c.names.funcName[func]);
	const shares = outermost(c, func).map((i) =>
		({ node: c.parent[i], weight: c.total[i], samples: c.samples[i] }));
	const all = shares.reduce((sum, s) => sum + s.weight, 0);

	growCallers(c, tree, shares, all * LEAST_SHARE);
	return tree.columns();
}

// The whole profile upside down: where samples ended, and below that who called it.
export function inverted(c: Columns): Columns {
	const tree = new Tree(c.names, c.name[0]);
	const shares: Share[] = [];

	for (let i = 0; i < c.count; i++)
		if (c.self[i] > 0)
			shares.push({ node: i, weight: c.self[i], samples: c.selfSamples[i] });
	growCallers(c, tree, shares, c.total[0] * LEAST_SHARE);
	return tree.columns();
}
