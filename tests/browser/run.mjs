// run.mjs: all tests in a browser, in one start of it. The environment has PAGE_URL, PAGE_TOKEN and PAGE_PID, of a
// program whose time is in work(), below middle(), below main().
import { check, launch } from './lib.mjs';
import { testProfile } from './profile.mjs';
import { testShell } from './shell.mjs';

const given = { url: process.env.PAGE_URL, token: process.env.PAGE_TOKEN, pid: Number(process.env.PAGE_PID) };
const browser = await launch();

for (const test of [testShell, testProfile])
	try {
		await test(browser, given);
	} catch (error) {
		check(test.name, false, error.stack);
	}
await browser.close();
process.exit(0);
