// screenshots.mjs FOLDER: takes the pictures; tests/browser/screenshots has started what is to be seen.
import { join } from 'node:path';
import { goTo, launch, newPage, PHONE, sleep, WIDE } from './lib.mjs';

const { PAGE_URL: url, PAGE_TOKEN: token, PAGE_PROGRAMS: programs } = process.env;
const folder = process.argv[2];
const browser = await launch();

async function open(options) {
	const page = await newPage(browser, options);

	await page.goto(`${url}?token=${token}`);
	await page.waitForSelector('table.targets tbody tr');
	return page;
}

const ask = (page, method, path, body) =>
	page.evaluate(
		async ([method, path, body]) => {
			const headers = body ? { 'Content-Type': 'application/json' } : {};
			const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body) });

			if (!answer.ok)
				throw new Error(await answer.text());
			return answer.json();
		},
		[method, path, body],
	);

// Two releases, as other tools hand stacks over.
const RELEASES = {
	'release 41': `main;serve;parse_request;read_headers 610
main;serve;find_user;lookup_cache 240
main;serve;find_user;query_database;decode_rows 900
main;serve;render;fill_template;escape 700
main;serve;render;legacy_theme 420
main;collect_garbage;mark 380
main;collect_garbage;sweep 210
`,
	'release 42': `main;serve;parse_request;read_headers 590
main;serve;find_user;lookup_cache 230
main;serve;find_user;query_database;decode_rows 890
main;serve;render;fill_template;escape 1680
main;collect_garbage;mark 610
main;collect_garbage;sweep 220
`,
};

const bring = (page, name) =>
	page.evaluate(
		async ([path, body]) => {
			const headers = { 'Content-Type': 'application/octet-stream' };

			return (await (await fetch(path, { method: 'POST', headers, body })).json()).id;
		},
		[`/v1/import?name=${encodeURIComponent(name)}`, RELEASES[name]],
	);

async function finished(page, id) {
	while ((await ask(page, 'GET', `/v1/sessions/${id}`)).state === 'running')
		await sleep(200);
}

// Shown: what has to be there before the picture is taken; then what moves has come to rest.
async function take(page, name, hash, shown, act) {
	await goTo(page, hash, shown);
	await act?.();
	await page.mouse.move(640, 5);
	await sleep(1200);
	await page.screenshot({ path: join(folder, `page-${name}.png`) });
}

const page = await open({ viewport: WIDE, colorScheme: 'light' });
const start = (body) => ask(page, 'POST', '/v1/sessions', body);
const before = await start({ command: 'checkout', duration_s: 6, frequency_hz: 999, name: 'checkout, before' });
// The first of their namespace, behind the daemon. One is picked out by its pid, which stays the same.
const pids = Array.from({ length: Number(programs) }, (_, i) => i + 2);
const all = await start({ pids, duration_s: 25, frequency_hz: 499, name: 'the shop' });

await take(page, 'targets', '#/targets', 'table.targets', () => sleep(2500));
await finished(page, all.id);
await finished(page, before.id);
const running = await start({ command: 'search', duration_s: 60, frequency_hz: 199, name: 'search, in production' });

await sleep(1500);
await take(page, 'sessions', '#/sessions', '.session .state.running');
await take(page, 'profile', `#/session/${before.id}/profile`, 'main canvas, main iframe');
await take(page, 'time', `#/session/${all.id}/time`, 'main canvas');
await take(page, 'source', `#/session/${before.id}/source?function=render_receipt&module=checkout`, '.source');
const [base, other] = [await bring(page, 'release 41'), await bring(page, 'release 42')];

await take(page, 'compare', `#/compare?base=${base}&other=${other}`, '.compare');
await take(page, 'ledger', `#/session/${all.id}/ledger`, '.shares .good');
await take(page, 'status', '#/status', '.abilities');
await page.context().close();

const dark = await open({ viewport: WIDE, colorScheme: 'dark' });

await take(dark, 'dark', `#/session/${before.id}/profile`, 'main canvas, main iframe');
await dark.context().close();

const phone = await open({ viewport: PHONE, deviceScaleFactor: 2, colorScheme: 'dark', hasTouch: true });

await take(phone, 'phone', `#/session/${running.id}/ledger`, '.shares .good');
await browser.close();
