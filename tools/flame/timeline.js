/* SPDX-License-Identifier: Apache-2.0 */
/*
 * timeline.js - live bytes over time, with the moment of the graph, or the two that are compared.
 */
const timeline = byId("timeline"), line = byId("line").getContext("2d");
const LEFT = 74, RIGHT = 14, TOP = 10, BOTTOM = 24; /* pixels around the plot */
const plot = { w: 0, h: 0 };
const clockOf = meta.times ? moments.time : moments.event;
const clockFrom = clockOf[0], clockSpan = Math.max(clockOf[LAST] - clockFrom, 1);
const highest = Math.max(1, ...moments.high, ...moments.bytes);

const xOf = (moment) => LEFT + (clockOf[moment] - clockFrom) / clockSpan * plot.w;
const yOf = (n) => TOP + plot.h - n / highest * plot.h;

/* The nearest moment at a pixel that has a graph. */
function momentAt(x) {
	const clock = clockFrom + (x - LEFT) / plot.w * clockSpan;
	const next = firstAfter(LAST, (i) => clockOf[i] < clock), last = Math.max(0, next - 1);
	return momentNear(clock - clockOf[last] < clockOf[next] - clock ? last : next);
}

function drawSteps() {
	const foot = TOP + plot.h;
	line.beginPath();
	line.moveTo(LEFT, foot);
	for (let i = 0; i <= LAST; i++) {
		line.lineTo(xOf(Math.max(0, i - 1)), yOf(moments.high[i]));
		line.lineTo(xOf(i), yOf(moments.high[i]));
	}
	line.lineTo(xOf(LAST), foot);
	line.fillStyle = look.high;
	line.fill();
	line.beginPath();
	for (let i = 0; i <= LAST; i++)
		line.lineTo(xOf(i), yOf(moments.bytes[i]));
	line.strokeStyle = look.live;
	line.lineWidth = 1.5;
	line.stroke();
	line.lineTo(xOf(LAST), foot);
	line.lineTo(xOf(0), foot);
	line.fillStyle = look.area;
	line.fill();
}

function drawMark(moment, color) {
	const x = Math.round(xOf(moment));
	line.fillStyle = color;
	line.fillRect(x - 1, TOP, 2, plot.h);
	line.beginPath();
	line.arc(x, yOf(moments.bytes[moment]), 4, 0, 7);
	line.fill();
}

function drawTimeline() {
	const width = timeline.clientWidth, height = timeline.clientHeight;
	plot.w = Math.max(1, width - LEFT - RIGHT);
	plot.h = Math.max(1, height - TOP - BOTTOM);
	fitCanvas(line, width, height, window.devicePixelRatio || 1);
	line.clearRect(0, 0, width, height);
	line.font = FONT;
	const unit = drawByteAxis(line, LEFT, yOf, 0, highest, plot.h / 26, (y) => {
		line.fillStyle = look.grid;
		line.fillRect(LEFT, y, plot.w, 1);
	});
	turned(line, unit, 12, TOP + plot.h / 2);
	drawSteps();
	line.textBaseline = "top";
	line.fillStyle = look.soft;
	line.textAlign = "left";
	line.fillText(when(0), LEFT, TOP + plot.h + 7);
	line.textAlign = "right";
	line.fillText(when(LAST), LEFT + plot.w, TOP + plot.h + 7);
	if (!isLive())
		return;
	const from = dragged ?? (compares() ? view.from : -1);
	if (from >= 0) {
		const [a, b] = [xOf(from), xOf(view.moment)].sort((one, other) => one - other);
		line.fillStyle = look.range;
		line.fillRect(a, TOP, b - a, plot.h);
		drawMark(from, look.soft);
	}
	drawMark(view.moment, look.mark);
	if (aimed >= 0 && aimed !== view.moment) {
		line.globalAlpha = 0.4;
		drawMark(aimed, look.mark);
		line.globalAlpha = 1;
	}
}

function sayMoment(i) {
	return `${i === meta.peak ? "the peak, " : i === LAST ? "the end, " : ""}` +
		`${when(i)}${meta.times ? ` (event ${count(moments.event[i])})` : ""}: ` +
		`${bytesOf(moments.bytes[i])} in ${blocksOf(moments.count[i])}`;
}

function sayShown() {
	if (!isLive())
		return `${measures[view.by].title.split(";")[0]}: ${measures[view.by].say(shown.width[0])}`;
	if (!compares())
		return `Live at ${sayMoment(view.moment)}`;
	const change = moments.bytes[view.moment] - moments.bytes[view.from];
	return `From ${when(view.from)} to ${when(view.moment)}: ${signed(change, bytesOf)} ` +
		`(${bytesOf(moments.bytes[view.from])} to ${bytesOf(moments.bytes[view.moment])})`;
}

function tellMoment() {
	byId("shown").textContent = sayShown();
	timeline.setAttribute("aria-valuemax", LAST);
	timeline.setAttribute("aria-valuenow", view.moment);
	timeline.setAttribute("aria-valuetext", sayShown());
	byId("single").hidden = !compares();
}

let aimed = -1;     /* the moment under the pointer */
let dragged = null; /* the moment at which a drag began */

timeline.addEventListener("pointerdown", (event) => {
	if (event.button)
		return;
	const { x } = pointOn(timeline, event);
	dragged = momentAt(x);
	timeline.setPointerCapture?.(event.pointerId);
	goTo(dragged);
});
timeline.addEventListener("pointermove", (event) => {
	const { x, y } = pointOn(timeline, event);
	aimed = momentAt(x);
	if (dragged !== null && aimed !== view.moment)
		goTo(aimed, dragged);
	tip.replaceChildren(element("b", "", sayMoment(aimed)));
	placeTip(event.clientX, event.clientY - y - 70);
	change();
});
for (const name of ["pointerup", "pointercancel"])
	timeline.addEventListener(name, () => {
		dragged = null;
		change();
	});
timeline.addEventListener("pointerleave", () => {
	aimed = -1;
	tip.hidden = true;
	change();
});

