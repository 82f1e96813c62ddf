/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data.js - the data of a comparison: the blocks, where each setting placed them, and the memory
 * that each setting needed over time.
 *
 * The page's scripts are concatenated in one element, in the order of tools/Makefile.inc. No code
 * here touches the display.
 */
/* The data that all settings share. A block is live from `birth` until before `death`. */
const blocks = (() => {
	const n = meta.blocks, { number, exact } = reader("blocks");
	const b = { birth: new Uint32Array(n), death: new Uint32Array(n),
		asked: new Float64Array(n), id: new Array(n) };
	for (let i = 0, birth = 0; i < n; i++) {
		birth += number();
		const life = number();
		b.birth[i] = birth;
		b.death[i] = life ? birth + life : meta.events;
		b.asked[i] = number();
		b.id[i] = exact();
	}
	return b;
})();

/* Where a setting placed them; end equals place: nowhere. */
function unpackPlaces(setting, index) {
	const n = meta.blocks, { number } = reader(`places-${index}`);
	const place = new Float64Array(n), end = new Float64Array(n);
	for (let i = 0; i < n; i++) {
		const size = number();
		if (!size)
			continue;
		place[i] = number() * setting.unit;
		end[i] = place[i] + blocks.asked[i] + size - 1;
	}
	return { place, end };
}

/* Sizes that no memory has do not count; compare_compute.c skips them, too. */
const isSize = (n) => n > 0 && n < 2 ** 48;

/* A curve is a list of changes, each with the value from there on. */
function curveOf(pairs) {
	const events = new Uint32Array(pairs.length / 2), values = new Float64Array(pairs.length / 2);
	for (let i = 0; i < events.length; i++) {
		events[i] = pairs[2 * i];
		values[i] = pairs[2 * i + 1];
	}
	return { events, values };
}

/* Scans all events in order for the changes that each makes. */
const changes = (() => {
	const block = new Int32Array(meta.events).fill(-1), freed = new Uint8Array(meta.events);
	for (let i = 0; i < meta.blocks; i++) {
		block[blocks.birth[i]] = i;
		if (blocks.death[i] < meta.events) {
			block[blocks.death[i]] = i;
			freed[blocks.death[i]] = 1;
		}
	}
	return { block, freed };
})();

function curveBy(step) {
	const pairs = [];
	let last = 0;
	for (let e = 0; e < meta.events; e++) {
		const i = changes.block[e];
		if (i < 0 || !isSize(blocks.asked[i]))
			continue;
		const now = step(blocks.asked[i], changes.freed[e] ? -1 : 1);
		if (now !== last)
			pairs.push(e, now);
		last = now;
	}
	return curveOf(pairs);
}

const live = (() => {
	let sum = 0;
	return curveBy((size, sign) => sum += sign * size);
})();

/*
 * Estimates a cudaMalloc per block like compare_compute.c: slabs for small blocks, otherwise whole
 * pages.
 */
function eachCurve() {
	const page = 2 ** 21, up = (n, step) => Math.ceil(n / step) * step;
	let small = 0, large = 0;
	return curveBy((size, sign) => {
		if (size <= 2 ** 20)
			small += sign * up(size, 512);
		else
			large += sign * up(size, page);
		return large + up(small, page);
	});
}

const nextChange = ({ events }, event) => firstAfter(events.length, (i) => events[i] <= event);

/* The value of a curve at an event. */
function valueAt(curve, event) {
	const next = nextChange(curve, event);
	return next ? curve.values[next - 1] : 0;
}

const TONES = 8;
const settings = meta.settings.map((setting, index) => ({
	...setting, index, off: false,
	tone: setting.reckoned ? "each" : `s${index % TONES}`,
	dash: setting.reckoned ? [2, 3] : index < TONES ? [] : [7, 4],
	...(setting.reckoned ? {} : unpackPlaces(setting, index)),
	curve: setting.reckoned ? eachCurve() : curveOf(setting.curve),
}));
const played = settings.filter((s) => !s.reckoned);

/* Small blocks are painted first: if several share a pixel, the largest one is visible. */
const bySize = Uint32Array.from({ length: meta.blocks }, (_, i) => i)
	.sort((a, b) => blocks.asked[a] - blocks.asked[b]);
const colorOfBlock = Uint8Array.from(blocks.asked, (n) =>
	n ? scaleStep(n, meta.color_first, meta.color_per_power, meta.colors.length) : 0);
