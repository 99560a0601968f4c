// The page: lists targets and sessions, starts and stops, and shows flame graphs. Everything that comes from
// the daemon goes into the document as text, never as markup.
'use strict';

const TARGETS_EVERY_MS = 3000;
const SESSIONS_EVERY_MS = 1500;
const STATUS_EVERY_MS = 10000;
const TARGETS_SHOWN = 150;

const $ = (id) => document.getElementById(id);

const state = {
	sessions: [],
	chosen: 0, // the id of the session in view
	shown: null, // what the frame shows: {id, url, samples, state}
	giveUp: () => {}, // drops the picture that is on its way
	targetsAsked: 0,
};

// ---- asking the daemon ----

class Refusal extends Error {
	constructor(message, status) {
		super(message);
		this.status = status;
	}
}

async function ask(method, path, body) {
	const options = { method, headers: {}, cache: 'no-store' };
	let response, text;

	if (body !== undefined) {
		options.headers['Content-Type'] = 'application/json';
		options.body = JSON.stringify(body);
	}
	try {
		response = await fetch(path, options);
		text = await response.text();
	} catch {
		throw new Refusal('The daemon does not answer. Does it still run?', 0);
	}
	if (response.ok)
		return text ? JSON.parse(text) : null;
	let detail = response.status + ' ' + response.statusText;
	try {
		detail = JSON.parse(text).detail || detail;
	} catch {
		// Not a problem of ours: a proxy in between.
	}
	throw new Refusal(detail, response.status);
}

// ---- small things ----

function make(tag, name, text) {
	const element = document.createElement(tag);

	if (name)
		element.className = name;
	if (text !== undefined)
		element.textContent = text;
	return element;
}

function setText(element, text) {
	if (element.textContent !== text)
		element.textContent = text;
}

// Makes the children of list those of items: kept ones stay the same elements, so that focus and scroll
// position stay too.
function reconcile(list, items, keyOf, create, update) {
	const old = new Map();
	let at = list.firstElementChild;

	for (const child of list.children)
		old.set(child.dataset.key, child);
	for (const item of items) {
		const key = String(keyOf(item));
		let child = old.get(key);

		if (!child) {
			child = create(item);
			child.dataset.key = key;
		}
		old.delete(key);
		update(child, item);
		if (child === at)
			at = at.nextElementSibling;
		else
			list.insertBefore(child, at);
	}
	for (const child of old.values())
		child.remove();
}

const number = new Intl.NumberFormat('en');

function bytes(n) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let i = 0;

	while (n >= 1024 && i < units.length - 1) {
		n /= 1024;
		i++;
	}
	return (n < 10 && i ? n.toFixed(1) : Math.round(n)) + ' ' + units[i];
}

function time(seconds) {
	if (seconds < 60)
		return seconds.toFixed(1) + ' s';
	if (seconds < 3600)
		return Math.floor(seconds / 60) + ' min ' + Math.floor(seconds % 60) + ' s';
	return Math.floor(seconds / 3600) + ' h ' + Math.floor((seconds % 3600) / 60) + ' min';
}

function alertUser(text) {
	const boxes = $('alerts');

	for (const box of boxes.children)
		if (box.firstChild.textContent === text)
			return;
	const box = make('div', 'alert');
	const close = make('button', '', 'Close');

	close.type = 'button';
	close.addEventListener('click', () => box.remove());
	box.append(make('p', '', text), close);
	boxes.append(box);
	setTimeout(() => box.remove(), 15000);
}

// Runs what a click asks for. A second click waits for the first.
async function act(button, work) {
	button.disabled = true;
	try {
		await work();
	} catch (error) {
		alertUser(error.message);
	}
	button.disabled = false;
}

function setHealth(good, text) {
	$('health').className = 'health ' + (good ? 'good' : 'bad');
	setText($('health'), text);
}

// ---- targets ----

function createTarget(target) {
	const row = make('li', 'target');
	const button = make('button', '', 'Profile');

	button.type = 'button';
	button.addEventListener('click', () => act(button, () => start(row.start)));
	row.append(make('span', 'bar'), make('span', 'name'), make('span', 'about'), make('span', 'cpu'), button);
	return row;
}

function aboutTarget(target) {
	if (target.kind === 'process')
		return 'pid ' + target.pid + ' · ' + bytes(target.rss_bytes) +
			(target.threads > 1 ? ' · ' + target.threads + ' threads' : '');
	return (target.processes === 1 ? '1 process' : target.processes + ' processes') +
		(target.cgroup && target.cgroup !== target.name ? ' · ' + target.cgroup : '');
}

function updateTarget(row, target) {
	const [bar, name, about, cpu, button] = row.children;

	row.start = target.start;
	setText(name, target.name || '(no name)');
	name.title = target.name;
	setText(about, aboutTarget(target));
	about.title = about.textContent;
	setText(cpu, target.cpu_percent.toFixed(1) + ' %');
	bar.style.width = Math.min(target.cpu_percent, 100) + '%';
	button.setAttribute('aria-label', 'Profile ' + target.name + ' ' + about.textContent);
}

async function loadTargets() {
	const kind = $('kind').value;
	const asked = ++state.targetsAsked;
	const answer = await ask('GET', '/v1/targets?sort=cpu&limit=' + TARGETS_SHOWN + '&kind=' + kind +
		'&q=' + encodeURIComponent($('search').value.trim()));

	// An answer to an earlier question may come later than one to the last.
	if (asked !== state.targetsAsked)
		return;
	reconcile($('targets'), answer.targets, (t) => JSON.stringify(t.start), createTarget, updateTarget);
	const hidden = answer.found - answer.targets.length;
	setText($('targets-more'), answer.found === 0 ?
		($('search').value.trim() ? 'None of that name.' : 'There are none here.') :
		hidden > 0 ? 'And ' + number.format(hidden) + ' more; search for them by name.' : '');
}

function options() {
	const request = { frequency_hz: Number($('rate').value), kernel: $('kernel').checked,
		unwind: $('unwind').value };

	if ($('duration').value !== '0')
		request.duration_s = Number($('duration').value);
	if ($('event').value)
		request.events = [$('event').value];
	return request;
}

function describeOptions() {
	const chosen = (id) => $(id).selectedOptions[0].textContent;

	setText($('options-text'), [chosen('duration'), chosen('rate'),
		$('event').value || null, $('kernel').checked ? null : 'no kernel']
		.filter(Boolean).join(' · '));
}

async function start(target) {
	const session = await ask('POST', '/v1/sessions', { ...target, ...options() });

	await loadSessions();
	choose(session.id, true);
}

// ---- sessions ----

function wholeShare(ledger) {
	let all = 0;

	for (const [end, count] of Object.entries(ledger.unwind_ends))
		if (end !== 'no_user')
			all += count;
	return all ? Math.floor(ledger.unwind_ends.root / all * 1000) / 10 : null;
}

function ledgerLine(ledger) {
	const parts = [number.format(ledger.samples) + ' samples'];
	const whole = wholeShare(ledger);

	if (ledger.lost)
		parts.push(number.format(ledger.lost) + ' lost');
	if (ledger.dropped)
		parts.push(number.format(ledger.dropped) + ' dropped');
	if (ledger.throttled)
		parts.push(number.format(ledger.throttled) + ' throttled');
	if (ledger.truncated)
		parts.push(number.format(ledger.truncated) + ' truncated');
	if (whole !== null)
		parts.push(whole + ' % of stacks whole');
	return parts.join(' · ');
}

function sessionLine(session) {
	const rate = session.frequency_hz ? session.frequency_hz + ' Hz' : 'every ' + number.format(session.period);
	let ran = time(session.elapsed_s);

	if (session.state === 'running' && session.duration_s)
		ran += ' of ' + time(session.duration_s);
	return ran + ' · ' + session.events.join(', ') + ' · ' + rate + ' · ' + ledgerLine(session.ledger);
}

const endings = { stop: 'stopped', duration: 'done', target_gone: 'target gone', shutdown: 'shut down' };

function createSession(session) {
	const row = make('li', 'session');
	const open = make('button', 'open');
	const actions = make('span', 'actions');
	const stop = make('button', '', 'Stop');
	const remove = make('button', 'danger', 'Delete');

	for (const button of [open, stop, remove])
		button.type = 'button';
	open.addEventListener('click', () => choose(session.id, true));
	stop.addEventListener('click', () => act(stop, async () => {
		await ask('POST', session.links.self + '/stop');
		await loadSessions();
	}));
	remove.addEventListener('click', () => act(remove, () => confirmDelete(remove, session)));
	actions.append(stop, remove);
	row.append(make('span', 'state'), open, make('span', 'line'), actions);
	return row;
}

// The first click asks, the second does it.
async function confirmDelete(button, session) {
	if (button.textContent === 'Delete') {
		setText(button, 'Really?');
		setTimeout(() => setText(button, 'Delete'), 3000);
		return;
	}
	await ask('DELETE', session.links.self);
	if (state.chosen === session.id)
		choose(0, false);
	await loadSessions();
}

function updateSession(row, session) {
	const [badge, open, line, actions] = row.children;
	const running = session.state === 'running';

	row.classList.toggle('chosen', session.id === state.chosen);
	badge.className = 'state ' + session.state;
	setText(badge, running ? 'running' : endings[session.ended_by] || session.state);
	setText(open, '#' + session.id + ' ' + (session.name ? session.name + ' · ' : '') + session.target_text);
	setText(line, sessionLine(session));
	actions.firstElementChild.hidden = !running;
}

async function loadSessions() {
	const answer = await ask('GET', '/v1/sessions');

	state.sessions = answer.sessions;
	reconcile($('sessions'), answer.sessions, (s) => s.id, createSession, updateSession);
	$('no-sessions').hidden = answer.sessions.length > 0;
	showChosen();
}

// ---- the flame graph ----

function chosenSession() {
	return state.sessions.find((session) => session.id === state.chosen);
}

function choose(id, scroll) {
	state.chosen = id;
	state.shown = null;
	history.replaceState(null, '', id ? '#' + id : location.pathname);
	for (const row of $('sessions').children)
		row.classList.toggle('chosen', row.dataset.key === String(id));
	showChosen();
	if (scroll && id && !$('view').hidden && matchMedia('(max-width: 860px)').matches)
		$('view').scrollIntoView({ behavior: 'smooth' });
}

function question() {
	const parts = [];
	const add = (key, value) => parts.push(key + '=' + encodeURIComponent(value));

	if ($('view-event').value)
		add('event', $('view-event').value);
	if ($('view-range').value)
		parts.push($('view-range').value);
	if ($('view-by').value)
		add('by', $('view-by').value);
	for (const key of ['inline', 'lines', 'inverted', 'fold_templates'])
		if ($('view-' + key).checked)
			add(key, '1');
	return parts;
}

function query(parts) {
	return parts.length ? '?' + parts.join('&') : '';
}

// What the daemon said to the last request for that address, as far as the browser tells; 0: it does not.
function statusOf(url) {
	const entries = performance.getEntriesByName(new URL(url, location.href).href);

	return entries.length ? entries[entries.length - 1].responseStatus || 0 : 0;
}

// Puts the picture in place of the one that is there, once it has loaded: a new frame, as the same address
// in an old one would not load again.
function showPicture(session) {
	const old = $('frame');
	const frame = old.cloneNode(false);
	const width = Math.max(320, Math.floor(old.parentElement.clientWidth));
	const url = session.links.flamegraph + query([...question(), 'width=' + width]);

	state.shown = { id: session.id, samples: session.ledger.samples, state: session.state };
	state.giveUp();
	$('frame-note').hidden = true;
	frame.hidden = false;
	frame.className = 'coming';
	frame.removeAttribute('id');
	performance.clearResourceTimings();
	return new Promise((resolve, reject) => {
		const box = old.parentElement;

		box.classList.add('busy');
		state.giveUp = () => {
			state.giveUp = () => {};
			frame.remove();
			resolve();
		};
		frame.addEventListener('load', () => {
			if (frame.className !== 'coming' || !frame.isConnected)
				return;
			state.giveUp = () => {};
			box.classList.remove('busy');
			if (statusOf(url) >= 400) {
				frame.remove();
				explain(url).then(resolve, reject);
				return;
			}
			$('frame').remove();
			frame.className = '';
			frame.id = 'frame';
			$('frame-note').hidden = true;
			resolve();
		});
		frame.src = url;
		old.after(frame);
	});
}

// Says why there is no picture.
async function explain(url) {
	try {
		await ask('GET', url);
	} catch (error) {
		$('frame').hidden = true;
		$('frame-note').hidden = false;
		setText($('frame-note'), error.message);
	}
}

function fillEvents(session) {
	const select = $('view-event');
	const names = session.events.join('\n');

	$('view-events').hidden = session.events.length < 2;
	if (select.dataset.names === names)
		return;
	select.dataset.names = names;
	select.replaceChildren(...session.events.map((name) => {
		const option = make('option', '', name);
		option.value = name;
		return option;
	}));
}

function fillLinks(session) {
	const parts = question();

	for (const format of ['json', 'folded', 'text'])
		$('save-' + format).href = session.links.profile + query(['format=' + format, ...parts]);
	$('save-svg').href = session.links.flamegraph + query(parts);
	$('open-svg').href = session.links.flamegraph + query(parts);
	for (const [format, ending] of [['svg', 'svg'], ['json', 'json'], ['folded', 'folded'], ['text', 'txt']])
		$('save-' + format).download = 'profile-' + session.id + '.' + ending;
}

// Brings the panel up to date. The picture itself is loaded when it is new, when the session has ended, or
// when asked: a reload loses what one has zoomed into.
function showChosen() {
	const session = chosenSession();
	const shown = state.shown;

	$('view').hidden = !session;
	if (!session)
		return;
	setText($('view-title'), session.target_text + (session.name ? ' · ' + session.name : ''));
	setText($('view-ledger'), ledgerLine(session.ledger));
	reconcile($('view-warnings'), session.warnings, (text) => text, (text) => make('li', '', text), () => {});
	fillEvents(session);
	fillLinks(session);
	if (session.ledger.samples === 0 && session.state === 'running') {
		$('frame').hidden = true;
		$('frame-note').hidden = false;
		setText($('frame-note'), 'No samples yet: the target has not used the CPU so far.');
		return;
	}
	if (!shown || shown.state !== session.state || (shown.samples < 50 && session.ledger.samples >= 50))
		showPicture(session).catch((error) => alertUser(error.message));
	const news = state.shown ? session.ledger.samples - state.shown.samples : 0;
	setText($('refresh'), news > 0 ? 'Refresh (' + number.format(news) + ' new)' : 'Refresh');
}

// ---- status ----

function facts(status) {
	const list = [
		['Version', status.version],
		['Up', time(status.uptime_s)],
		['CPU used', time(status.cost.cpu_seconds)],
		['Memory', bytes(status.cost.memory_bytes)],
		['Sessions', status.sessions.running + ' running, ' + status.sessions.kept + ' kept'],
		['Samples', number.format(status.samples.taken) + ', ' + number.format(status.samples.lost) + ' lost'],
	];

	if (status.store)
		list.push(['On disk', status.store.profiles + ' profiles, ' + bytes(status.store.bytes)]);
	for (const process of status.processes)
		if (process.pid)
			list.push([process.role, 'pid ' + process.pid + ', ' + time(process.cpu_seconds) + ', ' +
				bytes(process.rss_bytes)]);
	return list;
}

function updateAbility(row, ability) {
	row.className = ability.there ? '' : 'missing';
	const parts = [make('span', '', ability.name.replaceAll('_', ' '))];

	if (!ability.there && ability.reason)
		parts.push(make('span', 'muted', ' · ' + ability.reason));
	if (!ability.there && ability.remedy)
		parts.push(make('span', 'remedy', ability.remedy));
	row.replaceChildren(...parts);
}

function fillEventChoice(events) {
	const select = $('event');

	if (select.options.length > 1)
		return;
	for (const event of events) {
		if (!event.there)
			continue;
		const option = make('option', '', event.name);
		option.value = event.name;
		select.append(option);
	}
}

async function loadStatus() {
	const status = await ask('GET', '/v1/status');

	setText($('version'), status.version);
	reconcile($('facts'), facts(status).flatMap(([name, text]) => [['dt', name, name], ['dd', name, text]]),
		([tag, name]) => tag + name, ([tag]) => make(tag), (element, [, , text]) => setText(element, text));
	reconcile($('abilities'), status.abilities, (a) => a.name, () => make('li'), updateAbility);
	reconcile($('events'), status.events, (e) => e.name, () => make('li'), (row, event) => {
		setText(row, event.name);
		row.className = event.there ? '' : 'missing';
	});
	fillEventChoice(status.events);
	const missing = status.abilities.filter((ability) => !ability.there).length;
	setText($('show-status'), missing ? 'Status (' + missing + ' missing)' : 'Status');
}

// ---- life of the page ----

// Repeats work while the page is to be seen; what goes wrong shows in the corner, not as a box each time.
function every(ms, work) {
	async function turn() {
		if (!document.hidden) {
			try {
				await work();
				setHealth(true, 'connected');
			} catch (error) {
				setHealth(false, error.status === 401 ?
					'signed out: open the address with ?token= again' : error.message);
			}
		}
		setTimeout(turn, ms);
	}
	turn();
}

let searching = 0;

function searchSoon() {
	clearTimeout(searching);
	searching = setTimeout(() => loadTargets().catch((error) => alertUser(error.message)), 150);
}

function refresh() {
	const session = chosenSession();

	return session ? showPicture(session).then(() => setText($('refresh'), 'Refresh')) : Promise.resolve();
}

$('search').addEventListener('input', searchSoon);
$('kind').addEventListener('change', searchSoon);
$('start-all').addEventListener('click', () => act($('start-all'), () => start({ all: true })));
$('refresh').addEventListener('click', () => act($('refresh'), async () => {
	await loadSessions();
	await refresh();
}));
for (const id of ['view-event', 'view-range', 'view-by', 'view-inline', 'view-lines', 'view-inverted',
	'view-fold_templates'])
	$(id).addEventListener('change', () => {
		const session = chosenSession();

		if (session)
			fillLinks(session);
		refresh().catch((error) => alertUser(error.message));
	});
for (const id of ['duration', 'rate', 'event', 'unwind', 'kernel'])
	$(id).addEventListener('change', describeOptions);
$('show-status').addEventListener('click', () => {
	$('status').hidden = !$('status').hidden;
	$('show-status').setAttribute('aria-expanded', String(!$('status').hidden));
});
document.addEventListener('keydown', (event) => {
	if (event.key === '/' && !['INPUT', 'SELECT'].includes(document.activeElement.tagName)) {
		event.preventDefault();
		$('search').focus();
	}
});
addEventListener('hashchange', () => choose(Number(location.hash.slice(1)) || 0, false));

describeOptions();
state.chosen = Number(location.hash.slice(1)) || 0;
every(TARGETS_EVERY_MS, loadTargets);
every(SESSIONS_EVERY_MS, loadSessions);
every(STATUS_EVERY_MS, loadStatus);
