/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strip.js - the heap after one event: the slider that selects it, the strip, and its numbers.
 *
 * The strip has the addresses of the map's window as its x axis: chunk after chunk, blocks in the
 * colors of the map, free blocks hatched, the largest one labeled. A thin strip above it is the
 * whole heap with the window marked. Each free block has a tick below it, however small it is.
 */
const STRIP = { thin: 8, y: 32, h: 46, height: 112 }; /* the thin one; the strip; the canvas */
const HATCH = 7; /* pixels between lines */
const slider = byId("event"), field = byId("event-number");
const strip = byId("strip").getContext("2d");
const stripX = (a) => box.x + (a - view.a0) / (view.a1 - view.a0) * box.w;
const stripAt = (x) => view.a0 + (x - box.x) / box.w * (view.a1 - view.a0);

function layoutStrip(ratio) {
	byId("strip").style.height = `${STRIP.height}px`;
	fitCanvas(strip, box.width, STRIP.height, ratio);
}

/* One row of a heap's colors between two addresses; large blocks over small ones. */
function rowOf(heap, w, a0, a1) {
	const row = new Uint32Array(w).fill(pixel(look.paper)), k = w / (a1 - a0);
	const free_block = pixel(look.free_block), dim = pixel(look.dim), drawn = new Float64Array(w);
	const put = (low, high, fill, edge) => {
		if (high <= a0 || low >= a1)
			return;
		const x0 = Math.max(0, Math.min(Math.round((low - a0) * k), w - 1));
		const x1 = Math.min(w, Math.max(Math.round((high - a0) * k), x0 + 1));
		for (let x = x0; x < x1; x++)
			if (high - low >= drawn[x]) {
				drawn[x] = high - low;
				row[x] = x === x1 - 1 && x1 - x0 >= EDGE_PIXELS ? edge : fill;
			}
	};
	heap.free_blocks.low.forEach((low, i) => put(low, heap.free_blocks.high[i], free_block, free_block));
	for (const i of heap.list) {
		const lit = only < 0 || coloring.tone[i] === only;
		put(blocks.place[i], blocks.end[i], lit ? coloring.fills[coloring.tone[i]] : dim,
			lit ? coloring.edges[coloring.tone[i]] : pixel(look.line));
	}
	return row;
}

function paintStrip(heap, y, height, a0, a1) {
	const w = Math.round(box.w * box.ratio), h = Math.round(height * box.ratio);
	const image = strip.createImageData(w, h), to = new Uint32Array(image.data.buffer);
	const row = rowOf(heap, w, a0, a1), free_block = pixel(look.free_block), dark = pixel(look.bad);
	const every = Math.round(HATCH * box.ratio), thick = Math.round(box.ratio);
	for (let line = 0; line < h; line++) {
		to.set(row, line * w);
		for (let x = (every - line % every) % every; x < w; x += every)
			for (let dot = x; dot < Math.min(x + thick, w); dot++)
				if (row[dot] === free_block)
					to[line * w + dot] = dark;
	}
	strip.putImageData(image, Math.round(box.x * box.ratio), Math.round(y * box.ratio));
	strip.strokeStyle = look.line;
	strip.strokeRect(box.x - 0.5, y - 0.5, box.w + 1, height + 1);
}

/* Draws a bracket over a range of the strip and its name, both kept within the picture. */
function nameFreeBlock(low, high, text) {
	const left = box.x, right = box.x + box.w, y = STRIP.y - 5;
	const x0 = Math.max(left, Math.min(right, stripX(low)));
	const x1 = Math.max(left, Math.min(right, stripX(high)));
	const out = high <= view.a0 ? "\u25c2 " : low >= view.a1 ? "\u25b8 " : "";

	strip.strokeStyle = strip.fillStyle = look.bad;
	strip.lineWidth = 1.5;
	if (!out) {
		strip.beginPath();
		strip.moveTo(x0, y + 3);
		strip.lineTo(x0, y);
		strip.lineTo(Math.max(x1, x0 + 1), y);
		strip.lineTo(Math.max(x1, x0 + 1), y + 3);
		strip.stroke();
	}
	const half = strip.measureText(out + text).width / 2;
	strip.textAlign = "center";
	strip.textBaseline = "bottom";
	strip.fillText(out + text, Math.max(left + half, Math.min((x0 + x1) / 2, right - half)), y - 2);
	strip.lineWidth = 1;
}

function drawStripAxis() {
	const step = stepOf(view.a1 - view.a0, box.w / 90, true), y = STRIP.y + STRIP.h;
	const { label, unit } = byteLabels(view.a1, step);

	strip.textAlign = "center";
	strip.textBaseline = "top";
	for (let a = Math.ceil(view.a0 / step) * step; a <= view.a1; a += step) {
		strip.fillStyle = look.line;
		strip.fillRect(Math.round(stripX(a)), y + 7, 1, 5);
		strip.fillStyle = look.soft;
		const text = `${label(a)} ${unit}`, half = strip.measureText(text).width / 2;
		strip.fillText(text, Math.min(stripX(a), box.width - half - 2), y + 14);
	}
	for (const [place] of meta.chunks.slice(1))
		if (place > view.a0 && place < view.a1) {
			strip.fillStyle = look.mark;
			strip.fillRect(Math.round(stripX(place)), STRIP.y - 2, 1, STRIP.h + 4);
		}
}

function drawStrip(heap) {
	const { free_blocks } = heap, y = STRIP.y + STRIP.h;

	strip.clearRect(0, 0, box.width, STRIP.height);
	strip.font = FONT;
	strip.lineWidth = 1;
	paintStrip(heap, 1, STRIP.thin, whole.a0, whole.a1);
	paintStrip(heap, STRIP.y, STRIP.h, view.a0, view.a1);
	if (view.a1 - view.a0 < whole.a1) {
		const k = box.w / whole.a1;
		strip.strokeStyle = look.mark;
		strip.lineWidth = 1.5;
		strip.strokeRect(box.x + view.a0 * k, 0.75, Math.max(3, (view.a1 - view.a0) * k),
			STRIP.thin + 1.5);
	}
	strip.fillStyle = look.bad;
	free_blocks.low.forEach((low, i) => {
		const x0 = stripX(low), x1 = stripX(free_blocks.high[i]);
		if (x1 >= box.x && x0 <= box.x + box.w)
			strip.fillRect(Math.max(box.x, Math.round(x0)), y + 2,
				Math.max(1, Math.min(x1, box.x + box.w) - Math.max(x0, box.x)), 3);
	});
	if (free_blocks.largest >= 0) {
		const low = free_blocks.low[free_blocks.largest], high = free_blocks.high[free_blocks.largest];
		nameFreeBlock(low, high, `largest free block ${bytes(high - low)} at ${addressOf(low)}`);
	}
	drawStripAxis();
	const seen = pointer && pointer.block >= 0 ? pointer.block : moment.picked;
	if (seen >= 0 && blocks.birth[seen] <= heap.event && blocks.death[seen] > heap.event) {
		const x0 = Math.max(box.x, stripX(blocks.place[seen]));
		const x1 = Math.min(box.x + box.w, stripX(blocks.end[seen]));
		strip.strokeStyle = look.mark;
		strip.lineWidth = 2;
		if (x1 >= x0)
			strip.strokeRect(x0, STRIP.y, Math.max(1, x1 - x0), STRIP.h);
	}
}

/* Describes an event in words. */
function tellEvent(event) {
	if (!meta.events)
		return "no events";
	const born = blockOf[event] >= 0, i = born ? blockOf[event] : ~blockOf[event];
	const text = `${born ? "allocates" : "frees"} ${bytes(blocks.asked[i])}, block ${blocks.id[i]}`;
	const failed = born && blocks.asked[i] && !blocks.taken[i] ? " and fails" : "";
	const when = blocks.times ? `, at ${duration(blocks.times[event])}` : "";
	return text + failed + when;
}

function tellFigures(heap) {
	const { free_blocks } = heap, at = free_blocks.largest;
	const largest = at < 0 ? 0 : free_blocks.high[at] - free_blocks.low[at];
	/*
	 * If memory is mapped on demand, most free blocks have none: show the memory that is not in
	 * use.
	 */
	const idle = meta.mapped ? stepAt(heap.event)[3] - free_blocks.taken : free_blocks.bytes;
	const ground = free_blocks.taken + idle, part = ground > 0 ? idle / ground : 0;
	const put = (id, text) => byId(id).textContent = text;

	put("f-live", `${bytes(free_blocks.asked)} in ${counted(heap.list.length, "block")}`);
	put("f-taken", bytes(free_blocks.taken));
	put("f-free_blocks", count(free_blocks.low.length));
	put("f-bytes", bytes(free_blocks.bytes));
	put("largest", at < 0 ? "none" : `${bytes(largest)} at ${addressOf(free_blocks.low[at])}`);
	put("f-idle", bytes(idle));
	put("f-part", percent(part, part && part < 0.01 ? 2 : 1));
	byId("largest").disabled = at < 0;
	put("event-what", tellEvent(heap.event));
	Object.assign(root.dataset, {
		event: heap.event, live: free_blocks.asked, blocks: heap.list.length, taken: free_blocks.taken,
		free_blocks: free_blocks.low.length, freeBlockBytes: free_blocks.bytes, largestFreeBlock: largest,
		largestPlace: at < 0 ? "" : free_blocks.low[at],
	});
}

function drawMoment() {
	const heap = heapAt(moment.event), share = (t) => `${100 * t / whole.t1}%`;

	drawStrip(heap);
	tellFigures(heap);
	tellKinds(heap);
	slider.value = field.value = moment.event;
	slider.setAttribute("aria-valuetext",
		`event ${moment.event}: ${tellEvent(moment.event)}`);
	slider.style.setProperty("--from", share(view.t0));
	slider.style.setProperty("--to", share(view.t1));
	root.dataset.picked = moment.picked >= 0 ? String(blocks.id[moment.picked]) : "";
}

/* Goes to the next or previous notable event. */
function jump(forward) {
	const found = forward ? marks.find((e) => e > moment.event)
		: marks.findLast((e) => e < moment.event);
	if (found !== undefined)
		go(found);
}

function showLargestFreeBlock() {
	const { free_blocks } = heapAt(moment.event), at = free_blocks.largest;
	if (at >= 0)
		bring("a0", "a1", free_blocks.low[at], free_blocks.high[at]);
}

/* Picks a block, and brings it into view. */
function pick(i) {
	const low = blocks.place[i], high = blocks.end[i];
	moment.picked = i;
	if (low < view.a0 || high > view.a1)
		move(0, (low + high) / 2 - (view.a0 + view.a1) / 2);
	touch();
}

/* Picks the block above or below the picked one, in the heap at the current event. */
function pickNext(step) {
	const { list } = heapAt(moment.event), at = list.indexOf(moment.picked);
	if (!list.length)
		return;
	const next = at < 0 ? (step > 0 ? 0 : list.length - 1) : at + step;
	pick(list[Math.max(0, Math.min(list.length - 1, next))]);
}

byId("mapped").hidden = !meta.mapped;
for (const input of [slider, field])
	Object.assign(input, { min: 0, max: Math.max(0, meta.events - 1), disabled: !meta.events });
slider.oninput = () => go(Number(slider.value));
field.onchange = () => go(Number(field.value));

