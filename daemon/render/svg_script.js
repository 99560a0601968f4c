// What a flame graph does in a browser: zoom, search, flip, recolour. Runs inside the SVG, which is whole
// without it. Names reach the page as attributes and text content only.
(() => {
"use strict";
const SVG = "http://www.w3.org/2000/svg", HTML = "http://www.w3.org/1999/xhtml";
const here = document.currentScript;
const svg = (here && here.closest("svg")) || document.documentElement;
const alone = svg === document.documentElement;
const $ = id => svg.querySelector("#" + id);
const graph = $("graph"), head = $("head"), paper = $("paper");
const rows = +graph.dataset.rows;
// Thin rows are for viewers that cannot scroll.
const row = alone ? 18 : +graph.dataset.row, gap = alone ? 1 : +graph.dataset.gap;
const font = alone ? 12 : +graph.dataset.font;
const MARGIN = 12, NARROW = 860, LINE = 17;

// ---- the frames, in preorder ----
const boxes = [...graph.querySelectorAll("rect")], count = boxes.length;
const depth = new Uint32Array(count), up = new Int32Array(count), end = new Uint32Array(count);
const start = new Float64Array(count), weight = new Float64Array(count);
const labels = new Array(count), names = new Array(count), code = new Uint8Array(count);
const shown = new Float64Array(count).fill(NaN), width = new Float64Array(count);

function read() {
	const next = [0], open = [];
	for (let i = 0; i < count; i++) {
		const box = boxes[i], [d, w, skipped] = box.dataset.w.split(" ").map(Number);
		while (open.length > d)
			end[open.pop()] = i;
		up[i] = d ? open[d - 1] : -1;
		open[d] = i;
		depth[i] = d;
		weight[i] = w;
		start[i] = next[d] + (skipped || 0);
		next[d] = start[i] + w;
		next[d + 1] = start[i];
		code[i] = /^[ukij]/.test(box.getAttribute("class"));
		const text = box.nextElementSibling;
		if (text && text.tagName === "text")
			labels[i] = text;
	}
	while (open.length)
		end[open.pop()] = count;
}

// [whole, name, "1,234 samples, 12.34%", the rest]
const TITLE = /^([^]*) \(([\d,]+ samples?, [\d.]+%)\)\n([^]*)$/;
const titleOf = i => TITLE.exec(boxes[i].firstElementChild.textContent);
const nameOf = i => names[i] || (names[i] = titleOf(i)[1]);

// A frame's place by names, so that a link still fits after the profile has grown.
let keys;
function keyOf(i) {
	if (!keys) {
		keys = new Uint32Array(count);
		for (let k = 0; k < count; k++) {
			let h = up[k] < 0 ? 2166136261 : keys[up[k]];
			for (const c of nameOf(k) + ";")
				h = Math.imul(h ^ c.codePointAt(0), 16777619) >>> 0;
			keys[k] = h;
		}
	}
	return keys[i].toString(16).padStart(8, "0");
}

// ---- short names: the rules of svg_label.c ----
const wide = c => c >= "\u1000" && c !== "\ufffd" ? 2 : 1;
const cells = text => {
	let n = 0;
	for (const c of text)
		n += wide(c);
	return n;
};
const OPENS = "<({[";

function outline(name) {
	const len = name.length;
	let o = {start: 0, end: len, last: 0, before: 0, args: len}, level = 0;
	const ident = c => c !== undefined && /[\w$\u0080-\uffff]/.test(c);
	for (let i = 0; i < len; i++) {
		const c = name[i];
		if (level === 0 && c === "o" && name.startsWith("operator", i) && !ident(name[i - 1]) &&
			!ident(name[i + 8])) {
			i += 7 + /^(\(\)|[<>=!-]*)/.exec(name.slice(i + 8))[0].length;
		} else if (level === 0 && c === "(" && i > o.last && name[i - 1] !== " ") {
			o.end = i;
			break;
		} else if (OPENS.includes(c)) {
			if (level++ === 0 && c === "<" && i > o.last)
				o.args = i;
		} else if (level > 0) {
			if (")}]".includes(c) || (c === ">" && name[i - 1] !== "-"))
				level--;
		} else if (c === " ") {
			o = {start: i + 1, end: len, last: i + 1, before: i + 1, args: len};
		} else if (c === ":" && name[i + 1] === ":") {
			o.before = o.last;
			o.last = i + 2;
			o.args = len;
			i++;
		}
	}
	o.args = Math.min(o.args, o.end);
	if (o.end === len && o.start > 0)
		o = {start: 0, end: len, last: 0, before: 0, args: len};
	else if ("({[".includes(name[o.last]))
		o.last = o.before;
	return o.last < o.end ? o : {start: 0, end: len, last: 0, before: 0, args: len};
}

function cut(text, room) {
	let out = "", used = 0;
	for (const c of text) {
		if (used + wide(c) > room - 1)
			break;
		used += wide(c);
		out += c;
	}
	return out + "…";
}

function fit(i, room) {
	const name = nameOf(i);
	if (room < 3)
		return "";
	if (cells(name) <= room)
		return name;
	if (!code[i])
		return cut(name, room);
	const o = outline(name);
	for (const [from, to] of [[o.start, o.end], [o.last, o.end], [o.last, o.args]])
		if (to > from && cells(name.slice(from, to)) <= room)
			return name.slice(from, to);
	return cut(name.slice(o.last, o.end), room);
}

// ---- drawing ----
const thin = row !== +graph.dataset.row;
let zoomed = 0, icicle = graph.dataset.icicle === "1", inner = 0, letter = font * 0.6, drawnIcicle;

function measure() {
	const probe = document.createElementNS(SVG, "text");
	probe.textContent = "m".repeat(100);
	graph.append(probe);
	letter = probe.getComputedTextLength() / 100 || letter;
	probe.remove();
}

function setLabel(i, x, w, y) {
	const text = font && w > 6 ? fit(i, Math.floor((w - 6) / letter)) : "";
	let label = labels[i];
	if (!text) {
		if (label)
			label.setAttribute("display", "none");
		return;
	}
	if (!label) {
		label = labels[i] = document.createElementNS(SVG, "text");
		if (/^i/.test(boxes[i].getAttribute("class")))
			label.setAttribute("class", "il");
		boxes[i].after(label);
	}
	label.removeAttribute("display");
	label.setAttribute("x", (x + 3).toFixed(1));
	label.setAttribute("y", (y + row * 0.7).toFixed(1));
	if (label.textContent !== text)
		label.textContent = text;
}

function hide(i) {
	if (shown[i] === -1)
		return;
	shown[i] = -1;
	boxes[i].setAttribute("display", "none");
	if (labels[i])
		labels[i].setAttribute("display", "none");
}

function place(i, x, w, above) {
	const box = boxes[i], y = (icicle ? depth[i] : rows - 1 - depth[i]) * row;
	if (w < 0.1)
		return hide(i);
	if (shown[i] === -1)
		box.removeAttribute("display");
	if (box.classList.contains("above") !== above)
		box.classList.toggle("above", above);
	if (shown[i] === x && width[i] === w && drawnIcicle === icicle)
		return;
	shown[i] = x;
	width[i] = w;
	box.setAttribute("x", x.toFixed(1));
	box.setAttribute("y", y.toFixed(1));
	box.setAttribute("width", (w >= 3 ? w - 0.6 : w).toFixed(1));
	if (thin)
		box.setAttribute("height", row - gap);
	if (w >= 8 && font)
		box.setAttribute("rx", 2);
	else
		box.removeAttribute("rx");
	setLabel(i, x, w, y);
}

function draw() {
	const from = start[zoomed], scale = weight[zoomed] ? inner / weight[zoomed] : 0;
	const above = new Set();
	for (let i = up[zoomed]; i >= 0; i = up[i])
		above.add(i);
	for (let i = 0; i < count; i++) {
		if (above.has(i))
			place(i, 0, inner, true);
		else if (i < zoomed || i >= end[zoomed])
			hide(i);
		else
			place(i, (start[i] - from) * scale, weight[i] * scale || (count === 1 ? inner : 0), false);
	}
	drawnIcicle = icicle;
}

// ---- what is under the pointer or the cursor ----
// The text of what was written in several lines.
const whole = e => [...e.children].reduce((text, line) => text + line.textContent + (line.matches(".dot") ? " · " : " "),
	"").trim() || e.textContent;
const detail = $("detail"), omissions = whole(detail);
const subtitle = $("subtitle"), ledgerLine = $("ledger-line");
const nameLine = document.createElementNS(SVG, "text");
let cursor = 0, hovered = -1;

const share = (part, whole) => (whole ? part / whole * 100 : 0).toFixed(2) + "%";
const shorten = (text, room) => cells(text) <= room ? text : cut(text, room);

function describe() {
	const focused = document.activeElement === boxes[cursor] ? cursor : zoomed || -1;
	const i = hovered >= 0 ? hovered : focused;
	if (i < 0) {
		nameLine.textContent = "";
		wrap(detail, omissions, tops.detail, tops.lines);
		return;
	}
	const [, , counts, more] = titleOf(i);
	let text = counts + " · " + more;
	if (zoomed && i > zoomed && i < end[zoomed])
		text += " · " + share(weight[i], weight[zoomed]) + " of the zoomed frame";
	nameLine.textContent = shorten(nameOf(i), inner / 7.6);
	wrap(detail, text, tops.detail, tops.lines);
}

// ---- lines as long as the window is wide ----
const texts = new Map([subtitle, ledgerLine].map(e => [e, whole(e)]));
const tops = {legend: 76, detail: 126, lines: 1, head: 134};

// Writes the text from y on, in as many lines as it takes, or at most in so many; returns how many.
function wrap(e, text, y, most) {
	const lines = [];
	e.textContent = text;
	const room = inner / (e.getComputedTextLength() || 1) * text.length;
	for (const word of text.split(" ")) {
		const last = lines.length - 1;
		if (last >= 0 && (lines[last] + " " + word).length <= room)
			lines[last] += " " + word;
		else if (word !== "·")
			lines.push(word);
	}
	if (most && lines.length > most)
		lines.splice(most - 1, lines.length, shorten(lines.slice(most - 1).join(" "), room));
	e.setAttribute("y", y);
	if (lines.length > 1)
		e.replaceChildren(...lines.map((line, i) => {
			const span = document.createElementNS(SVG, "tspan");
			put(span, {x: MARGIN, y: y + i * LINE});
			span.textContent = line.replace(/ ·$/, "");
			return span;
		}));
	return lines.length;
}

function placeLegend(y) {
	const boxes = [...svg.querySelectorAll("#legend-" + {ck: "kind", cm: "module", cn: "name"}[scheme] + " rect")];
	let x = MARGIN;
	for (const box of boxes) {
		const label = box.nextElementSibling, w = 32 + label.getComputedTextLength();
		if (x > MARGIN && x + w > MARGIN + inner + 16) {
			x = MARGIN;
			y += 18;
		}
		put(box, {x, y});
		put(label, {x: x + 16, y: y + 10});
		x += w;
	}
	return y;
}

function placeHead() {
	let y = 49;
	for (const [e, text] of texts)
		y += LINE * wrap(e, text, y);
	tops.legend = placeLegend(y - 7);
	tops.detail = tops.legend + 50;
	tops.lines = inner < 640 ? 2 : 1;
	tops.head = tops.detail + 8 + (tops.lines - 1) * LINE;
	nameLine.setAttribute("y", tops.detail - LINE);
}

// ---- search ----
let query = "", regex = false;
const hits = new Uint8Array(count);

// Plain text in any case, or a regular expression: by the switch, or written /like this/.
function matcher() {
	const slashed = /^\/(.+)\/$/.exec(query);
	if (regex || slashed) {
		const re = new RegExp(slashed ? slashed[1] : query, "i");
		return name => re.test(name);
	}
	const plain = query.toLowerCase();
	return name => name.toLowerCase().includes(plain);
}

// The weight of all matches below root; a match inside a match has been counted with it.
function matched(root) {
	let sum = 0;
	for (let i = up[root]; i >= 0; i = up[i])
		if (hits[i])
			return weight[root];
	for (let i = root; i < end[root]; i++)
		if (hits[i]) {
			sum += weight[i];
			i = end[i] - 1;
		}
	return sum;
}

function tellFound(found) {
	let text = share(matched(0), weight[0]) + " in " + found + (found === 1 ? " frame" : " frames");
	if (zoomed)
		text += ", " + share(matched(zoomed), weight[zoomed]) + " of the zoomed one";
	ui.found.textContent = text;
}

function search() {
	let test = null, found = 0;
	ui.input.classList.remove("bad");
	ui.found.textContent = "";
	try {
		test = query && count ? matcher() : null;
	} catch (e) {
		ui.input.classList.add("bad");
		ui.found.textContent = "not a regular expression";
	}
	for (let i = 0; i < count; i++) {
		const hit = test !== null && test(nameOf(i));
		found += hit;
		if (hit !== !!hits[i]) {
			hits[i] = hit ? 1 : 0;
			boxes[i].classList.toggle("hit", hit);
		}
	}
	if (test)
		tellFound(found);
}

// ---- the bar ----
const ui = {};

function make(tag, attributes, ...children) {
	const e = document.createElementNS(HTML, tag);
	for (const [k, v] of Object.entries(attributes))
		e.setAttribute(k, v);
	e.append(...children);
	return e;
}

function makeBar() {
	ui.input = make("input", {type: "search", placeholder: "Search (Ctrl-F)", "aria-label": "Search frames",
		title: "Text, or a regular expression written /like this/", spellcheck: "false"});
	ui.regex = make("button", {type: "button", "aria-pressed": "false", "aria-label": "Regular expression",
		title: "Regular expression"}, ".*");
	ui.found = make("span", {class: "found", role: "status"});
	ui.reset = make("button", {type: "button", title: "Show all again (Esc)"}, "Reset");
	ui.flip = make("button", {type: "button", "aria-pressed": "false", title: "Root at the top or at the bottom"},
		"Flip");
	ui.color = make("select", {"aria-label": "Colour by"}, make("option", {value: "ck"}, "by kind"),
		make("option", {value: "cm"}, "by module"), make("option", {value: "cn"}, "by name"));
	ui.ledger = make("button", {type: "button", "aria-expanded": "false",
		title: "What was sampled, and what was not"}, "Ledger");
	ui.bar = document.createElementNS(SVG, "foreignObject");
	ui.bar.append(make("div", {class: "bar", role: "toolbar", "aria-label": "Flame graph"}, ui.found, ui.input,
		ui.regex, ui.reset, ui.flip, ui.color, ui.ledger));
	head.append(ui.bar);
}

function openLedger() {
	const table = make("table", {}), notes = [];
	const close = make("button", {type: "button"}, "Close");
	for (const line of $("ledger").textContent.split("\n")) {
		const at = line.lastIndexOf(": ");
		if (at > 0 && /^[\d.,]+( \S+)?$/.test(line.slice(at + 2)))
			table.append(make("tr", {}, make("td", {}, line.slice(0, at)), make("td", {}, line.slice(at + 2))));
		else if (line)
			notes.push(make("p", {}, line));
	}
	ui.panel = document.createElementNS(SVG, "foreignObject");
	ui.panel.append(make("div", {class: "ledger", role: "dialog", "aria-label": "Ledger"}, close, table, ...notes));
	ui.ledger.setAttribute("aria-expanded", "true");
	head.append(ui.panel);
	close.addEventListener("click", closeLedger);
	placePanel(table.rows.length + 2 * notes.length);
	close.focus();
}

function closeLedger() {
	ui.panel.remove();
	ui.panel = null;
	ui.ledger.setAttribute("aria-expanded", "false");
	ui.ledger.focus();
}

const toggleLedger = () => ui.panel ? closeLedger() : openLedger();

function placePanel(lines) {
	const w = Math.min(430, inner), room = alone ? innerHeight - 60 : 600;
	put(ui.panel, {x: MARGIN + inner - w, y: 44, width: w, height: Math.min(66 + lines * 22, room)});
}

// ---- the page ----
const put = (e, attributes) => {
	for (const [k, v] of Object.entries(attributes))
		e.setAttribute(k, v);
};
const heading = svg.querySelector("title").textContent.replace(/ · [^·]*$/, "");

function layout() {
	const all = alone ? innerWidth : svg.parentNode.clientWidth;
	const w = Math.max(all, 320), narrow = w < NARROW;
	inner = w - 2 * MARGIN;
	placeHead();
	put(ui.bar, narrow ? {x: MARGIN, y: tops.head - 1, width: inner, height: 32} :
		{x: MARGIN + inner / 3, y: 11, width: inner * 2 / 3, height: 32});
	const bar = ui.bar.firstChild.offsetHeight || 30, top = tops.head + (narrow ? bar + 8 : 0);
	put(ui.bar, {height: bar + 6});
	const full = Math.ceil(rows * row) + MARGIN, height = alone ? Math.max(innerHeight, top + 60) : top + full;
	port.height = height - top;
	port.most = Math.max(0, full - port.height);
	svg.removeAttribute("viewBox");
	put(svg, {width: alone ? "100%" : w, height: alone ? "100%" : height});
	put(paper, {width: w, height});
	put(port.box, {x: 0, y: top, width: w, height: port.height});
	put(port.track, {x: w - 9, y: 0, width: 9, height: port.height, display: port.most ? "inline" : "none"});
	put(port.rule, {y: top - 1, width: w});
	put(head.querySelector(".bg"), {width: w, height: top});
	head.querySelector(".title").textContent = shorten(heading, (narrow ? inner : inner / 3) / 11);
	draw();
	describe();
	scrollToY(port.y);
	showFrame(zoomed);
}

// A graph higher than the window moves below the head, by wheel, bar, finger or key.
const port = {y: 0, most: 0, height: 0};

function makePort() {
	const shape = (tag, attributes) => {
		const e = document.createElementNS(SVG, tag);
		put(e, attributes);
		return e;
	};
	port.box = shape("svg", {});
	port.thumb = shape("rect", {id: "thumb", rx: 3, width: 7, x: 1});
	port.track = shape("svg", {});
	port.rule = shape("rect", {id: "rule", height: 1});
	graph.before(port.box);
	port.track.append(port.thumb);
	port.box.append(graph, port.track);
	head.append(port.rule);
}

function scrollToY(y) {
	port.y = Math.min(Math.max(y, 0), port.most);
	put(graph, {transform: `translate(${MARGIN},${-port.y})`});
	put(port.rule, {display: port.y > 0 ? "inline" : "none"});
	const share = port.height / (port.height + port.most);
	put(port.thumb, {y: port.y * share, height: Math.max(port.height * share - 2, 20)});
}

const frameY = i => (icicle ? depth[i] : rows - 1 - depth[i]) * row;

function showFrame(i) {
	const y = frameY(i), spare = Math.min(3 * row, port.height / 3);
	if (y < port.y + spare)
		scrollToY(y - spare);
	else if (y > port.y + port.height - spare - row)
		scrollToY(y + spare + row - port.height);
}

const showRoot = () => scrollToY(icicle ? 0 : port.most);

function listenToPort() {
	const drag = {id: -1, y: 0, from: 0, scale: 1, moved: false};
	svg.addEventListener("wheel", e => {
		if (!port.most || e.ctrlKey || !port.box.contains(e.target) && e.target !== paper)
			return;
		e.preventDefault();
		scrollToY(port.y + e.deltaY * (e.deltaMode === 1 ? 18 : e.deltaMode === 2 ? port.height : 1));
	}, {passive: false});
	svg.addEventListener("pointerdown", e => {
		drag.moved = false;
		if (!port.most || (e.target !== port.thumb && e.pointerType !== "touch"))
			return;
		Object.assign(drag, {id: e.pointerId, y: e.clientY, from: port.y,
			scale: e.target === port.thumb ? (port.height + port.most) / port.height : -1});
		if (e.target === port.thumb)
			port.thumb.setPointerCapture(e.pointerId);
	});
	svg.addEventListener("pointermove", e => {
		if (e.pointerId !== drag.id || Math.abs(e.clientY - drag.y) < 6 && !drag.moved)
			return;
		drag.moved = true;
		scrollToY(drag.from + (e.clientY - drag.y) * drag.scale);
	});
	for (const type of ["pointerup", "pointercancel"])
		svg.addEventListener(type, () => drag.id = -1);
	return () => drag.moved;
}

// ---- state, and its copy in the address ----
let scheme = [..."kmn"].map(c => "c" + c).find(c => svg.classList.contains(c));
const firstScheme = scheme, firstIcicle = icicle;

function setScheme(next) {
	svg.classList.replace(scheme, next);
	scheme = ui.color.value = next;
}

function save(push) {
	const p = new URLSearchParams();
	if (zoomed)
		p.set("zoom", keyOf(zoomed));
	if (query)
		p.set("search", query);
	if (regex)
		p.set("regex", "1");
	if (icicle !== firstIcicle)
		p.set("view", icicle ? "icicle" : "flame");
	if (scheme !== firstScheme)
		p.set("color", {ck: "kind", cm: "module", cn: "name"}[scheme]);
	if (!alone || "#" + p === (location.hash || "#"))
		return;
	try {
		history[push ? "pushState" : "replaceState"](null, "", "#" + p);
	} catch (e) {
		// A document without an address of its own: nothing to share.
	}
}

// By key, else the widest frame of that name.
function findFrame(text) {
	let best = 0;
	if (text && /^[0-9a-f]{8}$/.test(text))
		for (let i = 1; i < count; i++)
			if (keyOf(i) === text)
				return i;
	for (let i = 1; text && i < count; i++)
		if (nameOf(i) === text && (!best || weight[i] > weight[best]))
			best = i;
	return best;
}

function load() {
	const p = new URLSearchParams(alone ? location.hash.slice(1) : "");
	const view = p.get("view"), color = {kind: "ck", module: "cm", name: "cn"}[p.get("color")];
	icicle = view === "icicle" || (view !== "flame" && firstIcicle);
	query = ui.input.value = p.get("search") || "";
	regex = p.get("regex") === "1";
	setScheme(color || firstScheme);
	layout();
	tellSwitches();
	zoomTo(findFrame(p.get("zoom")));
}

function tellSwitches() {
	ui.regex.setAttribute("aria-pressed", regex);
	ui.flip.setAttribute("aria-pressed", icicle);
}

function zoomTo(i) {
	zoomed = i;
	showFrame(i);
	ui.reset.disabled = !zoomed && !query;
	draw();
	search();
	describe();
}

function zoom(i) {
	if (i === zoomed)
		return;
	zoomTo(i);
	save(true);
}

function look(text) {
	query = text;
	ui.input.value = text;
	zoomTo(zoomed);
	save(false);
}

function reset() {
	hovered = -1;
	query = ui.input.value = "";
	zoomTo(0);
	save(true);
}

// ---- mouse and keys ----
const indexOf = new Map(boxes.map((box, i) => [box, i]));
const frameAt = event => {
	const i = indexOf.get(event.target);
	return i === undefined ? -1 : i;
};

function moveTo(i) {
	boxes[cursor].setAttribute("tabindex", -1);
	cursor = i;
	boxes[cursor].setAttribute("tabindex", 0);
	showFrame(i);
	boxes[cursor].focus({preventScroll: true});
}

const visible = i => shown[i] >= 0;

function sibling(i, step) {
	for (let k = i + step; k > 0 && k < count && depth[k] >= depth[i]; k += step)
		if (depth[k] === depth[i] && visible(k))
			return k;
	return i;
}

function widestChild(i) {
	let best = i;
	for (let k = i + 1; k < end[i]; k = end[k])
		if (visible(k) && (best === i || weight[k] > weight[best]))
			best = k;
	return best;
}

function onFrameKey(event) {
	const outward = icicle ? "ArrowUp" : "ArrowDown", inward = icicle ? "ArrowDown" : "ArrowUp";
	const steps = {
		[outward]: () => moveTo(Math.max(up[cursor], 0)),
		[inward]: () => moveTo(widestChild(cursor)),
		ArrowLeft: () => moveTo(sibling(cursor, -1)),
		ArrowRight: () => moveTo(sibling(cursor, 1)),
		Home: () => moveTo(0),
		Enter: () => zoom(cursor),
		" ": () => zoom(cursor),
	};
	if (!steps[event.key])
		return;
	event.preventDefault();
	steps[event.key]();
}

// From the nearest thing outward.
function onEscape(typing) {
	if (ui.panel)
		closeLedger();
	else if (typing && query)
		look("");
	else if (typing)
		ui.input.blur();
	else
		reset();
}

function onKey(event) {
	const typing = event.target === ui.input;
	const find = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f";
	if (event.key === "Escape") {
		onEscape(typing);
	} else if ((find || (event.key === "/" && !typing)) && document.activeElement !== ui.input) {
		event.preventDefault();
		ui.input.focus();
		ui.input.select();
	} else if (/^Page(Up|Down)$/.test(event.key) && !typing) {
		event.preventDefault();
		scrollToY(port.y + (event.key === "PageUp" ? -0.9 : 0.9) * port.height);
	} else if (indexOf.has(event.target) && !event.ctrlKey && !event.metaKey && !event.altKey) {
		onFrameKey(event);
	}
}

function listen() {
	const dragged = listenToPort();
	graph.addEventListener("click", e => {
		const i = frameAt(e);
		if (i < 0 || dragged())
			return;
		moveTo(i);
		zoom(i);
	});
	graph.addEventListener("dblclick", reset);
	// A double click would select text.
	graph.addEventListener("mousedown", e => e.detail > 1 && e.preventDefault());
	graph.addEventListener("pointerover", e => {
		hovered = frameAt(e);
		describe();
	});
	graph.addEventListener("pointerleave", () => {
		hovered = -1;
		describe();
	});
	graph.addEventListener("focusin", describe);
	graph.addEventListener("focusout", describe);
	svg.addEventListener("keydown", onKey);
	ui.input.addEventListener("input", () => look(ui.input.value));
	ui.regex.addEventListener("click", () => {
		regex = !regex;
		tellSwitches();
		look(query);
	});
	ui.reset.addEventListener("click", reset);
	ui.flip.addEventListener("click", () => {
		icicle = !icicle;
		tellSwitches();
		draw();
		showRoot();
		showFrame(zoomed);
		save(false);
	});
	ui.color.addEventListener("change", () => {
		setScheme(ui.color.value);
		layout();
		save(false);
	});
	ui.ledger.addEventListener("click", toggleLedger);
	$("ledger-line").addEventListener("click", toggleLedger);
	addEventListener("resize", layout);
	addEventListener("popstate", load);
	addEventListener("hashchange", load);
}

function describeForReaders() {
	put(svg, {role: "group"});
	put(graph, {role: "tree", "aria-label": "Frames: arrow keys move, Enter zooms, Escape resets"});
	boxes.forEach((box, i) => put(box, {role: "treeitem", "aria-level": depth[i] + 1, tabindex: i ? -1 : 0}));
}

read();
makePort();
makeBar();
put(nameLine, {id: "name", x: MARGIN, y: 109});
detail.before(nameLine);
$("ledger-line").classList.add("link");
describeForReaders();
put(graph, {"font-size": font || 12});
measure();
listen();
layout();
showRoot();
load();
})();
