// All that the page asks of the daemon, and the types of its answers as proto/openapi.yaml describes them.
import { Cell } from './cell';
import type { HeatMap } from './time/heat';
import type { Timeline } from './time/strips';

export interface Ledger {
	samples: number;
	emitted: number;
	lost: number;
	throttled: number;
	filtered: number;
	truncated: number;
	depth_cut: number;
	kernel_only: number;
	dropped: number;
	unknown_records: number;
	malformed_bytes: number;
	sideband_lost: number;
	log_dropped: number;
	log_from_ns: number;
	frames_unnamed: number;
	frames_total: number;
	counted_ns: number;
	tails: number;
	budget_steps: number;
	unwind_ends: Record<string, number>;
	names_from: Record<string, number>;
}

export interface Cost {
	cpu_seconds: number;
	memory_bytes: number;
}

export interface Session {
	id: number;
	name: string;
	state: 'running' | 'stopped' | 'ended';
	ended_by: string | null;
	target: Record<string, unknown>;
	target_text: string;
	events: string[];
	frequency_hz: number | null;
	period: number | null;
	duration_s: number;
	kernel: boolean;
	unwind: string;
	stack_bytes: number;
	max_frames: number;
	cpu_percent?: number;
	memory_mib?: number;
	started_at: string;
	ended_at: string | null;
	elapsed_s: number;
	cost: Cost;
	warnings: string[];
	ledger: Ledger;
	links: { self: string; profile: string; flamegraph: string };
}

export type TargetKind = 'process' | 'unit' | 'container' | 'cgroup';

// What names a target in a request: {pid: 42}, {unit: "nginx.service"}, {all: true}, …
export type TargetRequest = Record<string, unknown>;

export interface Target {
	kind: TargetKind;
	pid: number | null;
	uid: number | null;
	name: string;
	cgroup: string | null;
	processes: number;
	threads: number;
	cpu_percent: number;
	rss_bytes: number;
	started_at: string | null;
	start: TargetRequest;
}

export interface Options {
	frequency_hz?: number;
	duration_s?: number;
	events?: string[];
	kernel?: boolean;
	unwind?: string;
	name?: string;
}

export interface Status {
	version: string;
	started_at: string;
	uptime_s: number;
	processes: { role: string; pid: number | null; cpu_seconds: number; rss_bytes: number }[];
	cost: Cost;
	sessions: { running: number; kept: number; max: number; started: number };
	budget: { memory_bytes: number; ring_bytes: number; shared_cpu_percent: number };
	samples: { taken: number; lost: number; throttled: number; truncated: number; dropped: number };
	abilities: { name: string; there: boolean; reason?: string; remedy?: string }[];
	events: { name: string; there: boolean }[];
	store: { profiles: number; bytes: number } | null;
	config: Record<string, Record<string, unknown>>;
}

export interface Profile {
	version: number;
	session: { id: number; name: string; target: string; started_at: string; elapsed_ns: number };
	event: string;
	unit: 'nanoseconds' | 'count';
	total: number;
	samples: number;
	covers: { from_ns: number; to_ns: number; from: string; to: string; log_short: boolean };
	folded: { weight: number; nodes: number };
	ledger: Ledger;
	kinds: string[];
	modules: string[];
	files: string[];
	names: string[];
	name_module: number[];
	name_kind: number[];
	name_file: number[];
	name_line: number[];
	depth: number[];
	name: number[];
	self: number[];
	samples_total: number[];
}

// The daemon answered, and said no; the message is its sentence on what to change.
export class Refusal extends Error {
	constructor(
		message: string,
		readonly status: number,
	) {
		super(message);
	}
}

// No answer at all.
export class Lost extends Error {}

export type Link = { state: 'ok' | 'lost' | 'signed out'; why: string };

// How the page stands with the daemon, as of the last answer or of none.
export const link = new Cell<Link>({ state: 'ok', why: '' });

function linkIs(state: Link['state'], why = ''): void {
	const now = link.get();

	if (now.state !== state || now.why !== why)
		link.set({ state, why });
}

async function sentence(response: Response): Promise<string> {
	const text = await response.text();

	try {
		const problem = JSON.parse(text) as { detail?: string; title?: string };

		return problem.detail || problem.title || text;
	} catch {
		return text || `The daemon answered ${response.status}.`;
	}
}

// The answer to one request; Refusal when the daemon says no, Lost when it says nothing.
async function send(method: string, path: string, init: RequestInit = {}): Promise<Response> {
	let response: Response;

	try {
		response = await fetch(path, { method, cache: 'no-store', ...init });
	} catch (error) {
		if (init.signal?.aborted)
			throw error;
		linkIs('lost', 'The daemon does not answer.');
		throw new Lost('The daemon does not answer.');
	}
	if (response.ok) {
		linkIs('ok');
		return response;
	}
	const why = await sentence(response);

	if (response.status === 401)
		linkIs('signed out', why);
	else
		linkIs('ok');
	throw new Refusal(why, response.status);
}

export async function ask<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
	const init: RequestInit = { signal };

	if (body !== undefined) {
		init.headers = { 'Content-Type': 'application/json' };
		init.body = JSON.stringify(body);
	}
	const response = await send(method, path, init);

	return (response.status === 204 ? undefined : await response.json()) as T;
}

export type Params = Record<string, string | number | boolean | null | undefined>;

// "?a=1&b=x" of what is set; empty when nothing is.
export function query(params: Params): string {
	const all = new URLSearchParams();

	for (const [key, value] of Object.entries(params))
		if (value !== undefined && value !== null && value !== '' && value !== false)
			all.set(key, value === true ? '1' : String(value));
	const text = all.toString();

	return text ? `?${text}` : '';
}

export function listTargets(kind: TargetKind | '', q: string, sort: 'cpu' | 'name', limit: number, signal?: AbortSignal) {
	return ask<{ targets: Target[]; found: number }>('GET', `/v1/targets${query({ kind, q, sort, limit })}`, undefined, signal);
}

export const listSessions = () => ask<{ sessions: Session[] }>('GET', '/v1/sessions');
export const getSession = (id: number) => ask<Session>('GET', `/v1/sessions/${id}`);
export const startSession = (target: TargetRequest, options: Options) =>
	ask<Session>('POST', '/v1/sessions', { ...target, ...options });
export const stopSession = (id: number) => ask<Session>('POST', `/v1/sessions/${id}/stop`);
export const deleteSession = (id: number) => ask<void>('DELETE', `/v1/sessions/${id}`);
export const renameSession = (id: number, name: string) => ask<Session>('PATCH', `/v1/sessions/${id}`, { name });
export const getStatus = () => ask<Status>('GET', '/v1/status');
export const getProfile = (id: number, params: Params, signal?: AbortSignal) =>
	ask<Profile>('GET', `/v1/sessions/${id}/profile${query({ format: 'json', ...params })}`, undefined, signal);

export const getHeatMap = (id: number, params: Params) => ask<HeatMap>('GET', `/v1/sessions/${id}/heatmap${query(params)}`);
export const getTimeline = (id: number, params: Params) => ask<Timeline>('GET', `/v1/sessions/${id}/timeline${query(params)}`);

export interface SourceLine {
	line: number;
	self: number;
	total: number;
	samples: number;
	text?: string;
}

export interface Source {
	function: string;
	file: string; // "": not known
	other_files: number;
	total: number; // of all that was asked about
	lines: SourceLine[];
	why_no_text: string | null;
}

export const getSource = (id: number, params: Params) => ask<Source>('GET', `/v1/sessions/${id}/source${query(params)}`);

export interface DiffSide {
	total: number;
	samples: number;
	scale: number; // what its weights are divided by
	session: Session;
}

export interface DiffFunction {
	name: string;
	module: string;
	self_base: number;
	self_other: number;
	delta_share: number; // of the total; other less base, each divided by its scale
	significant_share: boolean;
	delta_self: number;
	significant_self: boolean;
}

export interface Diff extends Pick<Profile, 'kinds' | 'modules' | 'names' | 'name_module' | 'name_kind' | 'depth' | 'name'> {
	unit: 'nanoseconds' | 'count';
	base: DiffSide;
	other: DiffSide;
	z_limit: number;
	functions: DiffFunction[];
	self_base: number[];
	self_other: number[];
	samples_base: number[];
	samples_other: number[];
	z: number[];
	significant: number[];
}

export const getDiff = (asked: Params) => ask<Diff>('GET', `/v1/diff${query(asked)}`);

export const profileAddress = (id: number, format: string, params: Params = {}) =>
	`/v1/sessions/${id}/profile${query({ format, ...params })}`;

// The formats that this daemon knows, out of its own description.
export async function listFormats(): Promise<string[]> {
	return formatsIn(await (await send('GET', '/openapi.yaml', { cache: 'no-cache' })).text());
}

export function formatsIn(description: string): string[] {
	const list = /- name: format\n(?: +[^- ].*\n)*? +schema:.*enum: \[([^\]]*)\]/.exec(description);

	return list ? list[1].split(',').map((name) => name.trim()) : [];
}

// The bytes of an answer, for a file.
export const getBlob = async (path: string): Promise<Blob> => (await send('GET', path)).blob();

// A recording of perf or folded stacks.
export async function importFile(file: File): Promise<Session> {
	const response = await send('POST', `/v1/import${query({ name: file.name })}`, {
		headers: { 'Content-Type': 'application/octet-stream' },
		body: file,
	});

	return (await response.json()) as Session;
}

export interface TreeDelta {
	reset: boolean;
	event: string;
	unit: 'nanoseconds' | 'count';
	total: number;
	samples: number;
	modules: string[];
	folded: Profile['folded'];
	log_short: boolean;
	names: [text: string, module: number, kind: number][];
	nodes: [parent: number, name: number][];
	self: [node: number, weight: number, samples: number][];
}

export interface StreamHandlers {
	session?(session: Session): void;
	tree?(delta: TreeDelta): void;
	// ended, deleted, too_large (for a stream) or failed
	end?(reason: string): void;
	// The stream broke and will be opened again, or was opened again; a tree with reset comes first then.
	broken?(): void;
}

const RETRY_MS = [500, 1000, 2000, 5000];

// Follows a running session. The function that it returns ends that.
export function follow(id: number, params: Params, handlers: StreamHandlers): () => void {
	let source: EventSource | null = null;
	let timer = 0;
	let tries = 0;

	function open(): void {
		source = new EventSource(`/v1/sessions/${id}/events${query(params)}`);
		const on = <T>(name: string, act?: (data: T) => void) =>
			source!.addEventListener(name, (event) => {
				tries = 0;
				linkIs('ok');
				act?.(JSON.parse((event as MessageEvent<string>).data) as T);
			});

		on<Session>('session', handlers.session);
		on<TreeDelta>('tree', handlers.tree);
		on<{ reason: string }>('end', ({ reason }) => {
			close();
			handlers.end?.(reason);
		});
		// The browser's own retry waits for as long as it likes, and never after an answer that is no stream.
		source.onerror = () => {
			close();
			handlers.broken?.();
			timer = window.setTimeout(open, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]);
		};
	}
	function close(): void {
		window.clearTimeout(timer);
		source?.close();
		source = null;
	}

	open();
	return close;
}
