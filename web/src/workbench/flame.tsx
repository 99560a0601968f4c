// A flame view with the path that is zoomed to and what is known of the selected frame.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { describe, type Describe } from '../flame/tip';
import { FlameView } from '../flame/view';
import { pathTo, type Columns } from '../profile/columns';
import { nextMatch } from '../profile/search';
import { nodeAt, placeOf } from '../profile/places';
import type { Unit } from './rows';

export interface FlameProps {
	columns: Columns;
	label: string;
	unit: Unit;
	flames: boolean;
	fillOf: (node: number) => number;
	match: Uint8Array | null;
	place: string; // of the node that is zoomed to
	onPlace(place: string, byReader: boolean): void;
	onMenu?(columns: Columns, node: number, x: number, y: number, zoom: () => void): void;
	onSearch(): void;
	small?: boolean;
	telling?: Describe; // what is said of a frame, where it is not the usual
}

// The address tells where to zoom to, and is told where the view has gone.
function useFlame(props: FlameProps) {
	const host = useRef<HTMLDivElement>(null);
	const view = useRef<FlameView | null>(null);
	const now = useRef(props);
	const told = useRef('');
	const [at, setAt] = useState({ zoom: 0, selected: 0 });
	const telling = useMemo(() => props.telling ?? describe(props.unit), [props.telling, props.unit]);

	now.current = props;
	function tell(v: FlameView, byReader: boolean): void {
		const place = placeOf(v.columns, v.zoom);

		setAt({ zoom: v.zoom, selected: v.selected });
		if (place !== told.current) {
			told.current = place;
			now.current.onPlace(place, byReader);
		}
	}
	useLayoutEffect(() => {
		const v = (view.current = new FlameView(host.current!, props.label, {
			zoomed: () => tell(v, true),
			selected: () => setAt({ zoom: v.zoom, selected: v.selected }),
			menu: (node, x, y) => now.current.onMenu?.(v.columns, node, x, y, () => v.zoomTo(node)),
			search: () => now.current.onSearch(),
			match: (by) => toMatch(v, now.current.match, by),
		}));
		return () => v.end();
	}, []);
	useLayoutEffect(() => {
		const v = view.current!, { columns, fillOf, match, flames } = props;
		v.show({ columns, fillOf, match, flames, describe: telling });
	}, [props.columns, props.fillOf, props.match, props.flames, telling]);
	useEffect(() => {
		const v = view.current!;
		const node = props.place === told.current ? -1 : nodeAt(props.columns, props.place);

		if (node >= 0) {
			told.current = props.place;
			v.zoomTo(node);
		}
		// While the place is not there (yet) the address keeps it.
		if (node >= 0 || props.place === told.current)
			tell(v, false);
	}, [props.columns, props.place]);
	return { host, view, at, telling };
}

export function toMatch(view: FlameView, match: Uint8Array | null, by: 1 | -1): void {
	if (match)
		view.goTo(nextMatch(view.columns, match, view.selected, by));
}

function Path({ columns, zoom, go }: { columns: Columns; zoom: number; go: (node: number) => void }) {
	const box = useRef<HTMLElement>(null);
	const path = zoom < columns.count ? pathTo(columns, zoom) : [0];

	useLayoutEffect(() => {
		box.current!.scrollLeft = box.current!.scrollWidth;
	}, [columns, zoom]);
	return (
		<nav class="path" aria-label="Zoomed path" ref={box}>
			{path.map((node, i) => (
				<span key={i}>
					<button type="button" aria-current={node === zoom ? 'true' : undefined} onClick={() => go(node)}>
						{columns.names.text[columns.name[node]]}
					</button>
				</span>
			))}
		</nav>
	);
}

export function Flame(props: FlameProps & { matchRef?: { current: ((by: 1 | -1) => void) | null } }) {
	const { host, view, at, telling } = useFlame(props);
	const { columns } = props;
	const selected = at.selected < columns.count ? at.selected : 0;
	const told = telling(columns, selected);

	if (props.matchRef)
		props.matchRef.current = (by) => view.current && toMatch(view.current, props.match, by);
	return (
		<div class={props.small ? 'flame small' : 'flame'}>
			{props.small && at.zoom === 0 ? null : <Path columns={columns} zoom={at.zoom} go={(node) => view.current!.zoomTo(node)} />}
			<div class="flame-host" ref={host} />
			<div class="flame-detail">
				<span class="flame-name">{told.title}</span>
				{told.lines.map((line) => <span key={line}>{line}</span>)}
				{props.onMenu ? <button type="button" aria-haspopup="menu" onClick={(event) => {
					const { left, bottom } = event.currentTarget.getBoundingClientRect();
					props.onMenu!(columns, selected, left, bottom, () => view.current!.zoomTo(selected));
				}}>Actions…</button> : null}
			</div>
		</div>
	);
}
