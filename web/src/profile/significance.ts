// Two profiles in one tree: what changed, and whether it is more than chance.

// Where |z| is below this the difference is not significant, at 5 %.
export const Z_SIGNIFICANT = 1.96;

// Of two proportions, each of its own number of samples.
export function zScore(base: number, baseAll: number, other: number, otherAll: number): number {
	if (baseAll <= 0 || otherAll <= 0)
		return 0;
	const pooled = (base + other) / (baseAll + otherAll);
	const error = Math.sqrt(pooled * (1 - pooled) * (1 / baseAll + 1 / otherAll));
	return error > 0 ? (other / otherAll - base / baseAll) / error : 0;
}

// Totals of each node in both profiles: weights that are already of one scale, and samples.
export interface Difference {
	readonly base: Float64Array;
	readonly other: Float64Array;
	readonly baseSamples: Float64Array;
	readonly otherSamples: Float64Array;
}

// How much a node grew, -1 (vanished) to 1 (new); 0 where that may be chance.
export function change(d: Difference, node: number): number {
	const z = zScore(d.baseSamples[node], d.baseSamples[0], d.otherSamples[node], d.otherSamples[0]);
	const sum = d.base[node] + d.other[node];

	if (Math.abs(z) < Z_SIGNIFICANT || sum <= 0)
		return 0;
	return (d.other[node] - d.base[node]) / sum;
}
