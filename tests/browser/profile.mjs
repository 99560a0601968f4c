// The profile view: what is drawn, zoom, search, keys, menu, filters, tables, addresses, growth; and the viewer without a
// daemon. Most of it on stacks that are sent in, whose truth is known.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { axeFinds, check, goTo, newPage, overflow, PHONE, textOf, waitFor } from './lib.mjs';

const FOLDED = `main;load;parse 30
main;load;parse;alloc 10
main;run;step;step;step;alloc 20
main;run;step;step 15
main;run;draw 20
main;idle 5
`;
const FLAME = '.flame-scroll';
const MANY = 50_000;

const send = (page, name, text) =>
	page.evaluate(async ([to, body]) => {
		const answer = await fetch(to, { method: 'POST', body, headers: { 'Content-Type': 'application/octet-stream' } });
		return (await answer.json()).id;
	}, [`/v1/import?name=${name}`, text]);

const spoken = (page) => textOf(page, '.flame-host .unseen');
const zoomedPath = (page) => page.locator('.path button').allTextContents();
const asked = (page) => new URLSearchParams(page.url().split('?')[1] ?? '');
const settles = async (name, what, wanted) => {
	const same = async () => JSON.stringify(await what()) === JSON.stringify(wanted);

	check(name, await waitFor(same, 15_000), [await what(), wanted]);
};

async function press(page, ...keys) {
	for (const key of keys)
		await page.keyboard.press(key);
}

async function testKeys(page) {
	await page.focus(FLAME);
	await press(page, 'ArrowDown', 'ArrowDown');
	check('keys_say_the_frame', /^run.*Total 55\.0 % · 55 · 55 samples.*Self 0.*level 2/.test(await spoken(page)), await spoken(page));
	await press(page, 'ArrowLeft');
	check('keys_go_to_siblings', (await spoken(page)).startsWith('load'), await spoken(page));
	await press(page, 'Enter');
	await settles('enter_zooms', () => zoomedPath(page), ['all', 'main', 'load']);
	check('zoom_is_in_the_address', asked(page).get('z'), page.url());
	const there = page.url();

	await press(page, 'ArrowUp');
	check('keys_go_to_callers', (await spoken(page)).startsWith('main'), await spoken(page));
	await press(page, 'Escape');
	await settles('escape_shows_all', () => zoomedPath(page), ['all']);
	await page.goBack();
	await settles('back_goes_back', () => zoomedPath(page), ['all', 'main', 'load']);
	await press(page, '0');
	await page.goto('about:blank');
	await page.goto(there);
	await page.waitForSelector('.path');
	await settles('pasted_address_zooms', () => zoomedPath(page), ['all', 'main', 'load']);
}

// The function that is told of at a point.
async function tipAt(page, [x, y]) {
	await page.mouse.move(x + 1, y);
	await page.mouse.move(x, y);
	return textOf(page, '.flame-tip:not([hidden]) b');
}

async function testPointer(page) {
	const box = await page.locator(FLAME).boundingBox();
	const at = (share, row) => [box.x + 1 + (box.width - 2) * share, box.y + 1 + 19 * (row + 0.5)];

	await goTo(page, page.url().split('?')[0].split('#')[1], '.path');
	await settles('all_is_shown', () => zoomedPath(page), ['all']);
	await settles('tip_tells', () => tipAt(page, at(0.6, 2)), 'run');
	await page.mouse.click(...at(0.6, 2));
	await settles('click_zooms', () => zoomedPath(page), ['all', 'main', 'run']);
	await page.mouse.click(...at(0.5, 0));
	await settles('click_above_zooms_out', () => zoomedPath(page), ['all']);
	await page.mouse.move(...at(0.6, 2));
	await page.keyboard.down('Control');
	for (let i = 0; i < 3; i++)
		await page.mouse.wheel(0, -60);
	await page.keyboard.up('Control');
	await settles('wheel_is_nearer', () => tipAt(page, at(0.02, 2)), 'run'); // load was there
	await page.mouse.move(...at(0.5, 2));
	await page.mouse.down();
	await page.mouse.move(...at(0.95, 2), { steps: 4 });
	await page.mouse.up();
	await settles('drag_moves_aside', () => tipAt(page, at(0.02, 2)), 'load');
	await page.focus(FLAME);
	await press(page, '0');
	await page.mouse.click(...at(0.6, 2), { button: 'right' });
	await page.waitForSelector('.actions');
	await page.getByRole('menuitem', { name: 'Only stacks with it' }).click();
	await page.waitForSelector('.chip');
	check('filter_is_in_the_address', asked(page).get('only') === '/run', page.url());
	check('filter_says_what_is_left', /55\.0 % of the profile is left/.test(await textOf(page, '.workbench')));
	await page.click('.chip');
	await settles('filter_goes', () => asked(page).get('only'), null);
}

async function testSearch(page) {
	await page.evaluate(() => document.activeElement.blur());
	await page.keyboard.press('/');
	await page.keyboard.type('alloc');
	await settles('search_counts_once', () => textOf(page, '.search-says'), '30.0 % in 2 frames');
	await page.fill('[data-search]', '/^step$/');
	await settles('search_counts_recursion_once', () => textOf(page, '.search-says'), '35.0 % in 3 frames');
	await page.fill('[data-search]', '/(/');
	check('search_says_what_is_wrong', await waitFor(async () => /regular expression/.test(await textOf(page, '.search-says.wrong'))));
	await page.fill('[data-search]', 'alloc');
	await page.click('[aria-label="Next match"]');
	const first = await spoken(page);

	await page.click('[aria-label="Next match"]');
	check('matches_are_gone_through', first.startsWith('alloc') && (await spoken(page)).startsWith('alloc') && first !== (await spoken(page)),
		[first, await spoken(page)]);
	check('search_is_in_the_address', asked(page).get('q') === 'alloc', page.url());
	await page.fill('[data-search]', '');
}

const cells = (page) => page.$$eval('.rows [role=rowgroup] [role=row]', (rows) => rows.map((row) => row.innerText.replace(/\s+/g, ' ').trim()));

async function testTables(page, path) {
	await goTo(page, `${path}?tab=top`, '.rows');
	const rows = await cells(page);

	check('table_is_true', rows[0] === '30.0 % · 30 40.0 % · 40 parse' && rows.some((row) => row === '15.0 % · 15 35.0 % · 35 step'), rows);
	await page.click('.row-head button:has-text("Total")');
	check('table_sorts', (await cells(page))[0].includes('main'), await cells(page));
	check('order_is_in_the_address', asked(page).get('sort') === '-total', page.url());
	await page.fill('[data-search]', 'alloc');
	await settles('search_filters_the_table', async () => (await cells(page)).length, 1);
	await page.focus('.rows');
	await page.keyboard.press('Enter');
	await page.waitForSelector('.sandwich');
	await page.fill('[data-search]', '');
	check('sandwich_of_the_row', asked(page).get('fn') === '/alloc' && /Total 30\.0 %/.test(await textOf(page, '.sandwich-head')), page.url());
	await page.locator(FLAME).first().focus();
	await press(page, 'ArrowUp');
	check('sandwich_has_callers', (await spoken(page)).startsWith('step, Total 66.7 %'), await spoken(page));
	await goTo(page, `${path}?tab=tree`, '[role=treegrid]');
	check('tree_opens_where_the_weight_is', (await cells(page)).some((row) => /55\.0 % · 55 .*run$/.test(row)), await cells(page));
	await page.focus('.rows');
	await press(page, 'Home', 'ArrowLeft');
	await settles('tree_closes', async () => (await cells(page)).length, 1);
	await press(page, 'ArrowRight', 'ArrowRight', 'ArrowRight');
	check('tree_opens_by_key', (await cells(page)).length > 2, await cells(page));
	await goTo(page, `${path}?rec=1&tab=top&q=step`, '.rows');
	check('collapsed_recursion_keeps_totals', (await cells(page))[0] === '15.0 % · 15 35.0 % · 35 step', await cells(page));
}

async function testLooks(page, path) {
	for (const tab of ['', 'top', 'sandwich&fn=%2Fstep', 'tree']) {
		await goTo(page, `${path}?tab=${tab}`, '.workbench');
		const finds = await axeFinds(page);

		check(`axe_likes_${tab.split('&')[0] || 'flame'}`, finds.length === 0, finds);
		await page.setViewportSize(PHONE);
		check(`phone_fits_${tab.split('&')[0] || 'flame'}`, (await overflow(page)) <= 0, await overflow(page));
		await page.setViewportSize({ width: 1280, height: 800 });
	}
	await goTo(page, path, FLAME);
	await page.focus(FLAME);
	await press(page, 'ArrowDown', 'm');
	await page.waitForSelector('.actions');
	check('axe_likes_the_menu', (await axeFinds(page)).length === 0, await axeFinds(page));
	await press(page, 'Escape');
	await settles('focus_returns_from_the_menu', () => page.evaluate((s) => document.activeElement === document.querySelector(s), FLAME), true);
}

async function testMany(page) {
	const id = await send(page, 'many', Array.from({ length: MANY }, (_, i) => `main;f${i} 1\n`).join(''));

	await goTo(page, `#/session/${id}/profile?tab=top`, '.rows');
	check('long_table_is_all_there', (await page.getAttribute('.rows', 'aria-rowcount')) === String(MANY + 2));
	check('long_table_has_rows_in_sight_alone', (await cells(page)).length < 100);
	await page.focus('.rows');
	await press(page, 'End');
	await settles('long_table_goes_to_its_end', () => page.getAttribute('.rows .active', 'aria-rowindex'), String(MANY + 2));
}

// The zoom stays with its frame while samples come.
async function testGrowth(page, pid, name) {
	const id = await page.evaluate(async (of) => {
		const answer = await fetch('/v1/sessions', {
			method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ pid: of, duration_s: 0 }),
		});
		return (await answer.json()).id;
	}, pid);
	const requests = [];
	const samples = async () => Number(/([\d,]+) samples/.exec(await textOf(page, '.flame-detail'))?.[1].replaceAll(',', '') ?? 0);

	page.on('request', (request) => requests.push(request.url()));
	await goTo(page, `#/session/${id}/profile`, FLAME);
	await waitFor(samples);
	await page.fill('[data-search]', 'middle');
	check('live_profile_has_the_function', await waitFor(async () => /^[1-9].*in [1-9]/.test(await textOf(page, '.search-says'))), await textOf(page, '.search-says'));
	await page.click('[aria-label="Next match"]');
	await page.focus(FLAME);
	await press(page, 'Enter');
	const path = await waitFor(async () => ((await zoomedPath(page)).at(-1) === 'middle' ? zoomedPath(page) : null));
	const place = asked(page).get('z'), before = await samples();

	check('live_profile_grows', await waitFor(async () => (await samples()) > before), before);
	check('zoom_stays_while_it_grows', JSON.stringify(await zoomedPath(page)) === JSON.stringify(path) && asked(page).get('z') === place, path);
	check('growth_comes_as_a_stream', requests.some((to) => to.includes('/events')) && !requests.some((to) => to.includes('/profile?')), requests);
	await goTo(page, `#/session/${id}/profile?tab=top&group=thread`, '.rows');
	check('threads_have_rows', await waitFor(async () => (await cells(page)).some((row) => row.includes(name))), await cells(page));
	await page.evaluate((one) => fetch(`/v1/sessions/${one}/stop`, { method: 'POST' }), id);
}

async function testViewer(browser, page, id) {
	const folder = mkdtempSync(join(tmpdir(), 'viewer.'));
	const file = join(folder, 'profile.html');
	const json = await page.evaluate(async (one) => (await fetch(`/v1/sessions/${one}/profile?format=json`)).text(), id);
	const [head, tail] = readFileSync(new URL('../../web/dist/viewer.html', import.meta.url), 'utf8').split('{{profile}}');
	const viewer = await newPage(browser);

	try {
		writeFileSync(file, head + json.replaceAll('<', '\\u003c') + tail);
		await viewer.goto(`${pathToFileURL(file)}#q=alloc`);
		await viewer.waitForSelector(FLAME);
		await settles('viewer_searches', () => textOf(viewer, '.search-says'), '30.0 % in 2 frames');
		await viewer.click('.segments button:has-text("Top")');
		check('viewer_has_the_table', (await cells(viewer))[0] === '30.0 % · 30 30.0 % · 30 alloc', await cells(viewer));
		check('viewer_asks_nobody', viewer.troubles.length === 0, viewer.troubles);
	} finally {
		rmSync(folder, { recursive: true });
	}
}

export async function testProfile(browser, { url, token, pid, name }) {
	const page = await newPage(browser, { reducedMotion: 'reduce' }); // where one clicks nothing moves

	await page.goto(`${url}?token=${token}`);
	const id = await send(page, 'known', FOLDED), path = `#/session/${id}/profile`;

	await goTo(page, path, FLAME);
	await testKeys(page);
	await testPointer(page);
	await testSearch(page);
	await testTables(page, path);
	await testLooks(page, path);
	await testMany(page);
	await testGrowth(page, pid, name);
	await testViewer(browser, page, id);
	check('profile_has_no_troubles', page.troubles.length === 0, page.troubles);
}
