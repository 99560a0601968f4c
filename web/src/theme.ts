// Dark or light: what the reader chose, else what the system says. Whoever draws on a canvas watches the cell, and reads
// its colours with getComputedStyle(document.documentElement).getPropertyValue('--text') and so on.
import { Cell } from './cell';
import { keep, remember } from './keep';

export type Theme = 'light' | 'dark';

const KEY = 'theme';
const system = matchMedia('(prefers-color-scheme: dark)');

function chosen(): Theme | null {
	const text = remember(KEY);

	return text === 'light' || text === 'dark' ? text : null;
}

const asWanted = (): Theme => chosen() ?? (system.matches ? 'dark' : 'light');

export const theme = new Cell<Theme>(asWanted());

function apply(): void {
	document.documentElement.dataset.theme = theme.get();
}

export function startTheme(): void {
	apply();
	theme.watch(apply);
	system.addEventListener('change', () => theme.set(asWanted()));
}

export function switchTheme(): void {
	const other = theme.get() === 'dark' ? 'light' : 'dark';

	// What the system says anyway need not be kept: so one can go back to following it.
	keep(KEY, other === (system.matches ? 'dark' : 'light') ? null : other);
	theme.set(other);
}
