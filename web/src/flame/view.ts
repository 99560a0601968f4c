// A call tree as boxes: icicles (the root above) or flames (the root below). Shows the subtree that
// is zoomed to over the whole width, its callers above it, and stays where it is when the tree
// changes.
import { emptyColumns, type Columns } from '../profile/columns';
import { sameNode } from '../profile/places';
import { GREY, paletteOf, type Palette } from './colours';
import { Painter, ROW_PX, type Place } from './draw';
import { listen } from './input';
import { Boxes, layOut, nodeAtWeight, type Window } from './layout';
import { theme } from '../theme';
import { TextWidths } from './text';
import { Tip, type Describe } from './tip';

export interface FlameEvents {
	zoomed(node: number): void;
	selected(node: number): void;
	// A menu for this node is asked for, at this point of the browser's window.
	menu(node: number, x: number, y: number): void;
	search(): void;
	match(by: 1 | -1): void;
}

export interface FlameState {
	readonly columns: Columns;
	readonly fillOf: (node: number) => number;
	readonly match: Uint8Array | null;
	readonly flames: boolean;
	readonly describe: Describe;
}

const ANIMATION_MS = 140;
const SLOW_PAINT_MS = 24; // an animation would stutter
const NARROWEST = 1e-9; // of the whole, to zoom to by wheel

function element(name: string, className: string): HTMLElement {
	const made = document.createElement(name);
	made.className = className;
	return made;
}

export class FlameView {
	readonly scroll = element('div', 'flame-scroll');
	readonly #host: HTMLElement;
	readonly #hold = element('div', 'flame-hold');
	readonly #space = element('div', 'flame-space');
	readonly #canvas = document.createElement('canvas');
	readonly #hoverMark = element('div', 'flame-mark');
	readonly #selectedMark = element('div', 'flame-mark flame-selected');
	readonly #live = element('div', 'unseen');
	readonly #tip: Tip;
	readonly #context: CanvasRenderingContext2D;
	readonly #boxes = new Boxes();
	readonly #painter = new Painter();
	readonly #ends: (() => void)[] = [];
	#widths: TextWidths;
	#font = '';
	#palette: Palette = paletteOf(false, [255, 255, 255]);
	#width = 0;
	#height = 0;
	#frame = 0;
	#lastPaintMs = 0;
	#state: FlameState = {
		columns: emptyColumns(), fillOf: () => GREY, match: null, flames: false,
		describe: () => ({ title: '', lines: [] }),
	};
	// What is seen, as a part of the zoomed subtree: so it stays when the tree grows.
	#part: Window = { left: 0, right: 1 };
	#moving: { from: Window; since: number } | null = null;
	zoom = 0;
	selected = 0;

	constructor(host: HTMLElement, label: string, readonly events: FlameEvents) {
		this.#host = host;
		this.#context = this.#canvas.getContext('2d', { alpha: true })!;
		this.#widths = new TextWidths((text) => this.#context.measureText(text).width);
		this.scroll.tabIndex = 0;
		this.scroll.setAttribute('role', 'application');
		this.scroll.setAttribute('aria-label', label);
		this.scroll.setAttribute('aria-roledescription', 'flame graph');
		this.#canvas.setAttribute('aria-hidden', 'true');
		this.#live.setAttribute('aria-live', 'polite');
		this.#hoverMark.hidden = this.#selectedMark.hidden = true;
		this.#hold.append(this.#canvas, this.#selectedMark, this.#hoverMark);
		this.scroll.append(this.#hold, this.#space);
		host.append(this.scroll, this.#live);
		this.#tip = new Tip(host);
		this.#ends.push(listen(this, this.scroll, this.#hold), this.#watchSize(), theme.watch(() => this.#readTheme()));
		this.#readTheme();
	}

	end(): void {
		cancelAnimationFrame(this.#frame);
		for (const end of this.#ends)
			end();
		this.#host.replaceChildren();
	}

	get columns(): Columns {
		return this.#state.columns;
	}

	get flames(): boolean {
		return this.#state.flames;
	}

	#watchSize(): () => void {
		const observer = new ResizeObserver(() => this.#resize());
		observer.observe(this.scroll);
		return () => observer.disconnect();
	}

	#readTheme(): void {
		const style = getComputedStyle(this.scroll);
		const [r, g, b] = style.backgroundColor.match(/[\d.]+/g)!.map(Number);

		this.#palette = paletteOf(theme.get() === 'dark', [r, g, b]);
		this.#font = `${style.fontSize} ${style.fontFamily}`;
		this.#context.font = this.#font;
		this.#widths = new TextWidths((text) => this.#context.measureText(text).width);
		this.redraw();
	}

	#resize(): void {
		const ratio = devicePixelRatio || 1;
		const width = this.scroll.clientWidth, height = this.scroll.clientHeight;

		if (width === this.#width && height === this.#height && this.#canvas.width === Math.round(width * ratio))
			return;
		this.#width = width;
		this.#height = height;
		this.#canvas.width = Math.round(width * ratio);
		this.#canvas.height = Math.round(height * ratio);
		this.#canvas.style.width = this.#hold.style.width = `${width}px`;
		this.#canvas.style.height = this.#hold.style.height = `${height}px`;
		cancelAnimationFrame(this.#frame);
		this.#frame = 0;
		this.#paint(); // at once: a resized canvas is empty
	}

	// A new tree or another look. Zoom and selection stay with the same frames.
	show(state: FlameState): void {
		const old = this.#state.columns, flipped = state.flames !== this.#state.flames;

		this.#state = state;
		if (old !== state.columns) {
			const zoom = sameNode(old, this.zoom, state.columns);
			if (state.columns.depth[zoom] !== old.depth[this.zoom])
				this.#part = { left: 0, right: 1 };
			this.selected = sameNode(old, this.selected, state.columns);
			this.zoom = zoom;
			this.#moving = null;
			this.#tip.hide();
		}
		this.redraw();
		if (flipped)
			this.#frameDone(() => this.reveal(this.zoom));
	}

	// Runs after the picture of now is there.
	#frameDone(then: () => void): void {
		requestAnimationFrame(() => requestAnimationFrame(then));
	}

	redraw(): void {
		this.#frame ||= requestAnimationFrame(() => {
			this.#frame = 0;
			this.#paint();
		});
	}

	#whole(node: number): Window {
		const { start, total } = this.columns;
		return { left: start[node], right: start[node] + Math.max(total[node], Number.MIN_VALUE) };
	}

	#wanted(): Window {
		const { left, right } = this.#whole(this.zoom), width = right - left;
		return { left: left + this.#part.left * width, right: left + this.#part.right * width };
	}

	#window(): Window {
		const to = this.#wanted();

		if (!this.#moving)
			return to;
		const t = Math.min(1, (performance.now() - this.#moving.since) / ANIMATION_MS);
		const eased = 1 - (1 - t) ** 3, { from } = this.#moving;
		if (t >= 1)
			this.#moving = null;
		else
			this.redraw();
		return { left: from.left + (to.left - from.left) * eased, right: from.right + (to.right - from.right) * eased };
	}

	#place(): Place {
		const top = this.scroll.scrollTop, below = this.#contentHeight();
		const y = this.#state.flames
			? (row: number) => below - (row + 1) * ROW_PX - top
			: (row: number) => row * ROW_PX - top;
		return { width: this.#width, height: this.#height, y };
	}

	#contentHeight(): number {
		return Math.max(this.#height, this.#boxes.rows * ROW_PX);
	}

	#rowsInSight(): { first: number; last: number } {
		const top = this.scroll.scrollTop, rows = Math.ceil(this.#height / ROW_PX) + 1;
		const first = this.#state.flames
			? Math.floor((this.#contentHeight() - top - this.#height) / ROW_PX)
			: Math.floor(top / ROW_PX);
		return { first, last: first + rows };
	}

	// In flames the root is at the lower edge, which moves when there are more or fewer rows.
	#fitHeight(rowsBefore: number): boolean {
		const before = Math.max(this.#height, rowsBefore * ROW_PX), now = this.#contentHeight();

		this.#space.style.height = `${now - this.#height}px`;
		if (before === now || !this.#state.flames)
			return before !== now;
		this.scroll.scrollTop += now - before;
		return true;
	}

	#paint(): void {
		const began = performance.now();
		const { columns, fillOf, match } = this.#state;
		const window = this.#window(), before = this.#boxes.rows;

		if (this.#width === 0)
			return;
		layOut(columns, window, this.#width, this.#rowsInSight(), this.#boxes);
		if (this.#fitHeight(before))
			layOut(columns, window, this.#width, this.#rowsInSight(), this.#boxes);
		this.#painter.paint(this.#context, columns, this.#boxes, this.#widths,
			{ palette: this.#palette, font: this.#font, ratio: devicePixelRatio || 1, fillOf, match, zoomed: this.zoom },
			this.#place());
		this.#mark(this.#selectedMark, this.selected > 0 ? this.selected : -1);
		this.#hoverMark.hidden = true;
		this.#lastPaintMs = performance.now() - began;
	}

	// Puts a frame around a node's box.
	#mark(mark: HTMLElement, node: number): void {
		const { left, right } = this.#wanted();
		const scale = this.#width / (right - left);

		if (node < 0 || node >= this.columns.count) {
			mark.hidden = true;
			return;
		}
		const from = Math.max(0, (this.columns.start[node] - left) * scale);
		const to = Math.min(this.#width, (this.columns.start[node] + this.columns.total[node] - left) * scale);
		mark.hidden = to < 0 || from > this.#width;
		mark.style.transform = `translate(${from}px, ${this.#place().y(this.columns.depth[node])}px)`;
		mark.style.width = `${Math.max(2, to - from)}px`;
		mark.style.height = `${ROW_PX - 1}px`;
	}

	// -1: nothing is there. x and y are of the browser's window.
	nodeAtPoint(x: number, y: number): number {
		const box = this.#hold.getBoundingClientRect();
		const { left, right } = this.#wanted();
		const at = y - box.top + this.scroll.scrollTop;
		const row = Math.floor((this.#state.flames ? this.#contentHeight() - at : at) / ROW_PX);

		if (x < box.left || x >= box.left + this.#width)
			return -1;
		return nodeAtWeight(this.columns, row, left + ((x - box.left) / this.#width) * (right - left));
	}

	hover(x: number, y: number): void {
		const node = this.nodeAtPoint(x, y);

		this.#mark(this.#hoverMark, node);
		this.#hold.classList.toggle('flame-over', node >= 0);
		if (node >= 0)
			this.#tip.show(this.#state.describe(this.columns, node), x, y);
		else
			this.#tip.hide();
	}

	leave(): void {
		this.#hoverMark.hidden = true;
		this.#tip.hide();
	}

	#startMoving(change: () => void): void {
		const from = this.#window();

		change();
		this.#moving = matchMedia('(prefers-reduced-motion: reduce)').matches || this.#lastPaintMs > SLOW_PAINT_MS
			? null : { from, since: performance.now() };
		this.leave();
		this.redraw();
	}

	zoomTo(node: number): void {
		const { left, right } = this.#part;

		if (node === this.zoom && left === 0 && right === 1)
			return;
		this.#startMoving(() => {
			this.zoom = node;
			this.#part = { left: 0, right: 1 };
		});
		this.#frameDone(() => this.reveal(node));
		this.events.zoomed(node);
	}

	// Scrolls so that a row and some of what is below it is in sight.
	reveal(node: number): void {
		const row = this.columns.depth[node], margin = Math.min(3 * ROW_PX, this.#height / 4);
		const at = this.#state.flames ? this.#contentHeight() - (row + 1) * ROW_PX : row * ROW_PX;
		const top = this.scroll.scrollTop;

		if (at < top + margin)
			this.scroll.scrollTop = at - margin;
		else if (at + ROW_PX > top + this.#height - margin)
			this.scroll.scrollTop = at + ROW_PX - this.#height + margin;
	}

	select(node: number, announce = true): void {
		if (node < 0)
			return;
		this.selected = node;
		this.#mark(this.#selectedMark, node > 0 ? node : -1);
		if (announce) {
			const told = this.#state.describe(this.columns, node);
			this.#live.textContent = [told.title, ...told.lines, `level ${this.columns.depth[node]}`].join(', ');
		}
		this.events.selected(node);
	}

	// Selects, and zooms to where the node can be seen if it cannot be now.
	goTo(node: number): void {
		const { left, right } = this.#wanted(), { start, total, parent, end } = this.columns;
		const isAbove = node <= this.zoom && end[node] > this.zoom;

		if (node < 0)
			return;
		if (!isAbove && (start[node] < left || start[node] + total[node] > right || total[node] * this.#width < (right - left) * 4)) {
			let to = node;
			while (parent[to] >= 0 && total[to] < total[node] * 4)
				to = parent[to];
			this.zoomTo(to);
		}
		this.select(node);
		this.reveal(node);
	}

	// Shows another part: factor < 1 is nearer; centre and shift are parts of the width.
	move(factor: number, centre: number, shift: number): void {
		const { left, right } = this.#wanted(), all = this.#whole(0), width = right - left;
		const wanted = Math.min(all.right - all.left, Math.max((all.right - all.left) * NARROWEST, width * factor));
		let from = left + centre * (width - wanted) + shift * width;

		from = Math.max(all.left, Math.min(from, all.right - wanted));
		let zoom = this.zoom;
		while (zoom > 0 && (from < this.#whole(zoom).left - wanted * 1e-6 || from + wanted > this.#whole(zoom).right + wanted * 1e-6))
			zoom = this.columns.parent[zoom];
		const base = this.#whole(zoom), size = base.right - base.left;
		this.#part = { left: (from - base.left) / size, right: (from + wanted - base.left) / size };
		this.#moving = null;
		if (zoom !== this.zoom) {
			this.zoom = zoom;
			this.events.zoomed(zoom);
		}
		this.leave();
		this.redraw();
	}

	// A menu at the selected box.
	menuOfSelected(): void {
		const box = this.#selectedMark.getBoundingClientRect();
		const over = this.#hold.getBoundingClientRect();
		const y = Math.max(over.top, Math.min(box.bottom, over.bottom - 40));
		this.events.menu(this.selected, this.#selectedMark.hidden ? over.left + 20 : box.left + 12, y);
	}
}
