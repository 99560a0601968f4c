// The table of functions, modules or threads.
import { useMemo, useState } from 'preact/hooks';
import type { Columns } from '../profile/columns';
import { matchTexts } from '../profile/search';
import { sortRows, topRows, type Grouping, type Row, type SortKey } from '../profile/top';
import { counted } from '../ui/format';
import type { Params } from './params';
import { Rows, Share, type Unit } from './rows';

export interface TopProps {
	columns: Columns;
	unit: Unit;
	params: Params;
	match: Uint8Array | null; // of names: only these, while something is searched for
	// A tree with a level for each thread; null: it is on its way, undefined: there is none to have.
	byThread?: Columns | null;
	threadsProblem?: string;
	swatch(row: Row): string;
	onMenu(func: string, text: string, x: number, y: number): void;
}

const HEADS: [SortKey, string][] = [['self', 'Self'], ['total', 'Total'], ['text', 'Name'], ['module', 'Module']];

function groupingOf(params: Params): Grouping {
	const by = params.get('group');
	return by === 'module' || by === 'thread' ? by : 'function';
}

function Heads({ params, grouping }: { params: Params; grouping: Grouping }) {
	const [key, up] = sortOf(params);

	return (
		<>
			{HEADS.filter(([k]) => grouping === 'function' || (k !== 'module' && (k !== 'self' || grouping === 'module'))).map(([k, text]) => (
				<span key={k} role="columnheader" class={`col-${k}`}
					aria-sort={k !== key ? 'none' : up ? 'ascending' : 'descending'}>
					<button type="button" onClick={() => {
						const ascending = k === key ? !up : k === 'text' || k === 'module';
						params.set({ sort: k === 'self' && !ascending ? '' : (ascending ? '' : '-') + k });
					}}>{text}{k === key ? (up ? ' ▲' : ' ▼') : ''}</button>
				</span>
			))}
		</>
	);
}

// "-self": the largest first.
function sortOf(params: Params): [SortKey, boolean] {
	const text = params.get('sort') || '-self';
	const key = text.replace(/^-/, '') as SortKey;

	return HEADS.some(([k]) => k === key) ? [key, !text.startsWith('-')] : ['self', false];
}

// The rows that the search leaves; modules and threads are searched by their own text.
function searched(rows: Row[], { columns, match, params }: TopProps, grouping: Grouping): Row[] {
	if (!match)
		return rows;
	if (grouping === 'function')
		return rows.filter((row) => match[columns.names.funcName[columns.names.funcOfKey(row.key)]]);
	const found = matchTexts(rows.map((row) => row.text), params.get('q').replace(/^module:/, ''));
	return rows.filter((_, i) => found[i]);
}

function useRows(props: TopProps): { rows: Row[]; all: number; grouping: Grouping } {
	const { params } = props;
	const grouping = groupingOf(params);
	const columns = grouping === 'thread' ? (props.byThread ?? props.columns) : props.columns;
	const [key, up] = sortOf(params);
	const all = useMemo(() => topRows(columns, grouping), [columns, grouping]);
	const rows = useMemo(() => sortRows(searched(all, props, grouping), key, up), [all, props.match, key, up]);

	return { rows, all: all.length, grouping };
}

export function Top(props: TopProps) {
	const { columns, unit, params } = props;
	const { rows, all, grouping } = useRows(props);
	const [active, setActive] = useState(0);
	const total = columns.total[0];
	const open = (row: Row | undefined): void => {
		if (row?.key)
			params.set({ tab: 'sandwich', fn: row.key, z: '' }, true);
		else if (row && grouping === 'module')
			params.set({ group: '', q: `module:${row.text}`, tab: '' }, true);
		else if (row)
			params.set({ group: '', thread: /\((\d+)\)$/.exec(row.text)?.[1] ?? '', tab: '' }, true);
	};

	return (
		<div class="by-cost">
			<div class="tools">
				<label>By <select value={grouping} onChange={(event) =>
					params.set({ group: event.currentTarget.value === 'function' ? '' : event.currentTarget.value })}>
					<option value="function">function</option>
					<option value="module">module</option>
					{props.byThread === undefined ? null : <option value="thread">thread</option>}
				</select></label>
				<span class="muted" role="status">{(grouping === 'thread' && props.threadsProblem) || (grouping === 'thread' && props.byThread === null ? 'Threads are being counted…'
					: rows.length === all ? counted(all, grouping) : `${rows.length.toLocaleString('en')} of ${counted(all, grouping)}`)}</span>
			</div>
			<Rows id="top" role="grid" label={`Cost by ${grouping}`} count={rows.length} columns={4} active={Math.min(active, rows.length - 1)}
				onActive={setActive} head={<Heads params={params} grouping={grouping} />}
				onKey={(event, i) => event.key === 'Enter' && (open(rows[i]), true)}
				onMenu={(i, x, y) => rows[i].key && props.onMenu(rows[i].key, rows[i].text, x, y)}
				row={(i) => (
					<>
						{grouping === 'thread' ? null : <Share part={rows[i].self} all={total} unit={unit} />}
						<Share part={rows[i].total} all={total} unit={unit} />
						<span role="gridcell" class="col-text" title={rows[i].text}>
							{grouping === 'thread' ? null : <i class="swatch" style={{ background: props.swatch(rows[i]) }} />}
							<button type="button" tabIndex={-1} onClick={() => open(rows[i])}>{rows[i].text}</button>
						</span>
						{grouping === 'function' ? <span role="gridcell" class="col-module" title={rows[i].module}>{rows[i].module}</span> : null}
					</>
				)} />
		</div>
	);
}
