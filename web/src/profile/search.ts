// Which frames a text or /regular expression/ is found in, and how much of the profile that is.
import type { Columns } from './columns';
import type { Names } from './names';

export interface Found {
	readonly match: Uint8Array; // of each name: 1 or 0
	readonly frames: number; // nodes that match
	readonly weight: number; // below them, each sample counted once
	readonly samples: number;
}

type Test = (text: string) => boolean;

// Small letters find both cases, a capital finds itself.
function testOf(query: string): Test {
	const expression = /^\/(.+?)\/?(?:(?<=\/)(i))?$/.exec(query);

	if (expression) {
		const regexp = new RegExp(expression[1], expression[2] ?? '');
		return (text) => regexp.test(text);
	}
	if (query !== query.toLowerCase())
		return (text) => text.includes(query);
	return (text) => text.toLowerCase().includes(query);
}

// Which of the texts it is found in; all when nothing is searched for.
export function matchTexts(texts: readonly string[], query: string): boolean[] {
	return texts.map(query ? testOf(query) : () => true);
}

const MODULE = 'module:';

// Throws a SyntaxError where the expression is none. "module:libc" looks at modules instead.
export function matchNames(names: Names, query: string): Uint8Array {
	const match = new Uint8Array(names.count);
	const byModule = query.startsWith(MODULE);
	const test = testOf(byModule ? query.slice(MODULE.length) : query);

	if (byModule) {
		const modules = names.modules.map((module) => module !== '' && test(module));
		for (let i = 0; i < names.count; i++)
			match[i] = modules[names.module[i]] ? 1 : 0;
	} else {
		for (let i = 0; i < names.count; i++)
			match[i] = test(names.text[i]) ? 1 : 0;
	}
	return match;
}

export function search(c: Columns, query: string): Found {
	const match = matchNames(c.names, query);
	let frames = 0, weight = 0, samples = 0, counted = 0;

	for (let i = 0; i < c.count; i++) {
		if (!match[c.name[i]])
			continue;
		frames++;
		if (i < counted)
			continue; // below one that has been counted
		weight += c.total[i];
		samples += c.samples[i];
		counted = c.end[i];
	}
	return { match, frames, weight, samples };
}

// The next node that matches, in the order of the tree and around its end; by: 1 or -1.
export function nextMatch(c: Columns, match: Uint8Array, from: number, by: 1 | -1): number {
	for (let i = 1; i <= c.count; i++) {
		const node = (from + by * i + c.count * 2) % c.count;
		if (match[c.name[node]])
			return node;
	}
	return -1;
}
