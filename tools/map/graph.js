/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.js - the flame graph of what the map shows: the call stacks of the blocks in its window.
 *
 * 1. A frame is as wide as the area that the blocks of its stacks have in the window. So its number
 *    is the bytes that they take there, on average over the events.
 * 2. Siblings are ordered by their area in the whole map, so that a frame keeps its place.
 *
 * 3. Native functions that Python calls are left out: those of a framework are many, and the same for
 *    most of its calls.
 *
 * O(blocks + nodes) for each change of the window. The graph has as many rows as the deepest stack,
 * GRAPH_ROWS at most: callees of deeper ones are shown when the user zooms to their caller.
 */
const GRAPH_ROW = 19, GRAPH_ROWS = 32; /* pixels; rows */
const GRAPH_TONES = [8, 2, 0, 1, 8];   /* by enum profile_kind */
const graphCanvas = byId("graph"), graph = graphCanvas.getContext("2d");

/* The area of a block in a window. */
function areaIn(i, { t0, t1, a0, a1 }) {
	const events = Math.min(blocks.death[i], t1) - Math.max(blocks.birth[i], t0);
	const size = Math.min(blocks.end[i], a1) - Math.max(blocks.place[i], a0);
	return events > 0 && size > 0 ? events * size : 0;
}

/* The nodes of the stacks in preorder; the subtree of node i is from i to before end[i]. */
const nodes = (() => {
	const n = stacks.parent.length, ints = () => new Uint32Array(n);
	const total = new Float64Array(n), callees = Array.from({ length: n }, () => []);
	const found = { depth: ints(), frame: ints(), parent: ints(), end: ints(), of: ints() };
	for (let i = 0; blocks.node && i < meta.blocks; i++)
		total[blocks.node[i]] += areaIn(i, whole);
	for (let i = n - 1; i > 0; i--) {
		total[stacks.parent[i]] += total[i];
		callees[stacks.parent[i]].push(i);
	}
	const open = [0], path = [];
	for (let at = 0; at < n; at++) {
		const i = open.pop();
		found.of[i] = at;
		found.frame[at] = stacks.frame[i];
		found.parent[at] = at ? found.of[stacks.parent[i]] : 0;
		found.depth[at] = at ? found.depth[found.parent[at]] + 1 : 0;
		while (path.length > found.depth[at])
			found.end[path.pop()] = at;
		path.push(at);
		for (const callee of callees[i].sort((a, b) => total[a] - total[b]))
			open.push(callee);
	}
	for (const at of path)
		found.end[at] = n;
	return found;
})();

const kindAt = (at) => stacks.frames[nodes.frame[at]]?.kind ?? 0;
const isNativeCall = (at) => kindAt(at) > PYTHON && kindAt(nodes.parent[at]) === PYTHON;
function deepest() {
	let depth = 0;
	for (let at = 0; at < nodes.end.length; at = isNativeCall(at) ? nodes.end[at] : at + 1)
		if (!isNativeCall(at))
			depth = Math.max(depth, nodes.depth[at]);
	return depth;
}
const graphed = { top: 0, total: new Float64Array(nodes.end.length), blocks: 0, rows: [],
	room: Math.min(GRAPH_ROWS, 1 + deepest()) };
byId("stacks").hidden = !blocks.node;

function measureGraph() {
	const { total } = graphed;
	total.fill(0);
	graphed.blocks = 0;
	for (let i = 0; i < meta.blocks; i++) {
		const area = areaIn(i, view);
		total[nodes.of[blocks.node[i]]] += area;
		graphed.blocks += area > 0;
	}
	for (let at = total.length - 1; at > 0; at--)
		total[nodes.parent[at]] += total[at];
}

const graphBytes = (at) => bytes(graphed.total[at] / (Math.min(view.t1, meta.events) - view.t0), 1);
const graphShare = (at) => percent(graphed.total[0] ? graphed.total[at] / graphed.total[0] : 0);
const graphLabel = (at) => at ? stacks.frames[nodes.frame[at]].label : "all";
const graphName = (at) => at ? stacks.frames[nodes.frame[at]].text : "all";

/* Frames of the kinds that the map is colored by have their color, so that they are found in it. */
function graphTone(at) {
	const { kind, name, module } = stacks.frames[nodes.frame[at]];
	const by = { function: name, module }[coloring.name];
	if (by === undefined)
		return GRAPH_TONES[at ? kind : 0];
	const tone = coloring.kinds.findIndex((other) => other.name === (by || "unknown"));
	return tone < 0 ? GRAPH_TONES[0] : tone;
}

function drawFrame({ place, x, width, frames }, y, fills) {
	const { name, kind } = stacks.frames[nodes.frame[place]];
	graph.fillStyle = frames > 1 ? look.dim : fills[graphTone(place)][flameShade(name.length, kind)];
	graph.fillRect(box.x + x, y, width - (width > 3 ? 1 : 0), GRAPH_ROW - 1);
	if (width < 26)
		return;
	graph.fillStyle = look.label;
	graph.fillText(fitText(graph, frames > 1 ? "\u2026" : graphLabel(place), width - 10), box.x + x + 5,
		y + GRAPH_ROW / 2);
}

function drawGraph() {
	const height = graphed.room * GRAPH_ROW, fills = flameFills();
	if (!blocks.node)
		return;
	measureGraph();
	graphed.rows = [];
	for (const rect of flameLayout(graphed.total, graphed.top, box.w, isNativeCall))
		(graphed.rows[rect.depth] ??= []).push(rect);
	graphCanvas.style.height = `${height}px`;
	fitCanvas(graph, box.width, height, box.ratio);
	graph.clearRect(0, 0, box.width, height);
	Object.assign(graph, { font: FONT, textBaseline: "middle", textAlign: "left", direction: "ltr" });
	graphed.rows.slice(0, graphed.room).forEach((row, depth) => {
		for (const rect of row)
			drawFrame(rect, depth * GRAPH_ROW, fills);
	});
	byId("stacks-what").textContent = `${counted(graphed.blocks, "block")} in this view, which ` +
		`${graphed.blocks === 1 ? "takes" : "take"} ${graphBytes(0)} of it on average`;
	root.dataset.stacks = graphed.rows.map((row) => row.map(({ place, frames }) =>
		frames > 1 ? "\u2026" : `${graphLabel(place)} ${graphShare(place)}`).join(", ")).join("; ");
}

/* The frame at a point of the canvas, or nothing. */
function graphRectAt({ x, y }) {
	const row = graphed.rows[Math.floor(y / GRAPH_ROW)];
	return row?.find((rect) => x - box.x >= rect.x && x - box.x < rect.x + rect.width);
}

function describeFrame({ place, frames }) {
	const { kind, module } = stacks.frames[nodes.frame[place]];
	if (frames > 1) {
		fillTip(`${counted(frames, "frame")} too narrow to draw`, "", []);
		return;
	}
	fillTip(tail(graphName(place), 500), meta.kinds[graphTone(place)], [
		["takes", `${graphBytes(place)} on average`], ["share", graphShare(place)],
		["module", kind === PYTHON ? undefined : module && tail(module, 500) || undefined]]);
}

graphCanvas.addEventListener("pointermove", (event) => {
	const rect = graphRectAt(pointOn(graphCanvas, event));
	pointer = rect ? { rect, clientX: event.clientX, clientY: event.clientY } : null;
	touch();
});
graphCanvas.addEventListener("click", (event) => {
	const rect = graphRectAt(pointOn(graphCanvas, event));
	if (rect)
		zoomGraph(rect.place === graphed.top || rect.frames > 1 ? nodes.parent[rect.place] : rect.place);
});

function zoomGraph(place) {
	graphed.top = place;
	pointer = null;
	change();
}

