// A session's profile as a file, in each format that the daemon has.
import { useEffect, useState } from 'preact/hooks';
import { getBlob, listFormats, type Params, profileAddress } from '../api';
import { Cell, useCell } from '../cell';
import { alertReader, doing } from './alerts';

// What a format is called, what its files end in, and what it is good for.
const KNOWN: Record<string, [title: string, ending: string, what: string]> = {
	svg: ['SVG', 'svg', 'the flame graph as a picture'],
	html: ['HTML', 'html', 'this viewer with the data, in one file'],
	json: ['JSON', 'json', 'the tree in columns'],
	folded: ['Folded', 'folded', 'stacks, one a line'],
	text: ['Text', 'txt', 'a report to read'],
	pprof: ['pprof', 'pb.gz', 'for go tool pprof'],
	perfdata: ['perf.data', 'data', 'for perf report and perf script'],
	speedscope: ['speedscope', 'speedscope.json', 'for speedscope.app'],
	firefox: ['Firefox', 'firefox.json', 'for profiler.firefox.com'],
	chrome: ['Chrome', 'trace.json', 'samples as a trace'],
};

const formats = new Cell<string[] | null>(null);

async function loadFormats(): Promise<void> {
	if (!formats.get())
		formats.set(await listFormats());
}

// Fetched first, so that an answer that says no becomes a message and not a file.
async function save(path: string, name: string): Promise<void> {
	const address = URL.createObjectURL(await getBlob(path));
	const link = document.createElement('a');

	link.href = address;
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

function Link({ id, format, params }: { id: number; format: string; params: Params }) {
	const [title, ending, what] = KNOWN[format] ?? [format, format, ''];
	const [busy, setBusy] = useState(false);
	const path = profileAddress(id, format, params);
	const name = `profile-${id}.${ending}`;

	return (
		<a
			href={path}
			download={name}
			aria-busy={busy}
			onClick={(event) => {
				event.preventDefault();
				setBusy(true);
				save(path, name)
					.catch(alertReader)
					.finally(() => setBusy(false));
			}}
		>
			<b>{title}</b>
			<span class="muted">{busy ? 'on its way …' : what}</span>
		</a>
	);
}

// A button that opens the list. params: what else is asked of the profile, so that the file has what is in sight.
export function Downloads({ id, params = {} }: { id: number; params?: Params }) {
	const all = useCell(formats);
	const [open, setOpen] = useState(false);

	useEffect(() => {
		if (open)
			doing(loadFormats());
	}, [open]);
	return (
		<details
			class="menu"
			open={open}
			onToggle={(event) => setOpen(event.currentTarget.open)}
			onKeyDown={(event) => {
				if (event.key === 'Escape' && open) {
					event.stopPropagation();
					setOpen(false);
					event.currentTarget.querySelector('summary')?.focus();
				}
			}}
			onFocusOut={(event) => {
				if (!event.currentTarget.contains(event.relatedTarget as Node | null))
					setOpen(false);
			}}
		>
			<summary class="button small" aria-label={`Download the profile of session ${id}`}>
				Download
			</summary>
			<div class="sheet">
				{all?.map((format) => (
					<Link key={format} id={id} format={format} params={params} />
				))}
			</div>
		</details>
	);
}
