/* SPDX-License-Identifier: Apache-2.0 */
/*
 * common.js - what the scripts of the heap map, of a comparison and of a profile share: numbers in
 * words, packed data, colors, axes, the painting of blocks, and the theme.
 *
 * It is first in the single script of its page, whose other parts define `blocks`, `view` and
 * change().
 */
"use strict";

const byId = (id) => document.getElementById(id);
const root = document.documentElement;
const meta = JSON.parse(byId("meta").textContent);
const FONT = "12px system-ui, -apple-system, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif";
const CLICK_PIXELS = 4;  /* a pointer that moves farther drags */
const EDGE_PIXELS = 5;   /* blocks of at least this size get an edge */
const SHORT_PIXELS = 16; /* up to this length, a loop is faster than a call */

/* Makes an element; what is inside is inserted as text: nothing is parsed as markup. */
function element(name, className, ...inside) {
	const made = document.createElement(name);
	if (className)
		made.className = className;
	made.append(...inside);
	return made;
}

/* Invisible characters and those that change the direction of a text, as page_markup(). */
const visible = (text) => text.replace(
	/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufffe\uffff]/g, "?");

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/* Formats 1536 as "1.50 KiB". */
function bytes(n, digits = 2) {
	let unit = 0;
	while (Math.abs(n) >= 1024 && unit < UNITS.length - 1) {
		n /= 1024;
		unit++;
	}
	return `${unit ? n.toFixed(digits) : n} ${UNITS[unit]}`;
}

const count = (n) => typeof n === "bigint" ? String(n) : Math.round(n).toLocaleString("en");
const counted = (n, noun) => `${count(n)} ${noun}${n == 1 ? "" : "s"}`;
const hex = (n) => "0x" + (typeof n === "bigint" ? n : Math.round(n)).toString(16);
const percent = (part, digits = 1) => `${(100 * part).toFixed(digits)} %`;

/* Formats nanoseconds with about four digits. */
function duration(ns) {
	const units = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3]];
	const [name, scale] = units.find((u) => Math.abs(ns) >= u[1]) || ["ns", 1];
	const n = ns / scale;
	const digits = scale === 1 ? 0 : Math.abs(n) >= 100 ? 1 : Math.abs(n) >= 10 ? 2 : 3;
	return `${n.toFixed(digits)} ${name}`;
}

/* The end of a long text, such as a path, is the most informative part. */
const tail = (text, most) => text.length > most ? "\u2026" + text.slice(1 - most) : text;
const lastPart = (path) => path.slice(path.lastIndexOf("/") + 1) || path;

/* A step of 1, 2 or 5 times a power of ten, or a power of two for bytes; at least 1. */
function stepOf(span, most, binary) {
	const rough = Math.max(span / most, 1);
	if (binary)
		return 2 ** Math.ceil(Math.log2(rough));
	const power = 10 ** Math.floor(Math.log10(rough));
	return [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
}

/* Labels share one unit, the largest in which a step has at most three decimal places. */
function byteLabels(high, step) {
	let unit = 0;
	while (1024 ** (unit + 1) <= Math.min(high, step * 8) && unit < UNITS.length - 1)
		unit++;
	const scale = 1024 ** unit, digits = Math.max(0, Math.log2(scale / step));
	const label = (v) => (v / scale).toLocaleString("en", {
		minimumFractionDigits: digits, maximumFractionDigits: digits,
	});
	return { label, unit: UNITS[unit] };
}

/* The step of a color scale that starts at 2^first and has `per` steps per power of two. */
function scaleStep(n, first, per, steps) {
	const step = Math.round((Math.log2(n) - first) * per);
	return Math.max(0, Math.min(steps - 1, step));
}

/* A color "#rrggbb" as a pixel of an image, darkened for edges. */
function pixel(text, shade = 1) {
	const part = (from) => Math.round(parseInt(text.slice(from, from + 2), 16) * shade);
	return (0xff000000 | part(5) << 16 | part(3) << 8 | part(1)) >>> 0;
}


/* Reads and removes an element of packed numbers; see page.h for their encoding. */
function reader(id) {
	const letters = atob(byId(id).textContent.trim()), raw = new Uint8Array(letters.length);
	for (let i = 0; i < raw.length; i++)
		raw[i] = letters.charCodeAt(i);
	byId(id).remove();
	let at = 0;
	const number = () => {
		let byte = raw[at++], value = byte & 127;
		for (let scale = 128; byte & 128; scale *= 128) {
			byte = raw[at++];
			value += (byte & 127) * scale;
		}
		return value;
	};
	/* Ids have 64 bits, but a number in JavaScript has 53. */
	const exact = () => {
		const from = at, value = number();
		if (value <= Number.MAX_SAFE_INTEGER)
			return value;
		let big = 0n;
		for (let i = at - 1; i >= from; i--)
			big = big << 7n | BigInt(raw[i] & 127);
		return big;
	};
	return { number, exact };
}

/* The first index, up to n, from which on a condition does not hold. */
function firstAfter(n, holds) {
	let low = 0, high = n;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (holds(middle))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Resizes a canvas to its size on the page. */
function fitCanvas(context, width, height, ratio) {
	const { canvas } = context, w = Math.round(width * ratio), h = Math.round(height * ratio);
	if (canvas.width !== w || canvas.height !== h) {
		canvas.width = w;
		canvas.height = h;
	}
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/* Keeps an axis of the view within 0 to `most`, and at least `least` long. */
function clampAxis(low, high, least, most) {
	const span = Math.max(least, Math.min(view[high] - view[low], most));
	view[low] = Math.max(0, Math.min(view[low], most - span));
	view[high] = view[low] + span;
}

/* Zooms one axis of the view around `at`, a fraction of it. */
function stretch(low, high, factor, at) {
	const middle = view[low] + (view[high] - view[low]) * at;
	view[low] = middle + (view[low] - middle) * factor;
	view[high] = middle + (view[high] - middle) * factor;
}

/* With Shift, the wheel scrolls sideways in some browsers. */
const wheelFactor = ({ deltaX, deltaY }) =>
	Math.exp(Math.max(-1, Math.min(1, (deltaY || deltaX) / 400)));

/* The position of a pointer event on a figure. */
function pointOn(figure, event) {
	const frame = figure.getBoundingClientRect();
	return { x: event.clientX - frame.left - figure.clientLeft,
		y: event.clientY - frame.top - figure.clientTop };
}

/* Browsers limit the rate of address changes, and a page in a frame may not be allowed to. */
function setLink(text) {
	try {
		if (text !== location.hash)
			history.replaceState(null, "", text || location.pathname + location.search);
	} catch {
		/* The link remains unchanged. */
	}
}

/* The pixels of the view that a block covers, as x0, x1, y0, y1; invalid if it returns false. */
const cover = { x0: 0, x1: 0, y0: 0, y1: 0 };
function hits(i, { place, end }, w, h) {
	const { birth, death } = blocks, { t0, t1, a0, a1 } = view;
	if (birth[i] >= t1 || death[i] <= t0 || end[i] <= a0 || place[i] >= a1 || end[i] === place[i])
		return false;
	const kx = w / (t1 - t0), ky = h / (a1 - a0);
	cover.x0 = Math.max(0, Math.min(Math.round((birth[i] - t0) * kx), w - 1));
	cover.y0 = Math.max(0, Math.min(Math.round(h - (end[i] - a0) * ky), h - 1));
	cover.x1 = Math.min(w, Math.max(Math.round((death[i] - t0) * kx), cover.x0 + 1));
	cover.y1 = Math.min(h, Math.max(Math.round(h - (place[i] - a0) * ky), cover.y0 + 1));
	return true;
}

/* Fills these pixels of an image that is `w` pixels wide. */
function paintCover(to, w, fill, edge) {
	const { x0, x1, y0, y1 } = cover;
	const edged = x1 - x0 >= EDGE_PIXELS && y1 - y0 >= EDGE_PIXELS;
	for (let y = y0; y < y1; y++) {
		const last = y * w + x1, now = edged && y === y1 - 1 ? edge : fill;
		if (x1 - x0 > SHORT_PIXELS)
			to.fill(now, last - x1 + x0, last);
		else
			for (let at = last - x1 + x0; at < last; at++)
				to[at] = now;
		if (edged)
			to[last - 1] = edge;
	}
}

/* The page's own colors, by name: the variables of its style sheet. */
const look = {};
const lookNames = new Set(Array.from(document.querySelector("style").textContent
	.matchAll(/--(\w+):/g), ([, name]) => name));
function readLook() {
	const style = getComputedStyle(root);
	for (const name of lookNames)
		look[name] = style.getPropertyValue("--" + name).trim();
}

/* Draws labels in bytes left of a plot; line() draws what belongs to each. Returns their unit. */
function drawByteAxis(context, x, yOf, low, high, most, line) {
	const step = stepOf(high - low, most, true), { label, unit } = byteLabels(high, step);
	context.textAlign = "right";
	context.textBaseline = "middle";
	for (let n = Math.ceil(low / step) * step; n <= high; n += step) {
		line(Math.round(yOf(n)));
		context.fillStyle = look.soft;
		context.fillText(label(n), x - 9, yOf(n));
	}
	return unit;
}

/* Draws the name of a y axis. */
function turned(context, text, x, y) {
	context.save();
	context.translate(x, y);
	context.rotate(-Math.PI / 2);
	context.textAlign = "center";
	context.textBaseline = "middle";
	context.fillStyle = look.soft;
	context.fillText(text, 0, 0);
	context.restore();
}

/* The theme is that of the system, unless the user or a link chose one. */
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const knownTheme = (text) => ["light", "dark"].find((name) => name === text) ?? "";
let chosen = "";

function wearTheme(name = chosen || (prefersDark.matches ? "dark" : "light")) {
	root.dataset.theme = name;
}

function switchTheme() {
	chosen = root.dataset.theme === "dark" ? "light" : "dark";
	wearTheme();
	change();
}

prefersDark.addEventListener("change", () => {
	wearTheme();
	change();
});
