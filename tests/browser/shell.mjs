// Signing in, targets, sessions, ledger, status, keys, themes, widths; the daemon lost and back.
import { readFile } from 'node:fs/promises';
import { askHarness, axeFinds, check, goTo, newPage, overflow, PHONE, textOf, waitFor, WIDE } from './lib.mjs';

const FOLDED = 'main;left;leaf 30\nmain;right 10\n';

async function signIn(page, { url, token }) {
	const login = await page.goto(url);

	check('page_without_token_is_a_form', login.status() === 401 && (await page.$('input[name=token]')));
	const finds = await axeFinds(page);

	check('axe_likes_the_form', finds.length === 0, finds);
	await page.fill('input[name=token]', token);
	await page.click('button');
	await page.waitForSelector('header.top');
	check('form_signs_in', !page.url().includes(token), page.url());
	await page.context().clearCookies();
	await page.goto(`${url}?token=${token}#/status`);
	await page.waitForSelector('.abilities .there');
	check('link_signs_in', page.url() === `${url}#/status`, page.url());
}

async function startByClick(page, { pid, name }) {
	await goTo(page, '#/targets', 'table.targets');
	await page.selectOption('.options select', '0');
	await page.evaluate(() => document.activeElement.blur());
	await page.keyboard.press('/');
	await page.keyboard.type(name);
	const row = page.locator('table.targets tbody tr', { hasText: `pid ${pid}` });

	await row.waitFor();
	check('search_is_in_the_address', page.url().endsWith(`#/targets?q=${name}`), page.url());
	const names = await waitFor(async () => {
		const all = await page.locator('table.targets .name').allTextContents();

		return all.every((one) => one === name) && all;
	});

	check('search_leaves_no_others', names.length === 1, names);
	const before = await row.elementHandle();
	const cpu = await row.locator('td.cpu').textContent();

	await row.locator('button').focus();
	check('list_is_live', await waitFor(async () => (await row.locator('td.cpu').textContent()) !== cpu));
	check('row_and_focus_stay', await before.evaluate((tr) => tr.isConnected && tr.contains(document.activeElement)));
	await page.keyboard.press('Enter');
	check('click_profiles', await waitFor(() => /#\/session\/\d+\/profile$/.test(page.url())), page.url());
	return Number(/session\/(\d+)/.exec(page.url())[1]);
}

const samplesInView = async (page) => Number(/([\d,]+) samples/.exec(await textOf(page, '.in-view'))?.[1].replaceAll(',', '') ?? 0);

async function watchItGrow(page, id) {
	const first = await waitFor(() => samplesInView(page));
	const more = await waitFor(async () => (await samplesInView(page)) > first && samplesInView(page));

	check('session_in_view_grows', more > first, [first, more]);
	check('title_names_the_session', (await page.title()).includes(`#${id} `), await page.title());
	await goTo(page, '#/sessions?q=', '.session');
	check('session_is_listed_as_running', (await textOf(page, '.session .state')) === 'running');
	await goTo(page, `#/session/${id}/ledger`, '.figures');
	check('ledger_counts_whole_stacks', await waitFor(async () => (await textOf(page, '.shares .good')).includes('whole')));
}

async function download(page, id) {
	await goTo(page, '#/sessions', '.session');
	await page.click(`[aria-label="Download the profile of session ${id}"]`);
	await page.waitForSelector('.sheet a');
	const formats = await page.locator('.sheet a').evaluateAll((all) => all.map((a) => new URL(a.href).searchParams.get('format')));
	const described = await page.evaluate(async () => (await fetch('/openapi.yaml')).text());

	check('all_formats_are_offered', described.includes(`enum: [${formats.join(', ')}]`), formats);
	const [file] = await Promise.all([page.waitForEvent('download'), page.click('.sheet a[href*="format=svg"]')]);
	const svg = await readFile(await file.path(), 'utf8');

	check('svg_is_downloaded', file.suggestedFilename() === `profile-${id}.svg` && svg.includes('<svg') && svg.includes('middle'));
	await page.keyboard.press('Escape');
	check('escape_closes_the_list', !(await page.$('.menu[open]')));
}

async function importAndDelete(page) {
	const input = 'input[type=file]';

	await page.setInputFiles(input, { name: 'no.data', mimeType: '', buffer: Buffer.from('PERFILE2 and nothing of use') });
	check('refusal_is_told', await waitFor(() => textOf(page, '.alert p')), await textOf(page, '.alert p'));
	await page.click('[aria-label="Close this message"]');
	await page.setInputFiles(input, { name: 'some.folded', mimeType: '', buffer: Buffer.from(FOLDED) });
	check('import_is_shown', await waitFor(async () => (await textOf(page, '.in-view')).includes('40 samples')), page.url());
	const id = /session\/(\d+)/.exec(page.url())?.[1];

	await goTo(page, '#/sessions', '.session');
	await page.click(`[aria-label="Rename session ${id}"]`);
	await page.keyboard.press('Control+A');
	await page.keyboard.type('stacks of before');
	await page.keyboard.press('Enter');
	check('session_is_renamed', await waitFor(async () => (await textOf(page, '.in-view .title')) === `#${id} stacks of before`));
	await page.click(`[aria-label="Delete session ${id}"]`);
	await page.click(`[aria-label="Really delete session ${id}"]`);
	check('delete_asks_and_deletes', await waitFor(async () => !(await page.$(`[aria-label$="elete session ${id}"]`))));
	check('session_deleted_leaves_the_view', await waitFor(async () => !(await page.$('.in-view'))));
}

async function keys(page) {
	await page.keyboard.press('?');
	check('help_opens', await waitFor(() => page.$('dialog[open]')));
	await page.keyboard.press('Escape');
	check('escape_closes_help', await waitFor(async () => !(await page.$('dialog[open]'))));
	await page.keyboard.press('g');
	await page.keyboard.press('u');
	check('letters_lead_to_views', page.url().endsWith('#/status'), page.url());
	await page.reload();
	await page.keyboard.press('Tab');
	const skip = await page.evaluate(() => [document.activeElement.className, document.activeElement.getBoundingClientRect().top >= 0]);

	check('skip_link_is_first_and_seen', skip[0] === 'skip' && skip[1], skip);
	await page.keyboard.press('Enter');
	check('skip_link_leads_to_main', (await page.evaluate(() => document.activeElement.id)) === 'main');
}

async function looks(page, id, { name: program }) {
	const views = {
		// Few rows: axe-core looks at each.
		targets: [`#/targets?q=${program}`, 'table.targets'],
		sessions: ['#/sessions', '.session'],
		ledger: [`#/session/${id}/ledger`, '.figures'],
		status: ['#/status', '.abilities'],
	};
	const theme = () => page.evaluate(() => document.documentElement.dataset.theme);

	for (const want of ['dark', 'light']) {
		await page.click(`[aria-label="Switch to ${want}"]`);
		check(`switch_to_${want}`, (await theme()) === want);
		for (const [name, [hash, shown]] of Object.entries(views)) {
			await goTo(page, hash, shown);
			const finds = await axeFinds(page);

			check(`axe_likes_${name}_${want}`, finds.length === 0, finds);
		}
	}
	await page.emulateMedia({ colorScheme: 'dark' });
	check('theme_follows_the_system', await waitFor(async () => (await theme()) === 'dark'));
	await page.setViewportSize(PHONE);
	for (const [name, [hash, shown]] of Object.entries(views)) {
		await goTo(page, hash, shown);
		check(`${name}_fits_a_phone`, (await overflow(page)) <= 0, await overflow(page));
	}
	await page.setViewportSize(WIDE);
}

// Whoever comes after this needs the new token.
async function lostAndBack(page, id, given) {
	await goTo(page, `#/session/${id}/ledger`, '.figures');
	await askHarness('stop');
	check('loss_is_told', await waitFor(async () => (await textOf(page, '.trouble')).includes('does not answer')));
	check('what_was_seen_stays', (await textOf(page, '.figures')).includes('samples'));
	given.token = await askHarness('start');

	check('new_token_is_asked_for', await waitFor(() => page.$('.trouble input')), await textOf(page, '.trouble'));
	await page.fill('.trouble input', given.token);
	await page.click('.trouble button');
	await page.waitForSelector('.figures');
	check('back_where_one_was', page.url().endsWith(`/#/session/${id}/ledger`) && !(await page.$('.trouble')), page.url());
	check('session_was_saved', (await textOf(page, '.in-view .state')) === 'shut down', await textOf(page, '.in-view'));
}

export async function testShell(browser, given) {
	const page = await newPage(browser, { colorScheme: 'light' });

	await signIn(page, given);
	const id = await startByClick(page, given);

	await watchItGrow(page, id);
	await download(page, id);
	await importAndDelete(page);
	await keys(page);
	await looks(page, id, given);
	await lostAndBack(page, id, given);
	check('policy_stopped_nothing', page.troubles.length === 0, page.troubles);
	await page.context().close();
}
