/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paint.js - the map: blocks as rectangles, its axes and its marks.
 *
 * Blocks are painted pixel by pixel into an image: blocks outside of the window are skipped, and
 * one smaller than a pixel fills a pixel. The cost of a frame depends on what it shows, not on the
 * size of the trace.
 */
const EDGE_PIXELS = 5; /* blocks of at least this size get an edge */
const SHORT_PIXELS = 16; /* up to this length, a loop is faster than a call */

/* The window's pixels that a block covers, as x0, x1, y0, y1; invalid if `hits` returns false. */
const cover = { x0: 0, x1: 0, y0: 0, y1: 0 };
function hits(i, w, h) {
	const { birth, death, place, end } = blocks, { t0, t1, a0, a1 } = view;
	if (birth[i] >= t1 || death[i] <= t0 || end[i] <= a0 || place[i] >= a1 || !blocks.taken[i])
		return false;
	const kx = w / (t1 - t0), ky = h / (a1 - a0);
	cover.x0 = Math.max(0, Math.min(Math.round((birth[i] - t0) * kx), w - 1));
	cover.y0 = Math.max(0, Math.min(Math.round(h - (end[i] - a0) * ky), h - 1));
	cover.x1 = Math.min(w, Math.max(Math.round((death[i] - t0) * kx), cover.x0 + 1));
	cover.y1 = Math.min(h, Math.max(Math.round(h - (place[i] - a0) * ky), cover.y0 + 1));
	return true;
}

let canvasImage = null;
function imageOf(w, h) {
	if (!canvasImage || canvasImage.width !== w || canvasImage.height !== h)
		canvasImage = base.createImageData(w, h);
	return canvasImage;
}

function paintBlocks() {
	const w = Math.round(box.w * box.ratio), h = Math.round(box.h * box.ratio);
	const image = imageOf(w, h), to = new Uint32Array(image.data.buffer);
	const { tone, fills, edges } = coloring, dim = pixel(look.dim), dimEdge = pixel(look.line);
	let shown = 0;

	to.fill(pixel(look.paper));
	for (const i of bySize) {
		if (!hits(i, w, h))
			continue;
		const { x0, x1, y0, y1 } = cover, lit = only < 0 || tone[i] === only;
		const edged = x1 - x0 >= EDGE_PIXELS && y1 - y0 >= EDGE_PIXELS;
		const fill = lit ? fills[tone[i]] : dim, edge = lit ? edges[tone[i]] : dimEdge;
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
		shown++;
	}
	base.putImageData(image, Math.round(box.x * box.ratio), Math.round(box.y * box.ratio));
	root.dataset.drawn = shown;
}

/* The block that is visible at a point of the figure, or -1: the last one painted there. */
function blockSeen(x, y) {
	const exact = blockIn(heapAt(eventAt(x)), aAt(y));
	if (exact >= 0)
		return exact;
	const w = Math.round(box.w * box.ratio), h = Math.round(box.h * box.ratio);
	const px = Math.floor((x - box.x) * box.ratio), py = Math.floor((y - box.y) * box.ratio);
	for (let at = bySize.length - 1; at >= 0; at--)
		if (hits(bySize[at], w, h) && px >= cover.x0 && px < cover.x1 &&
		    py >= cover.y0 && py < cover.y1)
			return bySize[at];
	return -1;
}

function drawAddressAxis() {
	const step = stepOf(view.a1 - view.a0, box.h / 46, true);
	const { label, unit } = byteLabels(view.a1, step);

	base.textAlign = "right";
	base.textBaseline = "middle";
	for (let a = Math.ceil(view.a0 / step) * step; a <= view.a1; a += step) {
		base.fillStyle = look.soft;
		base.fillText(label(a), box.x - 9, yOf(a));
		base.fillStyle = look.line;
		base.fillRect(box.x - 5, Math.round(yOf(a)), 5, 1);
	}
	turned(box.narrow ? unit : `address in the pool (${unit})`, box.y + box.h / 2);
}

function drawTimeAxis() {
	const step = stepOf(view.t1 - view.t0, box.w / 110, false), y = box.cy + box.ch;

	base.textAlign = "center";
	base.textBaseline = "top";
	for (let t = Math.ceil(view.t0 / step) * step; t <= view.t1; t += step) {
		base.fillStyle = look.line;
		base.fillRect(Math.round(xOf(t)), box.y + box.h, 1, 5);
		base.fillRect(Math.round(xOf(t)), y, 1, 5);
		base.fillStyle = look.soft;
		base.fillText(count(t), xOf(t), y + 8);
		if (blocks.times && t < meta.events)
			base.fillText(duration(blocks.times[t]), xOf(t), y + 22);
	}
	base.fillText(box.narrow ? "events" : "events (allocations and frees, in program order)",
		box.x + box.w / 2, y + BOTTOM - 18);
}

function turned(text, y) {
	base.save();
	base.translate(box.narrow ? 9 : 18, y);
	base.rotate(-Math.PI / 2);
	base.textAlign = "center";
	base.textBaseline = "middle";
	base.fillStyle = look.soft;
	base.fillText(text, 0, 0);
	base.restore();
}

/* Draws the boundaries of chunks, and failed allocations. */
function drawMarks() {
	base.save();
	base.beginPath();
	base.rect(box.x, box.y, box.w, box.h);
	base.clip();
	base.textAlign = "right";
	base.textBaseline = "bottom";
	let last = Infinity;
	meta.chunks.forEach(([place], i) => {
		const y = Math.round(yOf(place));
		if (i === 0 || y < box.y || y > box.y + box.h)
			return;
		base.fillStyle = look.soft;
		for (let x = box.x; x < box.x + box.w; x += 8)
			base.fillRect(x, y, 5, 1);
		if (last - y < 18)
			return;
		const foot = y - 18 < box.y ? y + 18 : y;
		base.lineWidth = 3;
		base.strokeStyle = look.paper;
		base.strokeText(`chunk ${i + 1}`, box.x + box.w - 6, foot - 2);
		base.fillStyle = look.ink;
		base.fillText(`chunk ${i + 1}`, box.x + box.w - 6, foot - 2);
		last = y;
	});
	base.fillStyle = look.bad;
	for (const i of blocks.failed)
		base.fillRect(Math.round(xOf(blocks.birth[i])) - 1, box.y, 2, 10);
	base.restore();
	if (meta.events && meta.chunks.length)
		return;
	base.textAlign = "center";
	base.textBaseline = "middle";
	base.fillStyle = look.soft;
	base.fillText(meta.events ? "no allocation got memory" : "a trace of no events",
		box.x + box.w / 2, box.y + box.h / 2);
}

