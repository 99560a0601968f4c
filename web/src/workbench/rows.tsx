// Long lists: only the rows in sight are there.
import type { ComponentChildren } from 'preact';
import { percent, weight } from '../ui/format';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

export const ROW_PX = 26;
const MARGIN = 8; // rows made above and below what is in sight

interface Props {
	id: string;
	role: 'grid' | 'treegrid';
	label: string;
	count: number;
	columns: number;
	active: number;
	head: ComponentChildren;
	row(i: number): ComponentChildren; // the cells of it
	rowProps?(i: number): Record<string, unknown>;
	onActive(i: number): void;
	onKey?(event: KeyboardEvent, i: number): boolean; // true: it is done
	onMenu?(i: number, x: number, y: number): void;
}

function moved(key: string, active: number, count: number, page: number): number {
	switch (key) {
	case 'ArrowDown': return Math.min(count - 1, active + 1);
	case 'ArrowUp': return Math.max(0, active - 1);
	case 'PageDown': return Math.min(count - 1, active + page);
	case 'PageUp': return Math.max(0, active - page);
	case 'Home': return 0;
	case 'End': return count - 1;
	default: return -1;
	}
}

export function Rows(props: Props) {
	const { id, count, active } = props;
	const box = useRef<HTMLDivElement>(null);
	const [seen, setSeen] = useState({ top: 0, height: 600 });
	const first = Math.max(0, Math.min(Math.floor(seen.top / ROW_PX), count - 1) - MARGIN);
	const last = Math.min(count, Math.ceil((seen.top + seen.height) / ROW_PX) + MARGIN);

	function look(): void {
		if (box.current)
			setSeen({ top: box.current.scrollTop, height: box.current.clientHeight });
	}
	useEffect(() => {
		const observer = new ResizeObserver(look);
		observer.observe(box.current!);
		return () => observer.disconnect();
	}, []);
	useLayoutEffect(() => {
		const b = box.current!, y = active * ROW_PX, room = b.clientHeight - 2 * ROW_PX;
		if (active >= 0 && document.activeElement === b && (y < b.scrollTop || y > b.scrollTop + room))
			b.scrollTop = y < b.scrollTop ? y : y - room;
	}, [active]);

	function key(event: KeyboardEvent): void {
		const to = moved(event.key, active, count, Math.max(1, Math.floor(seen.height / ROW_PX) - 2));

		if (event.target !== box.current || event.ctrlKey || event.metaKey || event.altKey || count === 0)
			return;
		if (props.onKey?.(event, active) || to >= 0)
			event.preventDefault();
		if (to >= 0)
			props.onActive(to);
		if (event.key === 'm' && active >= 0) {
			const { left, top } = box.current!.getBoundingClientRect();
			props.onMenu?.(active, left + 40, top + (active + 2) * ROW_PX - box.current!.scrollTop);
		}
	}

	return (
		<div class="rows" ref={box} role={props.role} aria-label={props.label} aria-rowcount={count + 1}
			aria-colcount={props.columns} tabIndex={0}
			aria-activedescendant={active >= first && active < last ? `${id}-${active}` : undefined}
			onKeyDown={key} onScroll={look}>
			<div class="row row-head" role="row" aria-rowindex={1}>{props.head}</div>
			<div role="rowgroup" style={{ height: `${count * ROW_PX}px`, paddingTop: `${first * ROW_PX}px` }}>
				{Array.from({ length: Math.max(0, last - first) }, (_, k) => first + k).map((i) => (
					<div key={i} id={`${id}-${i}`} role="row" aria-rowindex={i + 2} {...props.rowProps?.(i)}
						class={i === active ? 'row active' : 'row'} onClick={() => props.onActive(i)}
						onContextMenu={(event) => {
							event.preventDefault();
							props.onActive(i);
							props.onMenu?.(i, event.clientX, event.clientY);
						}}>
						{props.row(i)}
					</div>
				))}
			</div>
		</div>
	);
}

export type Unit = 'nanoseconds' | 'count';

// "12.5 % · 1.20 s"
export function figures(part: number, all: number, unit: Unit): string {
	return part === 0 ? '0' : `${percent(all > 0 ? part / all : 0)} · ${weight(part, unit)}`;
}

// A share as a bar with its figures.
export function Share({ part, all, unit }: { part: number; all: number; unit: Unit }) {
	const share = all > 0 ? Math.min(1, part / all) : 0;

	return (
		<span class="share" role="gridcell">
			<span class="share-bar" style={{ transform: `scaleX(${share.toFixed(4)})` }} />
			{part === 0 ? <span class="share-text muted">0</span> : (
				<span class="share-text">
					{percent(share)}<span class="share-weight"> · {weight(part, unit)}</span>
				</span>
			)}
		</span>
	);
}
