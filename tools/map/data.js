/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data.js - the data of the page: the blocks unpacked, one typed array per field, and the live
 * blocks after each event.
 *
 * The page's scripts are concatenated in one element, in the order of tools/Makefile.inc. No code
 * here touches the display.
 */
/* Numbers the distinct values of a column: for each block, the index of its value in `values`. */
function category(n) {
	const seen = new Map(), values = [], index = new Uint32Array(n);
	const put = (i, value) => {
		let at = seen.get(value);
		if (at === undefined) {
			at = values.push(value) - 1;
			seen.set(value, at);
		}
		index[i] = at;
	};
	return { index, values, put, of: (i) => values[index[i]] };
}

/*
 * Call stacks (replay_stacks.c): `parent` and `frame` of each node, and of each block the node of its
 * innermost frame. The site of a stack is its innermost Python frame, or its innermost frame.
 */
const PYTHON = 2, UNKNOWN = 4; /* enum profile_kind */
const stacks = { frames: [], parent: [0], frame: [0], site: [0] };
function readStacks(number, b) {
	const names = meta.stacks.map(visible);
	for (let left = number(); left > 0; left--) {
		const kind = number(), name = names[number()], file = names[number()], line = number();
		const module = names[number()];
		stacks.frames.push({ name, kind, module: module || (kind === PYTHON ? file : ""),
			text: name + (file ? ` (${file}${line ? `:${line}` : ""})` : ""),
			label: name + (file ? ` (${lastPart(file)}${line ? `:${line}` : ""})` : "") });
	}
	for (let i = 1, n = number(); i < n; i++) {
		stacks.parent[i] = number();
		stacks.frame[i] = number();
		const { kind } = stacks.frames[stacks.frame[i]], outer = stacks.site[stacks.parent[i]];
		stacks.site[i] = kind === PYTHON || stacks.frames[outer].kind !== PYTHON
			? stacks.frame[i] : outer;
	}
	b.node = Uint32Array.from({ length: meta.blocks }, number);
}

const siteOf = (i) => stacks.frames[stacks.site[blocks.node[i]]];

/* The frames of a block as text, innermost first; those in the middle of a long stack are omitted. */
function framesOf(i, most = 16) {
	const lines = [];
	for (let node = blocks.node[i]; node; node = stacks.parent[node])
		lines.push(tail(stacks.frames[stacks.frame[node]].text, 110));
	if (lines.length > most)
		lines.splice(most - 4, lines.length - most + 1, `\u2026 ${lines.length - most + 1} more`);
	return lines;
}

/* A block is live from `birth` until before `death`; `taken` 0: failed. */
const blocks = (() => {
	const n = meta.blocks, unit = meta.unit, { number, exact } = reader("data");
	const b = {
		birth: new Uint32Array(n), death: new Uint32Array(n), place: new Float64Array(n),
		end: new Float64Array(n), taken: new Float64Array(n), asked: new Float64Array(n),
		id: new Array(n), stream: category(n), thread: category(n), who: new Uint32Array(n),
		freeStream: meta.free_streams ? category(n) : null, failed: [], times: null, node: null,
	};
	for (let i = 0, birth = 0; i < n; i++) {
		birth += number();
		const life = number(), size = number() * unit, rest = number();
		b.birth[i] = birth;
		b.death[i] = life ? birth + life : meta.events;
		b.place[i] = number() * unit;
		b.taken[i] = size;
		b.end[i] = b.place[i] + size;
		b.asked[i] = size ? size - rest : rest;
		b.id[i] = exact();
		b.stream.put(i, exact());
		if (meta.threads)
			b.thread.put(i, exact());
		if (meta.who)
			b.who[i] = number();
		if (b.freeStream)
			b.freeStream.put(i, exact());
		if (!size && rest)
			b.failed.push(i);
	}
	if (meta.times) {
		b.times = new Float64Array(meta.events);
		for (let e = 0, now = 0; e < meta.events; e++)
			b.times[e] = now += number();
	}
	if (meta.stacks)
		readStacks(number, b);
	return b;
})();

const immortal = (i) => blocks.death[i] === meta.events;

/* The block of each event; ~block if the event frees it. */
const blockOf = (() => {
	const of = new Int32Array(meta.events);
	for (let i = 0; i < meta.blocks; i++) {
		of[blocks.birth[i]] = i;
		if (!immortal(i))
			of[blocks.death[i]] = ~i;
	}
	return of;
})();

/* Live bytes, in requested sizes, and the number of live blocks after each event. */
const live = new Float64Array(meta.events + 1), liveBlocks = new Uint32Array(meta.events + 1);
for (let e = 0, sum = 0, n = 0; e < meta.events; e++) {
	const born = blockOf[e] >= 0, i = born ? blockOf[e] : ~blockOf[e];
	if (blocks.taken[i]) {
		sum += born ? blocks.asked[i] : -blocks.asked[i];
		n += born ? 1 : -1;
	}
	live[e] = sum;
	liveBlocks[e] = n;
}
live[meta.events] = meta.events ? live[meta.events - 1] : 0;

/* The pool's own counts after an event: [event, reserved, high water, physical]. */
function stepAt(event) {
	const next = firstAfter(meta.steps.length, (i) => meta.steps[i][0] <= event);
	return next ? meta.steps[next - 1] : [0, 0, 0, 0];
}

/* The chunk of a place in the picture, and its address in the source. */
function chunkOf(place) {
	let i = meta.chunks.length - 1;
	while (i > 0 && place < meta.chunks[i][0])
		i--;
	return Math.max(0, i);
}

function addressOf(place) {
	const [from, , address] = meta.chunks[chunkOf(place)] || [0, 0, "0x0"];
	return hex(BigInt(address) + BigInt(Math.round(place - from)));
}

