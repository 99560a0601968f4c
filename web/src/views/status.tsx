// How the daemon is: what it can do here and what would bring the rest, what it costs, its budgets and settings.
import { link, type Status } from '../api';
import { useCell } from '../cell';
import { status } from '../state';
import { type Fact, Facts } from '../ui/facts';
import { bytes, count, counted, duration, weight } from '../ui/format';
import type { ViewProps } from './table';

// What an ability is good for.
const ABILITIES: Record<string, string> = {
	own_processes: 'Processes of its own user',
	other_users: "Other users' processes",
	cpu_wide: 'The whole machine',
	kernel_samples: 'The kernel side',
	hardware_events: 'Hardware events',
	mapped_files: 'Files deleted or replaced while they run',
	unreadable_files: 'Files that its user may not read',
	kernel_names: 'Names of kernel functions',
	tracepoints: 'Tracepoints',
	cgroups: 'cgroups, units and containers',
	ring_memory: 'Room for many sessions at once',
};

function Abilities({ known }: { known: Status }) {
	const all = [...known.abilities].sort((a, b) => Number(a.there) - Number(b.there));

	return (
		<ul class="abilities">
			{all.map((one) => (
				<li key={one.name} class={one.there ? 'there' : 'missing'}>
					<b>{ABILITIES[one.name] ?? one.name.replaceAll('_', ' ')}</b>
					<span class="unseen">{one.there ? 'there' : 'missing'}</span>
					{!one.there && one.reason && <span>{one.reason}</span>}
					{!one.there && one.remedy && <span class="remedy">{one.remedy}</span>}
				</li>
			))}
		</ul>
	);
}

const seconds = (s: number): string => weight(s * 1e9, 'nanoseconds');
const ofOneCore = (s: number, known: Status): string => `${((s / Math.max(1, known.uptime_s)) * 100).toFixed(2)} %`;

function Cost({ known }: { known: Status }) {
	return (
		<table class="plain">
			<thead>
				<tr>
					<th scope="col">Process</th>
					<th scope="col">pid</th>
					<th scope="col">CPU time</th>
					<th scope="col">Of one core</th>
					<th scope="col">Memory</th>
				</tr>
			</thead>
			<tbody>
				{known.processes.map((one) => (
					<tr key={one.role}>
						<th scope="row">{one.role}</th>
						<td>{one.pid ?? 'not started'}</td>
						<td>{one.pid ? seconds(one.cpu_seconds) : ''}</td>
						<td>{one.pid ? ofOneCore(one.cpu_seconds, known) : ''}</td>
						<td>{one.pid ? bytes(one.rss_bytes) : ''}</td>
					</tr>
				))}
				<tr class="sum">
					<th scope="row">all</th>
					<td />
					<td>{seconds(known.cost.cpu_seconds)}</td>
					<td>{ofOneCore(known.cost.cpu_seconds, known)}</td>
					<td>{bytes(known.cost.memory_bytes)}</td>
				</tr>
			</tbody>
		</table>
	);
}

function budgets(known: Status): Fact[] {
	const { budget, sessions, samples, store } = known;
	const limits = known.config.sessions ?? {};
	const facts: Fact[] = [
		['Memory', `${budget.memory_bytes ? bytes(budget.memory_bytes) : 'nothing runs'}, of ${limits.memory_mib} MiB`],
		['Locked rings', bytes(budget.ring_bytes)],
		['CPU', `up to ${limits.cpu_percent} % of the machine`],
		['Shared work', `${budget.shared_cpu_percent.toFixed(2)} % of one core, over five minutes`],
		['Sessions', `${sessions.running} of ${sessions.max} run, ${sessions.kept} kept, ${count(sessions.started)} started`],
		['Samples', `${count(samples.taken)} taken, ${count(samples.lost)} lost, ${count(samples.dropped)} dropped`],
	];

	if (store)
		facts.push(['On disk', `${counted(store.profiles, 'profile')}, ${bytes(store.bytes)}`]);
	return facts;
}

function Settings({ known }: { known: Status }) {
	return (
		<details class="settings">
			<summary>Settings in force</summary>
			{Object.entries(known.config).map(([section, settings]) => (
				<div key={section}>
					<h3>[{section}]</h3>
					<Facts mono facts={Object.entries(settings).map(([key, value]): Fact => [key, String(value)])} />
				</div>
			))}
		</details>
	);
}

export function StatusView(_: ViewProps) {
	const known = useCell(status);
	const { state } = useCell(link);

	if (!known)
		return <p class="note">{state === 'ok' ? 'Asking the daemon …' : 'Nothing is known of the daemon yet.'}</p>;
	return (
		<div class="cards">
			<section class="panel card wide">
				<h2>What it can do here</h2>
				<Abilities known={known} />
			</section>
			<section class="panel card">
				<h2>What it costs</h2>
				<Cost known={known} />
				<Facts
					facts={[
						['Version', known.version],
						['Up', duration(known.uptime_s)],
					]}
				/>
			</section>
			<section class="panel card">
				<h2>Budgets</h2>
				<Facts facts={budgets(known)} />
			</section>
			<section class="panel card">
				<h2>Events</h2>
				<ul class="tags">
					{known.events.map((event) => (
						<li key={event.name} class={event.there ? '' : 'missing'}>
							{event.name}
							{!event.there && <span class="unseen"> is missing</span>}
						</li>
					))}
				</ul>
			</section>
			<section class="panel card wide">
				<Settings known={known} />
			</section>
		</div>
	);
}
