/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curves.js - the use of the heap: live, high water, reserved and physical bytes, and the peak
 * reserved bytes of the recorded program's own pool, if the trace has them.
 *
 * On host with a single chunk, the reserved bytes are an arbitrary default, and are not shown. A
 * curve far above the others (a chunk of 80 GiB under a heap of four) is named but not drawn: it
 * would compress all others to the bottom.
 */
const MUCH_HIGHER = 2.5;

const stepMost = (field) => meta.steps.reduce((most, step) => Math.max(most, step[field]), 0);
const highest = Math.max(peakBytes, stepMost(2));
const alike = meta.steps.every((step) => step[1] === step[3]);

/* `field` is an index of a step; 0: the live bytes; 4: a constant for all events. */
const curves = [
	{ name: "live", tone: "live", field: 0, most: peakBytes },
	{ name: "high water", tone: "high", field: 2, most: stepMost(2), dash: [] },
	{ name: alike ? "reserved, all physical" : "reserved", tone: "reserved", field: 1,
	  most: stepMost(1), dash: [7, 4], hidden: meta.made_up },
	{ name: "physical", tone: "physical", field: 3, most: stepMost(3), dash: [2, 3],
	  hidden: alike || meta.made_up },
	{ name: "program's own pool, at most", tone: "recorded", field: 4, most: meta.recorded,
	  dash: [10, 3, 2, 3], hidden: !meta.recorded },
].filter((curve) => !curve.hidden);
for (const curve of curves)
	curve.fits = curve.most <= highest * MUCH_HIGHER;

const ceiling = Math.max(...curves.map((c) => c.fits ? c.most : 0)) * 1.08 || 1;
const cyOf = (n) => box.cy + box.ch - n / ceiling * box.ch;

/* Live bytes: for each pixel the minimum and the maximum of the events under it. */
function drawLive() {
	const shape = new Path2D(), edge = new Path2D();

	shape.moveTo(box.x, box.cy + box.ch);
	for (let x = 0; x <= box.w; x++) {
		const from = Math.max(0, Math.min(meta.events - 1, Math.floor(tAt(box.x + x))));
		const next = Math.floor(tAt(box.x + x + 1));
		const [low, high] = liveRange(from, Math.min(meta.events, Math.max(from + 1, next)));
		shape.lineTo(box.x + x, cyOf(high));
		edge[x ? "lineTo" : "moveTo"](box.x + x, cyOf(high));
		edge.lineTo(box.x + x, cyOf(low));
	}
	shape.lineTo(box.x + box.w, box.cy + box.ch);
	base.globalAlpha = 0.18;
	base.fillStyle = look.live;
	base.fill(shape);
	base.globalAlpha = 1;
	base.strokeStyle = look.live;
	base.lineWidth = 1.2;
	base.stroke(edge);
}

function drawSteps({ field, tone, dash }) {
	const path = new Path2D();
	let y = cyOf(stepAt(view.t0)[field] ?? meta.recorded);

	path.moveTo(box.x, y);
	for (const step of meta.steps) {
		if (step[0] <= view.t0 || step[0] > view.t1 || field === 4)
			continue;
		path.lineTo(xOf(step[0]), y);
		y = cyOf(step[field]);
		path.lineTo(xOf(step[0]), y);
	}
	path.lineTo(box.x + box.w, y);
	base.setLineDash(dash);
	base.strokeStyle = look[tone];
	base.lineWidth = 1.6;
	base.stroke(path);
	base.setLineDash([]);
}

function drawCurves() {
	const unit = drawByteAxis(base, box.x, cyOf, 0, ceiling, box.ch / 26, (y) => {
		base.fillStyle = look.grid;
		base.fillRect(box.x, y, box.w, 1);
	});
	nameAxis(`bytes (${unit})`, unit, box.cy + box.ch / 2);
	base.save();
	base.beginPath();
	base.rect(box.x, box.cy, box.w, box.ch);
	base.clip();
	if (meta.events)
		drawLive();
	/* The last ones are below the others. */
	for (const curve of [...curves].reverse())
		if (curve.fits && curve.field)
			drawSteps(curve);
	base.restore();
}

/* The names, each with its value after an event. */
for (const curve of curves) {
	curve.value = element("b");
	const item = element("span", "", element("i", curve.tone), `${curve.name} `, curve.value);
	if (!curve.fits)
		item.append(" (off the scale)");
	byId("curves-event").before(item);
}

function tellCurves(event) {
	const step = stepAt(event);
	for (const curve of curves)
		curve.value.textContent = bytes(curve.field ? step[curve.field] ?? meta.recorded
			: live[event] || 0);
}

