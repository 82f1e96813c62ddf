/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.js - keeps the view in the page's address, so that a link shows the same view.
 *
 * #window=T0,T1,A0,A1&by=COLORING&only=TONE&event=E&block=N&theme=NAME: parts with their initial
 * value are omitted. Invalid parts of a link are ignored.
 */
const start = { event: moment.event };

function linkText() {
	const parts = [];
	if (Object.keys(whole).some((key) => view[key] !== whole[key])) {
		const digits = (n) => Number(n.toFixed(3));
		parts.push("window=" + [view.t0, view.t1, view.a0, view.a1].map(digits).join(","));
	}
	if (coloring.name !== "size")
		parts.push("by=" + coloring.name);
	if (only >= 0)
		parts.push("only=" + only);
	if (moment.event !== start.event)
		parts.push("event=" + moment.event);
	if (moment.picked >= 0)
		parts.push("block=" + moment.picked);
	if (chosen)
		parts.push("theme=" + chosen);
	return parts.length ? "#" + parts.join("&") : "";
}

/* An integer from 0 to below `end`, or -1. */
function wholeNumber(text, end) {
	return /^\d{1,15}$/.test(text ?? "") && Number(text) < end ? Number(text) : -1;
}

function readLink() {
	const said = new URLSearchParams(location.hash.slice(1));
	const edges = (said.get("window") ?? "").split(",").map((text) => text ? Number(text) : NaN);
	const event = wholeNumber(said.get("event"), meta.events);
	const picked = wholeNumber(said.get("block"), meta.blocks);

	Object.assign(view, whole);
	if (edges.length === 4 && edges.every((n) => Number.isFinite(n) && n >= 0) &&
	    edges[1] > edges[0] && edges[3] > edges[2])
		[view.t0, view.t1, view.a0, view.a1] = edges;
	clamp();
	if (!colorBy(said.get("by")))
		colorBy("size");
	only = wholeNumber(said.get("only"), coloring.kinds?.length ?? 0);
	moment.event = event >= 0 ? event : start.event;
	moment.picked = picked >= 0 && blocks.birth[picked] <= moment.event &&
		blocks.death[picked] > moment.event && blocks.taken[picked] ? picked : -1;
	chosen = knownTheme(said.get("theme"));
	wearTheme();
	drawLegend();
	change();
}
