// Keys that work in all views, and the dialog that tells of them and of the view's own.
import { useEffect, useRef } from 'preact/hooks';
import { Cell, useCell } from '../cell';
import { address, go, route } from '../route';
import { current } from '../state';
import { views } from '../views/table';

export const helpOpen = new Cell(false);

const GO_MS = 1500; // how long after "g" a letter names a view

function typing(target: EventTarget | null): boolean {
	return target instanceof HTMLElement && target.matches('input:not([type="checkbox"]), select, textarea, [contenteditable]');
}

// The search of the view, if it has one of its own (data-search), else that of the head.
function focusSearch(): void {
	const own = document.querySelector<HTMLInputElement>('main [data-search]');
	const search = own ?? document.querySelector<HTMLInputElement>('header [type="search"]');

	search?.focus();
	search?.select();
}

function goByLetter(letter: string): void {
	const view = views.find((one) => one.letter === letter);
	const session = current.get();

	if (view && (!view.ofSession || session))
		go(address(view.name, view.ofSession ? session : 0));
}

export function useShellKeys(): void {
	useEffect(() => {
		let going = -Infinity; // when "g" was pressed

		function press(event: KeyboardEvent): void {
			if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || typing(event.target))
				return;
			const after = event.timeStamp - going < GO_MS;

			going = -Infinity;
			if (after && event.key.length === 1)
				goByLetter(event.key);
			else if (event.key === 'g')
				going = event.timeStamp;
			else if (event.key === '/')
				focusSearch();
			else if (event.key === '?')
				helpOpen.set(true);
			else
				return;
			event.preventDefault();
		}
		addEventListener('keydown', press);
		return () => removeEventListener('keydown', press);
	}, []);
}

function Keys({ keys }: { keys: [string, string][] }) {
	return (
		<dl class="keys">
			{keys.map(([key, what]) => (
				<div key={key}>
					<dt>
						{key.split(' ').map((one) => (
							<kbd key={one}>{one}</kbd>
						))}
					</dt>
					<dd>{what}</dd>
				</div>
			))}
		</dl>
	);
}

export function Help() {
	const open = useCell(helpOpen);
	const { view: name } = useCell(route);
	const session = useCell(current);
	const dialog = useRef<HTMLDialogElement>(null);
	const own = views.find((one) => one.name === name);

	useEffect(() => {
		if (open)
			dialog.current?.showModal();
		else
			dialog.current?.close();
	}, [open]);
	return (
		<dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => helpOpen.set(false)}>
			<div class="head">
				<h2 id="help-title">Keys</h2>
				<button type="button" class="quiet" aria-label="Close" onClick={() => helpOpen.set(false)}>
					✕
				</button>
			</div>
			<Keys
				keys={[
					['/', 'search'],
					['?', 'this help'],
					...views
						.filter((one) => one.letter && (!one.ofSession || session))
						.map((one): [string, string] => [`g ${one.letter}`, one.title]),
				]}
			/>
			{own?.keys && (
				<>
					<h3>{own.title}</h3>
					<Keys keys={own.keys} />
				</>
			)}
		</dialog>
	);
}
