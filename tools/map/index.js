/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.js - indices that answer frequent queries without a scan of all blocks.
 *
 * 1. Two orders: by size (small blocks are painted first, so that if several share a pixel the
 *    largest is visible) and by place.
 * 2. The heap after an event: the list of live blocks is stored once every `spacing` events. The
 *    result is the last list stored before the event, plus the blocks born since then, less those
 *    that died. So the cost of a query is proportional to the heap at that event.
 * 3. Free blocks as the pool counts them: free space below a live block of its chunk.
 * 4. The minimum and maximum of live bytes per 64 events, for curves.
 * 5. Notable events: peaks of the live bytes, and allocations that failed.
 */
const KEPT_MOST = 1 << 21; /* entries of all stored lists */
const BUCKET = 64; /* events */
const PEAK_SHARE = 0.03; /* of the highest peak: the fall of live bytes between peaks */

/* The indices of the blocks, sorted by a column of multiples of `unit`. */
function orderBy(column, unit) {
	const n = column.length, keys = new Float64Array(n);
	let most = 0;
	for (let i = 0; i < n; i++)
		most = Math.max(most, column[i] / unit);
	if ((most + 1) * n > Number.MAX_SAFE_INTEGER)
		return Uint32Array.from(column.keys()).sort((a, b) => column[a] - column[b]);
	for (let i = 0; i < n; i++)
		keys[i] = column[i] / unit * n + i;
	keys.sort();
	return Uint32Array.from(keys, (key) => key % n);
}

const bySize = orderBy(blocks.taken, meta.unit);
const byPlace = orderBy(blocks.place, meta.unit);
const rank = new Uint32Array(meta.blocks);
byPlace.forEach((i, at) => rank[i] = at);

/* The first block born at an event or later. */
const bornFrom = (event) => firstAfter(meta.blocks, (i) => blocks.birth[i] < event);

/* lists[k]: the blocks live before event k * spacing, in any order. */
const kept = (() => {
	let spacing = 512, sum;
	do {
		spacing *= 2;
		sum = 0;
		for (let e = 0; e < meta.events; e += spacing)
			sum += liveBlocks[e];
	} while (sum > KEPT_MOST);
	const lists = [], now = [], at = new Int32Array(meta.blocks);
	for (let e = 0; e < meta.events; e++) {
		if (e % spacing === 0)
			lists.push(Uint32Array.from(now));
		const i = blockOf[e] >= 0 ? blockOf[e] : ~blockOf[e];
		if (!blocks.taken[i])
			continue;
		if (blockOf[e] >= 0) {
			at[i] = now.push(i) - 1;
		} else {
			const last = now.pop();
			if (last !== i)
				now[at[last] = at[i]] = last;
		}
	}
	return { spacing, lists };
})();

/* The free blocks below the highest block of each chunk, and totals. */
function countFreeBlocks(list) {
	const found = { low: [], high: [], bytes: 0, largest: -1, taken: 0, asked: 0, tops: [] };
	let chunk = -1, above = 0;
	for (const i of list) {
		const low = blocks.place[i];
		while (chunk + 1 < meta.chunks.length && low >= meta.chunks[chunk + 1][0])
			above = meta.chunks[++chunk][0];
		if (low > above) {
			const at = found.low.push(above) - 1, most = found.largest;
			found.high.push(low);
			found.bytes += low - above;
			if (most < 0 || low - above > found.high[most] - found.low[most])
				found.largest = at;
		}
		above = Math.max(above, blocks.end[i]);
		found.taken += blocks.taken[i];
		found.asked += blocks.asked[i];
		found.tops[chunk] = above;
	}
	return found;
}

/* The heap after an event: its blocks by place, and its free blocks. The last few are cached. */
const heaps = new Map();
function heapAt(event) {
	let heap = heaps.get(event);
	if (heap)
		return heap;
	const from = Math.floor(event / kept.spacing), ranks = [];
	for (const i of kept.lists[from] || [])
		if (blocks.death[i] > event)
			ranks.push(rank[i]);
	for (let i = bornFrom(from * kept.spacing); i < meta.blocks && blocks.birth[i] <= event; i++)
		if (blocks.death[i] > event && blocks.taken[i])
			ranks.push(rank[i]);
	const list = Uint32Array.from(ranks).sort().map((at) => byPlace[at]);
	heap = { event, list, free_blocks: countFreeBlocks(list) };
	if (heaps.size >= 4)
		heaps.delete(heaps.keys().next().value);
	heaps.set(event, heap);
	return heap;
}

/* The number of a heap's blocks that start at or below a place. */
const below = ({ list }, place) => firstAfter(list.length, (i) => blocks.place[list[i]] <= place);

/* The block of a heap at a place, or -1. */
function blockIn(heap, place) {
	const at = below(heap, place), i = at ? heap.list[at - 1] : -1;
	return i >= 0 && place < blocks.end[i] ? i : -1;
}

/* The free range of a chunk at a place; `high` is Infinity above the chunk's last block. */
function freeIn(heap, place) {
	const at = below(heap, place), chunk = meta.chunks[chunkOf(place)] || [0, 0];
	const free = { low: chunk[0], high: Infinity };
	if (at)
		free.low = Math.max(free.low, blocks.end[heap.list[at - 1]]);
	if (at < heap.list.length && blocks.place[heap.list[at]] < chunk[0] + chunk[1])
		free.high = blocks.place[heap.list[at]];
	return free;
}

/* The minimum and maximum of live bytes after the events from..to-1. */
const buckets = (() => {
	const n = Math.ceil(meta.events / BUCKET);
	const low = new Float64Array(n).fill(Infinity), high = new Float64Array(n);
	for (let e = 0; e < meta.events; e++) {
		const at = Math.floor(e / BUCKET);
		low[at] = Math.min(low[at], live[e]);
		high[at] = Math.max(high[at], live[e]);
	}
	return { low, high };
})();

function liveRange(from, to) {
	let low = Infinity, high = 0;
	for (let e = from; e < to;) {
		const at = e / BUCKET;
		if (Number.isInteger(at) && e + BUCKET <= to) {
			low = Math.min(low, buckets.low[at]);
			high = Math.max(high, buckets.high[at]);
			e += BUCKET;
		} else {
			low = Math.min(low, live[e]);
			high = Math.max(high, live[e++]);
		}
	}
	return [Math.min(low, high), high];
}

const peakBytes = buckets.high.reduce((a, b) => Math.max(a, b), 0);

/* A peak is the maximum of live bytes between two falls of PEAK_SHARE. */
const marks = (() => {
	const found = blocks.failed.map((i) => blocks.birth[i]), fall = peakBytes * PEAK_SHARE;
	let rising = true, turn = 0;
	for (let e = 1; e < meta.events && fall; e++) {
		if (rising ? live[e] > live[turn] : live[e] < live[turn]) {
			turn = e;
		} else if (Math.abs(live[e] - live[turn]) >= fall) {
			if (rising)
				found.push(turn);
			rising = !rising;
			turn = e;
		}
	}
	if (rising && fall)
		found.push(turn);
	return [...new Set(found)].sort((a, b) => a - b);
})();

