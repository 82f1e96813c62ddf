/* SPDX-License-Identifier: Apache-2.0 */
/*
 * link.js - keeps the view in the page's address, so that a link shows the same view.
 *
 * #by=MEASURE&graph=icicle&color=module&at=MOMENT&from=MOMENT&top=NODE&only=TONE&q=TEXT&sort=total&
 * native=hidden&theme=NAME: parts with their initial value are omitted. Invalid parts of a link are ignored.
 */

function linkText() {
	const words = new URLSearchParams();
	const put = (name, value, usual) => value !== usual && words.set(name, value);
	put("by", measures[view.by].name, measures[START.by].name);
	put("graph", view.graph, START.graph);
	put("color", view.color, START.color);
	put("at", view.moment, START.moment);
	put("from", view.from < 0 ? "none" : view.from, START.from < 0 ? "none" : START.from);
	put("top", view.top, START.top);
	put("only", view.only, START.only);
	put("q", view.query, START.query);
	put("sort", view.sort, START.sort);
	put("native", view.native ? "shown" : "hidden", "shown");
	put("theme", chosen, "");
	return words.size ? `#${words}` : "";
}

function readLink() {
	const words = new URLSearchParams(location.hash.slice(1));
	const number = (name, end, usual) => {
		const text = words.get(name) ?? "";
		return /^\d{1,10}$/.test(text) && Number(text) < end ? Number(text) : usual;
	};
	const oneOf = (name, all, usual) => all.find((text) => text === words.get(name)) ?? usual;
	const by = measures.findIndex(({ name }) => name === words.get("by"));
	Object.assign(view, START, {
		by: by < 0 ? START.by : by,
		graph: oneOf("graph", ["flame", "icicle"], START.graph),
		color: oneOf("color", ["kind", "module"], START.color),
		moment: momentNear(number("at", meta.moments, START.moment)),
		from: words.get("from") === "none" ? -1 : number("from", meta.moments, START.from),
		top: number("top", meta.nodes, START.top),
		only: number("only", meta.kinds.length, START.only),
		query: (words.get("q") ?? "").slice(0, 1000),
		sort: oneOf("sort", ["own", "total"], START.sort),
		native: words.get("native") !== "hidden" || !hasNativeCalls,
	});
	if (view.from >= 0)
		view.from = momentNear(view.from);
	chosen = knownTheme(words.get("theme"));
	wearTheme();
	byId("find").value = view.query;
	change();
}
