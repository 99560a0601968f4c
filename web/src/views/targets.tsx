// What one could profile, by its use of the CPU; a click profiles it.
import { useState } from 'preact/hooks';
import { listTargets, startSession, type Target, type TargetKind, type TargetRequest } from '../api';
import { address, go, setQuery } from '../route';
import { learn } from '../state';
import { doing } from '../ui/alerts';
import { bytes, counted } from '../ui/format';
import { usePoll } from '../ui/poll';
import type { ViewProps } from './table';

const EVERY_MS = 2000;
const SHOWN_MAX = 200;

const KINDS: [TargetKind, string][] = [
	['process', 'Processes'],
	['unit', 'Units'],
	['container', 'Containers'],
	['cgroup', 'cgroups'],
];

async function start(target: TargetRequest): Promise<void> {
	const session = await startSession(target, { duration_s: 30 });

	learn(session);
	go(address('profile', session.id));
}

function about(target: Target): string {
	if (target.kind === 'process')
		return [`pid ${target.pid}`, bytes(target.rss_bytes), target.threads > 1 && counted(target.threads, 'thread')]
			.filter(Boolean)
			.join(' · ');
	return counted(target.processes, 'process', 'processes');
}

export function TargetsView({ query }: ViewProps) {
	const [found, setFound] = useState<Target[] | null>(null);
	const kind = (query.get('kind') ?? 'process') as TargetKind;
	const q = query.get('q') ?? '';

	usePoll(async () => setFound((await listTargets(kind, q, 'cpu', SHOWN_MAX)).targets), EVERY_MS, [kind, q]);
	return (
		<section class="panel">
			<div class="bar">
				<input
					type="search"
					aria-label="Search targets by name"
					placeholder="Search by name"
					value={q}
					onInput={(event) => setQuery({ q: event.currentTarget.value })}
				/>
				<select
					aria-label="Kind of target"
					value={kind}
					onChange={(event) => setQuery({ kind: event.currentTarget.value })}
				>
					{KINDS.map(([value, text]) => (
						<option key={value} value={value}>
							{text}
						</option>
					))}
				</select>
				<button type="button" class="primary" onClick={() => doing(start({ all: true }))}>
					Profile the whole machine
				</button>
			</div>
			<ul class="rows">
				{found?.map((target) => (
					<li key={JSON.stringify(target.start)} class="target">
						<span class="name">{target.name}</span>
						<span class="muted">{about(target)}</span>
						<span class="number">{target.cpu_percent.toFixed(1)} %</span>
						<button type="button" onClick={() => doing(start(target.start))}>
							Profile
						</button>
					</li>
				))}
			</ul>
			{found?.length === 0 && <p class="note">None of that name.</p>}
		</section>
	);
}
