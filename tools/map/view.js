/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.js - the state of the view, and the scheduling of drawing.
 *
 * 1. The view is a window: events t0..t1, places a0..a1. `moment` is the event whose heap is in the
 *    strip, and the picked block. Everything that is drawn is a function of these.
 * 2. change() requests a frame. A frame paints the map and the curves if the window changed; marks
 *    that follow the pointer and the moment are on an overlay canvas and cost little.
 *
 * The root element's data-* attributes report the state and its cost, for tests and scripts: drawn,
 * view, coloring, event, free_blocks..., open-ms (from the start of loading until the first picture) and
 * frame-ms (of the last frame).
 */
const figure = byId("figure"), tip = byId("tip");
const TOP = 12, BETWEEN = 46, BOTTOM = meta.times ? 57 : 42; /* around the two plots */

const whole = { t0: 0, t1: Math.max(meta.events, 1), a0: 0, a1: Math.max(meta.top, 4096) * 1.03 };
const view = { ...whole };
const moment = { event: Math.min(meta.peak, Math.max(0, meta.events - 1)), picked: -1 };
let box = null;       /* the area of the map and the curves, in CSS pixels */
let pointer = null;   /* {x, y} while it is over the figure; {place} over the strip; {rect} over the stacks */
let queued = false, stale = true;

function clamp() {
	clampAxis("t0", "t1", Math.min(8, whole.t1), whole.t1);
	clampAxis("a0", "a1", 64, whole.a1);
}

/* Zooms by `factor` around a point of the window; x and y are fractions of it. */
function zoom(factor, x, y, time, place) {
	if (time)
		stretch("t0", "t1", factor, x);
	if (place)
		stretch("a0", "a1", factor, y);
	change();
}

function move(dt, da) {
	view.t0 += dt;
	view.t1 += dt;
	view.a0 += da;
	view.a1 += da;
	change();
}

/* Brings a range of one axis into view, with a margin. */
function bring(low, high, from, to) {
	const span = Math.max((to - from) * 1.6, 1), middle = (from + to) / 2;
	view[low] = middle - span / 2;
	view[high] = middle + span / 2;
	change();
}

/* Goes to an event; the window follows. */
function go(event) {
	moment.event = Math.max(0, Math.min(meta.events - 1, Math.round(event) || 0));
	if (moment.picked >= 0 && (blocks.birth[moment.picked] > moment.event ||
	    blocks.death[moment.picked] <= moment.event))
		moment.picked = -1;
	const span = view.t1 - view.t0, margin = Math.min(span / 20, 20);
	if (moment.event < view.t0 || moment.event + 1 > view.t1) {
		view.t0 = moment.event < view.t0 ? moment.event - margin
			: moment.event + 1 + margin - span;
		view.t1 = view.t0 + span;
		stale = true;
	}
	touch();
}

/* Call it if the window or the colors changed. */
function change() {
	stale = true;
	touch();
}

/* Call it if only the overlay changed. */
function touch() {
	clamp();
	if (!queued)
		requestAnimationFrame(draw);
	queued = true;
}

const xOf = (t) => box.x + (t - view.t0) / (view.t1 - view.t0) * box.w;
const yOf = (a) => box.y + box.h - (a - view.a0) / (view.a1 - view.a0) * box.h;
const tAt = (x) => view.t0 + (x - box.x) / box.w * (view.t1 - view.t0);
const aAt = (y) => view.a0 + (box.y + box.h - y) / box.h * (view.a1 - view.a0);
const eventAt = (x) => Math.max(0, Math.min(meta.events - 1, Math.floor(tAt(x))));

const base = byId("blocks").getContext("2d"), over = byId("overlay").getContext("2d");

function layout(ratio = window.devicePixelRatio || 1) {
	const width = figure.clientWidth, height = figure.clientHeight, narrow = width < 640;
	const left = narrow ? 58 : 84, right = narrow ? 12 : 32;
	const inner = height - TOP - BETWEEN - BOTTOM, curves = Math.max(70, inner * 0.22);

	fitCanvas(base, width, height, ratio);
	fitCanvas(over, width, height, ratio);
	box = {
		ratio, width, height, narrow, x: left, y: TOP, w: Math.max(40, width - left - right),
		h: inner - curves, cy: TOP + inner - curves + BETWEEN, ch: curves,
	};
	/* Whole device pixels, so that the image is aligned with its frame. */
	for (const key of ["x", "y", "w", "h", "cy", "ch"])
		box[key] = Math.max(1 / ratio, Math.round(box[key] * ratio) / ratio);
	root.style.setProperty("--left", `${box.x}px`);
	root.style.setProperty("--right", `${width - box.x - box.w}px`);
	byId("curves").style.top = `${box.cy - 25}px`;
	layoutStrip(ratio);
	stale = true;
}

function drawBase() {
	readLook();
	base.clearRect(0, 0, box.width, box.height);
	base.font = FONT;
	paintBlocks();
	drawAddressAxis();
	drawTimeAxis();
	drawMarks();
	drawCurves();
	base.strokeStyle = look.line;
	base.lineWidth = 1;
	base.strokeRect(box.x - 0.5, box.y - 0.5, box.w + 1, box.h + 1);
	base.strokeRect(box.x - 0.5, box.cy - 0.5, box.w + 1, box.ch + 1);
	root.dataset.view = [view.t0, view.t1, view.a0, view.a1].map(Math.round).join(" ");
}

function draw() {
	const begun = performance.now();

	queued = false;
	if (stale) {
		drawBase();
		drawGraph();
	}
	stale = false;
	drawMoment();
	drawOver();
	keepLink();
	root.dataset.frameMs = (performance.now() - begun).toFixed(1);
	root.dataset.openMs ??= performance.now().toFixed(0);
}

