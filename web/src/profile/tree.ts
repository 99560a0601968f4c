// A call tree that grows: nodes in the order in which they came, each after its parent.
import { derive, type Columns } from './columns';
import { doubled } from './grow';
import type { Names } from './names';

const FIRST_ROOM = 1024;

export class Tree {
	count = 0;
	parent = new Int32Array(FIRST_ROOM);
	name = new Int32Array(FIRST_ROOM);
	self = new Float64Array(FIRST_ROOM);
	samples = new Float64Array(FIRST_ROOM); // of its own
	#table = new Int32Array(FIRST_ROOM * 2).fill(-1);
	// The nodes in preorder and their depths, as long as no node has come since.
	#order = new Int32Array(0);
	#depth = new Int32Array(0);
	#orderedNames = -1;

	constructor(readonly names: Names, rootName: number) {
		this.add(-1, rootName);
	}

	#grow(): void {
		this.parent = doubled(this.parent);
		this.name = doubled(this.name);
		this.self = doubled(this.self);
		this.samples = doubled(this.samples);
		this.#table = new Int32Array(this.parent.length * 2).fill(-1);
		for (let i = 0; i < this.count; i++)
			this.#table[this.#slotOf(this.parent[i], this.name[i])] = i;
	}

	// The place of this child in the table, or the empty one where it belongs.
	#slotOf(parent: number, name: number): number {
		const mask = this.#table.length - 1;
		let h = Math.imul(parent + 1, 0x9e3779b1) ^ Math.imul(name + 1, 0x85ebca6b);

		for (let slot = (h ^ (h >>> 15)) & mask; ; slot = (slot + 1) & mask) {
			const node = this.#table[slot];
			if (node < 0 || (this.parent[node] === parent && this.name[node] === name))
				return slot;
		}
	}

	add(parent: number, name: number): number {
		if (this.count === this.parent.length)
			this.#grow();
		const node = this.count++;
		this.parent[node] = parent;
		this.name[node] = name;
		this.#table[this.#slotOf(parent, name)] = node;
		return node;
	}

	// The child of this name, made if there is none.
	child(parent: number, name: number): number {
		const node = this.#table[this.#slotOf(parent, name)];
		return node >= 0 ? node : this.add(parent, name);
	}

	// Each node's children as a list, sorted by name: nodes are put in by descending rank, always
	// in front.
	#listChildren(first: Int32Array, next: Int32Array): void {
		const rank = this.names.rank();
		const at = new Int32Array(this.names.count + 1);
		const sorted = new Int32Array(this.count);

		for (let i = 1; i < this.count; i++)
			at[rank[this.name[i]] + 1]++;
		for (let i = 0; i < this.names.count; i++)
			at[i + 1] += at[i];
		for (let i = 1; i < this.count; i++)
			sorted[at[rank[this.name[i]]]++] = i;
		for (let i = this.count - 2; i >= 0; i--) {
			const node = sorted[i];
			next[node] = first[this.parent[node]];
			first[this.parent[node]] = node;
		}
	}

	#putInOrder(): void {
		const first = new Int32Array(this.count).fill(-1);
		const next = new Int32Array(this.count).fill(-1);
		let node = 0, depth = 0, at = 0;

		this.#order = new Int32Array(this.count);
		this.#depth = new Int32Array(this.count);
		this.#listChildren(first, next);
		while (node >= 0) {
			this.#depth[at] = depth;
			this.#order[at++] = node;
			if (first[node] >= 0) {
				node = first[node];
				depth++;
				continue;
			}
			while (node >= 0 && next[node] < 0) {
				node = this.parent[node];
				depth--;
			}
			node = node >= 0 ? next[node] : -1;
		}
		this.#orderedNames = this.names.count;
	}

	// As long as only weights change, the order is kept.
	columns(): Columns {
		const n = this.count;

		if (this.#order.length !== n || this.#orderedNames !== this.names.count)
			this.#putInOrder();
		const name = new Int32Array(n), self = new Float64Array(n), selfSamples = new Float64Array(n);
		for (let i = 0; i < n; i++) {
			const node = this.#order[i];
			name[i] = this.name[node];
			self[i] = this.self[node];
			selfSamples[i] = this.samples[node];
		}
		return derive(this.names, this.#depth, name, self, { selfSamples });
	}
}
