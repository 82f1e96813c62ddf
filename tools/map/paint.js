/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paint.js - the map: blocks as rectangles, its axes and its marks.
 *
 * Blocks are painted pixel by pixel into an image: blocks outside of the window are skipped, and
 * one smaller than a pixel fills a pixel. The cost of a frame depends on what it shows, not on the
 * size of the trace.
 */
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
		if (!hits(i, blocks, w, h))
			continue;
		const lit = only < 0 || tone[i] === only;
		paintCover(to, w, lit ? fills[tone[i]] : dim, lit ? edges[tone[i]] : dimEdge);
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
		if (hits(bySize[at], blocks, w, h) && px >= cover.x0 && px < cover.x1 &&
		    py >= cover.y0 && py < cover.y1)
			return bySize[at];
	return -1;
}

function drawAddressAxis() {
	const unit = drawByteAxis(base, box.x, yOf, view.a0, view.a1, box.h / 46, (y) => {
		base.fillStyle = look.line;
		base.fillRect(box.x - 5, y, 5, 1);
	});
	nameAxis(`address in the pool (${unit})`, unit, box.y + box.h / 2);
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

function nameAxis(name, short, y) {
	turned(base, box.narrow ? short : name, box.narrow ? 9 : 18, y);
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

