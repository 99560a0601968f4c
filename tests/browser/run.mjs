// run.mjs: all tests in a browser, in one start of it. The environment has PAGE_URL, PAGE_TOKEN, and
// PAGE_PID and PAGE_NAME of a program whose time is in work(), below middle(), below main().
import { check, launch } from './lib.mjs';
import { testProfile } from './profile.mjs';
import { testShell } from './shell.mjs';
import { testViews } from './views.mjs';

const { PAGE_URL: url, PAGE_TOKEN: token, PAGE_PID: pid, PAGE_NAME: name } = process.env;
const given = { url, token, name, pid: Number(pid) };
const browser = await launch();

// To a daemon with a sanitizer the shell is enough of a browser; the rest is about the page itself.
const tests = process.env.PROFILED_SANITIZED ? [testShell] : [testShell, testProfile, testViews];

for (const test of tests)
	try {
		await test(browser, given);
	} catch (error) {
		check(test.name, false, error.stack);
	}
await browser.close();
process.exit(0);
