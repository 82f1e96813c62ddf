/* SPDX-License-Identifier: Apache-2.0 */
/*
 * maps.js - one small heap map per setting, all on one scale, so that their heights can be
 * compared.
 *
 * 1. A map is painted pixel by pixel into an image: blocks outside of the window are skipped, and
 *    one smaller than a pixel fills a pixel.
 * 2. Maps are painted one after the other with a pause for the browser in between, the visible ones
 *    first; a new view restarts the painting.
 * 3. The block under the pointer is outlined in every map, to show where other settings placed it.
 */
const BUDGET_MS = 24; /* per frame, for maps */
const highest = Math.max(...played.map((s) => Math.max(s.top, s.bytes)), 4096) * 1.02;
const fillOf = Uint32Array.from(meta.colors, (c) => pixel(c));
const edgeOf = Uint32Array.from(meta.colors, (c) => pixel(c, 0.72));
let waiting = [], turn = 0;
Object.assign(view, { a0: 0, a1: highest }); /* the same addresses for all maps */

function makeMap(setting) {
	const facts = element("span", "", `${bytes(setting.bytes)}, ${timesLive(setting.needs)}`);
	const figure = element("div", "figure", element("canvas"), element("canvas", "over"));
	const head = element("p", "", swatch(setting), element("b", "", setting.name), facts);
	const map = element("div", "map", head, figure);
	figure.tabIndex = 0;
	figure.setAttribute("role", "img");
	figure.setAttribute("aria-label", `Heap map: ${setting.name}`);
	byId("maps").append(map);
	Object.assign(setting, { map, figure, facts });
}

/* The window of a map: the page's range of time, and the same addresses for all maps. */
function boxOf(setting) {
	const size = fit(setting.figure);
	return { ...size, x: 0, y: 0, w: size.width, h: size.height,
		yOf: (a) => size.height - a / highest * size.height,
		aAt: (y) => (size.height - y) / size.height * highest };
}

function paint(setting) {
	const box = setting.plot = boxOf(setting);
	const pixels = (n) => Math.max(1, Math.round(n * box.ratio));
	const w = pixels(box.w), h = pixels(box.h);
	const image = box.base.createImageData(w, h), to = new Uint32Array(image.data.buffer);
	let drawn = 0;
	to.fill(pixel(look.paper));
	for (const i of bySize) {
		if (!hits(i, setting, w, h))
			continue;
		paintCover(to, w, fillOf[colorOfBlock[i]], edgeOf[colorOfBlock[i]]);
		drawn++;
	}
	box.base.putImageData(image, 0, 0);
	setting.drawn = drawn;
	drawLines(setting, box);
	if (view.big === setting.index)
		drawScale(box);
	outline(setting);
}

/* Draws addresses, if there is room for them. */
function drawScale(box) {
	const step = stepOf(highest, box.h / 60, true), { label, unit } = byteLabels(highest, step);
	const context = box.base;
	context.font = FONT;
	context.textAlign = "left";
	context.textBaseline = "middle";
	for (let a = step; a < highest; a += step) {
		const text = `${label(a)} ${unit}`, width = context.measureText(text).width + 12;
		context.fillStyle = look.paper;
		context.globalAlpha = 0.85;
		context.fillRect(0, box.yOf(a) - 8, width, 16);
		context.globalAlpha = 1;
		context.fillStyle = look.soft;
		context.fillRect(0, Math.round(box.yOf(a)), 4, 1);
		context.fillText(text, 7, box.yOf(a));
	}
}

/* Draws the boundaries of chunks, and the memory that the setting needs. */
function drawLines(setting, box) {
	const context = box.base;
	context.fillStyle = look.soft;
	for (const place of setting.chunks.length < 80 ? setting.chunks.slice(1) : [])
		for (let x = 0; x < box.w; x += 7)
			context.fillRect(x, Math.round(box.yOf(place)), 3, 1);
	/* A range that is mapped on demand is larger than the memory in it: no line. */
	const mapped = setting.top > setting.bytes * 1.001;
	const y = mapped ? 0 : Math.round(box.yOf(setting.bytes));
	context.fillStyle = look[setting.tone];
	if (!mapped)
		context.fillRect(0, Math.max(0, y - 1), box.w, 2);
	context.font = FONT;
	context.textAlign = "right";
	context.textBaseline = y < 20 ? "top" : "bottom";
	const text = bytes(setting.bytes) + (mapped ? " mapped" : "");
	const width = context.measureText(text).width + 10;
	context.fillStyle = look.paper;
	context.globalAlpha = 0.8;
	context.fillRect(box.w - width, y < 20 ? y + 2 : y - 18, width, 16);
	context.globalAlpha = 1;
	context.fillStyle = look.ink;
	context.fillText(text, box.w - 5, y < 20 ? y + 4 : y - 3);
}

function outline(setting) {
	const box = setting.plot, over = box && box.over, i = pointed;
	if (!box)
		return;
	over.clearRect(0, 0, box.width, box.height);
	if (pointerEvent !== null) {
		over.fillStyle = look.mark;
		over.globalAlpha = 0.4;
		over.fillRect(Math.round(xOf(pointerEvent + 0.5, box)), 0, 1, box.h);
		over.globalAlpha = 1;
	}
	if (i < 0 || setting.end[i] === setting.place[i])
		return;
	const x0 = Math.max(0, xOf(blocks.birth[i], box)), x1 = Math.min(box.w, xOf(blocks.death[i], box));
	const y0 = box.yOf(setting.end[i]), y1 = box.yOf(setting.place[i]);
	over.lineWidth = 2;
	over.strokeStyle = look.mark;
	over.strokeRect(x0 - 1, y0 - 1, Math.max(3, x1 - x0 + 2), Math.max(3, y1 - y0 + 2));
}

/* The block of a setting at an event and an address, or -1. */
function blockAt(setting, t, a) {
	for (let i = 0; i < meta.blocks && blocks.birth[i] <= t; i++)
		if (t < blocks.death[i] && a >= setting.place[i] && a < setting.end[i])
			return i;
	return -1;
}

function isSeen(setting) {
	const at = setting.figure.getBoundingClientRect();
	return at.bottom > 0 && at.top < window.innerHeight;
}

/*
 * Paints until the budget is spent, and continues in the next frame unless a newer turn has
 * started.
 */
function paintSome(mine) {
	const begun = performance.now();
	if (mine !== turn)
		return;
	do {
		if (waiting.length)
			paint(waiting.shift());
	} while (waiting.length && performance.now() - begun < BUDGET_MS);
	if (waiting.length)
		requestAnimationFrame(() => paintSome(mine));
	root.dataset.drawn = played.map((s) => s.drawn ?? -1).join(" ");
}

let paintedFor = "";
onChange(() => {
	for (const s of played) {
		s.map.classList.toggle("off", s.off);
		s.map.classList.toggle("big", s.index === view.big);
	}
	const on = played.filter((s) => !s.off);
	const what = [view.t0, view.t1, view.big, root.dataset.theme, byId("maps").clientWidth,
		window.devicePixelRatio, on.map((s) => s.index)].join(" ");
	if (what === paintedFor) {
		on.forEach(outline);
		if (waiting.length)
			paintSome(++turn);
		return;
	}
	paintedFor = what;
	waiting = [...on.filter(isSeen), ...on.filter((s) => !isSeen(s))];
	paintSome(++turn);
});

/* Draws the scale of sizes. */
function makeLegend() {
	for (let from = 0; from < meta.colors.length - 1; from += 4 * meta.color_per_power) {
		const bar = element("i");
		const tones = meta.colors.slice(from, from + 4 * meta.color_per_power + 1);
		bar.style.background = `linear-gradient(90deg, ${tones.join(", ")})`;
		byId("legend").append(element("span", "", bar,
			bytes(2 ** (meta.color_first + from / meta.color_per_power), 0)));
	}
}
played.forEach(makeMap);
makeLegend();
