// A profile that the daemon tells of by deltas: event "tree" of /v1/sessions/ID/events.
import type { TreeDelta } from '../api';
import { emptyColumns, type Columns } from './columns';
import { KIND, Names } from './names';
import { Tree } from './tree';

export class Growing {
	#names = new Names();
	#tree: Tree | null = null;

	apply(delta: TreeDelta): void {
		if (delta.reset) {
			this.#names = new Names();
			this.#tree = null;
		}
		for (const module of delta.modules)
			this.#names.modules.push(module);
		for (const [text, module, kind] of delta.names)
			this.#names.add(text, module, Math.min(kind, KIND.special));
		for (const [parent, name] of delta.nodes)
			this.#addNode(parent, name);
		for (const [node, weight, samples] of delta.self) {
			if (!this.#tree || !(node < this.#tree.count))
				throw new Error(`The stream tells of node ${node} before it came.`);
			this.#tree.self[node] = weight;
			this.#tree.samples[node] = samples;
		}
	}

	#addNode(parent: number, name: number): void {
		if (!(name < this.#names.count))
			throw new Error(`The stream tells of name ${name} before it came.`);
		if (!this.#tree)
			this.#tree = new Tree(this.#names, name);
		else if (parent >= 0 && parent < this.#tree.count)
			this.#tree.add(parent, name);
		else
			throw new Error(`The stream tells of node ${parent} before it came.`);
	}

	columns(): Columns {
		return this.#tree ? this.#tree.columns() : emptyColumns();
	}
}
