// What tests in a browser share: chromium by playwright-core of web/, a page that notes what its policy stops, waiting, and
// reports as "ok NAME" and "not ok NAME reason". tests/integration/page.test has started the daemon, and does what is
// asked of it by a line "do WHAT".
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const require = createRequire(new URL('../../web/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const axe = require('axe-core');

export const WIDE = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 844 };
const WAIT_MS = 60_000;

export function check(name, condition, reason = '') {
	const text = typeof reason === 'string' ? reason : JSON.stringify(reason);

	console.log(condition ? `ok ${name}` : `not ok ${name} ${text.replace(/\s+/g, ' ').slice(0, 1500)}`);
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// The first answer of what() that is true, else its last one. The policy forbids what waitForFunction does.
export async function waitFor(what, ms = WAIT_MS) {
	const end = Date.now() + ms;

	for (;;) {
		const answer = await what();

		if (answer || Date.now() > end)
			return answer;
		await sleep(50);
	}
}

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

export async function askHarness(what) {
	console.log(`do ${what}`);
	return (await answers.next()).value;
}

export function launch() {
	return chromium.launch({
		executablePath: '/usr/bin/chromium',
		args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'],
	});
}

// A page of its own cookies and storage. page.troubles: exceptions, and what the policy has stopped.
export async function newPage(browser, options = {}) {
	const context = await browser.newContext({ viewport: WIDE, ...options });
	const page = await context.newPage();

	page.troubles = [];
	page.setDefaultTimeout(WAIT_MS);
	await page.exposeFunction('noteViolation', (text) => page.troubles.push(text));
	await page.addInitScript(() =>
		addEventListener('securitypolicyviolation', (event) =>
			window.noteViolation(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`),
		),
	);
	page.on('pageerror', (error) => page.troubles.push(error.message));
	page.on('console', (message) => {
		if (/Content Security Policy|Trusted/.test(message.text()))
			page.troubles.push(message.text());
	});
	return page;
}

// What axe-core has against the page as it is.
export async function axeFinds(page) {
	if (!(await page.evaluate(() => 'axe' in window)))
		await page.evaluate(axe.source);
	const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));

	return found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(' ')}`);
}

// By how many pixels the page is wider than its window.
export const overflow = (page) => page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);

export const textOf = (page, selector) => page.evaluate((s) => document.querySelector(s)?.textContent ?? '', selector);

// Goes to a view without loading the page anew.
export async function goTo(page, hash, shown) {
	await page.evaluate((to) => (location.hash = to), hash);
	if (shown)
		await page.waitForSelector(shown);
}
