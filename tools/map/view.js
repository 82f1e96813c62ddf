/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.js - the picture: address against events, and how much of it was in use.
 *
 * 1. The view is a window: events t0..t1, places a0..a1. Everything drawn is a function of it.
 * 2. Blocks are painted pixel by pixel into an image: what is outside the window is skipped, what
 *    is smaller than a pixel fills one. A frame costs what it shows and not what the trace holds.
 * 3. A second canvas above carries what follows the pointer (hands.js), so that moving it repaints
 *    little.
 *
 * The root element's data-* attributes say what is shown (drawn, view, hover), for tests and
 * scripts.
 */
const figure = byId("figure"), tip = byId("tip"), root = document.documentElement;
const LEFT = 84, RIGHT = 32, TOP = 14, BETWEEN = 40, BOTTOM = 44; /* around the two plots */
const EDGE_PIXELS = 5; /* blocks at least so large get an edge */
const SHORT_PIXELS = 16; /* up to so many, a loop is faster than a call */
const FONT = "12px system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";

const whole = { t0: 0, t1: Math.max(meta.events, 1), a0: 0, a1: Math.max(meta.top, 4096) * 1.03 };
const view = { ...whole };
let box = null;       /* where the map and the curves lie, in CSS pixels */
let pointer = null;   /* {x, y} while it is over the figure */
let queued = false;

function clamp() {
	const least = { t: Math.min(8, whole.t1), a: 64 };
	for (const [low, high, most, min] of [["t0", "t1", whole.t1, least.t],
	                                      ["a0", "a1", whole.a1, least.a]]) {
		let span = Math.max(min, Math.min(view[high] - view[low], most));
		view[low] = Math.max(0, Math.min(view[low], most - span));
		view[high] = view[low] + span;
	}
}

function zoom(factor, x, y, time, place) {
	const t = view.t0 + (view.t1 - view.t0) * x, a = view.a0 + (view.a1 - view.a0) * y;
	if (time) {
		view.t0 = t + (view.t0 - t) * factor;
		view.t1 = t + (view.t1 - t) * factor;
	}
	if (place) {
		view.a0 = a + (view.a0 - a) * factor;
		view.a1 = a + (view.a1 - a) * factor;
	}
	change();
}

function move(dt, da) {
	view.t0 += dt;
	view.t1 += dt;
	view.a0 += da;
	view.a1 += da;
	change();
}

function change() {
	clamp();
	if (!queued)
		requestAnimationFrame(draw);
	queued = true;
}

const xOf = (t) => box.x + (t - view.t0) / (view.t1 - view.t0) * box.w;
const yOf = (a) => box.y + box.h - (a - view.a0) / (view.a1 - view.a0) * box.h;
const tAt = (x) => view.t0 + (x - box.x) / box.w * (view.t1 - view.t0);
const aAt = (y) => view.a0 + (box.y + box.h - y) / box.h * (view.a1 - view.a0);

const base = byId("blocks").getContext("2d"), over = byId("overlay").getContext("2d");
const color = (name) => getComputedStyle(root).getPropertyValue(name).trim();

/* Fit both canvases to the figure. */
function layout() {
	const ratio = window.devicePixelRatio || 1;
	const width = figure.clientWidth, height = figure.clientHeight;
	for (const context of [base, over]) {
		context.canvas.width = Math.round(width * ratio);
		context.canvas.height = Math.round(height * ratio);
		context.setTransform(ratio, 0, 0, ratio, 0, 0);
	}
	const inner = height - TOP - BETWEEN - BOTTOM, curves = Math.max(80, inner * 0.22);
	box = {
		ratio, width, height, x: LEFT, y: TOP, w: width - LEFT - RIGHT, h: inner - curves,
		cy: TOP + inner - curves + BETWEEN, ch: curves,
	};
	/* Whole device pixels, so that the image meets its frame. */
	for (const key of ["x", "y", "w", "h", "cy", "ch"])
		box[key] = Math.max(1 / ratio, Math.round(box[key] * ratio) / ratio);
}

const fills = Uint32Array.from(meta.colors, (c) => pixel(c));
const edges = Uint32Array.from(meta.colors, (c) => pixel(c, 0.72));

function paintBlocks() {
	const w = Math.round(box.w * box.ratio), h = Math.round(box.h * box.ratio);
	const image = base.createImageData(w, h), to = new Uint32Array(image.data.buffer);
	const kx = w / (view.t1 - view.t0), ky = h / (view.a1 - view.a0);
	const { birth, death, place, end } = blocks;
	let shown = 0;

	to.fill(pixel(color("--paper")));
	for (const i of bySize) {
		if (birth[i] >= view.t1 || death[i] <= view.t0 || end[i] <= view.a0 ||
		    place[i] >= view.a1 || end[i] === place[i])
			continue;
		let x0 = Math.round((birth[i] - view.t0) * kx);
		let x1 = Math.round((death[i] - view.t0) * kx);
		let y0 = Math.round(h - (end[i] - view.a0) * ky);
		let y1 = Math.round(h - (place[i] - view.a0) * ky);
		x0 = Math.max(0, Math.min(x0, w - 1));
		y0 = Math.max(0, Math.min(y0, h - 1));
		x1 = Math.min(w, Math.max(x1, x0 + 1));
		y1 = Math.min(h, Math.max(y1, y0 + 1));
		const edged = x1 - x0 >= EDGE_PIXELS && y1 - y0 >= EDGE_PIXELS;
		const fill = fills[blocks.color[i]], edge = edges[blocks.color[i]];
		for (let y = y0; y < y1; y++) {
			const last = y * w + x1, tone = edged && y === y1 - 1 ? edge : fill;
			if (x1 - x0 > SHORT_PIXELS)
				to.fill(tone, last - x1 + x0, last);
			else
				for (let at = last - x1 + x0; at < last; at++)
					to[at] = tone;
			if (edged)
				to[last - 1] = edge;
		}
		shown++;
	}
	base.putImageData(image, Math.round(box.x * box.ratio), Math.round(box.y * box.ratio));
	root.dataset.drawn = shown;
}

function drawAddressAxis() {
	const step = stepOf(view.a1 - view.a0, box.h / 46, true);
	const { label, unit } = byteLabels(view.a1, step);

	base.textAlign = "right";
	base.textBaseline = "middle";
	for (let a = Math.ceil(view.a0 / step) * step; a <= view.a1; a += step) {
		base.fillStyle = color("--soft");
		base.fillText(label(a), box.x - 9, yOf(a));
		base.fillStyle = color("--line");
		base.fillRect(box.x - 5, Math.round(yOf(a)), 5, 1);
	}
	turned(`address in the pool (${unit})`, 18, box.y + box.h / 2);
}

function drawTimeAxis() {
	const step = stepOf(view.t1 - view.t0, box.w / 110, false), y = box.cy + box.ch;

	base.textAlign = "center";
	base.textBaseline = "top";
	for (let t = Math.ceil(view.t0 / step) * step; t <= view.t1; t += step) {
		base.fillStyle = color("--line");
		base.fillRect(Math.round(xOf(t)), box.y + box.h, 1, 5);
		base.fillRect(Math.round(xOf(t)), y, 1, 5);
		base.fillStyle = color("--soft");
		base.fillText(count(t), xOf(t), y + 8);
	}
	base.fillText("events (allocations and frees, in program order)",
		box.x + box.w / 2, y + 25);
}

function turned(text, x, y) {
	base.save();
	base.translate(x, y);
	base.rotate(-Math.PI / 2);
	base.textAlign = "center";
	base.textBaseline = "middle";
	base.fillStyle = color("--soft");
	base.fillText(text, 0, 0);
	base.restore();
}

/* Where chunks meet, and where an allocation failed. */
function drawMarks() {
	base.save();
	base.beginPath();
	base.rect(box.x, box.y, box.w, box.h);
	base.clip();
	base.textAlign = "right";
	base.textBaseline = "bottom";
	meta.chunks.forEach(([place], i) => {
		const y = Math.round(yOf(place));
		if (i === 0 || y < box.y || y > box.y + box.h)
			return;
		base.fillStyle = color("--soft");
		for (let x = box.x; x < box.x + box.w; x += 8)
			base.fillRect(x, y, 5, 1);
		const name = `chunk ${i + 1}`, width = base.measureText(name).width;
		base.fillStyle = color("--paper");
		base.fillRect(box.x + box.w - width - 10, y - 17, width + 8, 16);
		base.fillStyle = color("--soft");
		base.fillText(name, box.x + box.w - 6, y - 2);
	});
	base.fillStyle = color("--bad");
	for (const i of blocks.failed)
		base.fillRect(Math.round(xOf(blocks.birth[i])) - 1, box.y, 2, 10);
	base.restore();
}

const peak = live.reduce((a, b) => Math.max(a, b), 0);
const highest = meta.steps.reduce((a, s) => Math.max(a, s[2]), peak);
const reserved = meta.steps.reduce((a, s) => Math.max(a, s[1]), 0);
const showsReserved = reserved <= highest * 2.5;
const ceiling = (showsReserved ? Math.max(reserved, highest) : highest) * 1.08 || 1;
const cyOf = (n) => box.cy + box.ch - n / ceiling * box.ch;

/* Live bytes: at each pixel the least and the most of the events under it. */
function drawLive() {
	const shape = new Path2D(), edge = new Path2D();

	shape.moveTo(box.x, box.cy + box.ch);
	for (let x = 0; x <= box.w; x++) {
		const from = Math.max(0, Math.min(meta.events - 1, Math.floor(tAt(box.x + x))));
		const next = Math.floor(tAt(box.x + x + 1));
		const to = Math.min(meta.events, Math.max(from + 1, next));
		let low = Infinity, high = 0;
		for (let e = from; e < to; e++) {
			low = Math.min(low, live[e]);
			high = Math.max(high, live[e]);
		}
		low = Math.min(low, high);
		shape.lineTo(box.x + x, cyOf(high));
		edge[x ? "lineTo" : "moveTo"](box.x + x, cyOf(high));
		edge.lineTo(box.x + x, cyOf(low));
	}
	shape.lineTo(box.x + box.w, box.cy + box.ch);
	base.globalAlpha = 0.18;
	base.fillStyle = color("--live");
	base.fill(shape);
	base.globalAlpha = 1;
	base.strokeStyle = color("--live");
	base.lineWidth = 1.2;
	base.stroke(edge);
}

function drawSteps(field, name, dash) {
	const path = new Path2D();
	let y = cyOf(stepAt(view.t0)[field]);

	path.moveTo(box.x, y);
	for (const step of meta.steps) {
		if (step[0] <= view.t0 || step[0] > view.t1)
			continue;
		path.lineTo(xOf(step[0]), y);
		y = cyOf(step[field]);
		path.lineTo(xOf(step[0]), y);
	}
	path.lineTo(box.x + box.w, y);
	base.setLineDash(dash);
	base.strokeStyle = color(name);
	base.lineWidth = 1.6;
	base.stroke(path);
	base.setLineDash([]);
}

/* Names of the curves, in a row above them. */
function drawCurveNames() {
	const names = [["live", "--live"], ["high water", "--high"], ["reserved", "--reserved"]];
	let x = box.x;

	base.textAlign = "left";
	base.textBaseline = "middle";
	for (const [name, tone] of names) {
		let text = name;
		if (name === "reserved" && !showsReserved)
			text = `reserved ${bytes(reserved)}, above this picture`;
		base.fillStyle = color(tone);
		base.fillRect(x, box.cy - 12, 14, 3);
		base.fillStyle = color("--soft");
		base.fillText(text, x + 20, box.cy - 11);
		x += base.measureText(text).width + 44;
	}
}

function drawCurves() {
	const step = stepOf(ceiling, box.ch / 26, true);
	const { label, unit } = byteLabels(ceiling, step);

	base.textAlign = "right";
	base.textBaseline = "middle";
	for (let v = 0; v <= ceiling; v += step) {
		base.fillStyle = color("--grid");
		base.fillRect(box.x, Math.round(cyOf(v)), box.w, 1);
		base.fillStyle = color("--soft");
		base.fillText(label(v), box.x - 9, cyOf(v));
	}
	turned(`bytes (${unit})`, 18, box.cy + box.ch / 2);
	base.save();
	base.beginPath();
	base.rect(box.x, box.cy, box.w, box.ch);
	base.clip();
	drawLive();
	if (showsReserved)
		drawSteps(1, "--reserved", [6, 4]);
	drawSteps(2, "--high", []);
	base.restore();
	drawCurveNames();
}

function draw() {
	queued = false;
	base.clearRect(0, 0, box.width, box.height);
	base.font = FONT;
	paintBlocks();
	drawAddressAxis();
	drawTimeAxis();
	drawMarks();
	drawCurves();
	base.strokeStyle = color("--line");
	base.lineWidth = 1;
	base.strokeRect(box.x - 0.5, box.y - 0.5, box.w + 1, box.h + 1);
	base.strokeRect(box.x - 0.5, box.cy - 0.5, box.w + 1, box.ch + 1);
	root.dataset.view = [view.t0, view.t1, view.a0, view.a1].map(Math.round).join(" ");
	drawHover();
}

