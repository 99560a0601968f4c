// What the flame view costs in chromium: node tests/browser/bench.mjs [NODES ...], 100,000 and 1,000,000 by default. It
// prints medians and 95th percentiles in milliseconds, and judges nothing.
//
//   paint    from the profile's JSON as text to pixels: parse, columns, layout, drawing
//   zoom     one change of what is seen, to pixels
//   search   one query over all names and nodes, without and with drawing
//   upside down, callers, callees, recursion collapsed: another tree of the profile, not drawn
//   grow     one delta of 1 % of the nodes: put in order, columns, drawing
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const web = new URL('../../web/', import.meta.url);
const require = createRequire(new URL('package.json', web));
const { build } = require('esbuild');
const { chromium } = require('playwright-core');

const SIZE = { width: 1280, height: 800 };

async function script() {
	const built = await build({
		absWorkingDir: fileURLToPath(web),
		entryPoints: [fileURLToPath(new URL('bench_page.ts', import.meta.url))],
		bundle: true,
		minify: true,
		format: 'iife',
		write: false,
		logLevel: 'warning',
	});
	return built.outputFiles[0].text;
}

const digits = (ms) => ms.toFixed(ms < 10 ? 1 : 0).padStart(7);

function line(what, times) {
	const sorted = [...times].sort((a, b) => a - b);
	const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

	console.log(`  ${what.padEnd(22)} median ${digits(at(0.5))}  p95 ${digits(at(0.95))}  max ${digits(sorted.at(-1))}  of ${sorted.length}`);
}

async function measure(browser, source, nodes) {
	const page = await browser.newPage({ viewport: SIZE, reducedMotion: 'reduce' });

	page.on('pageerror', (error) => console.error(error.message));
	await page.setContent('<!DOCTYPE html><style>.flame-scroll{height:640px;overflow:auto;background:#fff;font:12px system-ui}'
		+ '.flame-hold{position:sticky;top:0}</style><div id="host"></div>');
	await page.addScriptTag({ content: source });
	const result = await page.evaluate((n) => window.bench(n), nodes);

	console.log(`${result.nodes.toLocaleString('en')} nodes, ${result.names.toLocaleString('en')} names, `
		+ `JSON of ${(result.bytes / 1e6).toFixed(1)} MB, ${result.boxes.toLocaleString('en')} boxes in sight`);
	for (const [what, times] of Object.entries(result.times))
		line(what, times);
	await page.close();
}

const sizes = process.argv.slice(2).map(Number);
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
try {
	const source = await script();

	for (const nodes of sizes.length ? sizes : [100_000, 1_000_000])
		await measure(browser, source, nodes);
} finally {
	await browser.close();
}
