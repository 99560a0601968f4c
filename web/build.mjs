// Builds the page out of src/ into dist/, which is committed: what make puts into the daemon.
//
//   node build.mjs           writes dist/
//   node build.mjs --check   builds in a scratch folder instead, compares, and runs the unit tests
//
// The same sources give the same bytes with any version of Node, as the versions in package-lock.json do the work.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { minify } from 'terser';

const top = fileURLToPath(new URL('.', import.meta.url));
const dist = join(top, 'dist');

// What a browser loads for the page, all together.
const PAGE = ['index.html', 'app.js', 'app.css'];
const PAGE_BYTES = 130_000;
const PAGE_GZIP_BYTES = 45_000;
const COPIED = ['index.html', 'login.html', 'favicon.svg'];

const options = {
	absWorkingDir: top,
	bundle: true,
	format: 'iife',
	target: ['es2022', 'chrome109', 'firefox115', 'safari16'],
	charset: 'utf8',
	legalComments: 'none',
	logLevel: 'warning',
	// A call with the children behind the properties is 3 kB shorter, over all, than what tsconfig.json names.
	inject: [join(top, 'src/jsx.ts')],
	tsconfigRaw: { compilerOptions: { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'Fragment', verbatimModuleSyntax: true } },
};

// What esbuild has made is 1.3 kB shorter, gzipped, after another one's turn.
async function script(entry) {
	const built = await build({ ...options, entryPoints: [entry], minify: true, write: false, outdir: 'script' });
	const shorter = await minify(built.outputFiles[0].text, {
		ecma: 2022, compress: { passes: 3 },
	});

	return shorter.code;
}

async function bundle(out) {
	writeFileSync(join(out, 'app.js'), await script('src/main.tsx'));
	await build({ ...options, entryPoints: { app: 'src/style/main.css' }, minify: true, outdir: out });
	for (const name of COPIED)
		copyFileSync(join(top, 'src', name), join(out, name));
}

// One document with all in it, but for the profile: the daemon puts that where {{profile}} stands. Its policy allows this
// script and this style alone.
async function bundleViewer(out) {
	const style = await build({ ...options, entryPoints: ['src/style/viewer.css'], minify: true, write: false, outdir: 'viewer' });
	const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
	const parts = { script: await script('src/viewer.tsx'), style: style.outputFiles[0].text.trim(), profile: '{{profile}}' };

	parts.policy = `default-src 'none'; script-src ${hash(parts.script)}; style-src ${hash(parts.style)}; ` +
		"base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'";
	writeFileSync(join(out, 'viewer.html'),
		readFileSync(join(top, 'src/viewer.html'), 'utf8').replace(/{{(\w+)}}/g, (_, name) => parts[name]));
}

function weigh(out) {
	const files = PAGE.map((name) => readFileSync(join(out, name)));
	const plain = files.reduce((sum, file) => sum + file.length, 0);
	const packed = files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0);
	const text = `the page has ${plain} bytes, ${packed} gzipped, of ${PAGE_BYTES} and ${PAGE_GZIP_BYTES}`;

	if (plain > PAGE_BYTES || packed > PAGE_GZIP_BYTES)
		throw new Error(`${text}: make it smaller`);
	console.log(`web: ${text}`);
}

function compare(out) {
	for (const name of new Set([...readdirSync(out), ...readdirSync(dist)])) {
		const [built, committed] = [join(out, name), join(dist, name)];

		if (!existsSync(built) || !existsSync(committed) || !readFileSync(built).equals(readFileSync(committed)))
			throw new Error(`web/dist/${name} is not what web/src makes: run make web-dist and commit it`);
	}
}

// Unit tests are of pure code, which needs no browser.
async function test(scratch) {
	const names = readdirSync(join(top, 'test')).filter((name) => name.endsWith('.test.ts'));

	await build({
		...options,
		entryPoints: names.map((name) => join(top, 'test', name)),
		format: 'esm',
		platform: 'node',
		target: 'node18',
		outdir: scratch,
		outExtension: { '.js': '.mjs' },
	});
	execFileSync(process.execPath, ['--test', ...names.map((name) => join(scratch, name.replace(/ts$/, 'mjs')))],
		{ stdio: 'inherit' });
}

async function main() {
	const check = process.argv.includes('--check');
	const scratch = mkdtempSync(join(tmpdir(), 'web.'));
	const out = check ? join(scratch, 'dist') : dist;

	try {
		execFileSync(join(top, 'node_modules/.bin/tsc'), ['--project', top], { stdio: 'inherit' });
		mkdirSync(out, { recursive: true });
		await bundle(out);
		await bundleViewer(out);
		weigh(out);
		if (check) {
			compare(out);
			await test(join(scratch, 'test'));
		}
	} finally {
		rmSync(scratch, { recursive: true });
	}
}

main().catch((error) => {
	// What a child has said needs no trace of ours behind it.
	console.error(`web: ${error.message}`);
	process.exitCode = 1;
});
