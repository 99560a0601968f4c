// The distinct frames of a profile, and the functions that they are of: a function is a text and a
// module, whatever the file, line and kind of the frame.

export const KINDS = ['root', 'process', 'thread', 'user', 'kernel', 'jit', 'inlined', 'special'] as const;
export type Kind = (typeof KINDS)[number];
export const KIND = Object.fromEntries(KINDS.map((kind, i) => [kind, i])) as Record<Kind, number>;

// A function's text as it stands in an address. Modules are base names: the first slash ends them.
export function functionKey(text: string, module: string): string {
	return module + '/' + text;
}

export function keyText(key: string): string {
	return key.slice(key.indexOf('/') + 1);
}

export function keyModule(key: string): string {
	return key.slice(0, key.indexOf('/'));
}

function hashText(text: string, seed: number): number {
	let h = seed;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	h ^= h >>> 15;
	return Math.imul(h, 0x2c1b3c6d) ^ (h >>> 12);
}

export class Names {
	readonly text: string[] = [];
	readonly module: number[] = [];
	readonly kind: number[] = [];
	readonly file: number[] = [];
	readonly line: number[] = [];
	readonly func: number[] = [];
	readonly modules: string[] = [];
	readonly files: string[] = [];
	// Of each function, the first name that is of it.
	readonly funcName: number[] = [];
	readonly #funcByKey = new Map<string, number>();
	#ranks: Int32Array = new Int32Array(0);
	#hashes: Int32Array = new Int32Array(0);

	get count(): number {
		return this.text.length;
	}

	get funcCount(): number {
		return this.funcName.length;
	}

	add(text: string, module: number, kind: number, file = -1, line = 0): number {
		const id = this.text.length;
		const key = functionKey(text, this.modules[module] ?? '');
		let func = this.#funcByKey.get(key);

		if (func === undefined) {
			func = this.funcName.length;
			this.#funcByKey.set(key, func);
			this.funcName.push(id);
		}
		this.text.push(text);
		this.module.push(module);
		this.kind.push(kind);
		this.file.push(file);
		this.line.push(line);
		this.func.push(func);
		return id;
	}

	moduleOf(name: number): string {
		return this.modules[this.module[name]] ?? '';
	}

	// "file.c:12", "file.c" or "".
	placeOf(name: number): string {
		const file = this.files[this.file[name]] ?? '';
		return file && this.line[name] > 0 ? `${file}:${this.line[name]}` : file;
	}

	keyOf(func: number): string {
		const name = this.funcName[func];
		return functionKey(this.text[name], this.moduleOf(name));
	}

	// -1: there is no such function here.
	funcOfKey(key: string): number {
		return this.#funcByKey.get(key) ?? -1;
	}

	// Where each name stands among all when they are sorted: siblings are drawn in this order.
	rank(): Int32Array {
		if (this.#ranks.length !== this.count) {
			const order = Array.from(this.text.keys());
			const { text, module, kind, line } = this;
			order.sort((a, b) => (text[a] < text[b] ? -1 : text[a] > text[b] ? 1
				: module[a] - module[b] || kind[a] - kind[b] || line[a] - line[b] || a - b));
			this.#ranks = new Int32Array(this.count);
			order.forEach((name, i) => (this.#ranks[name] = i));
		}
		return this.#ranks;
	}

	// A number for each name that is the same in every profile that has it.
	hash(): Int32Array {
		if (this.#hashes.length !== this.count) {
			const hashes = new Int32Array(this.count);
			hashes.set(this.#hashes);
			for (let i = this.#hashes.length; i < this.count; i++)
				hashes[i] = hashText(this.placeOf(i), hashText(this.moduleOf(i),
					hashText(this.text[i], 0x811c9dc5 ^ this.kind[i])));
			this.#hashes = hashes;
		}
		return this.#hashes;
	}
}
