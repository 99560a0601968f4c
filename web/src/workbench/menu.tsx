// What can be done with one function, at a place on the screen.
import { useLayoutEffect, useRef } from 'preact/hooks';

export interface Action {
	readonly text: string;
	readonly run?: () => void;
	readonly href?: string;
}

export interface MenuAt {
	readonly title: string;
	readonly x: number;
	readonly y: number;
	readonly actions: readonly Action[];
}

function step(menu: HTMLElement, by: number): void {
	const items = [...menu.querySelectorAll<HTMLElement>('[role=menuitem]')];
	const at = items.indexOf(document.activeElement as HTMLElement);

	items[(at + by + items.length) % items.length]?.focus();
}

export function Menu({ menu, close }: { menu: MenuAt; close: () => void }) {
	const box = useRef<HTMLDivElement>(null);
	const before = useRef(document.activeElement as HTMLElement | null);

	useLayoutEffect(() => {
		const b = box.current!, { width, height } = b.getBoundingClientRect();
		b.style.left = `${Math.max(4, Math.min(menu.x, innerWidth - width - 4))}px`;
		b.style.top = `${Math.max(4, Math.min(menu.y, innerHeight - height - 4))}px`;
		step(b, 1);
	}, [menu]);
	useLayoutEffect(() => {
		const outside = (event: Event): void => {
			if (!box.current!.contains(event.target as Node))
				close();
		};
		addEventListener('pointerdown', outside);
		addEventListener('blur', close);
		return () => {
			removeEventListener('pointerdown', outside);
			removeEventListener('blur', close);
			before.current?.focus({ preventScroll: true });
		};
	}, []);

	function key(event: KeyboardEvent): void {
		if (event.key === 'Escape' || event.key === 'Tab')
			close();
		else if (event.key === 'ArrowDown' || event.key === 'ArrowUp')
			step(box.current!, event.key === 'ArrowDown' ? 1 : -1);
		else
			return;
		event.preventDefault();
		event.stopPropagation();
	}

	return (
		<div class="actions sheet" role="menu" aria-label={menu.title} ref={box} onKeyDown={key}>
			<div class="muted" role="presentation">{menu.title}</div>
			{menu.actions.map((action) => action.href !== undefined ? (
				<a key={action.text} role="menuitem" tabIndex={-1} href={action.href} onClick={close}>{action.text}</a>
			) : (
				<button key={action.text} role="menuitem" tabIndex={-1} type="button" onClick={() => {
					close();
					action.run?.();
				}}>{action.text}</button>
			))}
		</div>
	);
}
