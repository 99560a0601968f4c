// A value that parts of the page watch: each shows it anew when it has changed.
import { useEffect, useState } from 'preact/hooks';

export class Cell<T> {
	private watchers = new Set<() => void>();

	constructor(private value: T) {}

	get(): T {
		return this.value;
	}

	set(value: T): void {
		if (Object.is(value, this.value))
			return;
		this.value = value;
		for (const watcher of [...this.watchers])
			watcher();
	}

	// Calls back after each change, until the function that it returns is called.
	watch(watcher: () => void): () => void {
		this.watchers.add(watcher);
		return () => this.watchers.delete(watcher);
	}
}

export function useCell<T>(cell: Cell<T>): T {
	const [, redraw] = useState(0);

	useEffect(() => cell.watch(() => redraw((n) => n + 1)), [cell]);
	return cell.get();
}
