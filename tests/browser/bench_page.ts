// The part of bench.mjs that runs in the browser.
import { Colours } from '../../web/src/flame/colours';
import { Boxes, layOut } from '../../web/src/flame/layout';
import { describe } from '../../web/src/flame/tip';
import { FlameView } from '../../web/src/flame/view';
import { columnsFromJson, type Columns, type ProfileTree } from '../../web/src/profile/columns';
import { filter, NO_FILTERS } from '../../web/src/profile/focus';
import { KINDS } from '../../web/src/profile/names';
import { callees, callers, inverted } from '../../web/src/profile/sandwich';
import { search } from '../../web/src/profile/search';
import { Growing } from '../../web/src/profile/stream';

const NAMES = 8000;
const MODULES = 40;

// The same profile each time.
function random(seed: number): () => number {
	let state = seed;

	return () => {
		state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
		return state / 2 ** 32;
	};
}

// A tree whose nodes and weight are split among children, unevenly, again and again; a third of the calls have one callee.
function profile(nodes: number): ProfileTree {
	const next = random(7);
	const depth: number[] = [], name: number[] = [], self: number[] = [];
	const names = ['all', ...Array.from({ length: NAMES - 1 }, (_, i) =>
		`${'core::net::io::buf'.slice(0, 4 + Math.floor(next() * 14))}::function_${i}(unsigned long, char const*)`)];
	const waiting = [{ level: 0, nodes, weight: nodes * 1e6 }];

	while (waiting.length) {
		const { level, nodes: below, weight } = waiting.pop()!;
		const parts = Array.from({ length: level < 25 && next() < 0.4 ? 1 : 1 + Math.floor(next() * 5) }, () => next() ** 2 + 0.01);
		const all = parts.reduce((sum, part) => sum + part);
		const own = below > 1 ? weight * 0.02 * next() : weight;

		depth.push(level);
		name.push(level === 0 ? 0 : 1 + Math.floor(next() ** 2 * (NAMES - 1)));
		self.push(Math.ceil(own));
		let left = below - 1;
		for (const [i, part] of parts.entries()) {
			const share = i === parts.length - 1 ? left : Math.min(left, Math.round((below - 1) * (part / all)));
			left -= share;
			if (share > 0)
				waiting.push({ level: level + 1, nodes: share, weight: (weight - own) * (part / all) });
		}
	}
	const samples = self.map((weight) => Math.ceil(weight / 1e6));
	const open: number[] = [];
	for (let i = 0; i <= depth.length; i++) { // own samples become those of the subtree
		const d = i < depth.length ? depth[i] : 0;
		while (open.length > d) {
			const node = open.pop()!;
			if (open.length)
				samples[open[open.length - 1]] += samples[node];
		}
		open.push(i);
	}
	return {
		kinds: [...KINDS], modules: ['', ...Array.from({ length: MODULES }, (_, i) => `lib${i}.so`)], files: [''], names,
		name_module: names.map((_, i) => (i ? 1 + (i % MODULES) : 0)), name_kind: names.map((_, i) => (i ? 3 : 0)),
		name_file: names.map(() => 0), name_line: names.map(() => 0), depth, name, self, samples_total: samples.slice(0, depth.length),
	};
}

class Bench {
	readonly times: Record<string, number[]> = {};
	readonly colours = new Colours();
	match: Uint8Array | null = null;

	constructor(readonly view: FlameView) {}

	note(what: string, began: number): void {
		(this.times[what] ??= []).push(performance.now() - began);
	}

	show(columns: Columns): void {
		const { colours } = this;

		colours.prepare(columns.names, [...columns.names.modules.keys()]);
		this.view.show({
			columns, match: this.match, flames: false, describe: describe('nanoseconds'),
			fillOf: (node) => colours.fillOf(columns.name[node], 'module'),
		});
	}

	// Until what was asked for is drawn: the view draws in a frame, and reading a pixel waits for the drawing.
	async drawn(): Promise<void> {
		await new Promise(requestAnimationFrame);
		document.querySelector('canvas')!.getContext('2d')!.getImageData(0, 0, 1, 1);
	}

	async paint(text: string): Promise<Columns> {
		const began = performance.now();
		const columns = columnsFromJson(JSON.parse(text) as ProfileTree);

		this.note('paint: data', began);
		this.show(columns);
		await this.drawn();
		this.note('paint', began);
		return columns;
	}

	async zoom(columns: Columns): Promise<void> {
		const next = random(3);

		for (let i = 0; i < 60; i++) {
			let node = Math.floor(next() * columns.count);
			while (columns.parent[node] > 0 && columns.total[node] < columns.total[0] / 1e4)
				node = columns.parent[node];
			await new Promise(requestAnimationFrame);
			const began = performance.now();
			this.view.zoomTo(i % 4 === 3 ? 0 : node);
			await this.drawn();
			this.note('zoom', began);
		}
	}

	async search(columns: Columns): Promise<void> {
		for (const query of ['function_1', 'net', 'FUNCTION', '/_\\d*77\\(/', 'nowhere', 'io::', '/^core.*9/i', 'a', 'char const*', 'module:lib7']) {
			await new Promise(requestAnimationFrame);
			const began = performance.now();
			this.match = search(columns, query).match;
			this.note('search', began);
			this.show(columns);
			await this.drawn();
			this.note('search, drawn', began);
		}
		this.match = null;
	}

	trees(columns: Columns): void {
		const func = columns.names.func[columns.name[Math.floor(columns.count / 2)]];
		const made: [string, () => Columns][] = [
			['upside down', () => inverted(columns)],
			['callers', () => callers(columns, func)],
			['callees', () => callees(columns, func)],
			['recursion collapsed', () => filter(columns, { ...NO_FILTERS, recursion: true })],
		];

		for (let i = 0; i < 5; i++)
			for (const [what, make] of made) {
				const began = performance.now();
				make();
				this.note(what, began);
			}
	}

	async grow(columns: Columns): Promise<void> {
		const growing = new Growing();
		const names = columns.names.text.map((text, i): [string, number, number] => [text, columns.names.module[i], columns.names.kind[i]]);
		const more = { reset: false, event: 'cpu-clock', unit: 'nanoseconds' as const, total: 0, samples: 0, folded: { weight: 0, nodes: 0 }, log_short: false };
		const first = Math.floor(columns.count * 0.9), step = Math.floor(columns.count / 100);
		const part = (from: number, to: number, head: boolean) => {
			const nodes: [number, number][] = [], self: [number, number, number][] = [];
			for (let i = from; i < to; i++) {
				nodes.push([columns.parent[i], columns.name[i]]);
				self.push([i, columns.self[i], columns.selfSamples[i]]);
			}
			growing.apply({ ...more, modules: head ? columns.names.modules : [], names: head ? names : [], nodes, self });
		};

		part(0, first, true);
		for (let at = first; at + step <= columns.count; at += step) {
			await new Promise(requestAnimationFrame);
			const began = performance.now();
			part(at, at + step, false);
			this.show(growing.columns());
			await this.drawn();
			this.note('grow by 1 %', began);
		}
	}
}

async function bench(nodes: number): Promise<object> {
	const text = JSON.stringify(profile(nodes));
	const nothing = (): void => undefined;
	const view = new FlameView(document.getElementById('host')!, 'Bench', {
		zoomed: nothing, selected: nothing, menu: nothing, search: nothing, match: nothing,
	});
	const run = new Bench(view);
	let columns = await run.paint(text);

	run.times['paint, first'] = run.times.paint;
	run.times.paint = [];
	for (let i = 0; i < 6; i++)
		columns = await run.paint(text);
	await run.zoom(columns);
	view.zoomTo(0);
	await run.search(columns);
	run.trees(columns);
	const boxes = new Boxes();
	layOut(columns, { left: 0, right: columns.total[0] }, 1280, { first: 0, last: 1000 }, boxes);
	await run.grow(columns);
	return { nodes: columns.count, names: columns.names.count, bytes: text.length, boxes: boxes.count, times: run.times };
}

Object.assign(window, { bench });
