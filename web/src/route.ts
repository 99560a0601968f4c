// Addresses of views. All that one sees is in the part behind "#", so that it can be pasted to a colleague and needs
// nothing of the daemon: #/targets?q=nginx, #/session/5/profile?search=malloc.
import { Cell } from './cell';

export interface Route {
	view: string; // of the table in views/table.ts
	session: number; // 0: the view is of none
	query: URLSearchParams;
}

export function parseRoute(hash: string): Route {
	const [path, query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
	const words = path.split('/');
	const session = words[0] === 'session' ? /^[1-9]\d*$/.test(words[1] ?? '') && Number(words[1]) : 0;

	if (session === false)
		return { view: 'sessions', session: 0, query: new URLSearchParams() };
	return {
		view: (session ? words[2] : words[0]) || (session ? 'profile' : 'targets'),
		session,
		query: new URLSearchParams(query),
	};
}

export function address(view: string, session = 0, query: URLSearchParams | Record<string, string> = {}): string {
	const text = new URLSearchParams(query).toString();

	return (session ? `#/session/${session}/${view}` : `#/${view}`) + (text ? `?${text}` : '');
}

export const route = new Cell<Route>({ view: 'targets', session: 0, query: new URLSearchParams() });

// Goes there; replace: without a step in the browser's history.
export function go(to: string, replace = false): void {
	history[replace ? 'replaceState' : 'pushState'](null, '', to);
	route.set(parseRoute(to));
}

// Changes the query of the view in sight; null takes a key away.
export function setQuery(changes: Record<string, string | null>, replace = true): void {
	const { view, session, query } = route.get();
	const changed = new URLSearchParams(query);

	for (const [key, value] of Object.entries(changes))
		if (value === null || value === '')
			changed.delete(key);
		else
			changed.set(key, value);
	if (changed.toString() !== query.toString())
		go(address(view, session, changed), replace);
}

export function startRouting(): void {
	const read = () => route.set(parseRoute(location.hash));

	addEventListener('popstate', read);
	addEventListener('hashchange', read);
	read();
}
