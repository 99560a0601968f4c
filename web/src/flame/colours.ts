// What a frame is painted with. Fills are all of one lightness, so that text on any of them can be
// read: at least 4.5 to 1, in both themes.
import { KIND, type Names } from '../profile/names';

export type Scheme = 'module' | 'kind' | 'function' | 'change';

const HUES = 24;
// Behind the hues: no colour, narrow runs, matches, then the steps of a change.
export const GREY = HUES, RUN = HUES + 1, MATCH = HUES + 2;
const CHANGES = HUES + 3, CHANGE_STEPS = 4;
export const FILLS = CHANGES + 2 * CHANGE_STEPS + 1;

export interface Palette {
	readonly text: string;
	readonly ground: string;
	readonly fills: readonly string[];
	readonly faded: readonly string[]; // the same where they are beside the point
}

function channel(linear: number): number {
	const x = Math.min(1, Math.max(0, linear));
	return Math.round(255 * (x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055));
}

// OKLCH, where equal lightness looks equally light in all hues; chroma is lowered until it fits.
export function oklch(lightness: number, chroma: number, hue: number): [number, number, number] {
	for (let c = chroma; ; c -= 0.005) {
		const a = c * Math.cos((hue * Math.PI) / 180), b = c * Math.sin((hue * Math.PI) / 180);
		const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
		const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
		const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
		const rgb = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
			-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
			-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s];
		if (c <= 0 || rgb.every((x) => x >= -0.001 && x <= 1.001))
			return rgb.map(channel) as [number, number, number];
	}
}

export type Rgb = [number, number, number];
const hex = (rgb: Rgb): string => '#' + rgb.map((x) => Math.round(x).toString(16).padStart(2, '0')).join('');
const mix = (a: Rgb, b: Rgb, part: number): Rgb => a.map((x, i) => x + (b[i] - x) * part) as Rgb;

// Of WCAG: 1 to 21.
export function contrast(a: string, b: string): number {
	const luminance = (text: string): number => {
		const [r, g, b] = [1, 3, 5].map((at) => {
			const x = parseInt(text.slice(at, at + 2), 16) / 255;
			return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
		});
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
	return (light + 0.05) / (dark + 0.05);
}

const BLUE = 250, RED = 27;

// ground: what the boxes stand on, red, green and blue.
export function paletteOf(dark: boolean, ground: Rgb): Palette {
	const lightness = dark ? 0.42 : 0.86;
	const fills: Rgb[] = [];

	for (let i = 0; i < HUES; i++) {
		// Neighbours differ in lightness too: 24 hues alone are hard to tell apart.
		const shade = lightness + (i % 2 ? (dark ? -0.05 : 0.045) : 0);
		fills.push(oklch(shade, dark ? 0.085 : 0.095, (i * 360) / HUES + 15));
	}
	fills[GREY] = oklch(lightness, 0.008, 260);
	fills[RUN] = oklch(dark ? 0.33 : 0.91, 0.008, 260);
	fills[MATCH] = dark ? oklch(0.45, 0.24, 330) : oklch(0.78, 0.19, 330);
	for (let i = -CHANGE_STEPS; i <= CHANGE_STEPS; i++) {
		const strength = Math.abs(i) / CHANGE_STEPS;
		fills[CHANGES + CHANGE_STEPS + i] = i === 0 ? oklch(lightness, 0.005, 260)
			: oklch(lightness + strength * (dark ? 0.02 : -0.1), 0.04 + strength * 0.13, i < 0 ? BLUE : RED);
	}
	return {
		text: dark ? '#f4f5f7' : '#15171a', ground: hex(ground),
		fills: fills.map(hex), faded: fills.map((rgb) => hex(mix(rgb, ground, dark ? 0.6 : 0.65))),
	};
}

// change: -1 to 1.
export function changeFill(change: number): number {
	const steps = Math.ceil(Math.abs(change) * CHANGE_STEPS);
	return CHANGES + CHANGE_STEPS + Math.sign(change) * Math.min(CHANGE_STEPS, steps);
}

function hash(text: string): number {
	let h = 0x811c9dc5;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	return (h ^ (h >>> 15)) >>> 0;
}

const KIND_FILLS: Record<number, number> = {
	[KIND.user]: 2, [KIND.kernel]: 15, [KIND.jit]: 9, [KIND.inlined]: 4,
};

// Gives fills to names. A module keeps its hue as long as the page is open, and has the same in
// most profiles: its own by its text, or the next free one.
export class Colours {
	readonly #hueOf = new Map<string, number>();
	readonly #used = new Uint8Array(HUES);
	#moduleFills: number[] = [];
	#names: Names | null = null;

	#hue(module: string): number {
		let hue = this.#hueOf.get(module);

		if (hue === undefined) {
			const own = hash(module) % HUES;
			hue = own;
			for (let i = 0; i < HUES && this.#used[hue]; i++)
				hue = (own + i * 7) % HUES;
			if (this.#used[hue])
				hue = own;
			this.#used[hue] = 1;
			this.#hueOf.set(module, hue);
		}
		return hue;
	}

	// The heaviest modules first, so that they get hues of their own.
	prepare(names: Names, modulesByWeight: readonly number[]): void {
		this.#names = names;
		for (const module of modulesByWeight)
			this.#hue(names.modules[module]);
		this.#moduleFills = names.modules.map((module) => (module ? this.#hue(module) : GREY));
	}

	fillOfModule(module: string): number {
		return module ? this.#hue(module) : GREY;
	}

	fillOfKind(kind: number): number {
		return KIND_FILLS[kind] ?? GREY;
	}

	fillOf(name: number, scheme: Scheme): number {
		const names = this.#names!, kind = names.kind[name];

		if (kind <= KIND.thread || kind === KIND.special)
			return GREY;
		if (scheme === 'kind')
			return this.fillOfKind(kind);
		if (scheme === 'function')
			return hash(names.text[name]) % HUES;
		return this.#moduleFills[names.module[name]] ?? GREY;
	}
}
