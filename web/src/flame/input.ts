// Mouse, touch and keys of a flame view.
import { heaviestChild, nextSibling, previousSibling } from '../profile/columns';
import type { FlameView } from './view';

const CLICK_PX = 4; // a pointer that moves farther drags

function listenToPointer(view: FlameView, scroll: HTMLElement, hold: HTMLElement): void {
	let down: { x: number; y: number; id: number; dragged: boolean } | null = null;

	hold.addEventListener('pointerdown', (event) => {
		if (event.button === 0)
			down = { x: event.clientX, y: event.clientY, id: event.pointerId, dragged: false };
	});
	hold.addEventListener('pointermove', (event) => {
		if (!down || !(event.buttons & 1)) {
			if (event.pointerType !== 'touch')
				view.hover(event.clientX, event.clientY);
			return;
		}
		const dx = event.clientX - down.x, dy = event.clientY - down.y;
		if (!down.dragged && Math.hypot(dx, dy) < CLICK_PX)
			return;
		if (!down.dragged)
			hold.setPointerCapture(down.id);
		down = { ...down, x: event.clientX, y: event.clientY, dragged: true };
		if (event.pointerType !== 'touch')
			scroll.scrollTop -= dy; // a finger scrolls by itself
		view.move(1, 0, -dx / hold.clientWidth);
	});
	hold.addEventListener('pointerup', (event) => {
		const node = down && !down.dragged ? view.nodeAtPoint(event.clientX, event.clientY) : -1;

		down = null;
		if (node >= 0) {
			view.select(node);
			view.zoomTo(node);
		}
	});
	hold.addEventListener('pointercancel', () => (down = null));
	hold.addEventListener('pointerleave', () => view.leave());
	scroll.addEventListener('contextmenu', (event) => {
		const node = view.nodeAtPoint(event.clientX, event.clientY);

		if (event.button !== 2 && event.target === scroll) {
			event.preventDefault(); // by Shift and F10
			view.menuOfSelected();
			return;
		}
		if (node < 0)
			return;
		event.preventDefault();
		down = null;
		view.select(node);
		view.leave();
		view.events.menu(node, event.clientX, event.clientY);
	});
}

function listenToWheel(view: FlameView, scroll: HTMLElement, hold: HTMLElement): void {
	scroll.addEventListener('wheel', (event) => {
		const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
		const width = hold.clientWidth;

		if (event.ctrlKey || event.metaKey) {
			const centre = (event.clientX - hold.getBoundingClientRect().left) / width;
			view.move(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.01), centre, 0);
		} else if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
			view.move(1, 0, sideways / width);
		} else {
			return; // the browser scrolls
		}
		event.preventDefault();
	}, { passive: false });
	scroll.addEventListener('scroll', () => {
		view.leave();
		view.redraw();
	});
}

function goes(view: FlameView, key: string): number {
	const c = view.columns, node = view.selected;
	const [toParent, toChild] = view.flames ? ['ArrowDown', 'ArrowUp'] : ['ArrowUp', 'ArrowDown'];

	switch (key) {
	case toParent: return c.parent[node];
	case toChild: return heaviestChild(c, node);
	case 'ArrowLeft': return previousSibling(c, node);
	case 'ArrowRight': return nextSibling(c, node);
	default: return 0; // Home
	}
}

function onKey(view: FlameView, event: KeyboardEvent): boolean {
	if (event.ctrlKey || event.metaKey || event.altKey)
		return false;
	switch (event.key) {
	case 'ArrowUp': case 'ArrowDown': case 'ArrowLeft': case 'ArrowRight': case 'Home':
		view.goTo(goes(view, event.key));
		return true;
	case 'Enter': case ' ': view.zoomTo(view.selected); return true;
	case 'Escape': case '0': view.zoomTo(0); return true;
	case '+': case '=': view.move(0.7, 0.5, 0); return true;
	case '-': view.move(1 / 0.7, 0.5, 0); return true;
	case '/': view.events.search(); return true;
	case 'n': view.events.match(1); return true;
	case 'N': view.events.match(-1); return true;
	case 'ContextMenu': case 'm': view.menuOfSelected(); return true;
	default: return false;
	}
}

// Returns what ends it.
export function listen(view: FlameView, scroll: HTMLElement, hold: HTMLElement): () => void {
	const leave = (): void => view.leave();

	listenToPointer(view, scroll, hold);
	listenToWheel(view, scroll, hold);
	scroll.addEventListener('keydown', (event) => {
		if (onKey(view, event))
			event.preventDefault();
	});
	window.addEventListener('blur', leave);
	return () => window.removeEventListener('blur', leave);
}
