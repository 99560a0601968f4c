// Boxes onto a canvas.
import type { Columns } from '../profile/columns';
import { FILLS, MATCH, RUN, type Palette } from './colours';
import type { Boxes } from './layout';
import type { TextWidths } from './text';

export const ROW_PX = 19;
const GAP_PX = 1;
const TEXT_ROOM_PX = 26; // narrower boxes have no text
const PADDING_PX = 4;

export interface Look {
	readonly palette: Palette;
	readonly font: string;
	readonly ratio: number; // of the screen's pixels to ours
	fillOf(node: number): number;
	readonly match: Uint8Array | null; // of names, while something is searched for
	readonly zoomed: number; // above it all is faded
}

export interface Place {
	readonly width: number;
	readonly height: number;
	y(row: number): number; // the upper edge
}

// Boxes sorted by fill, as a change of it costs more than a box does. Fills and then the faded
// ones.
function sortByFill(c: Columns, boxes: Boxes, look: Look, order: Int32Array, fills: Uint8Array): Int32Array {
	const at = new Int32Array(2 * FILLS + 1);

	for (let i = 0; i < boxes.count; i++) {
		const node = boxes.node[i];
		const matches = look.match !== null && !boxes.isRun[i] && look.match[c.name[node]] === 1;
		const fill = boxes.isRun[i] ? RUN : matches ? MATCH : look.fillOf(node);
		const faded = (look.match !== null && !matches) || node < look.zoomed;
		fills[i] = fill + (faded && !matches ? FILLS : 0);
		at[fills[i] + 1]++;
	}
	for (let i = 0; i < 2 * FILLS; i++)
		at[i + 1] += at[i];
	const begins = at.slice();
	for (let i = 0; i < boxes.count; i++)
		order[at[fills[i]]++] = i;
	return begins;
}

function fillBoxes(context: CanvasRenderingContext2D, boxes: Boxes, order: Int32Array, begins: Int32Array,
	look: Look, place: Place): void {
	const { palette } = look;

	for (let fill = 0; fill < 2 * FILLS; fill++) {
		if (begins[fill] === begins[fill + 1])
			continue;
		context.fillStyle = fill < FILLS ? palette.fills[fill] : palette.faded[fill - FILLS];
		for (let at = begins[fill]; at < begins[fill + 1]; at++) {
			const i = order[at], w = boxes.w[i];
			const gap = w > 3 ? GAP_PX : w > 1.5 ? 0.5 : 0;
			context.fillRect(boxes.x[i], place.y(boxes.row[i]), w - gap, ROW_PX - GAP_PX);
		}
	}
}

function writeNames(context: CanvasRenderingContext2D, c: Columns, boxes: Boxes, widths: TextWidths,
	look: Look, place: Place): void {
	context.fillStyle = look.palette.text;
	context.font = look.font;
	context.textBaseline = 'middle';
	for (let i = 0; i < boxes.count; i++) {
		if (boxes.w[i] < TEXT_ROOM_PX || boxes.isRun[i])
			continue;
		const text = widths.clip(c.names.text[c.name[boxes.node[i]]], boxes.w[i] - 2 * PADDING_PX);
		if (text)
			context.fillText(text, boxes.x[i] + PADDING_PX, place.y(boxes.row[i]) + ROW_PX / 2);
	}
}

export class Painter {
	#order = new Int32Array(4096);
	#fills = new Uint8Array(4096);

	paint(context: CanvasRenderingContext2D, c: Columns, boxes: Boxes, widths: TextWidths, look: Look, place: Place): void {
		if (this.#order.length < boxes.count) {
			this.#order = new Int32Array(boxes.count * 2);
			this.#fills = new Uint8Array(boxes.count * 2);
		}
		const begins = sortByFill(c, boxes, look, this.#order, this.#fills);
		context.setTransform(look.ratio, 0, 0, look.ratio, 0, 0);
		context.clearRect(0, 0, place.width, place.height);
		fillBoxes(context, boxes, this.#order, begins, look, place);
		writeNames(context, c, boxes, widths, look, place);
	}
}
