/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.js - the places in the code with their amounts, as text; and the legend and the path to the
 * first frame of the graph.
 *
 * A recursive frame counts once in "total". "own" is the memory of stacks whose site it is: their
 * innermost Python frame, or their innermost frame. With a search or an entry of the legend, it is
 * the innermost frame that matches.
 */
const columns = [
	{ name: "site", text: "site" },
	{ name: "own", text: "own", title: "Allocated by the site itself" },
	{ name: "own share", text: "" },
	{ name: "total", text: "total", title: "Allocated by the site and its callees" },
	{ name: "total share", text: "" },
];

/* The amounts of each frame in the shown part of the graph; of a comparison, the changes. */
function siteAmounts() {
	const own = new Float64Array(meta.frames), total = new Float64Array(meta.frames);
	const inPath = new Uint32Array(meta.frames), path = [], owner = [];
	const sum = compares() ? shown.net : shown.width, first = nodes.depth[view.top];
	for (let i = view.top; i < nodes.end[view.top]; i++) {
		const depth = nodes.depth[i] - first, frame = nodes.frame[i];
		while (path.length > depth)
			inPath[path.pop()]--;
		const outer = depth ? owner[depth - 1] : -1;
		const owns = isFiltered() ? lit[frame] : frames.kind[frame] === 2 || frames.kind[outer] !== 2;
		owner[depth] = owns && i ? frame : outer;
		if (!inPath[frame])
			total[frame] += sum[i];
		inPath[frame]++;
		path.push(frame);
		if (nodes.leaf[i] >= 0 && owner[depth] >= 0)
			own[owner[depth]] += shown.own[nodes.leaf[i]];
	}
	return { own, total };
}

function cell(row, text, className = "") {
	const made = row.insertCell();
	made.textContent = text;
	made.className = className;
	return made;
}

function siteCell(row, frame) {
	const head = element("th"), button = element("button", "", tail(nameOf(frame), 300));
	const dot = element("i"), place = placeOf(frame) || names[frames.module[frame]];
	head.scope = "row";
	dot.style.background = fills[coloring().tone[frame]][0];
	button.title = "Find it in the graph";
	button.onclick = () => search(nameOf(frame));
	head.append(dot, button, element("small", "", tail(place, 120)));
	row.append(head);
}

function amountCells(row, n, all) {
	const { say } = measures[view.by];
	cell(row, compares() ? signed(n, say) : say(n), !n ? "none" : !compares() ? "" : n > 0 ? "grew" : "shrank");
	const meter = cell(row, share(Math.abs(n), all), "share");
	meter.style.setProperty("--part", `${Math.min(100, 100 * Math.abs(n) / (all || 1))}%`);
}

function drawTable() {
	const { own, total } = siteAmounts(), by = view.sort === "total" ? total : own;
	const all = shown.width[view.top], order = [], table = byId("sites");
	for (let i = 1; i < meta.frames; i++)
		if (lit[i] && (own[i] || total[i]))
			order.push(i);
	order.sort((a, b) => Math.abs(by[b]) - Math.abs(by[a]) || Math.abs(total[b]) - Math.abs(total[a]));

	for (const head of table.tHead.rows[0].cells)
		head.removeAttribute("aria-sort");
	byId(`sort-${view.sort}`).parentNode.setAttribute("aria-sort", "descending");
	table.tBodies[0].replaceChildren(...order.slice(0, view.rows).map((frame) => {
		const row = element("tr");
		siteCell(row, frame);
		amountCells(row, own[frame], all);
		amountCells(row, total[frame], all);
		return row;
	}));
	byId("more").hidden = order.length <= view.rows;
	byId("sites-what").textContent = `${measures[view.by].text}${compares() ? ", changes" : ""}, ` +
		`${counted(order.length, "place")} in the code${view.top ? ", of the graph's part" : ""}` +
		`${isFiltered() ? ", matching" : ""}`;
	root.dataset.sites = order.slice(0, 5).map(nameOf).join(",");
}

function makeTable() {
	const row = byId("sites").tHead.insertRow();
	for (const { name, text, title } of columns) {
		const head = element("th");
		head.scope = "col";
		if (title) {
			const button = element("button", "", text);
			button.id = `sort-${name}`;
			button.title = title;
			button.onclick = () => set({ sort: name });
			head.append(button);
		} else {
			head.append(text || element("span", "hidden", name));
		}
		row.append(head);
	}
	byId("more").onclick = () => set({ rows: view.rows * 4 });
}

/* The path of callers to the first frame of the graph; a long one is cut in the middle. */
const CRUMBS = 8;
let allCrumbs = false;
function drawCrumbs() {
	const path = [];
	for (let i = view.top; i; i = nodes.parent[i])
		path.unshift(i);
	path.unshift(0);
	const cut = path.length - CRUMBS, crumbs = [];
	path.forEach((place, at) => {
		if (cut > 1 && !allCrumbs && at >= 2 && at < 2 + cut) {
			if (at > 2)
				return;
			const more = element("button", "", `\u2026 ${cut} more`);
			more.onclick = () => {
				allCrumbs = true;
				change();
			};
			crumbs.push(more);
			return;
		}
		const crumb = element("button", "", nameOf(nodes.frame[place]).slice(0, 200));
		crumb.onclick = () => zoomTo(place);
		if (place === view.top)
			crumb.setAttribute("aria-current", "location");
		crumbs.push(crumb);
	});
	byId("crumbs").replaceChildren(...(view.top ? crumbs : []));
	root.dataset.top = view.top ? nameOf(nodes.frame[view.top]) : "";
}

function drawLegend() {
	const legend = byId("legend");
	if (compares()) {
		legend.replaceChildren(...[["shrank", "less"], ["same", "as much"], ["grew", "more"]]
			.map(([name, text]) => {
				const dot = element("i");
				dot.style.background = look[name];
				return element("span", "kind", dot, text);
			}), element("span", "note", "wide: much changed"));
		return;
	}
	legend.replaceChildren(...coloring().entries.map(({ tone, name, path }) => {
		const dot = element("i"), button = element("button", "kind", dot, element("span", "", name));
		dot.style.background = fills[tone][1];
		button.title = path ?? `Show only ${name}`;
		button.setAttribute("aria-pressed", view.only === tone);
		button.onclick = () => set({ only: view.only === tone ? -1 : tone });
		return button;
	}));
}

