// Asking again and again while the page is to be seen.
import { useEffect, useRef } from 'preact/hooks';

// Runs work at once, each ms after it has ended, and when the page comes into sight again. What it throws is shown by
// the state of the link (api.ts) alone. The function that it returns ends it.
export function poll(work: () => Promise<unknown>, ms: number): () => void {
	let timer = 0;
	let ended = false;

	async function turn(): Promise<void> {
		if (!document.hidden)
			await work().catch(() => undefined);
		if (!ended)
			timer = window.setTimeout(turn, ms);
	}
	function seen(): void {
		if (document.hidden || ended || !timer)
			return;
		window.clearTimeout(timer);
		timer = 0;
		void turn();
	}
	document.addEventListener('visibilitychange', seen);
	void turn();
	return () => {
		ended = true;
		window.clearTimeout(timer);
		document.removeEventListener('visibilitychange', seen);
	};
}

// The same for as long as a part of the page is there; anew when one of deps changes.
export function usePoll(work: () => Promise<unknown>, ms: number, deps: unknown[] = []): void {
	const last = useRef(work);

	last.current = work;
	useEffect(() => poll(() => last.current(), ms), [ms, ...deps]);
}
