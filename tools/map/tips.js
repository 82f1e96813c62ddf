/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tips.js - details of the block or free block under the pointer, or of the picked one.
 */

/* Rows of the tip; those without a value are omitted. All text is inserted as text. */
function fillTip(title, tone, rows) {
	const head = element("b"), table = element("table");
	if (tone) {
		const dot = element("i");
		dot.style.background = tone;
		head.append(dot);
	}
	head.append(title);
	for (const [name, value] of rows) {
		if (value === undefined)
			continue;
		const row = table.insertRow();
		row.insertCell().textContent = name;
		row.insertCell().textContent = value;
	}
	tip.replaceChildren(head, table);
}

const when = (event) => `event ${count(event)}` +
	(blocks.times ? `, ${duration(blocks.times[event])}` : "");

function lifeOf(i) {
	const events = counted(blocks.death[i] - blocks.birth[i], "event");
	if (immortal(i))
		return undefined;
	if (!blocks.times)
		return events;
	return `${events}, ${duration(blocks.times[blocks.death[i]] - blocks.times[blocks.birth[i]])}`;
}

function streamsOf(i) {
	const stream = blocks.stream.of(i), end = blocks.freeStream?.of(i);
	return end === undefined || end === stream || immortal(i) ? String(stream)
		: `${stream}, freed on ${end}`;
}

function describeBlock(i) {
	const at = chunkOf(blocks.place[i]), offset = blocks.place[i] - meta.chunks[at][0];

	fillTip(`block ${blocks.id[i]}`, toneColor(i), [
		["requested", bytes(blocks.asked[i]) +
			(blocks.asked[i] < 1024 ? "" : ` (${count(blocks.asked[i])} B)`)],
		["takes", bytes(blocks.taken[i])],
		["born", when(blocks.birth[i])],
		["died", immortal(i) ? "never" : when(blocks.death[i])],
		["lived", lifeOf(i)],
		["address", addressOf(blocks.place[i])],
		["offset", (meta.chunks.length > 1 ? `chunk ${at + 1} + ` : "") + hex(offset)],
		["thread", meta.threads ? String(blocks.thread.of(i)) : undefined],
		["stream", streamsOf(i)],
		["who", tail(meta.names[blocks.who[i]] ?? "", 500) || undefined],
		["stack", blocks.node ? framesOf(i).join("\n") || undefined : undefined],
	]);
}

function describeFree(heap, a) {
	const free = freeIn(heap, a), above = ["above", "no block at this event"];

	if (!meta.chunks.length || a >= meta.chunks.at(-1)[0] + meta.chunks.at(-1)[1])
		fillTip("above all chunks", "", [["event", count(heap.event)]]);
	else if (free.high === Infinity)
		fillTip("free ground", "", [["from", addressOf(free.low)], above]);
	else
		fillTip("free block", "", [["size", bytes(free.high - free.low)],
			["from", addressOf(free.low)], ["to", addressOf(free.high)]]);
}

/* Places the tip near a point of the window, where there is room: below it, or above the target. */
function placeTip(x, y, above) {
	const pad = 16, w = tip.offsetWidth, h = tip.offsetHeight;
	const wide = root.clientWidth, high = window.innerHeight;
	const left = x + pad + w < wide ? x + pad : x - pad - w;
	const fits = y - pad - h > 0, top = y + pad + h < high && !(above && fits) ? y + pad
		: y - pad - h;
	tip.style.left = `${Math.max(4, left)}px`;
	tip.style.top = `${Math.max(4, top)}px`;
}

function outline(i) {
	const x0 = Math.max(box.x, xOf(blocks.birth[i]));
	const x1 = Math.min(box.x + box.w, xOf(blocks.death[i]));
	const y0 = Math.max(box.y, yOf(blocks.end[i]));
	const y1 = Math.min(box.y + box.h, yOf(blocks.place[i]));
	if (x1 < box.x || x0 > box.x + box.w || y1 < box.y || y0 > box.y + box.h)
		return;
	over.strokeStyle = look.paper;
	over.lineWidth = 4;
	over.strokeRect(x0, y0, Math.max(1, x1 - x0), Math.max(1, y1 - y0));
	over.strokeStyle = look.mark;
	over.lineWidth = 2;
	over.strokeRect(x0, y0, Math.max(1, x1 - x0), Math.max(1, y1 - y0));
}

/* Draws a line through both plots. */
function drawLine(x, wide) {
	const at = Math.round(x) - (wide >> 1);
	over.fillRect(at, box.y, wide, box.h);
	over.fillRect(at, box.cy, wide, box.ch);
}

function drawMomentLine() {
	const x = xOf(moment.event + 0.5);
	if (!meta.events || x < box.x || x > box.x + box.w)
		return;
	over.fillStyle = look.paper;
	over.globalAlpha = 0.6;
	drawLine(x, 4);
	over.globalAlpha = 1;
	over.fillStyle = look.mark;
	drawLine(x, 2);
	over.beginPath();
	over.moveTo(x - 6, box.y - 9);
	over.lineTo(x + 6, box.y - 9);
	over.lineTo(x, box.y);
	over.fill();
}

/* The object under the pointer; nothing without one. */
function seen() {
	if (!pointer || pointer.rect || !meta.events)
		return null;
	if (pointer.place !== undefined) {
		const heap = heapAt(moment.event);
		return { heap, block: blockIn(heap, pointer.place), place: pointer.place };
	}
	if (pointer.x < box.x || pointer.x >= box.x + box.w || pointer.y < box.y ||
	    pointer.y >= box.y + box.h)
		return null;
	return {
		heap: heapAt(eventAt(pointer.x)), block: blockSeen(pointer.x, pointer.y),
		place: aAt(pointer.y),
	};
}

/* Draws the overlay canvas, and the tip. */
function drawOver() {
	const inside = pointer && meta.events && pointer.place === undefined &&
		pointer.x >= box.x && pointer.x < box.x + box.w, now = seen();

	over.clearRect(0, 0, box.width, box.height);
	drawMomentLine();
	if (inside) {
		over.fillStyle = look.mark;
		over.globalAlpha = 0.4;
		drawLine(pointer.x, 1);
		over.globalAlpha = 1;
	}
	if (held?.frame && held.far) {
		const [x0, x1, y0, y1] = framed();
		over.strokeStyle = look.mark;
		over.lineWidth = 1.5;
		over.setLineDash([5, 3]);
		over.strokeRect(box.x + x0 * box.w, box.y + (1 - y1) * box.h, (x1 - x0) * box.w,
			(y1 - y0) * box.h);
		over.setLineDash([]);
	}
	tellCurves(inside ? eventAt(pointer.x) : moment.event);
	byId("curves-event").textContent =
		`event ${count(inside ? eventAt(pointer.x) : moment.event)}`;
	tip.hidden = !now && !pointer?.rect && moment.picked < 0;
	delete root.dataset.hover;
	if (moment.picked >= 0)
		outline(moment.picked);
	if (now) {
		root.dataset.hover = now.block >= 0 ? String(blocks.id[now.block]) : "free";
		if (now.block >= 0) {
			outline(now.block);
			describeBlock(now.block);
		} else {
			describeFree(now.heap, now.place);
		}
		placeTip(pointer.clientX, pointer.clientY);
	} else if (pointer?.rect) {
		describeFrame(pointer.rect);
		placeTip(pointer.clientX, pointer.clientY);
	} else if (moment.picked >= 0) {
		const frame = figure.getBoundingClientRect(), i = moment.picked;
		const y = Math.max(box.y, Math.min(box.y + box.h, yOf(blocks.end[i])));
		describeBlock(i);
		placeTip(frame.left + Math.max(box.x, Math.min(box.x + box.w, xOf(moment.event))),
			frame.top + y, true);
	}
}

