/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paint.js - the graph on its canvas: its rectangles, their colors and labels, and the frame under
 * the pointer.
 *
 * The figure scrolls over a tall element, and its canvases stay in sight: only the visible rows are
 * drawn.
 */
const ROW = 20, LABEL = 26; /* pixels: the height of a row, the least width of a label */
const figure = byId("figure"), stage = byId("stage"), tip = byId("tip");
const base = byId("graph").getContext("2d"), over = byId("overlay").getContext("2d");
const box = { width: 0, height: 0, rows: 1, scrolled: 0 };
let rects = [], rectsOfRow = [];

/* Resizes the figure to its rows, and to what the window has room for. */
function layout() {
	rects = flameLayout(shown.width, view.top, stage.clientWidth || figure.clientWidth,
		view.native ? undefined : isNativeCall);
	rectsOfRow = [];
	for (const rect of rects)
		(rectsOfRow[rect.depth] ??= []).push(rect);
	box.rows = Math.max(1, rectsOfRow.length);
	const room = Math.max(11, Math.floor((window.innerHeight - 470) / ROW));
	const rows = Math.min(Math.max(box.rows, 6), room);
	const scrolled = figure.scrollHeight - figure.clientHeight - figure.scrollTop;
	figure.style.height = `${rows * ROW + 2}px`;
	byId("tall").style.height = `${Math.max(rows, box.rows) * ROW}px`;
	stage.style.height = `${rows * ROW}px`;
	if (view.graph === "flame") /* its foot stays where it is */
		figure.scrollTop = figure.scrollHeight - figure.clientHeight - scrolled;
	box.width = stage.clientWidth;
	box.height = rows * ROW;
	for (const context of [base, over])
		fitCanvas(context, box.width, box.height, window.devicePixelRatio || 1);
}

/* The top of a row in the figure. */
function topOf(depth) {
	const high = Math.max(box.rows * ROW, box.height);
	return (view.graph === "flame" ? high - (depth + 1) * ROW : depth * ROW) - figure.scrollTop;
}

const shadeOf = Uint8Array.from({ length: meta.frames }, (_, i) => flameShade(frames.name[i], frames.line[i]));
let fills = [];

function fillOf({ place, frames: merged }) {
	const frame = nodes.frame[place];
	if (merged > 1 || (isFiltered() && !lit[frame]))
		return look.dim;
	if (!compares())
		return fills[coloring().tone[frame]][shadeOf[frame]];
	const part = shown.net[place] / shown.width[place];
	return mix(part > 0 ? look.grew : look.shrank, look.same, Math.abs(part));
}

function labelOf(rect) {
	const frame = nodes.frame[rect.place], file = fileOf(frame);
	if (rect.frames > 1)
		return "\u2026";
	const line = frames.line[frame] ? `:${frames.line[frame]}` : "";
	return nameOf(frame) + (file ? ` (${lastPart(file)}${line})` : "");
}

function drawGraph() {
	let drawn = 0;
	box.scrolled = figure.scrollTop;
	base.clearRect(0, 0, box.width, box.height);
	base.font = FONT;
	base.textBaseline = "middle";
	base.textAlign = "left";
	base.direction = "ltr";
	rectsOfRow.forEach((row, depth) => {
		const y = topOf(depth);
		if (y + ROW <= 0 || y >= box.height)
			return;
		for (const rect of row) {
			const gap = rect.width > 3 ? 1 : 0;
			base.fillStyle = fillOf(rect);
			base.fillRect(rect.x, y, rect.width - gap, ROW - 1);
			drawn++;
			if (rect.width < LABEL)
				continue;
			base.fillStyle = isFiltered() && !lit[nodes.frame[rect.place]] ? look.soft : look.label;
			base.fillText(fitText(base, labelOf(rect), rect.width - 10), rect.x + 5, y + ROW / 2);
		}
	});
	if (!rects.length) {
		base.textAlign = "center";
		base.fillStyle = look.soft;
		base.fillText(compares() ? "nothing changed between these moments"
			: "nothing to show here", box.width / 2, box.height / 2);
	}
	root.dataset.drawn = drawn;
}

/* The rectangle at a point of the figure. */
function rectAt(x, y) {
	const from = view.graph === "flame" ? topOf(0) + ROW - y : y - topOf(0);
	const row = rectsOfRow[Math.floor(from / ROW)];
	return row?.[firstAfter(row.length, (i) => row[i].x + row[i].width <= x)] ?? null;
}

const rectOf = (place) => rects.find((rect) => rect.place === place && rect.frames === 1);

function drawOver() {
	const focused = view.focus >= 0 ? rectOf(view.focus) : null;
	const rect = pointer ? rectAt(pointer.x, pointer.y) : null;
	const under = rect && rect.x <= pointer.x ? rect : null;
	over.clearRect(0, 0, box.width, box.height);
	for (const each of [under, focused]) {
		if (!each)
			continue;
		over.strokeStyle = look.mark;
		over.lineWidth = 2;
		over.strokeRect(each.x + 1, topOf(each.depth), Math.max(1, each.width - 3), ROW - 2);
	}
	tip.hidden = true;
	delete root.dataset.hover;
	if (under) {
		describe(under);
		placeTip(pointer.clientX, pointer.clientY);
		root.dataset.hover = under.frames > 1 ? "narrow" : nameOf(nodes.frame[under.place]);
	} else if (focused && document.activeElement === figure) {
		const frame = figure.getBoundingClientRect();
		describe(focused);
		placeTip(frame.left + focused.x + Math.min(focused.width / 2, 60),
			frame.top + topOf(focused.depth) + ROW);
	}
}

