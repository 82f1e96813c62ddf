/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hands.js - handlers of wheel, pointer and keys.
 *
 * The wheel scrolls the page; with Ctrl, or over an enlarged map, it zooms time. A press without a
 * move is a click; with a move it pans all pictures.
 */
let held = null; /* where a press started */

function pointAt(event, t) {
	pointerEvent = t === null ? null : Math.max(0, Math.min(meta.events - 1, Math.floor(t)));
	tip.hidden = pointerEvent === null || !meta.events;
	if (tip.hidden)
		return;
	fillTip(pointerEvent);
	const frame = chart.getBoundingClientRect(), x = xOf(pointerEvent, plot);
	tip.style.left = `${x + 20 + tip.offsetWidth < frame.width ? x + 20 : x - 20 - tip.offsetWidth}px`;
	tip.style.top = `${PAD.top + 8}px`;
}

function describe(setting) {
	for (const s of played) {
		const taken = pointed >= 0 ? s.end[pointed] - s.place[pointed] : 0;
		s.facts.textContent = pointed < 0 ? `${bytes(s.bytes)}, ${timesLive(s.needs)}`
			: taken ? `${s === setting ? `block ${blocks.id[pointed]}: ` : ""}` +
				`${bytes(taken)} at ${hex(s.place[pointed])}` : "got no memory";
	}
	root.dataset.hover = pointed >= 0 ? String(blocks.id[pointed]) : "";
}

/* `setting` is null for the chart. */
function listen(figure, setting) {
	const box = () => setting ? setting.plot : plot;
	figure.addEventListener("pointermove", (event) => {
		const p = pointOn(figure, event), b = box();
		if (!b)
			return;
		if (held && Math.abs(event.clientX - held.x) > CLICK_PIXELS)
			held.moved = true;
		if (held && held.moved) {
			view.t0 = held.t0 - (event.clientX - held.x) / b.w * (held.t1 - held.t0);
			view.t1 = view.t0 + held.t1 - held.t0;
			figure.classList.add("moving");
		}
		const inside = p.x >= b.x && p.x < b.x + b.w;
		pointAt(event, inside ? tAt(p.x, b) : null);
		tip.hidden = tip.hidden || setting !== null;
		pointed = setting && inside ? blockAt(setting, tAt(p.x, b), b.aAt(p.y)) : -1;
		describe(setting);
		hot = setting ? setting.index : nearest(p);
		change();
	});
	figure.addEventListener("pointerleave", () => {
		pointAt(null, null);
		pointed = hot = -1;
		describe(null);
		change();
	});
	figure.addEventListener("pointerdown", (event) => {
		if (event.button === 0)
			held = { x: event.clientX, t0: view.t0, t1: view.t1, moved: false, setting, figure };
	});
	figure.addEventListener("wheel", (event) => {
		if (!event.ctrlKey && !(setting && view.big === setting.index))
			return;
		event.preventDefault();
		const b = box();
		zoom(wheelFactor(event),
			Math.max(0, Math.min(1, (pointOn(figure, event).x - b.x) / b.w)));
	}, { passive: false });
	figure.addEventListener("dblclick", showAll);
}

/* The setting whose curve is nearest to the pointer, or -1. */
function nearest(p) {
	let best = -1, least = 8;
	if (pointerEvent === null)
		return best;
	for (const s of settings) {
		const far = Math.abs(plot.yOf(valueAt(s.curve, pointerEvent)) - p.y);
		if (!s.off && far < least) {
			best = s.index;
			least = far;
		}
	}
	return best;
}

function enlarge(index) {
	view.big = view.big === index ? -1 : index;
	change();
	if (view.big >= 0)
		requestAnimationFrame(() => settings[index].map.scrollIntoView({ block: "nearest" }));
}

window.addEventListener("pointerup", () => {
	if (held && !held.moved && held.setting)
		enlarge(held.setting.index);
	if (held)
		held.figure.classList.remove("moving");
	held = null;
});
window.addEventListener("pointercancel", () => {
	held = null;
});

const keys = {
	"+": () => zoom(0.7, 0.5),
	"=": () => zoom(0.7, 0.5),
	"-": () => zoom(1 / 0.7, 0.5),
	"0": showAll,
	"t": switchTheme,
	"ArrowLeft": () => move(-1 / 8),
	"ArrowRight": () => move(1 / 8),
	"Escape": () => view.big >= 0 && enlarge(view.big),
};
document.addEventListener("keydown", (event) => {
	if (event.ctrlKey || event.metaKey || event.altKey)
		return;
	const map = played.find((s) => s.figure === document.activeElement);
	if (event.key === "Enter" && map) {
		enlarge(map.index);
	} else if (/^[1-9]$/.test(event.key) && settings[event.key - 1]) {
		settings[event.key - 1].off = !settings[event.key - 1].off;
		change();
	} else if (keys[event.key]) {
		keys[event.key]();
	} else {
		return;
	}
	event.preventDefault();
});
byId("zoom-in").onclick = keys["+"];
byId("zoom-out").onclick = keys["-"];
byId("reset").onclick = showAll;
byId("theme").onclick = switchTheme;

window.addEventListener("hashchange", () => {
	readLink();
	change();
});
listen(chart, null);
for (const setting of played)
	listen(setting.figure, setting);
readLink();
change();
redraw();
/* A new observer calls back once at first, when nothing has changed yet. */
let fitted = window.innerWidth + byId("maps").clientWidth;
new ResizeObserver(() => {
	const now = window.innerWidth + byId("maps").clientWidth;
	if (now !== fitted)
		change();
	fitted = now;
}).observe(byId("maps"));
