// What one could profile, by its use of the CPU; a click profiles it.
import { useRef, useState } from 'preact/hooks';
import { listTargets, startSession, type Session, type Target, type TargetKind, type TargetRequest } from '../api';
import { useCell } from '../cell';
import { keep, remember } from '../keep';
import { address, go, setQuery } from '../route';
import { learn, sessions } from '../state';
import { alertReader } from '../ui/alerts';
import { bytes, count, duration } from '../ui/format';
import { usePoll } from '../ui/poll';
import { keepOrder } from '../ui/steady';
import { chosenOptions, OptionsBar } from './options';
import type { ViewProps } from './table';

const EVERY_MS = 2000;
const SHOWN_MAX = 200;

const KINDS: [TargetKind, string][] = [
	['process', 'Processes'],
	['unit', 'Units'],
	['container', 'Containers'],
	['cgroup', 'cgroups'],
];

type Sort = 'cpu' | 'name';

const keyOf = (target: Target): string => JSON.stringify(target.start);

interface Found {
	targets: Target[];
	found: number;
	question: string; // what was asked for
}

// The rows, in an order that does not change while held() says so.
function useTargets(kind: TargetKind, q: string, sort: Sort, held: () => boolean): Found | null {
	const [found, setFound] = useState<Found | null>(null);
	const order = useRef<string[]>([]);
	const question = `${kind} ${sort} ${q}`;
	const asked = useRef(question);

	asked.current = question;
	usePoll(
		async () => {
			const answer = await listTargets(kind, q, sort, SHOWN_MAX);

			// An answer to an earlier question may come later than one to the last.
			if (asked.current !== question)
				return;
			const targets = held() ? keepOrder(order.current, answer.targets, keyOf) : answer.targets;

			order.current = targets.map(keyOf);
			setFound({ targets, found: answer.found, question });
		},
		EVERY_MS,
		[question],
	);
	return found;
}

// What runs already, by the key of its target.
function useRunning(): Map<string, Session> {
	const running = new Map<string, Session>();

	for (const session of useCell(sessions) ?? [])
		if (session.state === 'running')
			running.set(JSON.stringify(session.target), session);
	return running;
}

function age(target: Target): string {
	return target.started_at ? duration(Math.max(0, (Date.now() - Date.parse(target.started_at)) / 1000)) : '';
}

function ProfileButton({ target, name, running }: { target: TargetRequest; name: string; running?: Session }) {
	const [busy, setBusy] = useState(false);
	const all = target.all === true;

	async function start(): Promise<void> {
		setBusy(true);
		try {
			const session = await startSession(target, chosenOptions());

			learn(session);
			go(address('profile', session.id));
		} catch (error) {
			alertReader(error);
		} finally {
			setBusy(false);
		}
	}

	if (running)
		return (
			<a class="button running" href={address('profile', running.id)} aria-label={`Watch ${name}`}>
				{all ? 'Watch the whole machine' : 'Watch'}
			</a>
		);
	return (
		<button
			type="button"
			class={all ? 'primary' : ''}
			aria-label={all ? undefined : `Profile ${name}`}
			disabled={busy}
			onClick={() => void start()}
		>
			{all ? 'Profile the whole machine' : 'Profile'}
		</button>
	);
}

function Row({ target, running }: { target: Target; running?: Session }) {
	const process = target.kind === 'process';
	const id = process ? `pid ${target.pid}` : `${count(target.processes)} ${target.processes === 1 ? 'process' : 'processes'}`;
	const where = target.cgroup && target.cgroup !== '/' && target.cgroup !== target.name ? target.cgroup : '';
	const share = Math.min(target.cpu_percent, 100);

	return (
		<tr>
			<td class="cpu">
				<span class="meter" style={{ '--share': `${share}%` }} />
				<span>{target.cpu_percent.toFixed(1)}</span>
			</td>
			<th scope="row" title={target.name}>
				<div>
					<span class="name">{target.name || '(no name)'}</span>
					<span class="muted">{id}</span>
					{where && <span class="muted where">{where}</span>}
				</div>
			</th>
			<td class="wide">{count(target.threads)}</td>
			<td class="wide">{bytes(target.rss_bytes)}</td>
			<td class="wide">{age(target)}</td>
			<td>
				<ProfileButton target={target.start} name={`${target.name}, ${id}`} running={running} />
			</td>
		</tr>
	);
}

function SortButton({ by, now, children }: { by: Sort; now: Sort; children: string }) {
	return (
		<button type="button" class="sort" onClick={() => setQuery({ sort: by === 'cpu' ? null : by })}>
			{children}
			<span aria-hidden="true">{by === now ? (by === 'cpu' ? ' ▾' : ' ▴') : ''}</span>
		</button>
	);
}

function Table({ targets, sort }: { targets: Target[]; sort: Sort }) {
	const running = useRunning();

	return (
		<table class="targets">
			<thead>
				<tr>
					<th scope="col" class="cpu" aria-sort={sort === 'cpu' ? 'descending' : 'none'}>
						<SortButton by="cpu" now={sort}>
							CPU %
						</SortButton>
					</th>
					<th scope="col" aria-sort={sort === 'name' ? 'ascending' : 'none'}>
						<SortButton by="name" now={sort}>
							Name
						</SortButton>
					</th>
					<th scope="col" class="wide">
						Threads
					</th>
					<th scope="col" class="wide">
						Memory
					</th>
					<th scope="col" class="wide">
						Up
					</th>
					<th scope="col">
						<span class="unseen">Action</span>
					</th>
				</tr>
			</thead>
			<tbody>
				{targets.map((target) => (
					<Row key={keyOf(target)} target={target} running={running.get(keyOf(target))} />
				))}
			</tbody>
		</table>
	);
}

function Kinds({ kind }: { kind: TargetKind }) {
	return (
		<div class="segments" role="group" aria-label="Kind of target">
			{KINDS.map(([value, text]) => (
				<button
					key={value}
					type="button"
					aria-pressed={value === kind}
					onClick={() => setQuery({ kind: value === 'process' ? null : value })}
				>
					{text}
				</button>
			))}
		</div>
	);
}

function nothing(kind: TargetKind, q: string): string {
	const many = KINDS.find(([value]) => value === kind)?.[1].toLowerCase() ?? '';

	return q ? `No ${many} with “${q}” in the name.` : `There are no ${many} here that you may profile.`;
}

export function TargetsView({ query }: ViewProps) {
	const asked = query.get('kind');
	const kind = KINDS.find(([value]) => value === asked)?.[0] ?? 'process';
	const sort: Sort = query.get('sort') === 'name' ? 'name' : 'cpu';
	const q = query.get('q')?.trim() ?? '';
	const list = useRef<HTMLDivElement>(null);
	const held = () => Boolean(list.current?.matches(':hover') || list.current?.contains(document.activeElement));
	const found = useTargets(kind, q, sort, held);
	const all = useRunning().get('{"all":true}');
	const open = useRef(remember('options-open') !== 'no' && innerWidth > 700);

	return (
		<section class="panel">
			<div class="tools">
				<Kinds kind={kind} />
				<span class="grow" />
				<ProfileButton target={{ all: true }} name="the whole machine" running={all} />
			</div>
			<details class="how" open={open.current} onToggle={(e) => keep('options-open', e.currentTarget.open ? null : 'no')}>
				<summary>How to sample</summary>
				<OptionsBar />
			</details>
			<div ref={list}>
				{found && found.targets.length > 0 && <Table targets={found.targets} sort={sort} />}
				{found?.targets.length === 0 && <p class="note">{nothing(kind, q)}</p>}
				{found && found.found > found.targets.length && (
					<p class="note">And {count(found.found - found.targets.length)} more: search for them by name.</p>
				)}
			</div>
		</section>
	);
}
