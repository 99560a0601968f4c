// What is around each view: the head with its tabs and search, how the daemon is, and the session in view with its ledger.
import { useEffect, useRef } from 'preact/hooks';
import { link, type Session, stopSession } from './api';
import { useCell } from './cell';
import { address, go, route, setQuery } from './route';
import { current, findSession, learn, loadSessions, loadStatus, sessions, status } from './state';
import { switchTheme, theme } from './theme';
import { Alerts, doing } from './ui/alerts';
import { Help, helpOpen, useShellKeys } from './ui/keys';
import { LedgerLine } from './ui/ledger';
import { usePoll } from './ui/poll';
import { Progress, State } from './ui/session';
import { views } from './views/table';

const SESSIONS_EVERY_MS = 1500;
const STATUS_EVERY_MS = 5000;

function Tabs() {
	const { view } = useCell(route);
	const session = useCell(current);
	const running = useCell(sessions)?.filter((one) => one.state === 'running').length;
	const nav = useRef<HTMLElement>(null);

	// On a phone they do not all fit.
	useEffect(() => {
		nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
	}, [view, session]);
	return (
		<nav class="tabs" aria-label="Views" ref={nav}>
			{views
				.filter((one) => (one.letter || one.name === view) && (!one.ofSession || session))
				.map((one) => (
					<a
						key={one.name}
						href={address(one.name, one.ofSession ? session : 0)}
						aria-current={one.name === view ? 'page' : undefined}
					>
						{one.title}
						{one.name === 'sessions' && running ? <span class="badge">{running}</span> : null}
					</a>
				))}
		</nav>
	);
}

function Search() {
	const { view: name, query } = useCell(route);
	const view = views.find((one) => one.name === name);
	const own = Boolean(view?.search);

	return (
		<form
			role="search"
			onSubmit={(event) => {
				event.preventDefault();
				const q = new FormData(event.currentTarget).get('q');

				if (!own)
					go(address('targets', 0, { q: String(q) }));
			}}
		>
			<input
				type="search"
				name="q"
				key={own ? name : ''}
				aria-label={view?.search ?? 'Search targets'}
				placeholder={view?.search ?? 'Search targets'}
				autocomplete="off"
				spellcheck={false}
				value={own ? (query.get('q') ?? '') : undefined}
				onInput={(event) => own && setQuery({ q: event.currentTarget.value })}
			/>
		</form>
	);
}

function Health() {
	const { state } = useCell(link);
	const known = useCell(status);
	const words = { ok: known ? 'Connected' : 'Connecting', lost: 'No answer', 'signed out': 'Signed out' }[state];
	const missing = known?.abilities.filter((one) => !one.there).length ?? 0;

	return (
		<a class={state === 'ok' ? 'health good' : 'health bad'} href={address('status')}>
			<span role="status">{words}</span>
			{state === 'ok' && missing > 0 && <span class="muted">{missing === 1 ? '1 ability' : `${missing} abilities`} missing</span>}
		</a>
	);
}

function ThemeSwitch() {
	const now = useCell(theme);
	const other = now === 'dark' ? 'light' : 'dark';

	return (
		<button type="button" class="quiet icon" aria-label={`Switch to ${other}`} title={`Switch to ${other}`} onClick={switchTheme}>
			<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
				<circle cx="10" cy="10" r="7" fill="none" stroke="currentColor" stroke-width="1.6" />
				<path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor" />
			</svg>
		</button>
	);
}

// No answer: tried again all the time. No token: the way to one.
function Trouble() {
	const { state, why } = useCell(link);

	if (state === 'ok')
		return null;
	if (state === 'lost')
		return (
			<div class="trouble" role="alert">
				<p>
					<b>The daemon does not answer.</b> What is here stays; this page tries again until it does.
				</p>
				<button type="button" onClick={() => void loadSessions().catch(() => undefined)}>
					Try now
				</button>
			</div>
		);
	return (
		<div class="trouble" role="alert">
			<p>
				<b>Signed out.</b> {why}
			</p>
			<form
				onSubmit={(event) => {
					event.preventDefault();
					const token = String(new FormData(event.currentTarget).get('token')).trim();

					location.assign(`/?token=${encodeURIComponent(token)}${location.hash}`);
				}}
			>
				<label>
					Token <input type="password" name="token" required minLength={64} maxLength={64} autocomplete="off" />
				</label>
				<button type="submit">Sign in</button>
			</form>
		</div>
	);
}

function InView({ session }: { session: Session }) {
	const title = session.name || session.target_text;

	return (
		<section class="in-view" aria-label="Session in view">
			<State session={session} />
			<a class="title" href={address('profile', session.id)} title={session.target_text}>
				#{session.id} {title}
			</a>
			<Progress session={session} />
			<a class="ledger" href={address('ledger', session.id)}>
				<span class="unseen">Ledger: </span>
				<LedgerLine ledger={session.ledger} />
			</a>
			{session.warnings.length > 0 && (
				<a class="warned" href={address('ledger', session.id)}>
					{session.warnings.length === 1 ? '1 warning' : `${session.warnings.length} warnings`}
				</a>
			)}
			{session.state === 'running' && (
				<button type="button" class="small" onClick={() => doing(stopSession(session.id).then(learn))}>
					Stop
				</button>
			)}
		</section>
	);
}

function SessionInView() {
	const id = useCell(current);

	useCell(sessions);
	const session = findSession(id);

	return session ? <InView session={session} /> : null;
}

function Main() {
	const { view: name, session: id, query } = useCell(route);
	const all = useCell(sessions);
	const view = views.find((one) => one.name === name);

	if (!view || Boolean(view.ofSession) !== id > 0)
		return (
			<p class="note">
				There is no such view. <a href={address('targets')}>To the targets</a>
			</p>
		);
	if (!view.ofSession)
		return <view.component query={query} />;
	const session = all?.find((one) => one.id === id);

	if (session)
		return <view.component key={id} session={session} query={query} />;
	return (
		all && (
			<p class="note">
				There is no session {id}, or it belongs to somebody else. <a href={address('sessions')}>To the sessions</a>
			</p>
		)
	);
}

function title(name: string, session: Session | undefined): string {
	const view = views.find((one) => one.name === name)?.title;

	return [view, session && `#${session.id} ${session.name || session.target_text}`, 'profiled'].filter(Boolean).join(' · ');
}

export function Shell() {
	const { view, session } = useCell(route);

	useShellKeys();
	usePoll(loadSessions, SESSIONS_EVERY_MS);
	usePoll(loadStatus, STATUS_EVERY_MS);
	useCell(sessions);
	useEffect(() => {
		if (session)
			current.set(session);
	}, [session]);
	const inTitle = session ? findSession(session) : undefined;

	useEffect(() => {
		document.title = title(view, inTitle);
	}, [view, inTitle]);
	return (
		<>
			<a class="skip" href="#main" onClick={skip}>
				Skip to the content
			</a>
			<header class="top">
				<a class="brand" href={address('targets')} aria-label="profiled">
					<img src="/favicon.svg" alt="" width="24" height="24" />
					<b>profiled</b>
				</a>
				<Tabs />
				<Search />
				<Health />
				<ThemeSwitch />
				<button type="button" class="quiet icon" aria-label="Keys" title="Keys (?)" onClick={() => helpOpen.set(true)}>
					?
				</button>
			</header>
			<Trouble />
			<SessionInView />
			<main id="main" tabIndex={-1}>
				<h1 class="unseen">{views.find((one) => one.name === view)?.title ?? 'profiled'}</h1>
				<Main />
			</main>
			<Alerts />
			<Help />
		</>
	);
}

// The part behind "#" is the view's address.
function skip(event: Event): void {
	event.preventDefault();
	document.getElementById('main')?.focus();
}
