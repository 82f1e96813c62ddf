/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hands.js - what follows the pointer, and what wheel, pointer and keys do to the view.
 */

/* The block at an event and a place, or -1. */
function blockAt(t, a) {
	for (let i = 0; i < meta.blocks; i++)
		if (a >= blocks.place[i] && a < blocks.end[i] && t >= blocks.birth[i] &&
		    t < blocks.death[i])
			return i;
	return -1;
}

/* The free stretch of a chunk there; its high end is Infinity above the chunk's last block. */
function freeAt(t, a) {
	const [place, bytes] = meta.chunks[chunkOf(a)] || [0, 0];
	const free = { low: place, high: Infinity };
	for (let i = 0; i < meta.blocks; i++) {
		if (t < blocks.birth[i] || t >= blocks.death[i] ||
		    blocks.end[i] === blocks.place[i])
			continue;
		if (blocks.end[i] <= a && blocks.end[i] > free.low)
			free.low = blocks.end[i];
		if (blocks.place[i] > a && blocks.place[i] < Math.min(free.high, place + bytes))
			free.high = blocks.place[i];
	}
	return free;
}

/* Rows of the tip. All text goes in as text: nothing of a trace is ever read as markup. */
function fillTip(title, tone, rows) {
	const head = document.createElement("b"), table = document.createElement("table");
	if (tone) {
		const dot = document.createElement("i");
		dot.style.background = tone;
		head.append(dot);
	}
	head.append(title);
	for (const [name, value] of rows) {
		const row = table.insertRow();
		row.insertCell().textContent = name;
		row.insertCell().textContent = value;
	}
	tip.replaceChildren(head, table);
}

function describeBlock(i) {
	const size = blocks.end[i] - blocks.place[i], immortal = blocks.death[i] === meta.events;
	const at = chunkOf(blocks.place[i]), [place, , address] = meta.chunks[at];
	const offset = blocks.place[i] - place;

	fillTip(`block ${blocks.id[i]}`, meta.colors[blocks.color[i]], [
		["asked for", `${bytes(blocks.asked[i])} (${count(blocks.asked[i])} B)`],
		["takes", bytes(size)],
		["born", `event ${count(blocks.birth[i])}`],
		["died", immortal ? "never" : `event ${count(blocks.death[i])}, ` +
			`${count(blocks.death[i] - blocks.birth[i])} later`],
		["address", "0x" + (BigInt(address) + BigInt(offset)).toString(16)],
		["offset", (meta.chunks.length > 1 ? `chunk ${at + 1} + ` : "") + hex(offset)],
		["stream", count(blocks.stream[i])],
	]);
}

function describeFree(t, a) {
	const free = freeAt(t, a);

	if (free.high === Infinity)
		fillTip("free ground", "", [["from", hex(free.low)],
			["above", "no block at this event"]]);
	else
		fillTip("hole", "", [["size", bytes(free.high - free.low)], ["from", hex(free.low)],
			["to", hex(free.high)]]);
}

function placeTip() {
	const pad = 16, w = tip.offsetWidth, h = tip.offsetHeight;
	const x = pointer.x + pad + w < box.width ? pointer.x + pad : pointer.x - pad - w;
	tip.style.left = `${Math.max(4, x)}px`;
	tip.style.top = `${Math.max(4, Math.min(pointer.y + pad, box.height - h - 4))}px`;
}

/* One line over the curves: the numbers of the event under the pointer. */
function drawReadout(t) {
	const event = Math.max(0, Math.min(meta.events - 1, Math.floor(t))), step = stepAt(event);
	const text = `event ${count(event)}:  live ${bytes(live[event])},  ` +
		`high water ${bytes(step[2])},  reserved ${bytes(step[1])}`;

	over.font = FONT;
	over.textAlign = "right";
	over.textBaseline = "middle";
	over.fillStyle = color("--ink");
	over.fillText(text, box.x + box.w, box.cy - 11);
}

function outline(i) {
	const x0 = Math.max(box.x, xOf(blocks.birth[i]));
	const x1 = Math.min(box.x + box.w, xOf(blocks.death[i]));
	const y0 = Math.max(box.y, yOf(blocks.end[i]));
	const y1 = Math.min(box.y + box.h, yOf(blocks.place[i]));
	over.strokeStyle = color("--mark");
	over.lineWidth = 2;
	over.strokeRect(x0, y0, Math.max(1, x1 - x0), Math.max(1, y1 - y0));
}

function drawHover() {
	over.clearRect(0, 0, box.width, box.height);
	delete root.dataset.hover;
	tip.hidden = true;
	if (!pointer || !meta.events || pointer.x < box.x || pointer.x >= box.x + box.w)
		return;
	const t = tAt(pointer.x), a = aAt(pointer.y);
	over.fillStyle = color("--mark");
	over.globalAlpha = 0.45;
	over.fillRect(Math.round(pointer.x), box.y, 1, box.h);
	over.fillRect(Math.round(pointer.x), box.cy, 1, box.ch);
	over.globalAlpha = 1;
	drawReadout(t);
	if (pointer.y < box.y || pointer.y >= box.y + box.h)
		return;
	const i = blockAt(t, a);
	if (i >= 0) {
		outline(i);
		describeBlock(i);
	} else {
		describeFree(t, a);
	}
	root.dataset.hover = i >= 0 ? String(blocks.id[i]) : "free";
	tip.hidden = false;
	placeTip();
}

const fraction = (event) => {
	const frame = figure.getBoundingClientRect();
	const x = event.clientX - frame.left - figure.clientLeft;
	const y = event.clientY - frame.top - figure.clientTop;
	return { x, y, fx: (x - box.x) / box.w, fy: (box.y + box.h - y) / box.h };
};

figure.addEventListener("wheel", (event) => {
	const { fx, fy } = fraction(event);
	/* Shift turns the wheel sideways in some browsers. */
	const turn = event.deltaY || event.deltaX;
	event.preventDefault();
	zoom(Math.exp(Math.max(-1, Math.min(1, turn / 400))), fx, Math.max(0, Math.min(1, fy)),
		!event.shiftKey, !event.altKey && fy >= 0);
}, { passive: false });

let held = null;
figure.addEventListener("pointerdown", (event) => {
	held = { ...fraction(event), ...view };
	figure.classList.add("moving");
});
figure.addEventListener("pointermove", (event) => {
	pointer = fraction(event);
	if (!held) {
		drawHover();
		return;
	}
	view.t0 = held.t0 - (pointer.fx - held.fx) * (held.t1 - held.t0);
	view.t1 = view.t0 + held.t1 - held.t0;
	view.a0 = held.a0 - (pointer.fy - held.fy) * (held.a1 - held.a0);
	view.a1 = view.a0 + held.a1 - held.a0;
	change();
});
for (const name of ["pointerup", "pointercancel"])
	window.addEventListener(name, () => {
		held = null;
		figure.classList.remove("moving");
	});
figure.addEventListener("pointerleave", () => {
	pointer = null;
	drawHover();
});
figure.addEventListener("dblclick", () => showAll());

function showAll() {
	Object.assign(view, whole);
	change();
}

function switchTheme() {
	root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
	change();
}

const keys = {
	"+": () => zoom(0.7, 0.5, 0.5, true, true),
	"=": () => zoom(0.7, 0.5, 0.5, true, true),
	"-": () => zoom(1 / 0.7, 0.5, 0.5, true, true),
	"0": showAll,
	"Home": showAll,
	"t": switchTheme,
	"ArrowLeft": () => move(-(view.t1 - view.t0) / 8, 0),
	"ArrowRight": () => move((view.t1 - view.t0) / 8, 0),
	"ArrowDown": () => move(0, -(view.a1 - view.a0) / 8),
	"ArrowUp": () => move(0, (view.a1 - view.a0) / 8),
};
document.addEventListener("keydown", (event) => {
	if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key])
		return;
	event.preventDefault();
	keys[event.key]();
});
byId("zoom-in").onclick = keys["+"];
byId("zoom-out").onclick = keys["-"];
byId("reset").onclick = showAll;
byId("theme").onclick = switchTheme;

/* The legend: a stretch of the scale and the size it begins with. */
function drawLegend() {
	const list = document.querySelector("#legend ol"), per = meta.color_per_power * 3;
	for (let from = 0; from < meta.colors.length; from += per) {
		const item = document.createElement("li"), bar = document.createElement("i");
		const tones = meta.colors.slice(from, from + per + 1);
		bar.style.background = tones.length === 1 ? tones[0]
			: `linear-gradient(90deg, ${tones.join(", ")})`;
		item.append(bar, bytes(2 ** (meta.color_first + from / meta.color_per_power), 0));
		list.append(item);
	}
}

const dark = window.matchMedia("(prefers-color-scheme: dark)");
root.dataset.theme = dark.matches ? "dark" : "light";
dark.addEventListener("change", () => {
	root.dataset.theme = dark.matches ? "dark" : "light";
	change();
});
drawLegend();
new ResizeObserver(() => {
	layout();
	draw();
}).observe(figure);
layout();
draw();
