// Widths of text, from the widths of its characters: measuring each name would take longer than
// drawing it.

export const ELLIPSIS = '…';

export class TextWidths {
	readonly #known = new Map<string, number>();

	readonly #measure: (text: string) => number;

	constructor(measure: (text: string) => number) {
		this.#measure = measure;
	}

	#of(character: string): number {
		let width = this.#known.get(character);

		if (width === undefined) {
			width = this.#measure(character);
			this.#known.set(character, width);
		}
		return width;
	}

	// As much of the text as fits, with an ellipsis if that is not all; "" if that is too little to
	// tell anything.
	clip(text: string, room: number): string {
		const ellipsis = this.#of(ELLIPSIS);
		let width = 0, fits = 0, characters = 0;

		for (const character of text) {
			width += this.#of(character);
			if (width > room)
				return characters >= 2 ? text.slice(0, fits) + ELLIPSIS : '';
			if (width + ellipsis <= room) {
				fits += character.length;
				characters++;
			}
		}
		return text;
	}
}
