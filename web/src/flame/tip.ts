// What is said of one frame: beside the pointer, and to those who do not see the picture.
import type { Columns } from '../profile/columns';
import { KINDS } from '../profile/names';
import { counted, percent, weight as amountOf } from '../ui/format';

export interface Told {
	readonly title: string;
	readonly lines: string[];
}

function where(c: Columns, node: number): string {
	const name = c.name[node];
	const kind = KINDS[c.names.kind[name]];
	const parts = [c.names.moduleOf(name), c.names.placeOf(name), kind === 'user' || kind === 'root' ? '' : kind];

	return parts.filter(Boolean).join(' · ');
}

export type Describe = (c: Columns, node: number) => Told;

export function describe(unit: 'nanoseconds' | 'count'): Describe {
	const amount = (c: Columns, weight: number, samples: number): string =>
		samples === 0 && weight === 0 ? '0' : `${percent(c.total[0] > 0 ? weight / c.total[0] : 0)} · ${amountOf(weight, unit)} · ${counted(samples, 'sample')}`;

	return (c, node) => ({
		title: c.names.text[c.name[node]],
		lines: [where(c, node), `Total ${amount(c, c.total[node], c.samples[node])}`,
			`Self ${amount(c, c.self[node], c.selfSamples[node])}`].filter(Boolean),
	});
}

export class Tip {
	readonly #box = document.createElement('div');

	constructor(host: HTMLElement) {
		this.#box.className = 'flame-tip';
		this.#box.hidden = true;
		this.#box.setAttribute('aria-hidden', 'true');
		host.append(this.#box);
	}

	hide(): void {
		this.#box.hidden = true;
	}

	// Beside the point, and inside the window of the browser.
	show(told: Told, x: number, y: number): void {
		const title = document.createElement('b');
		title.textContent = told.title;
		this.#box.replaceChildren(title, ...told.lines.map((text) => {
			const line = document.createElement('div');
			line.textContent = text;
			return line;
		}));
		this.#box.hidden = false;
		const { width, height } = this.#box.getBoundingClientRect();
		const left = Math.max(4, Math.min(x + 14, innerWidth - width - 8));
		const top = y + 18 + height > innerHeight ? Math.max(4, y - height - 10) : y + 18;
		this.#box.style.transform = `translate(${left}px, ${top}px)`;
	}
}
