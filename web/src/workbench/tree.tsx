// The call tree as rows that open, the heaviest first.
import { useMemo, useState } from 'preact/hooks';
import { heaviestChild, type Columns } from '../profile/columns';
import { placeOf } from '../profile/places';
import { Rows, Share, type Unit } from './rows';

export interface TreeProps {
	columns: Columns;
	unit: Unit;
	match: Uint8Array | null;
	swatch(node: number): string;
	onMenu(columns: Columns, node: number, x: number, y: number): void;
}

interface Line {
	readonly node: number;
	readonly place: string;
}

// The way along which most of the weight goes, as long as it is one way.
function hotPath(c: Columns, from: number): number[] {
	const path: number[] = [];

	for (let i = from; i >= 0 && c.end[i] > i + 1; i = heaviestChild(c, i)) {
		if (path.length && c.total[i] < c.total[c.parent[i]] / 2)
			break;
		path.push(i);
	}
	return path;
}

function openLines(c: Columns, open: ReadonlySet<string>): Line[] {
	const lines: Line[] = [];
	const waiting = [0];

	while (waiting.length) {
		const node = waiting.pop()!, place = placeOf(c, node);
		const children: number[] = [];

		lines.push({ node, place });
		if (!open.has(place))
			continue;
		for (let i = node + 1; i < c.end[node]; i = c.end[i])
			children.push(i);
		children.sort((a, b) => c.total[a] - c.total[b]); // the heaviest is taken off first
		for (const child of children)
			waiting.push(child);
	}
	return lines;
}

export function CallTree({ columns: c, unit, match, swatch, onMenu }: TreeProps) {
	const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(hotPath(c, 0).map((node) => placeOf(c, node))));
	const [active, setActive] = useState('');
	const lines = useMemo(() => openLines(c, open), [c, open]);
	const at = Math.max(0, lines.findIndex((line) => line.place === active));
	const hasChildren = (node: number): boolean => c.end[node] > node + 1;

	function set({ node, place }: Line, opened: boolean, far = false): void {
		const changed = new Set(open);

		for (const one of opened && far ? hotPath(c, node).map((n) => placeOf(c, n)) : [place])
			if (opened)
				changed.add(one);
			else
				changed.delete(one);
		setOpen(changed);
	}
	function key(event: KeyboardEvent, i: number): boolean {
		const line = lines[i], isOpen = open.has(line.place);

		if (event.key === 'Enter' || event.key === ' ')
			set(line, !isOpen);
		else if (event.key === '*')
			set(line, true, true);
		else if (event.key === 'ArrowRight' && hasChildren(line.node))
			isOpen ? setActive(lines[i + 1].place) : set(line, true);
		else if (event.key === 'ArrowLeft')
			isOpen ? set(line, false) : setActive(placeOf(c, Math.max(0, c.parent[line.node])));
		else
			return false;
		return true;
	}
	return (
		<div class="tree">
			<Rows id="tree" role="treegrid" label="Call tree" count={lines.length} columns={3} active={at}
				onActive={(i) => setActive(lines[i].place)} onKey={key} onMenu={(i, x, y) => onMenu(c, lines[i].node, x, y)}
				head={<><span role="columnheader">Total</span><span role="columnheader">Self</span><span role="columnheader" class="col-text">Function</span></>}
				rowProps={(i) => ({ 'aria-level': c.depth[lines[i].node] + 1,
					'aria-expanded': hasChildren(lines[i].node) ? open.has(lines[i].place) : undefined })}
				row={(i) => {
					const { node, place } = lines[i], name = c.name[node], text = c.names.text[name];
					return (
						<>
							<Share part={c.total[node]} all={c.total[0]} unit={unit} />
							<Share part={c.self[node]} all={c.total[0]} unit={unit} />
							<span role="gridcell" class={match?.[name] ? 'col-text match' : 'col-text'} title={text}
								style={{ paddingLeft: `${Math.min(c.depth[node], 60) * 12}px` }}>
								{hasChildren(node)
									? <button type="button" tabIndex={-1} class="twist" aria-label={open.has(place) ? 'Close' : 'Open'}
										onClick={(event) => set(lines[i], !open.has(place), event.shiftKey)}>{open.has(place) ? '▾' : '▸'}</button>
									: <span class="twist" />}
								<i class="swatch" style={{ background: swatch(node) }} />{text}
							</span>
						</>
					);
				}} />
		</div>
	);
}
