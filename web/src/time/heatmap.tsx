// The heat map on a canvas, where a range is dragged.
import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../ui/format';
import * as heat from './heat';

const CELL_HEIGHT = 4;
const OUTSIDE = 0.3; // of the colour, where a range is chosen and this is not in it

interface Props {
	map: heat.HeatMap;
	range: heat.Range | null;
	onRange(range: heat.Range | null): void;
}

function colourOf(name: string): heat.Rgb {
	return heat.parseColour(getComputedStyle(document.documentElement).getPropertyValue(name));
}

// One picture element a cell, made larger by the canvas: as fast for an hour as for a minute.
function draw(canvas: HTMLCanvasElement, map: heat.HeatMap, range: heat.Range | null): void {
	const context = canvas.getContext('2d')!;
	const [none, full] = ['--raised', '--accent'].map(colourOf);
	const image = context.createImageData(map.seconds, map.rows);

	for (let column = 0; column < map.seconds; column++)
		for (let row = 0; row < map.rows; row++) {
			const cell = { column, row };
			const faint = range && !heat.inRange(map, cell, range) ? OUTSIDE : 1;
			const colour = heat.mix(none, full, faint * heat.strength(heat.samplesAt(map, cell), map.max));

			image.data.set([...colour, 255], 4 * ((map.rows - 1 - row) * map.seconds + column));
		}
	context.putImageData(image, 0, 0);
}

export function HeatMapView({ map, range, onRange }: Props) {
	const box = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [begin, setBegin] = useState<heat.Cell | null>(null);
	const [over, setOver] = useState<heat.Cell | null>(null);
	const [room, setRoom] = useState(800);
	const width = heat.columnWidth(map.seconds, room);
	const dragged = begin && over ? heat.rangeOf(map, begin, over) : null;
	const shown = dragged ?? range;

	useEffect(() => {
		const observer = new ResizeObserver(([entry]) => setRoom(entry.target.clientWidth));

		observer.observe(box.current!);
		return () => observer.disconnect();
	}, []);
	useEffect(() => draw(canvas.current!, map, shown), [map, shown?.from, shown?.to]);

	function cellOf(event: PointerEvent): heat.Cell {
		const place = canvas.current!.getBoundingClientRect();

		return heat.cellAt(map, event.clientX - place.left, event.clientY - place.top, width, CELL_HEIGHT);
	}
	function end(event: PointerEvent): void {
		if (begin)
			onRange(heat.rangeOf(map, begin, cellOf(event)));
		setBegin(null);
	}

	return (
		<div class="heat" ref={box}>
			<canvas
				ref={canvas}
				width={map.seconds}
				height={map.rows}
				style={{ width: `${map.seconds * width}px`, height: `${map.rows * CELL_HEIGHT}px` }}
				role="img"
				aria-label={`Samples over time, a column for each of ${counted(map.seconds, 'second')}. A range can be typed below.`}
				onPointerDown={(event) => {
					canvas.current!.setPointerCapture(event.pointerId);
					setBegin(cellOf(event));
					setOver(cellOf(event));
				}}
				onPointerMove={(event) => setOver(cellOf(event))}
				onPointerLeave={() => setOver(null)}
				onPointerUp={end}
				onPointerCancel={() => setBegin(null)}
			/>
			<p class="heat-axis muted" aria-hidden="true" style={{ width: `${map.seconds * width}px` }}>
				<span>{map.first_second} s</span>
				<span>{map.first_second + map.seconds} s</span>
			</p>
			<p class="muted heat-about">
				{dragged
					? `${heat.secondsText(dragged.from)} s to ${heat.secondsText(dragged.to)} s: ${counted(heat.samplesIn(map, dragged), 'sample')}`
					: over
						? `at ${heat.secondsText(heat.beginOf(map, over))} s: ${counted(heat.samplesAt(map, over), 'sample')}`
						: 'A column is a second, from bottom to top. Drag over a range to see what ran then.'}
			</p>
		</div>
	);
}
