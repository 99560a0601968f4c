// Where the profile in view comes from: whole from the daemon, or by deltas while the session runs.
import { useEffect, useState } from 'preact/hooks';
import { follow, getProfile, Lost, type Params, type Profile, Refusal, type Session, type TreeDelta } from '../api';
import { columnsFromJson, type Columns } from '../profile/columns';
import { Growing } from '../profile/stream';
import { poll } from '../ui/poll';
import type { Unit } from '../workbench/rows';

export interface Loaded {
	columns: Columns;
	unit: Unit;
	event: string;
	folded: Profile['folded'] | null;
	logShort: boolean;
}

export interface Data {
	loaded: Loaded | null;
	problem: string; // why there is none, or none that is newer
}

const KEYS = ['event', 'from', 'to', 'last', 'thread', 'pid', 'by', 'lines', 'inline', 'fold_templates', 'min', 'depth'];
const NOT_STREAMED = ['from', 'to', 'lines'];
const POLL_MS = 1500;
const THREADS_POLL_MS = 5000;
const HIDDEN_MS = 1000;
const BUSY = 503;
const REST = 5; // of this many times what a picture takes, one is spent on it at most

// What of the address is a question to the daemon.
export function questionOf(query: URLSearchParams): Params {
	return Object.fromEntries(KEYS.filter((key) => query.get(key)).map((key) => [key, query.get(key)]));
}

function loadedOf(columns: Columns, { unit, event, folded }: Profile | TreeDelta, logShort: boolean): Loaded {
	return { columns, unit, event, folded: folded.nodes > 0 ? folded : null, logShort };
}

async function loadWhole(id: number, question: Params, signal: AbortSignal): Promise<Loaded> {
	const json = await getProfile(id, question, signal);

	return loadedOf(columnsFromJson(json), json, json.covers.log_short);
}

type Take = (data: Data) => void;

function sentence(error: unknown): string {
	return error instanceof Lost ? '' : (error as Error).message; // the head of the page says that it is lost
}

// Once, or again and again while the session runs.
function whole(id: number, question: Params, runs: boolean, ms: number, take: Take): () => void {
	const abort = new AbortController();
	let has: Loaded | null = null;

	async function turn(): Promise<void> {
		try {
			has = await loadWhole(id, question, abort.signal);
			take({ loaded: has, problem: '' });
		} catch (error) {
			if (!abort.signal.aborted)
				take({ loaded: has, problem: sentence(error) });
			if (error instanceof Lost || (error instanceof Refusal && error.status === BUSY))
				throw error; // is tried again
		}
	}
	if (!runs) {
		const end = poll(() => turn().then(() => end(), () => undefined), ms);
		return () => {
			abort.abort();
			end();
		};
	}
	const end = poll(turn, ms);
	return () => {
		abort.abort();
		end();
	};
}

// Draws deltas as they come, but leaves time for the reader.
function stream(id: number, question: Params, take: Take, failed: () => void): () => void {
	let growing = new Growing();
	let timer = 0, freeAt = 0;
	let latest: TreeDelta | null = null;

	function draw(): void {
		const began = performance.now();

		timer = 0;
		if (document.hidden) {
			drawIn(HIDDEN_MS);
			return;
		}
		take({ loaded: loadedOf(growing.columns(), latest!, latest!.log_short), problem: '' });
		requestAnimationFrame(() => { // what is shown is made before that
			const ended = performance.now();
			freeAt = ended + (ended - began) * REST;
		});
	}
	function drawIn(ms: number): void {
		timer ||= window.setTimeout(draw, Math.max(0, ms));
	}
	const end = follow(id, question, {
		tree(delta) {
			try {
				growing.apply(delta);
			} catch {
				failed(); // it contradicts itself
				return;
			}
			latest = delta;
			drawIn(freeAt - performance.now());
		},
		broken() {
			growing = new Growing(); // as the next one begins anew; till then the old tree stays in sight
			window.clearTimeout(timer);
			timer = 0;
			if (!latest)
				failed();
		},
		end(reason) {
			if (reason === 'too_large' || reason === 'failed')
				failed();
		},
	});
	return () => {
		window.clearTimeout(timer);
		end();
	};
}

// What the stream does not have is asked again and again; so is all where there is no stream, as behind a proxy that holds
// it back.
function start(id: number, question: Params, runs: boolean, take: Take): () => void {
	if (!runs || NOT_STREAMED.some((key) => question[key]))
		return whole(id, question, runs, POLL_MS, take);
	let end = stream(id, question, take, () => {
		end();
		end = whole(id, question, true, POLL_MS, take);
	});
	return () => end();
}

// What there was stays in sight until the next is there; a session that ends is asked for once more, as a whole.
export function useProfile(session: Session, query: URLSearchParams): Data {
	const question = questionOf(query), key = JSON.stringify(question), runs = session.state === 'running';
	const [data, setData] = useState<Data>({ loaded: null, problem: '' });

	useEffect(() => start(session.id, question, runs, (next) =>
		setData((before) => ({ loaded: next.loaded ?? before.loaded, problem: next.problem }))), [session.id, key, runs]);
	return data;
}

// A tree with a level for each thread, from when it is wanted on; null: not yet.
export function useThreads(session: Session, query: URLSearchParams, wanted: boolean): { byThread: Columns | null; problem: string } {
	const question = { ...questionOf(query), by: 'thread' }, key = JSON.stringify(question), runs = session.state === 'running';
	const [data, setData] = useState<Data>({ loaded: null, problem: '' });

	useEffect(() => wanted ? whole(session.id, question, runs, THREADS_POLL_MS, setData) : undefined, [session.id, key, runs, wanted]);
	return { byThread: data.loaded?.columns ?? null, problem: data.problem };
}
