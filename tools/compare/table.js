/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.js - the table: one row per setting, sortable by any column, each with a switch.
 *
 * As in the printed table, each column highlights the minimum and all numbers that print the same
 * (for times, all within a tenth), unless these are most rows. Settings that failed and estimates
 * are excluded.
 */
const dash = "\u2013";
const known = (n, text) => n === undefined ? dash : text(n);
const timesLive = (n) => `${n.toFixed(3)}\u00d7`;
const percents = (n) => percent(n);

const columns = [
	{ key: "needs", head: "needs, of live", text: (s) => known(s.needs, timesLive), least: true,
		about: "required GPU memory, relative to peak live bytes" },
	{ key: "bytes", head: "bytes", text: (s) => bytes(s.bytes),
		about: "the same in bytes" },
	{ key: "high", head: "high water", text: (s) => known(s.high, timesLive), least: true,
		about: "high water mark of chunks, relative to peak live bytes" },
	{ key: "physical", head: "physical", text: (s) => known(s.physical, bytes),
		about: "peak of the memory that the driver had allocated" },
	{ key: "reserved", head: "reserved", text: (s) => known(s.reserved, bytes),
		about: "peak of chunks, or of mapped memory" },
	{ key: "free_blocks", head: "free at peak", text: (s) => known(s.free_blocks, percents), least: true,
		about: "free blocks at the peak, relative to live bytes" },
	{ key: "waste", head: "waste", text: (s) => known(s.waste, percents), least: true,
		about: "lost to rounding at the peak, relative to live bytes" },
	{ key: "pool", head: "ns per event, pool", text: (s) => known(s.pool, count),
		about: "the fastest pass; the pool only, if no driver is called" },
	{ key: "ns", head: "with driver", text: (s) => known(s.ns, count), least: true, noise: 0.1,
		about: "the same plus the driver's time, estimated or measured" },
	{ key: "driver", head: "driver, ms", text: (s) => known(s.driver, (n) => n.toFixed(1)),
		about: "the driver's time for the whole trace" },
	{ key: "waits", head: "waits", text: (s) => count(s.waits),
		about: "number of waits for all freed memory" },
	{ key: "failed", head: "failed", text: (s) => count(s.failed),
		about: "allocations that did not fit" },
];
/* Columns in which no setting has a value are hidden. */
const shown = columns.filter(({ key }) => key === "needs" || settings.some((s) => s[key]));

function findBest(column) {
	const those = played.filter((s) => !s.failed && s[column.key] !== undefined);
	if (!column.least || !those.length)
		return [];
	const least = those.reduce((a, b) => b[column.key] < a[column.key] ? b : a);
	const most = least[column.key] * (1 + (column.noise || 0));
	const best = those.filter((s) => s[column.key] <= most || column.text(s) === column.text(least));
	return 2 * best.length <= those.length ? best : [];
}

function swatch(setting) {
	const line = element("i", "swatch" +
		(setting.reckoned ? " dotted" : setting.dash.length ? " dashed" : ""));
	line.style.setProperty("--tone", `var(--${setting.tone})`);
	return line;
}

const most = Math.max(...settings.map((s) => s.needs || 0), 1);

function meter(setting) {
	const bar = element("i", "meter");
	bar.style.setProperty("--tone", `var(--${setting.tone})`);
	bar.style.setProperty("--part", `${100 * setting.needs / most}%`);
	return bar;
}

function makeRow(setting) {
	const row = element("tr"), first = row.insertCell();
	const label = element("label"), box = element("input");
	box.type = "checkbox";
	box.style.setProperty("--tone", `var(--${setting.tone})`);
	box.onchange = () => {
		setting.off = !box.checked;
		change();
	};
	/* Names may contain the user's words: they are inserted as text. */
	label.append(box, swatch(setting), setting.name);
	if (setting.index === meta.choice)
		label.append(element("em", "", "choose"));
	first.append(label);
	for (const column of shown) {
		const cell = row.insertCell();
		cell.textContent = column.text(setting);
		if (column.key === "needs")
			cell.prepend(meter(setting));
		if (column.best.includes(setting))
			cell.className = "best";
		if (column.key === "failed" && setting.failed)
			cell.className = "bad";
	}
	row.onpointerenter = () => light(setting.index);
	row.onpointerleave = () => light(-1);
	setting.row = row;
	setting.box = box;
}

/* Highlights the setting under the pointer, in all pictures. */
function light(index) {
	if (hot === index)
		return;
	hot = index;
	change();
}

function sortBy(key) {
	if (view.sort !== key) {
		view.sort = key;
		view.down = false;
	} else if (!view.down) {
		view.down = true;
	} else {
		view.sort = "";
	}
	change();
}

/* Unknown values sort last in either direction. */
function inOrder() {
	const key = view.sort, sign = view.down ? -1 : 1;
	if (key === "name")
		return [...settings].sort((a, b) => sign * a.name.localeCompare(b.name));
	if (!shown.some((c) => c.key === key))
		return settings;
	return [...settings].sort((a, b) => (a[key] === undefined) - (b[key] === undefined) ||
		sign * ((a[key] || 0) - (b[key] || 0)) || a.index - b.index);
}

function makeTable() {
	const head = byId("table").tHead.insertRow();
	for (const column of [{ key: "name", head: "setting" }, ...shown]) {
		const button = element("button", "", column.head), cell = element("th", "", button);
		cell.scope = "col";
		cell.dataset.key = column.key;
		button.title = column.about || "";
		button.onclick = () => sortBy(column.key);
		head.append(cell);
		column.best = column.text ? findBest(column) : [];
	}
	settings.forEach(makeRow);
}

onChange(() => {
	for (const cell of byId("table").tHead.rows[0].cells) {
		if (cell.dataset.key === view.sort)
			cell.setAttribute("aria-sort", view.down ? "descending" : "ascending");
		else
			cell.removeAttribute("aria-sort");
	}
	const rows = inOrder(), body = byId("table").tBodies[0];
	if (rows.some((s, i) => body.rows[i] !== s.row)) {
		const focused = document.activeElement;
		body.replaceChildren(...rows.map((s) => s.row));
		if (body.contains(focused))
			focused.focus();
	}
	for (const setting of settings) {
		setting.box.checked = !setting.off;
		setting.row.classList.toggle("off", setting.off);
		setting.row.classList.toggle("lit", setting.index === hot);
	}
	root.dataset.order = rows.map((s) => s.index).join(" ");
});
makeTable();
