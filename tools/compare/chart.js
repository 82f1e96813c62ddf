/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chart.js - the curves of all settings above the curve of live bytes.
 *
 * 1. For each pixel of time, a curve has a minimum and a maximum, computed in one scan over its
 *    changes: the cost of a frame depends on the visible pixels, not on the size of the trace.
 * 2. Everything that follows the pointer is on a separate canvas.
 */
const chart = byId("chart"), tip = byId("tip");
const PAD = { left: 76, right: 24, top: 14, bottom: 42 };
let plot = null;          /* the area of the curves, in CSS pixels */
let pointerEvent = null;  /* the event under the pointer, in any of the pictures */

const xOf = (t, box) => box.x + (t - view.t0) / (view.t1 - view.t0) * box.w;
const tAt = (x, box) => view.t0 + (x - box.x) / box.w * (view.t1 - view.t0);

/*
 * Calls put(x, first, low, high) with the value of a curve at the left edge of pixel x, and its
 * minimum and maximum within the pixel.
 */
function eachPixel(curve, width, put) {
	const span = (view.t1 - view.t0) / width;
	let at = nextChange(curve, view.t0), now = valueAt(curve, view.t0);
	for (let x = 0; x <= width; x++) {
		const first = now, until = view.t0 + span * (x + 1);
		let least = now, most = now;
		while (at < curve.events.length && curve.events[at] < until) {
			now = curve.values[at++];
			least = Math.min(least, now);
			most = Math.max(most, now);
		}
		put(x, first, least, most, now);
	}
}

function drawLive(p) {
	const shape = new Path2D();
	shape.moveTo(p.x, p.y + p.h);
	eachPixel(live, p.w, (x, first, low, high) => shape.lineTo(p.x + x, p.yOf(high)));
	shape.lineTo(p.x + p.w, p.y + p.h);
	p.base.fillStyle = look.live;
	p.base.globalAlpha = 0.28;
	p.base.fill(shape);
	p.base.globalAlpha = 1;
}

function drawCurve(p, setting) {
	const path = new Path2D();
	eachPixel(setting.curve, p.w, (x, first, low, high, last) => {
		path[x ? "lineTo" : "moveTo"](p.x + x, p.yOf(first));
		if (low < Math.min(first, last))
			path.lineTo(p.x + x, p.yOf(low));
		if (high > Math.max(first, last))
			path.lineTo(p.x + x, p.yOf(high));
		path.lineTo(p.x + x, p.yOf(last));
	});
	p.base.globalAlpha = hot >= 0 && hot !== setting.index ? 0.25 : 1;
	p.base.lineWidth = hot === setting.index ? 3.2 : 1.7;
	p.base.strokeStyle = look[setting.tone];
	p.base.setLineDash(setting.dash);
	p.base.lineJoin = "round";
	p.base.stroke(path);
	p.base.setLineDash([]);
	p.base.globalAlpha = 1;
}

function drawAxes(p) {
	const unit = drawByteAxis(p.base, p.x, p.yOf, 0, p.ceiling, p.h / 38, (y) => {
		p.base.fillStyle = look.grid;
		p.base.fillRect(p.x, y, p.w, 1);
	});
	turned(p.base, unit, 18, p.y + p.h / 2);
	drawTimes(p);
}

function drawTimes(p) {
	const step = stepOf(view.t1 - view.t0, p.w / 110, false);
	p.base.textAlign = "center";
	p.base.textBaseline = "top";
	for (let t = Math.ceil(view.t0 / step) * step; t <= view.t1; t += step) {
		p.base.fillStyle = look.line;
		p.base.fillRect(Math.round(xOf(t, p)), p.y + p.h, 1, 5);
		p.base.fillStyle = look.soft;
		p.base.fillText(count(t), xOf(t, p), p.y + p.h + 8);
	}
	p.base.fillText("events", p.x + p.w / 2, p.y + p.h + 24);
}

function drawChart() {
	const size = fit(chart), on = settings.filter((s) => !s.off);
	const highest = on.reduce((a, s) => Math.max(a, s.bytes), meta.live);
	plot = { ...size, x: PAD.left, y: PAD.top, w: size.width - PAD.left - PAD.right,
		h: size.height - PAD.top - PAD.bottom, ceiling: highest * 1.06 || 1 };
	const p = plot;
	p.yOf = (n) => p.y + p.h - n / p.ceiling * p.h;
	p.base.clearRect(0, 0, p.width, p.height);
	p.base.font = FONT;
	drawAxes(p);
	p.base.save();
	p.base.beginPath();
	p.base.rect(p.x, p.y, p.w, p.h);
	p.base.clip();
	drawLive(p);
	for (const setting of on)
		if (setting.index !== hot)
			drawCurve(p, setting);
	if (settings[hot] && !settings[hot].off)
		drawCurve(p, settings[hot]);
	p.base.restore();
	p.base.strokeStyle = look.line;
	p.base.strokeRect(p.x - 0.5, p.y - 0.5, p.w + 1, p.h + 1);
	drawPointer();
}

/* Shows the numbers of the event under the pointer, the largest first. */
function fillTip(event) {
	const table = element("table");
	const rows = settings.filter((s) => !s.off)
		.map((s) => ({ s, n: valueAt(s.curve, event) })).sort((a, b) => b.n - a.n);
	const put = (mark, name, n) => {
		const row = table.insertRow(), cell = row.insertCell();
		cell.append(mark, name);
		row.insertCell().textContent = bytes(n);
		return row;
	};
	for (const { s, n } of rows) {
		const mark = swatch(s);
		mark.style.display = "inline-block";
		mark.style.margin = "0 7px 3px 0";
		put(mark, s.name, n);
	}
	put("", "live", valueAt(live, event)).className = "soft";
	put("", `event ${count(event)}`, 0).className = "soft";
	table.rows[table.rows.length - 1].cells[1].textContent = "";
	tip.replaceChildren(table);
	root.dataset.values = rows.map(({ s, n }) => `${s.index}:${n}`).join(" ");
}

function drawPointer() {
	const p = plot;
	p.over.clearRect(0, 0, p.width, p.height);
	if (pointerEvent === null || pointerEvent < view.t0 || pointerEvent > view.t1)
		return;
	p.over.globalAlpha = 0.5;
	p.over.fillStyle = look.mark;
	p.over.fillRect(Math.round(xOf(pointerEvent + 0.5, p)), p.y, 1, p.h);
	p.over.globalAlpha = 1;
	for (const s of settings) {
		if (s.off)
			continue;
		p.over.fillStyle = look[s.tone];
		p.over.beginPath();
		p.over.arc(xOf(pointerEvent + 0.5, p), p.yOf(valueAt(s.curve, pointerEvent)), 3, 0, 7);
		p.over.fill();
	}
}
onChange(drawChart);
