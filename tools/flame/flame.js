/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.js - the layout of a flame graph, the same as in flame.c for a part of the tree, and its
 * colors and labels. The heap map has a graph, too: both pages define `nodes`, in preorder.
 */
const NARROWEST = 0.5; /* pixels */

/*
 * Lays out the subtree of `top`, in preorder: { place, depth, x, width, frames }. Siblings that are
 * too narrow each share a rectangle, with nothing above it. Hidden nodes have none, nor do their
 * callees.
 */
function flameLayout(total, top, width, isHidden = () => false) {
	const scale = total[top] > 0 ? width / total[top] : 0, base = nodes.depth[top];
	const lefts = [0], rects = [];
	let narrow = null, at = top;
	const add = (rect) => rect.width >= NARROWEST && rects.push(rect);

	while (at < nodes.end[top]) {
		const depth = nodes.depth[at] - base, x = lefts[depth], wide = total[at] * scale;
		lefts[depth] += wide;
		if (narrow && (narrow.depth !== depth || wide >= NARROWEST)) {
			add(narrow);
			narrow = null;
		}
		if (at !== top && isHidden(at)) {
			at = nodes.end[at];
			continue;
		}
		if (wide >= NARROWEST) {
			rects.push({ place: at, depth, x, width: wide, frames: 1 });
			lefts[depth + 1] = x;
			at++;
			continue;
		}
		if (wide > 0) {
			narrow ??= { place: at, depth, x, width: 0, frames: 0 };
			narrow.width += wide;
			narrow.frames++;
		}
		at = nodes.end[at];
	}
	if (narrow)
		add(narrow);
	return rects;
}

const channels = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
const mix = (a, b, part) => {
	const other = channels(b);
	return `rgb(${channels(a).map((n, i) => Math.round(n * part + other[i] * (1 - part))).join()})`;
};

/* The colors of each tone, of different strengths: neighbors of a tone can be distinguished. */
const SHADES = 4;
const flameFills = () => meta.kinds.map((tone) => Array.from({ length: SHADES },
	(_, i) => mix(tone, look.under, Number(look.strength) + i * 0.055)));
const flameShade = (name, line) => Math.imul(name * 31 + line, 0x9e3779b1) >>> 30;

/* As much of a text as fits. */
function fitText(context, text, width) {
	let room = Math.floor(width / 3);
	if (text.length <= room && context.measureText(text).width <= width)
		return text;
	for (let low = 0; low < room;) {
		const middle = (low + room + 1) >> 1;
		if (context.measureText(text.slice(0, middle) + "\u2026").width <= width)
			low = middle;
		else
			room = middle - 1;
	}
	return room > 1 ? text.slice(0, room) + "\u2026" : "";
}

