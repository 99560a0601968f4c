// Keeps a list in its order while somebody is about to click in it.

// What was there keeps its place, what is new comes last, what is gone goes.
export function keepOrder<T>(before: readonly string[], now: readonly T[], keyOf: (item: T) => string): T[] {
	const left = new Map(now.map((item) => [keyOf(item), item]));
	const ordered: T[] = [];

	for (const key of before) {
		const item = left.get(key);

		if (item !== undefined) {
			ordered.push(item);
			left.delete(key);
		}
	}
	return [...ordered, ...left.values()];
}
