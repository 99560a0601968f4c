// Tables over the whole profile: what functions, modules or threads cost.
import type { Columns } from './columns';
import { KIND } from './names';

export type Grouping = 'function' | 'module' | 'thread';

export interface Row {
	readonly text: string;
	readonly module: string;
	readonly key: string; // of the function, "" for others
	readonly kind: number;
	readonly group: number;
	self: number;
	total: number;
	selfSamples: number;
	samples: number;
}

// The group of each node; -1: none.
function groupOfNodes(c: Columns, of: (node: number) => number): Int32Array {
	const groups = new Int32Array(c.count);

	for (let i = 0; i < c.count; i++)
		groups[i] = of(i);
	return groups;
}

// Adds up a stack's weight once for each group on it, however often the group is there.
function sum(c: Columns, groups: Int32Array, rows: Row[]): void {
	const onPath = new Int32Array(rows.length);
	const path = new Int32Array(c.height);
	let open = -1;

	for (let i = 0; i < c.count; i++) {
		for (; open >= c.depth[i]; open--)
			if (groups[path[open]] >= 0)
				onPath[groups[path[open]]]--;
		path[++open] = i;
		const row = rows[groups[i]];
		if (!row)
			continue;
		row.self += c.self[i];
		row.selfSamples += c.selfSamples[i];
		if (onPath[row.group]++ === 0) {
			row.total += c.total[i];
			row.samples += c.samples[i];
		}
	}
}

function rowOf(c: Columns, name: number, group: number, grouping: Grouping): Row {
	const byModule = grouping === 'module';
	const { names } = c;

	return {
		text: byModule ? names.moduleOf(name) || `(${['all', 'processes', 'threads'][names.kind[name]] ?? 'no module'})`
			: names.text[name],
		module: byModule ? '' : names.moduleOf(name),
		key: grouping === 'function' ? names.keyOf(names.func[name]) : '',
		kind: names.kind[name], group, self: 0, total: 0, selfSamples: 0, samples: 0,
	};
}

// Levels that are no code do not count as functions, but a thread's self is all of it.
export function topRows(c: Columns, grouping: Grouping): Row[] {
	const { names } = c;
	const isCode = (name: number): boolean => names.kind[name] > KIND.thread;
	const rows: Row[] = [];
	const ids = new Map<number, number>();
	const groups = groupOfNodes(c, (node) => {
		const name = c.name[node];
		if (grouping === 'thread' ? names.kind[name] !== KIND.thread : !isCode(name) && c.self[node] === 0)
			return -1;
		const what = grouping === 'module' ? names.module[name] : names.func[name];
		let id = ids.get(what);
		if (id === undefined) {
			id = rows.length;
			ids.set(what, id);
			rows.push(rowOf(c, name, id, grouping));
		}
		return id;
	});

	sum(c, groups, rows);
	return rows.filter((row) => row.total > 0); // of the last minute a stream has had more
}

export type SortKey = 'self' | 'total' | 'text' | 'module';

export function sortRows(rows: readonly Row[], key: SortKey, ascending: boolean): Row[] {
	const by = ascending ? 1 : -1;
	const compare = key === 'self' || key === 'total'
		? (a: Row, b: Row) => by * (a[key] - b[key])
		: (a: Row, b: Row) => by * (a[key] < b[key] ? -1 : a[key] > b[key] ? 1 : 0);

	return [...rows].sort((a, b) => compare(a, b) || b.self - a.self || b.total - a.total || (a.text < b.text ? -1 : 1));
}
