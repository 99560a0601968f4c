// Views of time, of source lines and of two profiles beside each other.
import { axeFinds, check, goTo, newPage, overflow, PHONE, waitFor } from './lib.mjs';

const BEFORE = `main;parse 400
main;search 200
main;legacy 150
main;draw 250
`;
const AFTER = `main;parse 190
main;search 550
main;draw 260
`;

const asked = (page) => new URLSearchParams(page.url().split('?')[1] ?? '');

const post = (page, path, body, type) =>
	page.evaluate(async ([to, data, kind]) => {
		const answer = await fetch(to, { method: 'POST', body: data, headers: { 'Content-Type': kind } });

		return (await answer.json()).id;
	}, [path, body, type]);

const samplesInView = async (page) => Number(/([\d,]+) samples?/.exec(await page.locator('.flame-detail').innerText())?.[1].replace(/,/g, ''));

async function looksRight(page, name) {
	check(`${name}_passes_axe`, (await axeFinds(page)).length === 0, await axeFinds(page));
	const wide = page.viewportSize();

	await page.setViewportSize(PHONE);
	check(`${name}_fits_a_phone`, (await overflow(page)) <= 0, await overflow(page));
	await page.setViewportSize(wide);
}

async function testTime(page, id) {
	await goTo(page, `#/session/${id}/time`);
	await page.waitForSelector('.heat canvas');
	await waitFor(() => page.locator('.strip').count());
	check('time_has_a_strip_for_the_thread', (await page.locator('.strip').count()) === 1, await page.locator('.strips').innerText());
	await looksRight(page, 'time');
	const map = await page.locator('.heat canvas').boundingBox();

	// From the middle of the first second to the top of the second one.
	await page.mouse.move(map.x + 2, map.y + map.height / 2);
	await page.mouse.down();
	await page.mouse.move(map.x + 30, map.y + 1, { steps: 3 });
	await page.mouse.up();
	await waitFor(() => asked(page).get('to'));
	check('range_is_in_the_address', asked(page).get('from') === '0.48' && asked(page).get('to') === '2', page.url());
	check('range_can_be_typed', (await page.locator('.range input').first().inputValue()) === '0.48');
	await page.getByText('Profile of the range').click();
	await page.waitForSelector('.flame-detail');
	const samples = await samplesInView(page);

	check('range_has_its_own_profile', asked(page).get('from') === '0.48' && samples > 0, [page.url(), samples]);
	await goTo(page, `#/session/${id}/profile`);
	await waitFor(async () => (await samplesInView(page)) > samples);
	check('range_is_less_than_all', (await samplesInView(page)) > samples, [samples, await samplesInView(page)]);
}

async function testSource(page, id, name) {
	await goTo(page, `#/session/${id}/source?function=work&module=${name}`);
	await page.waitForSelector('.source');
	const lines = await page.locator('.source tbody tr.hot').allInnerTexts();

	check('source_has_lines', lines.length > 0 && lines.some((line) => /\d %/.test(line)), lines);
	check('source_names_its_file', (await page.locator('.source caption').innerText()).includes(`${name}.c`));
	await looksRight(page, 'source');
	await goTo(page, `#/session/${id}/source?function=nobody`);
	check('source_of_nobody_is_said', await waitFor(() => page.getByText('is called "nobody"').count()));
}

async function testCompare(page) {
	const base = await post(page, '/v1/import?name=before', BEFORE, 'application/octet-stream');
	const other = await post(page, '/v1/import?name=after', AFTER, 'application/octet-stream');

	await goTo(page, '#/compare');
	check('compare_asks_for_two', await waitFor(() => page.getByText('Choose two sessions').count()));
	await page.getByLabel('Session of Before').selectOption(String(base));
	await page.getByLabel('Session of After').selectOption(String(other));
	await page.waitForSelector('.compare');
	check('compare_is_in_the_address', asked(page).get('base') === String(base) && asked(page).get('other') === String(other), page.url());
	const verdicts = async () => Object.fromEntries((await page.locator('.compare tbody tr').allInnerTexts()).map((text) => text.split('\t'))
		.map((cells) => [cells[0], [cells[3], cells.at(-1)]]));
	const found = await verdicts();

	check('compare_tells_what_grew', found.search?.join() === '+35.0 %,grown', found);
	check('compare_tells_what_shrank', found.parse?.join() === '−21.0 %,shrunk', found);
	check('compare_tells_what_vanished', found.legacy?.join() === '−15.0 %,vanished', found);
	check('compare_tells_what_may_be_chance', found.draw?.[1] === 'may be chance', found);
	await looksRight(page, 'compare');
	await page.getByText('Swap').click();
	check('compare_can_be_swapped', await waitFor(async () => (await verdicts()).legacy?.[1] === 'new'), await verdicts());
}

export async function testViews(browser, given) {
	const page = await newPage(browser);

	await page.goto(`${given.url}?token=${given.token}`);
	const id = await post(page, '/v1/sessions', JSON.stringify({ pid: given.pid, frequency_hz: 499, duration_s: 4 }), 'application/json');

	await testCompare(page);
	await waitFor(() => page.evaluate(async (session) => (await (await fetch(`/v1/sessions/${session}`)).json()).state !== 'running', id));
	await testTime(page, id);
	await testSource(page, id, given.name);
	check('views_are_within_the_policy', page.troubles.length === 0, page.troubles);
	await page.context().close();
}
