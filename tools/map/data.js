/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data.js - the heap map's numbers: the blocks unpacked, and what was live when.
 *
 * The page's scripts are one after the other in one element: words.js, data.js, view.js, hands.js.
 * Nothing here touches what is shown.
 */
const byId = (id) => document.getElementById(id);
const meta = JSON.parse(byId("meta").textContent);

/* map_html.c says how the blocks lie. One typed array a field. */
function unpack(text) {
	const raw = atob(text.trim()), n = meta.blocks, unit = meta.unit;
	const b = {
		birth: new Float64Array(n), death: new Float64Array(n), place: new Float64Array(n),
		end: new Float64Array(n), asked: new Float64Array(n), stream: new Float64Array(n),
		color: new Uint8Array(n), id: new Array(n), shown: 0, failed: [],
	};
	let at = 0;
	const number = () => {
		let value = 0, scale = 1, byte;
		do {
			byte = raw.charCodeAt(at++);
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte & 128);
		return value;
	};
	/* Ids have 64 bits, and a number in a page has 53. */
	const exact = () => {
		const from = at, value = number();
		if (value <= Number.MAX_SAFE_INTEGER)
			return value;
		let big = 0n;
		for (let i = at - 1; i >= from; i--)
			big = big << 7n | BigInt(raw.charCodeAt(i) & 127);
		return big;
	};
	for (let i = 0, birth = 0; i < n; i++) {
		birth += number();
		const life = number(), size = number() * unit, rest = number();
		b.birth[i] = birth;
		b.death[i] = life ? birth + life : meta.events;
		b.place[i] = number() * unit;
		b.end[i] = b.place[i] + size;
		b.asked[i] = size ? size - rest : rest;
		b.id[i] = exact();
		b.stream[i] = number();
		if (size)
			b.color[i] = colorOf(size);
		else if (rest)
			b.failed.push(i);
		if (!life)
			b.immortal = true;
	}
	return b;
}

const colorOf = (size) =>
	scaleStep(size, meta.color_first, meta.color_per_power, meta.colors.length);

const blocks = unpack(byId("data").textContent);
byId("data").remove();

/* Small blocks are painted first: where several share a pixel, the largest is what one sees. */
const bySize = Uint32Array.from({ length: meta.blocks }, (_, i) => i)
	.sort((a, b) => blocks.end[a] - blocks.place[a] - (blocks.end[b] - blocks.place[b]));

/* Bytes that were live after each event. */
const live = (() => {
	const sum = new Float64Array(meta.events + 1);
	for (let i = 0; i < meta.blocks; i++) {
		if (blocks.end[i] === blocks.place[i])
			continue;
		sum[blocks.birth[i]] += blocks.asked[i];
		if (blocks.death[i] < meta.events)
			sum[blocks.death[i]] -= blocks.asked[i];
	}
	for (let e = 1; e <= meta.events; e++)
		sum[e] += sum[e - 1];
	return sum;
})();

/* The pool's own counts in force at an event. */
function stepAt(event) {
	let low = 0, high = meta.steps.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (meta.steps[middle][0] <= event)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? meta.steps[low - 1] : [0, 0, 0];
}

function chunkOf(place) {
	let i = meta.chunks.length - 1;
	while (i > 0 && place < meta.chunks[i][0])
		i--;
	return i;
}

