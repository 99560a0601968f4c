// A short text for the place of a node in its tree, for addresses: the same for the same names on
// the way to it, whatever else the tree has and however it has grown.
import { childNamed, type Columns } from './columns';

// Two steps of 32 bits each, with different factors: 53 bits of them are used.
function step(h: [number, number], value: number): void {
	h[0] = Math.imul(h[0] ^ value, 0x9e3779b1);
	h[0] ^= h[0] >>> 15;
	h[1] = Math.imul(h[1] + value, 0x85ebca6b);
	h[1] ^= h[1] >>> 13;
}

function textOf(a: number, b: number): string {
	return ((a >>> 0) * 0x200000 + ((b >>> 0) & 0x1fffff)).toString(36);
}

export function placeOf(c: Columns, node: number): string {
	const hash = c.names.hash();
	const path: number[] = [];
	const h: [number, number] = [1, 2];

	for (let i = node; i > 0; i = c.parent[i])
		path.push(hash[c.name[i]]);
	while (path.length)
		step(h, path.pop()!);
	return node > 0 ? textOf(h[0], h[1]) : '';
}

// -1: the tree has no such place.
export function nodeAt(c: Columns, place: string): number {
	const hash = c.names.hash();
	const a = new Int32Array(c.count), b = new Int32Array(c.count);
	const wanted = parseInt(place, 36);
	const h: [number, number] = [1, 2];

	if (!place)
		return 0;
	a[0] = 1;
	b[0] = 2;
	for (let i = 1; i < c.count; i++) {
		const p = c.parent[i];
		h[0] = a[p];
		h[1] = b[p];
		step(h, hash[c.name[i]]);
		a[i] = h[0];
		b[i] = h[1];
		if ((h[0] >>> 0) * 0x200000 + ((h[1] >>> 0) & 0x1fffff) === wanted)
			return i;
	}
	return -1;
}

// Where a node of one tree is in another; the nearest caller of it that is there, if it is not.
export function sameNode(from: Columns, node: number, to: Columns): number {
	const mine = from.names.hash(), theirs = to.names.hash();
	const path: number[] = [];
	let at = 0;

	for (let i = node; i > 0; i = from.parent[i])
		path.push(mine[from.name[i]]);
	while (path.length) {
		const wanted = path.pop()!;
		const child = childNamed(to, at, (name) => theirs[name] === wanted);
		if (child < 0)
			return at;
		at = child;
	}
	return at;
}
