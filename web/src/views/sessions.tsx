// All sessions: what runs, what has ended, and recordings brought in from elsewhere.
import { useRef, useState } from 'preact/hooks';
import { deleteSession, importFile, renameSession, type Session, stopSession } from '../api';
import { useCell } from '../cell';
import { address, go } from '../route';
import { current, forget, learn, sessions } from '../state';
import { alertReader, doing } from '../ui/alerts';
import { Downloads } from '../ui/downloads';
import { moment } from '../ui/format';
import { LedgerLine } from '../ui/ledger';
import { Progress, rateOf, State } from '../ui/session';
import type { ViewProps } from './table';

const SURE_MS = 4000;

// The first click asks, the second does it.
function DeleteButton({ session }: { session: Session }) {
	const [sure, setSure] = useState(false);

	async function remove(): Promise<void> {
		await deleteSession(session.id);
		forget(session.id);
		if (current.get() === session.id)
			current.set(0);
	}
	function click(): void {
		if (sure)
			return doing(remove());
		setSure(true);
		setTimeout(() => setSure(false), SURE_MS);
	}

	return (
		<button type="button" class={sure ? 'small danger' : 'small'} onClick={click} aria-label={`${sure ? 'Really delete' : 'Delete'} session ${session.id}`}>
			{sure ? 'Really?' : 'Delete'}
		</button>
	);
}

function NameForm({ session, done }: { session: Session; done: () => void }) {
	async function save(name: string): Promise<void> {
		if (name && name !== session.name)
			learn(await renameSession(session.id, name));
		done();
	}

	return (
		<form
			class="rename"
			onSubmit={(event) => {
				event.preventDefault();
				doing(save(String(new FormData(event.currentTarget).get('name')).trim()));
			}}
			onKeyDown={(event) => event.key === 'Escape' && done()}
		>
			<input
				name="name"
				aria-label={`Name of session ${session.id}`}
				defaultValue={session.name}
				maxLength={127}
				placeholder="Name"
				ref={(input) => input?.focus()}
			/>
			<button type="submit" class="small">
				Save
			</button>
		</form>
	);
}

function Row({ session }: { session: Session }) {
	const [naming, setNaming] = useState(false);
	const running = session.state === 'running';

	return (
		<li class={useCell(current) === session.id ? 'session chosen' : 'session'}>
			<State session={session} />
			<div class="what">
				{naming ? (
					<NameForm session={session} done={() => setNaming(false)} />
				) : (
					<a class="title" href={address('profile', session.id)}>
						<span class="muted">#{session.id}</span> {session.name || session.target_text}
					</a>
				)}
				<span class="below">
					{session.name && <span>{session.target_text}</span>}
					<span>{session.events.join(', ')}</span>
					<span>{rateOf(session)}</span>
					<span>{moment(session.started_at)}</span>
				</span>
			</div>
			<div class="how-far">
				<Progress session={session} />
				<a class="below" href={address('ledger', session.id)}>
					<span class="unseen">Ledger of session {session.id}: </span>
					<LedgerLine ledger={session.ledger} />
				</a>
			</div>
			<div class="doings">
				{running && (
					<button
						type="button"
						class="small"
						aria-label={`Stop session ${session.id}`}
						onClick={() => doing(stopSession(session.id).then(learn))}
					>
						Stop
					</button>
				)}
				<Downloads id={session.id} />
				<button type="button" class="small" aria-label={`Rename session ${session.id}`} onClick={() => setNaming(!naming)}>
					Rename
				</button>
				<DeleteButton session={session} />
			</div>
		</li>
	);
}

// A button for a file, and the whole view to drop one on.
function useImport(): { busy: string; take: (files: FileList | null | undefined) => void } {
	const [busy, setBusy] = useState('');

	async function bring(files: File[]): Promise<void> {
		let last: Session | null = null;

		for (const file of files) {
			setBusy(file.name);
			last = await importFile(file);
			learn(last);
		}
		if (last)
			go(address('profile', last.id));
	}

	return {
		busy,
		take: (files) =>
			void bring([...(files ?? [])])
				.catch(alertReader)
				.finally(() => setBusy('')),
	};
}

function matches(session: Session, q: string): boolean {
	return `#${session.id} ${session.name} ${session.target_text} ${session.events.join(' ')}`.toLowerCase().includes(q);
}

export function SessionsView({ query }: ViewProps) {
	const all = useCell(sessions);
	const q = query.get('q')?.trim().toLowerCase() ?? '';
	const shown = all?.filter((session) => matches(session, q));
	const { busy, take } = useImport();
	const [over, setOver] = useState(false);
	const input = useRef<HTMLInputElement>(null);

	return (
		<section
			class={over ? 'panel drop' : 'panel'}
			onDragOver={(event) => {
				event.preventDefault();
				setOver(true);
			}}
			onDragLeave={() => setOver(false)}
			onDrop={(event) => {
				event.preventDefault();
				setOver(false);
				take(event.dataTransfer?.files);
			}}
		>
			<div class="tools">
				<button type="button" disabled={busy !== ''} onClick={() => input.current?.click()}>
					Import a file
				</button>
				<p class="muted" role="status">
					{busy ? `Reading ${busy} …` : 'or drop it here: perf.data, or folded stacks of any tool'}
				</p>
				<input
					ref={input}
					type="file"
					hidden
					multiple
					aria-label="File to import"
					onChange={(event) => {
						take(event.currentTarget.files);
						event.currentTarget.value = '';
					}}
				/>
			</div>
			<ul class="sessions">
				{shown?.map((session) => (
					<Row key={session.id} session={session} />
				))}
			</ul>
			{shown?.length === 0 && (
				<p class="note">
					{q ? 'No session has that in its name. ' : 'No sessions yet. '}
					{!q && <a href={address('targets')}>Pick a target to start one</a>}
				</p>
			)}
		</section>
	);
}
