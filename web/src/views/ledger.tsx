// What a session's profile does not know, in full and in words; how it was sampled and what that cost.
import type { Ledger, Session } from '../api';
import { Downloads } from '../ui/downloads';
import { type Fact, Facts } from '../ui/facts';
import { bytes, count, duration, moment, percent, weight } from '../ui/format';
import { atLeast, wholeShare } from '../ui/ledger';
import { rateOf, stateOf } from '../ui/session';
import type { SessionViewProps } from './table';

// Counts that say that something is missing, with what it means.
const MISSING: [keyof Ledger, string, string][] = [
	['lost', 'lost', 'The kernel had no room for these samples: lower the rate, or allow more memory for rings.'],
	['throttled', 'times throttled', 'The kernel paused the event, as it took too long or came too often.'],
	['truncated', 'stacks cut', 'The copied part of the stack ended before its outermost function.'],
	['depth_cut', 'stacks too deep', 'More frames than max_frames.'],
	['dropped', 'dropped', 'No room in the call tree: allow the session more memory.'],
	['log_dropped', 'gone from the log', 'The oldest samples have no time any more; they are in the profile, not in a part of it.'],
	['sideband_lost', 'changes of processes lost', 'Some names may be missing.'],
	['unknown_records', 'unknown records', 'The kernel wrote what this version does not know.'],
	['malformed_bytes', 'malformed bytes', 'Bytes in the rings that are no record.'],
	['budget_steps', 'steps of the budget', 'Rate, log or tree were made smaller to keep to the budget; the warnings say when.'],
];

const ALSO: [keyof Ledger, string, string][] = [
	['tails', 'stacks made whole', 'Cut, and completed by what was seen of the same thread just before.'],
	['kernel_only', 'of kernel threads', 'They have no user stack.'],
	['filtered', 'of others', 'Of processes that are no part of the target; not in the profile.'],
];

const ENDS: Record<string, string> = {
	root: 'whole',
	stack_cut: 'the copy of the stack ended',
	max_frames: 'more frames than asked for',
	no_cfi: 'no unwind information',
	no_module: 'an address outside of any program',
	unreadable: 'the file cannot be read',
	bad_memory: 'memory that was not copied',
	no_progress: 'the stack leads nowhere',
	no_user: 'kernel thread, no user stack',
	error: 'the unwinder gave up',
	fp_end: 'the chain of frame pointers ended',
};

const SOURCES: Record<string, string> = {
	none: 'no name',
	symtab: 'symbol table',
	dynsym: 'dynamic symbols',
	gnu_debugdata: 'packed symbols',
	debuglink: 'separate debug file, by its link',
	build_id: 'separate debug file, by build id',
	dwarf: 'DWARF',
	plt: 'PLT',
	fde: 'unwind table (no name)',
	perf_map: 'perf map of a JIT',
	jitdump: 'jitdump of a JIT',
	kallsyms: 'kernel symbols',
	gopclntab: "Go's table",
};

function Shares({ counts, words, good }: { counts: Record<string, number>; words: Record<string, string>; good: string }) {
	const all = Object.values(counts).reduce((sum, n) => sum + n, 0);
	const rows = Object.entries(counts)
		.filter(([, n]) => n > 0)
		.sort((a, b) => b[1] - a[1]);

	if (rows.length === 0)
		return <p class="muted">Nothing yet.</p>;
	return (
		<ul class="shares">
			{rows.map(([key, n]) => (
				<li key={key} class={key === good ? 'good' : ''}>
					<span class="meter" style={{ '--share': `${(n / all) * 100}%` }} />
					<span class="grow">{words[key] ?? key.replaceAll('_', ' ')}</span>
					<span>{count(n)}</span>
					<span class="share muted">{percent(n / all)}</span>
				</li>
			))}
		</ul>
	);
}

function Counts({ ledger }: { ledger: Ledger }) {
	const missing = MISSING.filter(([key]) => ledger[key] as number);
	const also = ALSO.filter(([key]) => ledger[key] as number);

	return (
		<ul class="counts">
			{missing.length === 0 && <li class="good">Nothing was lost, cut or dropped.</li>}
			{[...missing, ...also].map(([key, name, why]) => (
				<li key={key} class={missing.some((one) => one[0] === key) ? 'bad' : ''}>
					<b>
						{count(ledger[key] as number)} {name}
					</b>
					<span class="muted">{why}</span>
				</li>
			))}
		</ul>
	);
}

function howSampled(session: Session): Fact[] {
	const facts: Fact[] = [
		['Target', session.target_text],
		['State', stateOf(session)],
		['Started', moment(session.started_at)],
		['Took', duration(session.elapsed_s)],
		['Events', session.events.join(', ')],
		['Rate', rateOf(session)],
		['Kernel', session.kernel ? 'sampled too' : 'left out'],
		['Stacks', `${session.unwind}, ${bytes(session.stack_bytes)} copied, up to ${count(session.max_frames)} frames`],
		['Took of the CPU', weight(session.cost.cpu_seconds * 1e9, 'nanoseconds')],
		['Memory', bytes(session.cost.memory_bytes)],
	];

	if (session.cpu_percent)
		facts.push(['Budget', `${session.cpu_percent} % of the machine, ${session.memory_mib} MiB`]);
	return facts;
}

function figures(ledger: Ledger): Fact[] {
	const whole = wholeShare(ledger);

	return [
		['samples', count(ledger.samples)],
		['lost', percent(ledger.lost / Math.max(1, ledger.samples + ledger.lost))],
		['stacks whole', whole === null ? '–' : atLeast(whole)],
		['frames unnamed', ledger.frames_total ? percent(ledger.frames_unnamed / ledger.frames_total) : '–'],
	];
}

export function LedgerView({ session }: SessionViewProps) {
	const { ledger } = session;

	return (
		<div class="cards">
			<section class="panel card wide">
				<div class="head">
					<h2>What this profile knows, and what not</h2>
					<Downloads id={session.id} />
				</div>
				<dl class="figures">
					{figures(ledger).map(([name, value]) => (
						<div key={name}>
							<dt>{name}</dt>
							<dd>{value}</dd>
						</div>
					))}
				</dl>
				<Counts ledger={ledger} />
				{session.warnings.length > 0 && (
					<ul class="warnings" aria-label="Warnings">
						{session.warnings.map((text) => (
							<li key={text}>{text}</li>
						))}
					</ul>
				)}
			</section>
			<section class="panel card">
				<h2>Where user stacks ended</h2>
				<Shares counts={ledger.unwind_ends} words={ENDS} good="root" />
			</section>
			<section class="panel card">
				<h2>Where names come from</h2>
				<Shares counts={ledger.names_from} words={SOURCES} good="" />
			</section>
			<section class="panel card">
				<h2>How it was sampled</h2>
				<Facts facts={howSampled(session)} />
			</section>
		</div>
	);
}
