// Which boxes a window on a tree has: only what is a pixel wide.
import type { Columns } from '../profile/columns';
import { doubled } from '../profile/grow';

// What is seen, in weight from the left end.
export interface Window {
	left: number;
	right: number;
}

// Boxes in columns. A run of siblings that are too narrow is one box, whose node is its first.
export class Boxes {
	count = 0;
	node = new Int32Array(4096);
	row = new Int32Array(4096);
	x = new Float32Array(4096);
	w = new Float32Array(4096);
	isRun = new Uint8Array(4096);
	rows = 0; // the deepest that a box is in, and one

	push(node: number, row: number, x: number, w: number, isRun: number): void {
		if (this.count === this.node.length)
			this.#grow();
		const i = this.count++;
		this.node[i] = node;
		this.row[i] = row;
		this.x[i] = x;
		this.w[i] = w;
		this.isRun[i] = isRun;
	}

	#grow(): void {
		this.node = doubled(this.node);
		this.row = doubled(this.row);
		this.x = doubled(this.x);
		this.w = doubled(this.w);
		this.isRun = doubled(this.isRun);
	}
}

// The first node that begins right of this.
export function firstRightOf(c: Columns, weight: number): number {
	let low = 0, high = c.count;

	while (low < high) {
		const middle = (low + high) >> 1;
		if (c.start[middle] > weight)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

export interface Rows {
	first: number;
	last: number;
}

class Layout {
	readonly #scale: number;
	readonly #runFrom: Float64Array;
	readonly #runTo: Float64Array;
	readonly #runNode: Int32Array;

	constructor(readonly c: Columns, readonly window: Window, readonly width: number,
		readonly rows: Rows, readonly into: Boxes) {
		this.#scale = width / (window.right - window.left);
		this.#runFrom = new Float64Array(c.height + 1);
		this.#runTo = new Float64Array(c.height + 1);
		this.#runNode = new Int32Array(c.height + 1).fill(-1);
	}

	#emit(node: number, row: number, from: number, to: number, isRun: number): void {
		const x0 = Math.max(0, (from - this.window.left) * this.#scale);
		const x1 = Math.min(this.width, (to - this.window.left) * this.#scale);

		if (row >= this.into.rows)
			this.into.rows = row + 1;
		if (row >= this.rows.first && row <= this.rows.last && x1 > x0)
			this.into.push(node, row, x0, x1 - x0, isRun);
	}

	#flush(row: number): void {
		if (this.#runNode[row] >= 0 && (this.#runTo[row] - this.#runFrom[row]) * this.#scale >= 1)
			this.#emit(this.#runNode[row], row, this.#runFrom[row], this.#runTo[row], 1);
		this.#runNode[row] = -1;
	}

	#narrow(node: number, from: number, to: number): void {
		const row = this.c.depth[node];

		if (this.#runNode[row] >= 0 && (from - this.#runTo[row]) * this.#scale < 1) {
			this.#runTo[row] = to;
			return;
		}
		this.#flush(row);
		this.#runNode[row] = node;
		this.#runFrom[row] = from;
		this.#runTo[row] = to;
	}

	// What begins left of the window and reaches into it is one chain: the nodes on the way to the
	// last one that begins there. Returns the first node right of the window's left edge.
	chain(): number {
		const first = firstRightOf(this.c, this.window.left);
		const path: number[] = [];

		for (let i = first - 1; i >= 0; i = this.c.parent[i])
			if (this.c.start[i] + this.c.total[i] > this.window.left)
				path.push(i);
		while (path.length)
			this.#box(path.pop()!);
		return first;
	}

	// False: it is too narrow to look into.
	#box(node: number): boolean {
		const from = this.c.start[node], total = this.c.total[node];

		if (total * this.#scale < 1) {
			if (total > 0)
				this.#narrow(node, from, from + total);
			return false;
		}
		this.#emit(node, this.c.depth[node], from, from + total, 0);
		return true;
	}

	run(): void {
		let i = this.chain();

		while (i < this.c.count && this.c.start[i] < this.window.right)
			i = this.#box(i) ? i + 1 : this.c.end[i];
		for (let row = 0; row < this.c.height; row++)
			this.#flush(row);
	}
}

export function layOut(c: Columns, window: Window, width: number, rows: Rows, into: Boxes): void {
	into.count = 0;
	into.rows = 0;
	if (window.right > window.left && width > 0)
		new Layout(c, window, width, rows, into).run();
}

// The node at this weight in this row; -1: there is none.
export function nodeAtWeight(c: Columns, row: number, weight: number): number {
	for (let i = firstRightOf(c, weight) - 1; i >= 0; i = c.parent[i])
		if (c.depth[i] === row)
			return weight < c.start[i] + c.total[i] ? i : -1;
	return -1;
}
