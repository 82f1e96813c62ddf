/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.js - the state of the view, and the amounts and frames that follow from it.
 *
 * A comparison is of moment `from` with `moment`: the width of a frame is then the sum of all
 * changes below it, growth and decline alike, and its color is the difference.
 */
const blocksOf = (n) => `${meta.sampled ? count(n) : n.toLocaleString("en")} block${n === 1 ? "" : "s"}`;
const bytesOf = (n) => bytes(Math.round(n));
const heldOf = meta.times ? (n) => `${bytes(n / 1000, 2)}\u00b7s` : (n) => `${bytes(n)}\u00b7events`;
const timeOf = (n) => meta.times ? duration(n) : counted(n, "event");

/* In the order of their keys, 1 and up. `live`: of a moment; otherwise of the whole file. */
const measures = [
	{ name: "bytes", text: "live bytes", title: "Bytes that are live at the moment", live: true,
		say: bytesOf },
	{ name: "blocks", text: "live blocks", title: "Blocks that are live at the moment", live: true,
		say: blocksOf },
	{ name: "allocated", text: "allocated bytes", title: "Bytes allocated in the whole file",
		of: leaves.bytes, say: bytesOf },
	{ name: "allocations", text: "allocations", title: "Blocks allocated in the whole file",
		of: leaves.count, say: blocksOf },
	{ name: "lifetime", text: "bytes \u00d7 lifetime", of: leaves.held, say: heldOf,
		title: "Bytes times the time that they were live, of the whole file" },
];
const graphs = [
	{ name: "flame", text: "flame", title: "Callees above their caller (i)" },
	{ name: "icicle", text: "icicle", title: "Callees below their caller (i)" },
];

const START = { by: { 1: 0, 2: 1, 3: 4 }[meta.by] ?? 0, graph: "flame", color: "kind",
	moment: meta.at, from: meta.from, top: 0, query: "", only: -1, sort: "own", focus: -1, rows: 25, native: true };
const view = { ...START };
const isLive = () => measures[view.by].live;
const compares = () => view.from >= 0 && isLive();

/* Native functions that Python calls: those of a framework are many, and the same for most of its calls. */
const isNativeCall = (i) => frames.kind[nodes.frame[i]] > 2 && frames.kind[nodes.frame[nodes.parent[i]]] === 2;
const hasNativeCalls = nodes.frame.some((_, i) => isNativeCall(i));

/* The amounts of the graph: sums at and below each node, and those of each leaf alone. */
const shown = { key: "", width: null, net: null, now: null, before: null, own: null };
const states = { now: liveState(), before: liveState() };
const wholeFile = new Map(); /* sums that never change */

function cached(name, ofLeaf) {
	if (!wholeFile.has(name))
		wholeFile.set(name, sums(ofLeaf));
	return wholeFile.get(name);
}

function amountsAt(state, moment) {
	state.go(moment);
	return { bytes: sums(state.bytes), count: sums(state.count) };
}

function measure() {
	const { now, before } = states, by = measures[view.by], key = view.by === 1 ? "count" : "bytes";
	const all = [view.by, view.moment, view.from].join();
	if (shown.key === all)
		return;
	shown.key = all;
	shown.net = shown.before = null;
	if (!by.live) {
		shown.width = cached(by.name, by.of);
		shown.own = by.of;
		shown.now = null;
		return;
	}
	shown.now = amountsAt(now, view.moment);
	shown.width = shown.now[key];
	shown.own = now[key];
	if (!compares())
		return;
	shown.before = amountsAt(before, view.from);
	shown.own = Float64Array.from(now[key], (n, i) => n - before[key][i]);
	shown.net = sums(shown.own);
	shown.width = sums(shown.own.map(Math.abs));
}

/* Whether a frame is drawn in its color: it matches the search and the pressed entry of the legend. */
const lit = new Uint8Array(meta.frames).fill(1);
let litKey = ",-1,kind";

const isFiltered = () => view.query !== "" || view.only >= 0;
function light() {
	const key = [view.query, view.only, view.color].join(), query = view.query.toLowerCase();
	if (key === litKey)
		return;
	litKey = key;
	const hit = names.map((name) => name.toLowerCase().includes(query));
	for (let i = 0; i < meta.frames; i++)
		lit[i] = i > 0 && (hit[frames.name[i]] || hit[frames.file[i]] || hit[frames.module[i]]) &&
			(view.only < 0 || coloring().tone[i] === view.only);
	if (!isFiltered())
		lit.fill(1);
}

/* The amount of the outermost frames that match. */
function sumOfLit() {
	let sum = 0;
	for (let i = view.top; i < nodes.end[view.top];) {
		const hit = lit[nodes.frame[i]];
		if (hit)
			sum += shown.width[i];
		i = hit ? nodes.end[i] : i + 1;
	}
	return sum;
}

/*
 * A coloring gives each frame a tone. Modules with the largest area in the graph of all allocated
 * bytes have a color each, the others share one.
 */
const OTHERS = meta.kinds.length - 1;
const KIND_TONES = [OTHERS, 2, 0, 1, OTHERS]; /* by enum profile_kind */
const colorings = {
	kind: { name: "kind", text: "kind", title: "Color by kind: Python, native code, tag (m)" },
	module: { name: "module", text: "module", title: "Color by loaded file, or Python file (m)" },
};

function byKind() {
	const tone = Uint8Array.from(frames.kind, (kind) => KIND_TONES[kind]);
	const present = new Set(frames.kind);
	return { tone, entries: [[2, "Python"], [3, "native"], [1, "tag"], [4, "unknown"]]
		.filter(([kind]) => present.has(kind))
		.map(([kind, name]) => ({ tone: KIND_TONES[kind], name })) };
}

function byModule() {
	const total = cached("allocated", leaves.bytes), area = new Map();
	const of = Array.from({ length: meta.frames }, (_, i) => moduleOf(i));
	for (let i = 1; i < meta.nodes; i++)
		area.set(of[nodes.frame[i]], (area.get(of[nodes.frame[i]]) ?? 0) + total[i]);
	const order = [...area.keys()].sort((a, b) => area.get(b) - area.get(a));
	const toneOf = new Map(order.slice(0, OTHERS).map((name, tone) => [name, tone]));
	const entries = order.slice(0, OTHERS).map((name, tone) => ({ tone, name: lastPart(name), path: name }));
	if (order.length > OTHERS)
		entries.push({ tone: OTHERS, name: counted(order.length - OTHERS, "other") });
	return { tone: Uint8Array.from(of, (name, i) => i ? toneOf.get(name) ?? OTHERS : OTHERS), entries };
}

function coloring() {
	const wanted = colorings[view.color];
	if (!wanted.tone)
		Object.assign(wanted, view.color === "kind" ? byKind() : byModule());
	return wanted;
}

/* Draws before the next frame. */
let queued = false;
function change() {
	if (!queued)
		requestAnimationFrame(redraw);
	queued = true;
}

function set(part) {
	Object.assign(view, part);
	change();
}

function zoomTo(place) {
	set({ top: place, focus: -1 });
	figure.scrollTop = view.graph === "flame" ? figure.scrollHeight : 0;
}

function goTo(moment, from = -1) {
	set({ moment, from: from === moment ? -1 : from, by: isLive() ? view.by : 0 });
}

