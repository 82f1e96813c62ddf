/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hands.js - handlers of wheel, pointer, touch and keys; and the start of the page.
 */
/* The position of a pointer event: on the figure, and as fractions of the map. */
const fraction = (event) => {
	const { x, y } = pointOn(figure, event);
	return {
		x, y, fx: (x - box.x) / box.w, fy: (box.y + box.h - y) / box.h,
		clientX: event.clientX, clientY: event.clientY,
	};
};
const within = (n) => Math.max(0, Math.min(1, n));

figure.addEventListener("wheel", (event) => {
	const { fx, fy } = fraction(event);
	event.preventDefault();
	zoom(wheelFactor(event), within(fx), within(fy),
		!event.shiftKey, !event.altKey && fy >= 0);
}, { passive: false });

/* Fingers and buttons that are down, by id; `held` is the state when the press started. */
const down = new Map();
let held = null;

function hold(frame = false) {
	const points = [...down.values()];
	held = points.length ? { ...view, points, far: false, frame } : null;
	figure.classList.toggle("moving", points.length > 0 && !frame);
}

/* The rectangle that is drawn with Shift, as fractions of the map: x0, x1, y0, y1. */
function framed() {
	const [a] = [...down.values()], [b] = held.points;
	return [Math.min(a.fx, b.fx), Math.max(a.fx, b.fx), Math.min(a.fy, b.fy), Math.max(a.fy, b.fy)]
		.map(within);
}

function zoomToFrame([x0, x1, y0, y1]) {
	const dt = view.t1 - view.t0, da = view.a1 - view.a0;
	if (x1 <= x0 || y1 <= y0)
		return;
	Object.assign(view, { t0: view.t0 + x0 * dt, t1: view.t0 + x1 * dt,
		a0: view.a0 + y0 * da, a1: view.a0 + y1 * da });
	change();
}

/* One finger pans the window; two zoom it. */
function drag() {
	const [a, b] = [...down.values()], [a0, b0] = held.points;
	const dt = held.t1 - held.t0, da = held.a1 - held.a0;
	if (!b) {
		held.far ||= Math.hypot(a.x - a0.x, a.y - a0.y) > CLICK_PIXELS;
		if (!held.far)
			return;
		if (held.frame) {
			touch();
			return;
		}
		view.t0 = held.t0 - (a.fx - a0.fx) * dt;
		view.t1 = view.t0 + dt;
		view.a0 = held.a0 - (a.fy - a0.fy) * da;
		view.a1 = view.a0 + da;
	} else {
		const grown = Math.hypot(a.x - b.x, a.y - b.y) / Math.hypot(a0.x - b0.x, a0.y - b0.y);
		const factor = 1 / Math.max(0.05, Math.min(20, grown || 1));
		held.far = true;
		view.t0 = held.t0 + dt * ((a0.fx + b0.fx) / 2 - factor * (a.fx + b.fx) / 2);
		view.t1 = view.t0 + dt * factor;
		view.a0 = held.a0 + da * ((a0.fy + b0.fy) / 2 - factor * (a.fy + b.fy) / 2);
		view.a1 = view.a0 + da * factor;
	}
	change();
}

/* A press that did not move: selects its event and its block. */
function press(at) {
	if (!meta.events || at.x < box.x || at.x > box.x + box.w)
		return;
	const inMap = at.y >= box.y && at.y < box.y + box.h;
	const block = inMap ? blockSeen(at.x, at.y) : -1;
	go(eventAt(at.x));
	moment.picked = block === moment.picked ? -1 : block;
	if (block >= 0 && (blocks.birth[block] > moment.event || blocks.death[block] <= moment.event))
		go(blocks.birth[block]);
	touch();
}

figure.addEventListener("pointerdown", (event) => {
	if (event.button)
		return;
	down.set(event.pointerId, fraction(event));
	hold(event.shiftKey);
});
figure.addEventListener("pointermove", (event) => {
	pointer = fraction(event);
	if (down.has(event.pointerId))
		down.set(event.pointerId, pointer);
	if (held && down.size)
		drag();
	else
		touch();
});
for (const name of ["pointerup", "pointercancel"])
	window.addEventListener(name, (event) => {
		if (!down.has(event.pointerId))
			return;
		const click = name === "pointerup" && held && !held.far && down.size === 1;
		if (name === "pointerup" && held?.frame && held.far)
			zoomToFrame(framed());
		down.delete(event.pointerId);
		hold();
		if (click)
			press(fraction(event));
	});
const leave = () => {
	pointer = null;
	touch();
};
figure.addEventListener("pointerleave", leave);
figure.addEventListener("dblclick", () => showAll());

byId("strip").addEventListener("pointermove", (event) => {
	const x = event.clientX - byId("strip").getBoundingClientRect().left;
	pointer = x < box.x || x >= box.x + box.w ? null
		: { place: stripAt(x), clientX: event.clientX, clientY: event.clientY };
	touch();
});
byId("strip").addEventListener("pointerleave", leave);
graphCanvas.addEventListener("pointerleave", leave);
byId("strip").addEventListener("click", (event) => {
	const x = event.clientX - byId("strip").getBoundingClientRect().left;
	const block = blockIn(heapAt(moment.event), stripAt(x));
	moment.picked = block === moment.picked ? -1 : block;
	touch();
});
byId("strip").addEventListener("wheel", (event) => {
	const x = event.clientX - byId("strip").getBoundingClientRect().left;
	event.preventDefault();
	zoom(wheelFactor(event), 0, within((x - box.x) / box.w), false, true);
}, { passive: false });

function showAll() {
	Object.assign(view, whole);
	zoomGraph(0);
}

/* Zooms around the chosen event if it is in view. */
function zoomKey(factor, time, place) {
	const x = (moment.event + 0.5 - view.t0) / (view.t1 - view.t0);
	const i = moment.picked, a = i < 0 ? -1 : (blocks.place[i] + blocks.end[i]) / 2;
	const y = (a - view.a0) / (view.a1 - view.a0);
	zoom(factor, x >= 0 && x <= 1 ? x : 0.5, y >= 0 && y <= 1 ? y : 0.5, time, place);
}

/* Zooms to the picked block, or to the events around the chosen one. */
function zoomToPicked() {
	const i = moment.picked;
	if (i < 0)
		return;
	bring("t0", "t1", blocks.birth[i], blocks.death[i]);
	bring("a0", "a1", blocks.place[i], blocks.end[i]);
}

function help() {
	const panel = byId("help");
	if (panel.open)
		panel.close();
	else
		panel.showModal();
}

function letGo() {
	if (moment.picked >= 0)
		moment.picked = -1;
	else
		only = -1;
	drawLegend();
	change();
}

const across = () => (view.t1 - view.t0) / 8, along = () => (view.a1 - view.a0) / 8;
const keys = {
	"+": () => zoomKey(0.7, true, true),
	"=": () => zoomKey(0.7, true, true),
	"-": () => zoomKey(1 / 0.7, true, true),
	"x": () => zoomKey(0.7, true, false),
	"X": () => zoomKey(1 / 0.7, true, false),
	"y": () => zoomKey(0.7, false, true),
	"Y": () => zoomKey(1 / 0.7, false, true),
	"0": showAll,
	"Home": showAll,
	"ArrowLeft": () => move(-across(), 0),
	"ArrowRight": () => move(across(), 0),
	"ArrowDown": () => move(0, -along()),
	"ArrowUp": () => move(0, along()),
	",": () => go(moment.event - 1),
	".": () => go(moment.event + 1),
	"<": () => go(moment.event - across() / 4),
	">": () => go(moment.event + across() / 4),
	"[": () => jump(false),
	"]": () => jump(true),
	"p": () => go(meta.peak),
	"n": () => pickNext(1),
	"N": () => pickNext(-1),
	"f": zoomToPicked,
	"/": () => byId("find").focus(),
	"h": showLargestFreeBlock,
	"t": switchTheme,
	"c": copyLink,
	"?": help,
	"Escape": letGo,
};
colorings.forEach(({ name }, at) => keys[at + 1] = () => show(name));

/* Keys that a control handles itself are left to it. */
const OWN = {
	range: /^(Arrow|Home|End|Page)/, radio: /^Arrow/, number: /^(Arrow|Home|End|[-+\d.,=<>]$)/,
	search: /./,
};
document.addEventListener("keydown", (event) => {
	const own = OWN[event.target?.type], open = byId("help").open;
	if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key] || own?.test(event.key) ||
	    (open && event.key !== "?"))
		return;
	event.preventDefault();
	keys[event.key]();
});

const buttons = {
	"zoom-in": keys["+"], "zoom-out": keys["-"], "reset": showAll, "theme": switchTheme,
	"copy": copyLink, "keys": help, "back": keys[","], "on": keys["."], "last": keys["["],
	"next": keys["]"], "peak": keys["p"], "largest": showLargestFreeBlock, "close": help,
};
for (const [id, action] of Object.entries(buttons))
	byId(id).onclick = () => action();

/* Prints in light colors and at high resolution. */
window.addEventListener("beforeprint", () => {
	wearTheme("light");
	layout(3);
	draw();
});
window.addEventListener("afterprint", () => {
	wearTheme();
	layout();
	draw();
});

colorBy("size");
layout();
readLink();
draw();
new ResizeObserver(() => {
	if (figure.clientWidth === box.width && figure.clientHeight === box.height)
		return;
	layout();
	draw();
}).observe(figure);
