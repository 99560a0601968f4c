// Where the profile in view comes from: whole from the daemon, or by deltas while the session runs.
import { useEffect, useState } from 'preact/hooks';
import { follow, getProfile, Lost, type Params, type Profile, Refusal, type Session } from '../api';
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
const OF_STREAM = ['event', 'by', 'pid', 'inline', 'fold_templates', 'min'];
const POLL_MS = 1500;
const THREADS_POLL_MS = 5000;
const BUSY = 503;
const REST = 5; // of this many times what a picture takes, one is spent on it at most

// What of the address is a question to the daemon.
export function questionOf(query: URLSearchParams): Params {
	return Object.fromEntries(KEYS.filter((key) => query.get(key)).map((key) => [key, query.get(key)]));
}

async function loadWhole(id: number, question: Params, signal: AbortSignal): Promise<Loaded> {
	const json = await getProfile(id, question, signal);

	return {
		columns: columnsFromJson(json), unit: json.unit, event: json.event,
		folded: json.folded.nodes > 0 ? json.folded : null, logShort: json.covers.log_short,
	};
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
	let timer = 0, freeAt = 0, had = false;

	function draw(event: string, unit: Unit): void {
		const began = performance.now();

		timer = 0;
		take({ loaded: { columns: growing.columns(), unit, event, folded: null, logShort: false }, problem: '' });
		const ended = performance.now();
		freeAt = ended + (ended - began) * REST;
	}
	const end = follow(id, question, {
		tree(delta) {
			had = true;
			try {
				growing.apply(delta);
			} catch {
				failed(); // it contradicts itself
				return;
			}
			timer ||= window.setTimeout(() => draw(delta.event, delta.unit), Math.max(0, freeAt - performance.now()));
		},
		broken() {
			growing = new Growing(); // as the next one begins anew
			if (!had)
				failed();
		},
	});
	return () => {
		window.clearTimeout(timer);
		end();
	};
}

// As the stream has no part of the time and no lines, questions for those are asked again and again; so are all where
// there is no stream, as behind a proxy that holds it back.
function start(id: number, question: Params, runs: boolean, take: Take): () => void {
	if (!runs || Object.keys(question).some((key) => !OF_STREAM.includes(key)))
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
