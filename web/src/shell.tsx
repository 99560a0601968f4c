// What is around each view: the head with its tabs, how the daemon is, and the session in view with its ledger.
import { useEffect } from 'preact/hooks';
import { link } from './api';
import { useCell } from './cell';
import { address, route } from './route';
import { current, loadSessions, loadStatus, sessions } from './state';
import { Alerts } from './ui/alerts';
import { LedgerLine } from './ui/ledger';
import { usePoll } from './ui/poll';
import { views } from './views/table';

const SESSIONS_EVERY_MS = 1500;
const STATUS_EVERY_MS = 10000;

function Tabs() {
	const { view } = useCell(route);
	const session = useCell(current);

	return (
		<nav class="tabs" aria-label="Views">
			{views
				.filter((one) => !one.ofSession || session)
				.map((one) => (
					<a
						key={one.name}
						href={address(one.name, one.ofSession ? session : 0)}
						aria-current={one.name === view ? 'page' : undefined}
					>
						{one.title}
					</a>
				))}
		</nav>
	);
}

function SessionInView() {
	const id = useCell(current);
	const session = useCell(sessions)?.find((one) => one.id === id);

	if (!session)
		return null;
	return (
		<p class="in-view">
			<a href={address('profile', id)}>
				#{id} {session.target_text}
			</a>
			<LedgerLine ledger={session.ledger} />
		</p>
	);
}

function Main() {
	const { view: name, session: id, query } = useCell(route);
	const all = useCell(sessions);
	const view = views.find((one) => one.name === name);

	if (!view || Boolean(view.ofSession) !== id > 0)
		return (
			<p class="note">
				There is no view of this name. <a href={address('targets')}>To the targets</a>
			</p>
		);
	if (!view.ofSession)
		return <view.component query={query} />;
	const session = all?.find((one) => one.id === id);

	if (session)
		return <view.component key={id} session={session} query={query} />;
	return all && <p class="note">There is no session {id}, or none that you may see.</p>;
}

export function Shell() {
	const { session } = useCell(route);
	const { state, why } = useCell(link);

	usePoll(loadSessions, SESSIONS_EVERY_MS);
	usePoll(loadStatus, STATUS_EVERY_MS);
	useEffect(() => {
		if (session)
			current.set(session);
	}, [session]);
	return (
		<>
			<header class="top">
				<img src="/favicon.svg" alt="" width="24" height="24" />
				<h1>profiled</h1>
				<Tabs />
				<span class={state === 'ok' ? 'health good' : 'health bad'} role="status">
					{state === 'ok' ? 'connected' : why}
				</span>
			</header>
			<SessionInView />
			<main id="main">
				<Main />
			</main>
			<Alerts />
		</>
	);
}
