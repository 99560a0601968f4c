// A call tree as columns in preorder: a node's children follow it and are deeper by one, so that a
// subtree is a range and nothing here has to call itself.
import type { Profile } from '../api';
import { KIND, KINDS, Names } from './names';

export interface Columns {
	readonly names: Names;
	readonly count: number;
	readonly height: number; // levels, the root's included
	readonly depth: Int32Array;
	readonly name: Int32Array;
	readonly parent: Int32Array; // of the root: -1
	readonly end: Int32Array; // the first node that is not in the subtree
	readonly self: Float64Array;
	readonly total: Float64Array;
	readonly selfSamples: Float64Array;
	readonly samples: Float64Array;
	// Weight to the left of the node. Children stand at the left of their parent, what is its own
	// at the right; so this never falls from one node to the next.
	readonly start: Float64Array;
}

// The part of the daemon's JSON that is read here.
export type ProfileTree = Pick<Profile, 'kinds' | 'modules' | 'files' | 'names' | 'name_module' | 'name_kind' | 'name_file'
	| 'name_line' | 'depth' | 'name' | 'self' | 'samples_total'>;

// The columns that follow from depth, self and either kind of sample counts.
export function derive(names: Names, depth: Int32Array, name: Int32Array, self: Float64Array,
	counts: { samples?: Float64Array; selfSamples?: Float64Array }): Columns {
	const count = depth.length;
	const selfSamples = counts.selfSamples ?? Float64Array.from(counts.samples!);
	const samples = counts.samples ?? Float64Array.from(selfSamples);
	const c = {
		names, count, height: 0, depth, name, self, samples, selfSamples,
		parent: new Int32Array(count), end: new Int32Array(count),
		total: Float64Array.from(self), start: new Float64Array(count),
	};
	const path = new Int32Array(count + 1);
	let open = -1, left = 0;

	for (let i = 0; i <= count; i++) {
		const d = i < count ? depth[i] : 0;
		if (i < count && (d < (i > 0 ? 1 : 0) || d > open + 1 || !(name[i] >= 0 && name[i] < names.count)))
			throw new Error(`This is not a profile: node ${i} does not fit the one before it.`);
		for (; open >= d; open--) { // what ends here
			const node = path[open];
			c.end[node] = i;
			left += self[node];
			if (open > 0)
				c.total[path[open - 1]] += c.total[node];
		}
		if (i === count)
			break;
		path[++open] = i;
		c.parent[i] = d > 0 ? path[d - 1] : -1;
		c.start[i] = left;
		c.height = Math.max(c.height, d + 1);
	}
	sumSamples(c, counts.samples !== undefined);
	return c;
}

// Parents stand before their children: from the end, each is complete when it is reached.
function sumSamples(c: Columns, haveTotals: boolean): void {
	const { parent, samples, selfSamples } = c;

	for (let i = c.count - 1; i > 0; i--) {
		if (haveTotals)
			selfSamples[parent[i]] -= samples[i];
		else
			samples[parent[i]] += samples[i];
	}
}

function namesOf(json: ProfileTree): Names {
	const names = new Names();
	const kinds = json.kinds.map((kind) => KINDS.indexOf(kind as never));

	names.modules.push(...json.modules);
	for (const file of json.files)
		names.files.push(file);
	for (let i = 0; i < json.names.length; i++) {
		const kind = kinds[json.name_kind[i]] ?? -1;
		names.add(json.names[i], json.name_module[i], kind < 0 ? KIND.special : kind,
			json.name_file[i], json.name_line[i]);
	}
	return names;
}

export function columnsFromJson(json: ProfileTree): Columns {
	for (const key of ['kinds', 'modules', 'files', 'names', 'depth', 'name', 'self', 'samples_total'] as const)
		if (!Array.isArray(json[key]))
			throw new Error(`This is not a profile: it has no "${key}".`);
	if (json.depth.length === 0)
		return emptyColumns();
	return derive(namesOf(json), Int32Array.from(json.depth), Int32Array.from(json.name),
		Float64Array.from(json.self), { samples: Float64Array.from(json.samples_total) });
}

export function emptyColumns(): Columns {
	const names = new Names();
	names.add('all', -1, KIND.root);
	return derive(names, new Int32Array(1), new Int32Array(1), new Float64Array(1), { samples: new Float64Array(1) });
}

// The nodes from the root down to this one.
export function pathTo(c: Columns, node: number): number[] {
	const path: number[] = [];

	for (let i = node; i >= 0; i = c.parent[i])
		path.push(i);
	return path.reverse();
}

// -1: it has no such child.
export function childNamed(c: Columns, node: number, matches: (name: number) => boolean): number {
	for (let i = node + 1; i < c.end[node]; i = c.end[i])
		if (matches(c.name[i]))
			return i;
	return -1;
}

export function heaviestChild(c: Columns, node: number): number {
	let best = -1;

	for (let i = node + 1; i < c.end[node]; i = c.end[i])
		if (best < 0 || c.total[i] > c.total[best])
			best = i;
	return best;
}

export function nextSibling(c: Columns, node: number): number {
	const i = c.end[node];
	return c.parent[node] >= 0 && i < c.end[c.parent[node]] ? i : -1;
}

export function previousSibling(c: Columns, node: number): number {
	let previous = -1;

	if (c.parent[node] < 0)
		return -1;
	for (let i = c.parent[node] + 1; i < node; i = c.end[i])
		previous = i;
	return previous;
}
