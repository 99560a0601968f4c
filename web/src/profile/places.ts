// A short text for the place of a node in its tree, for addresses: the same for the same names on
// the way to it, whatever else the tree has and however it has grown.
import { childNamed, pathTo, type Columns } from './columns';

// A number of 53 bits for a node, of that of its parent and its name's.
function step(above: number, name: number): number {
	let a = Math.imul((above % 0x100000000) ^ name, 0x9e3779b1);
	let b = Math.imul(above / 0x100000000 + name, 0x85ebca6b);

	a ^= a >>> 15;
	b ^= b >>> 13;
	return ((b ^ a) & 0x1fffff) * 0x100000000 + (a >>> 0);
}

// '' is the root's.
export function placeOf(c: Columns, node: number): string {
	const hash = c.names.hash();
	const place = pathTo(c, node).reduce((above, i) => (i > 0 ? step(above, hash[c.name[i]]) : above), 0);

	return node > 0 ? place.toString(36) : '';
}

// -1: the tree has no such place.
export function nodeAt(c: Columns, place: string): number {
	const hash = c.names.hash();
	const places = new Float64Array(c.count);
	const wanted = parseInt(place, 36);

	if (!place)
		return 0;
	for (let i = 1; i < c.count; i++) {
		places[i] = step(places[c.parent[i]], hash[c.name[i]]);
		if (places[i] === wanted)
			return i;
	}
	return -1;
}

// Where a node of one tree is in another; the nearest caller of it that is there, if it is not.
export function sameNode(from: Columns, node: number, to: Columns): number {
	const mine = from.names.hash(), theirs = to.names.hash();
	let at = 0;

	for (const i of pathTo(from, node).slice(1)) {
		const child = childNamed(to, at, (name) => theirs[name] === mine[from.name[i]]);
		if (child < 0)
			return at;
		at = child;
	}
	return at;
}
