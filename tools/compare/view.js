/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view.js - the state of the view: the range of time, the visible settings, their order, the
 * enlarged map, light or dark. All of it is in the page's address, so a link preserves it.
 *
 * Code that draws registers itself with onChange(); change() calls all of it before the next frame.
 */
const END = Math.max(meta.events, 1);
const view = { t0: 0, t1: END, big: -1, sort: "", down: false };
const LEAST = Math.min(16, END); /* minimum number of events in a view */
const drawers = [];
let queued = false, hot = -1; /* the setting under the pointer */
let pointed = -1; /* the block under the pointer */

const onChange = (draw) => drawers.push(draw);

function redraw() {
	queued = false;
	readLook();
	keepLink();
	for (const draw of drawers)
		draw();
	root.dataset.view = `${Math.round(view.t0)} ${Math.round(view.t1)}`;
	root.dataset.off = settings.filter((s) => s.off).map((s) => s.index).join(" ");
	root.dataset.big = view.big;
}

/* Clamps the view to the data, and draws before the next frame. */
function change() {
	clampAxis("t0", "t1", LEAST, END);
	if (!queued)
		requestAnimationFrame(redraw);
	queued = true;
}

/* Zooms around `at`, a fraction of the view from 0 to 1. */
function zoom(factor, at) {
	stretch("t0", "t1", factor, at);
	change();
}

function showAll() {
	view.t0 = 0;
	view.t1 = END;
	change();
}

function move(part) {
	const by = (view.t1 - view.t0) * part;
	view.t0 += by;
	view.t1 += by;
	change();
}

/* Resizes a figure's canvases to it; returns the size that drawing needs. */
function fit(figure) {
	const ratio = window.devicePixelRatio || 1;
	const width = figure.clientWidth, height = figure.clientHeight;
	const contexts = [...figure.querySelectorAll("canvas")].map((canvas) => {
		const context = canvas.getContext("2d");
		fitCanvas(context, width, height, ratio);
		return context;
	});
	return { ratio, width, height, base: contexts[0], over: contexts[1] };
}

function keepLink() {
	const words = [];
	if (view.t0 > 0 || view.t1 < END)
		words.push(`t=${Math.round(view.t0)}-${Math.round(view.t1)}`);
	const off = settings.filter((s) => s.off).map((s) => s.index);
	if (off.length)
		words.push(`off=${off.join(".")}`);
	if (view.sort)
		words.push(`sort=${view.sort}${view.down ? ".down" : ""}`);
	if (view.big >= 0)
		words.push(`big=${view.big}`);
	if (chosen)
		words.push(`theme=${chosen}`);
	setLink(words.length ? `#${words.join("&")}` : "");
}

/* Applies the valid parts of a link; all others are ignored. */
function readLink() {
	const words = new URLSearchParams(location.hash.slice(1));
	const time = /^(\d+)-(\d+)$/.exec(words.get("t") || "");
	const number = (text) => /^\d+$/.test(text || "") ? Number(text) : -1;
	view.t0 = time && Number(time[1]) < Number(time[2]) ? Number(time[1]) : 0;
	view.t1 = time && Number(time[1]) < Number(time[2]) ? Number(time[2]) : END;
	const off = (words.get("off") || "").split(".").map(number);
	for (const setting of settings)
		setting.off = off.includes(setting.index);
	const [sort, down] = (words.get("sort") || "").split(".");
	view.sort = sort;
	view.down = down === "down";
	const big = number(words.get("big"));
	view.big = settings[big] && !settings[big].reckoned ? big : -1;
	chosen = knownTheme(words.get("theme"));
	wearTheme();
}
