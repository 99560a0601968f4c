// The page's views of one profile without a daemon: the file of format=html. The profile, as format=json has it, stands in
// the document as <script type="application/json" id="profile">.
import { render } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Profile } from './api';
import { useCell } from './cell';
import { columnsFromJson, type Columns } from './profile/columns';
import { startTheme, switchTheme, theme } from './theme';
import { counted, duration, moment, percent } from './ui/format';
import { LedgerLine } from './ui/ledger';
import type { Params } from './workbench/params';
import { Workbench } from './workbench/workbench';

// What is seen of it is in the address here too. Where a document may not change its address (in a frame of some ticket
// systems) it is kept without.
function useParams(): Params {
	const [query, setQuery] = useState(() => new URLSearchParams(location.hash.slice(1)));

	return useMemo(() => ({
		get: (key) => query.get(key) ?? '',
		set: (changes) => setQuery((before) => {
			const after = new URLSearchParams(before);

			for (const [key, value] of Object.entries(changes))
				if (value)
					after.set(key, value);
				else
					after.delete(key);
			try {
				history.replaceState(null, '', `#${after}`);
			} catch {
				// Not here.
			}
			return after;
		}),
	}), [query]);
}

function Head({ profile }: { profile: Profile }) {
	const { session, folded, total } = profile;
	const other = useCell(theme) === 'dark' ? 'light' : 'dark';

	return (
		<header class="in-view">
			<span class="title">{session.name || session.target}</span>
			<span>{moment(session.started_at, new Date(0))}</span>
			<span>{duration(session.elapsed_ns / 1e9)}</span>
			<span>{profile.event}</span>
			<span class="ledger"><LedgerLine ledger={profile.ledger} /></span>
			{folded.weight > 0 && <span>{percent(folded.weight / total)} in {counted(folded.nodes, 'branch', 'branches')} too small to be here</span>}
			<button type="button" class="small" onClick={switchTheme}>Switch to {other}</button>
		</header>
	);
}

function Viewer({ profile, columns }: { profile: Profile; columns: Columns }) {
	const params = useParams();

	return (
		<>
			<Head profile={profile} />
			<main>
				{columns.samples[0] > 0
					? <Workbench columns={columns} unit={profile.unit} params={params} />
					: <p class="note">There are no samples in it.</p>}
			</main>
		</>
	);
}

function start(): void {
	const profile = JSON.parse(document.getElementById('profile')!.textContent!) as Profile;

	startTheme();
	document.title = `${profile.session.name || profile.session.target} · ${profile.event}`;
	render(<Viewer profile={profile} columns={columnsFromJson(profile)} />, document.getElementById('app')!);
}

start();
