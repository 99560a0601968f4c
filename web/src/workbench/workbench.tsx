// All that one can do with a profile that is there: pictures, tables, search and filters. It asks nobody for anything, so
// that it serves the page and the file that is made for tickets alike.
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useCell } from '../cell';
import { Colours, GREY, paletteOf, type Scheme } from '../flame/colours';
import type { Columns } from '../profile/columns';
import { filter, filtersAnything } from '../profile/focus';
import { functionKey, KIND, KINDS, keyText } from '../profile/names';
import { inverted } from '../profile/sandwich';
import { search, type Found } from '../profile/search';
import { percent } from '../ui/format';
import { theme } from '../theme';
import { Flame } from './flame';
import { Menu, type Action, type MenuAt } from './menu';
import { addFilter, filtersOf, removeFilter, TABS, tabOf, type FilterKey, type Params, type Tab } from './params';
import type { Unit } from './rows';
import { Sandwich } from './sandwich';
import { Top } from './top';
import { CallTree } from './tree';

export interface WorkbenchProps {
	columns: Columns;
	unit: Unit;
	params: Params;
	byThread?: Columns | null; // see top.tsx
	// Further actions for a function, such as where its source is shown.
	actions?(text: string, module: string): Action[];
	threadsProblem?: string;
	needThreads?(): void;
	aside?: ComponentChildren; // beside the search
	children?: ComponentChildren; // beside the options
}

const TITLES: Record<Tab, string> = { flame: 'Flame graph', top: 'Top', sandwich: 'Sandwich', tree: 'Tree' };
const FILTER_TITLES: Record<FilterKey, string> = { only: 'only', without: 'without', hide: 'hidden' };

function modulesByWeight(c: Columns): { modules: number[]; self: Float64Array } {
	const self = new Float64Array(c.names.modules.length);

	for (let i = 0; i < c.count; i++) {
		const name = c.name[i];
		if (c.names.kind[name] > KIND.thread && c.names.module[name] >= 0)
			self[c.names.module[name]] += c.self[i];
	}
	return { modules: [...self.keys()].filter((m) => self[m] > 0).sort((a, b) => self[b] - self[a]), self };
}

interface LegendEntry {
	text: string;
	fill: number;
	self: number;
	query: string; // what it searches for
}

const LEGEND_MAX = 10;

function legendOf(c: Columns, scheme: Scheme, colours: Colours): LegendEntry[] {
	if (scheme === 'module') {
		const { modules, self } = modulesByWeight(c);
		return modules.filter((m) => c.names.modules[m]).slice(0, LEGEND_MAX).map((m) => ({
			text: c.names.modules[m], fill: colours.fillOfModule(c.names.modules[m]), self: self[m],
			query: `module:${c.names.modules[m]}`,
		}));
	}
	if (scheme !== 'kind')
		return [];
	const self = new Float64Array(KINDS.length);
	for (let i = 0; i < c.count; i++)
		self[c.names.kind[c.name[i]]] += c.self[i];
	return KINDS.map((text, kind) => ({ text, fill: colours.fillOfKind(kind), self: self[kind], query: '' }))
		.filter((entry, kind) => kind > KIND.thread && entry.self > 0);
}

function useSearch(c: Columns, query: string): { found: Found | null; wrong: string } {
	return useMemo(() => {
		try {
			return { found: query ? search(c, query) : null, wrong: '' };
		} catch (error) {
			return { found: null, wrong: (error as Error).message };
		}
	}, [c, query]);
}

// The trees to show: what the filters leave, and that upside down if asked for.
function useColumns(all: Columns, params: Params): { columns: Columns; shown: Columns } {
	const key = JSON.stringify(filtersOf(params)), upside = params.get('inv') === '1' && tabOf(params) === 'flame';
	const columns = useMemo(() => {
		const filters = filtersOf(params);
		return filtersAnything(filters) ? filter(all, filters) : all;
	}, [all, key]);
	const shown = useMemo(() => (upside ? inverted(columns) : columns), [columns, upside]);

	return { columns, shown };
}

function useColours(c: Columns, scheme: Scheme): { colours: Colours; fillOfName: (name: number) => number } {
	const colours = useMemo(() => new Colours(), []);

	return useMemo(() => {
		colours.prepare(c.names, modulesByWeight(c).modules);
		const fills = new Uint8Array(c.names.count);
		for (let i = 0; i < fills.length; i++)
			fills[i] = colours.fillOf(i, scheme);
		return { colours, fillOfName: (name: number) => fills[name] ?? GREY };
	}, [c, scheme]);
}

function copy(text: string): void {
	if (navigator.clipboard) {
		void navigator.clipboard.writeText(text);
		return;
	}
	// A page that came without TLS from another host may not do that.
	const area = document.createElement('textarea');
	area.value = text;
	document.body.append(area);
	area.select();
	document.execCommand('copy');
	area.remove();
}

// What can be done with a function; zoom: where a frame of it is meant.
function actionsOf(params: Params, text: string, module: string, further: Action[], zoom?: () => void): Action[] {
	const func = functionKey(text, module);
	const actions: Action[] = [
		{ text: 'Callers and callees', run: () => params.set({ tab: 'sandwich', fn: func, z: '' }, true) },
		{ text: 'Only stacks with it', run: () => addFilter(params, 'only', func) },
		{ text: 'Without stacks with it', run: () => addFilter(params, 'without', func) },
		{ text: 'Hide its frames', run: () => addFilter(params, 'hide', func) },
		{ text: params.get('rec') ? 'Show recursion' : 'Collapse recursion',
			run: () => params.set({ rec: params.get('rec') ? '' : '1' }, true) },
		{ text: 'Search for it', run: () => params.set({ q: text }, true) },
		...further,
		{ text: 'Copy its name', run: () => copy(text) },
	];

	return zoom ? [{ text: 'Zoom to it', run: zoom }, ...actions] : actions;
}

function Tabs({ params }: { params: Params }) {
	const tab = tabOf(params);

	return (
		<div class="segments" role="group" aria-label="Ways to look at it">
			{TABS.map((one) => (
				<button key={one} type="button" aria-pressed={one === tab}
					onClick={() => params.set({ tab: one === 'flame' ? '' : one }, true)}>{TITLES[one]}</button>
			))}
		</div>
	);
}

interface SearchProps {
	params: Params;
	found: Found | null;
	wrong: string;
	total: number;
	input: { current: HTMLInputElement | null };
	step: ((by: 1 | -1) => void) | null;
}

function Search({ params, found, wrong, total, input, step }: SearchProps) {
	const says = wrong || (found ? found.frames
		? `${percent(total > 0 ? found.weight / total : 0)} in ${found.frames.toLocaleString('en')} ${found.frames === 1 ? 'frame' : 'frames'}`
		: 'nothing found' : '');

	return (
		<div class="search">
			<input ref={input} data-search type="search" aria-label="Search functions" placeholder="Search: text or /regex/" spellcheck={false}
				autocomplete="off" value={params.get('q')} onInput={(event) => params.set({ q: event.currentTarget.value })}
				onKeyDown={(event) => {
					if (event.key === 'Enter')
						step?.(event.shiftKey ? -1 : 1);
					else if (event.key === 'Escape')
						params.set({ q: '' });
				}} />
			{step && found?.frames ? (
				<>
					<button type="button" aria-label="Previous match" onClick={() => step(-1)}>‹</button>
					<button type="button" aria-label="Next match" onClick={() => step(1)}>›</button>
				</>
			) : null}
			<span class={wrong ? 'search-says wrong' : 'search-says'} role="status">{says}</span>
		</div>
	);
}

function Chips({ params, left, all }: { params: Params; left: number; all: number }) {
	const filters = filtersOf(params);

	if (!filtersAnything(filters))
		return null;
	return (
		<div class="tools" role="group" aria-label="Filters">
			{(['only', 'without', 'hide'] as const).flatMap((key) => filters[key].map((func) => (
				<button key={key + func} type="button" class="chip" title={`Take away: ${FILTER_TITLES[key]} ${keyText(func)}`}
					onClick={() => removeFilter(params, key, func)}>
					<b>{FILTER_TITLES[key]}</b> <span>{keyText(func)}</span> ×
				</button>
			)))}
			{filters.recursion ? <button type="button" class="chip" onClick={() => params.set({ rec: '' }, true)}>recursion collapsed ×</button> : null}
			<button type="button" class="chip quiet" onClick={() => params.set({ only: '', without: '', hide: '', rec: '' }, true)}>Clear all</button>
			{left < all ? <span class="muted" role="status">{percent(all > 0 ? left / all : 0)} of the profile is left</span> : null}
		</div>
	);
}

function Check({ params, name, text }: { params: Params; name: string; text: string }) {
	return (
		<label class="check">
			<input type="checkbox" checked={params.get(name) === '1'}
				onChange={(event) => params.set({ [name]: event.currentTarget.checked ? '1' : '' }, true)} />
			{text}
		</label>
	);
}

const SCHEMES: [Scheme, string][] = [['module', 'module'], ['kind', 'kind'], ['function', 'function']];

function schemeOf(params: Params): Scheme {
	return SCHEMES.find(([scheme]) => scheme === params.get('color'))?.[0] ?? 'module';
}

function Options({ params, children }: { params: Params; children?: ComponentChildren }) {
	const isFlame = tabOf(params) === 'flame';

	return (
		<div class="tools asks">
			{isFlame ? (
				<>
					<label>Draw <select value={params.get('up')} onChange={(event) => params.set({ up: event.currentTarget.value })}>
						<option value="">root above</option>
						<option value="1">root below</option>
					</select></label>
					<Check params={params} name="inv" text="Inverted" />
				</>
			) : null}
			<label>Colour <select value={schemeOf(params)} onChange={(event) =>
				params.set({ color: event.currentTarget.value === 'module' ? '' : event.currentTarget.value })}>
				{SCHEMES.map(([scheme, text]) => <option key={scheme} value={scheme}>by {text}</option>)}
			</select></label>
			<Check params={params} name="rec" text="Collapse recursion" />
			{children}
		</div>
	);
}

function Legend({ entries, fills, total, params }: { entries: LegendEntry[]; fills: readonly string[]; total: number; params: Params }) {
	return (
		<ul class="legend" aria-label="Colours, and what each ran itself">
			{entries.map(({ text, fill, self, query }) => (
				<li key={text}>
					<i class="swatch" style={{ background: fills[fill] }} />
					{query ? <button type="button" title={`Search for ${text}`} aria-pressed={params.get('q') === query}
						onClick={() => params.set({ q: params.get('q') === query ? '' : query }, true)}>{text}</button> : text}
					<span class="muted">{percent(total > 0 ? self / total : 0)}</span>
				</li>
			))}
		</ul>
	);
}

export function Workbench(props: WorkbenchProps) {
	const { unit, params } = props;
	const tab = tabOf(params), scheme = schemeOf(params);
	const { columns, shown } = useColumns(props.columns, params);
	const { found, wrong } = useSearch(shown, params.get('q'));
	const { colours, fillOfName } = useColours(props.columns, scheme);
	const dark = useCell(theme) === 'dark';
	const palette = useMemo(() => paletteOf(dark, dark ? [0, 0, 0] : [255, 255, 255]), [dark]);
	const [menu, setMenu] = useState<MenuAt | null>(null);
	const input = useRef<HTMLInputElement>(null);
	const step = useRef<((by: 1 | -1) => void) | null>(null);
	const paint = useMemo(() => (node: number) => fillOfName(shown.name[node]), [shown, fillOfName]);
	const match = found?.match ?? null, total = columns.total[0];

	function openMenu(text: string, module: string, x: number, y: number, zoom?: () => void): void {
		setMenu({ title: text, x, y, actions: actionsOf(params, text, module, props.actions?.(text, module) ?? [], zoom) });
	}
	function menuOfNode(c: Columns, node: number, x: number, y: number, zoom?: () => void): void {
		openMenu(c.names.text[c.name[node]], c.names.moduleOf(c.name[node]), x, y, zoom);
	}
	const focusSearch = (): void => input.current?.focus();

	useEffect(() => {
		if (tab === 'top' && params.get('group') === 'thread')
			props.needThreads?.();
	}, [tab, params.get('group')]);
	return (
		<div class="workbench">
			<div class="tools">
				<Tabs params={params} />
				<Search params={params} found={found} wrong={wrong} total={shown.total[0]} input={input}
					step={tab === 'flame' ? (by) => step.current?.(by) : null} />
				{props.aside}
			</div>
			<Options params={params}>{props.children}</Options>
			<Chips params={params} left={total} all={props.columns.total[0]} />
			{tab === 'flame' ? (
				<>
					<Flame columns={shown} label="Flame graph" unit={unit} flames={params.get('up') === '1'} fillOf={paint} match={match}
						place={params.get('z')} onPlace={(place, step) => params.set({ z: place }, step)} onMenu={menuOfNode}
						onSearch={focusSearch} matchRef={step} />
					<Legend entries={legendOf(columns, scheme, colours)} fills={palette.fills} total={total} params={params} />
				</>
			) : tab === 'top' ? (
				<Top columns={columns} unit={unit} params={params} byThread={props.byThread} threadsProblem={props.threadsProblem} match={match}
					swatch={(row) => palette.fills[row.key === '' ? colours.fillOfModule(row.text) : colours.fillOfModule(row.module)]}
					onMenu={(func, text, x, y) => openMenu(text, func.slice(0, func.indexOf('/')), x, y)} />
			) : tab === 'sandwich' ? (
				<Sandwich columns={columns} func={params.get('fn')} unit={unit} fillOf={fillOfName} match={match}
					onMenu={menuOfNode} onSearch={focusSearch} choose={() => params.set({ tab: 'top' }, true)} />
			) : (
				<CallTree columns={columns} unit={unit} match={match} swatch={(node) => palette.fills[fillOfName(columns.name[node])]}
					onMenu={menuOfNode} />
			)}
			{menu ? <Menu menu={menu} close={() => setMenu(null)} /> : null}
		</div>
	);
}
