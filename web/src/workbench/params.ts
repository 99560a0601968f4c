// What is seen of a profile, as it stands in the address.
import type { Filters } from '../profile/focus';

export interface Params {
	get(key: string): string; // '': not there
	// '' takes a key away; step: one can go back to what was before.
	set(changes: Record<string, string>, step?: boolean): void;
}

export const TABS = ['flame', 'top', 'sandwich', 'tree'] as const;
export type Tab = (typeof TABS)[number];

export function tabOf(params: Params): Tab {
	const tab = params.get('tab') as Tab;
	return TABS.includes(tab) ? tab : 'flame';
}

// Names may have any character but a line's end.
const list = (text: string): string[] => (text ? text.split('\n') : []);

export function filtersOf(params: Params): Filters {
	return {
		only: list(params.get('only')),
		without: list(params.get('without')),
		hide: list(params.get('hide')),
		recursion: params.get('rec') === '1',
	};
}

export type FilterKey = 'only' | 'without' | 'hide';

export function addFilter(params: Params, key: FilterKey, func: string): void {
	params.set({ [key]: [...new Set([...list(params.get(key)), func])].join('\n') }, true);
}

export function removeFilter(params: Params, key: FilterKey, func: string): void {
	params.set({ [key]: list(params.get(key)).filter((one) => one !== func).join('\n') }, true);
}
