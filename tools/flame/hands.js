/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hands.js - controls, pointer and keys; and the start of the page.
 */
let pointer = null; /* on the figure */

function choices(id, options, isChosen, choose) {
	const group = byId(id);
	options.forEach((option, at) => {
		const input = element("input"), label = element("label", "", input, option.text);
		input.type = "radio";
		input.name = id;
		input.value = option.name;
		input.onchange = () => choose(option, at);
		label.title = option.title + (id === "measures" ? ` (${at + 1})` : "");
		group.append(label);
	});
	return () => group.querySelectorAll("input").forEach((input, at) =>
		input.checked = isChosen(options[at], at));
}

const checkAll = [
	choices("measures", measures, (_, at) => at === view.by, (_, at) => set({ by: at })),
	choices("graphs", graphs, ({ name }) => name === view.graph, ({ name }) => turn(name)),
	choices("colorings", Object.values(colorings), ({ name }) => name === view.color,
		({ name }) => set({ color: name, only: -1 })),
];

function turn(graph) {
	set({ graph });
	figure.scrollTop = graph === "flame" ? figure.scrollHeight : 0;
}

let dirty = ""; /* of the last redraw: what all except the pointer's overlay depends on */
function redraw() {
	queued = false;
	const now = [view.by, view.graph, view.color, view.moment, view.from, view.top, view.only,
		view.query, view.sort, view.rows, view.native, allCrumbs, root.dataset.theme, window.innerWidth,
		window.innerHeight, stage.clientWidth].join("\n");
	if (now !== dirty) {
		const start = performance.now();
		dirty = now;
		readLook();
		fills = flameFills();
		measure();
		light();
		layout();
		for (const check of checkAll)
			check();
		byId("native").setAttribute("aria-pressed", String(view.native));
		tellMoment();
		drawLegend();
		drawCrumbs();
		drawTable();
		byId("found").textContent = isFiltered()
			? `${share(sumOfLit(), shown.width[view.top])} matches` : "";
		keepLink();
		root.dataset.view = [measures[view.by].name, view.graph, view.color, view.moment, view.from,
			view.only].join(" ");
		root.dataset.frameMs = (performance.now() - start).toFixed(1);
	}
	drawGraph();
	drawOver();
	drawTimeline();
}

function search(query) {
	byId("find").value = query;
	set({ query });
}
byId("find").oninput = () => set({ query: byId("find").value });

figure.addEventListener("pointermove", (event) => {
	pointer = { ...pointOn(figure, event), clientX: event.clientX, clientY: event.clientY };
	change();
});
figure.addEventListener("pointerleave", () => {
	pointer = null;
	change();
});
figure.addEventListener("scroll", () => figure.scrollTop !== box.scrolled && change());
figure.addEventListener("click", (event) => {
	const { x, y } = pointOn(figure, event), rect = rectAt(x, y);
	if (!rect || rect.x > x)
		return;
	pointer = null;
	zoomTo(rect.place === view.top ? nodes.parent[view.top]
		: rect.frames > 1 ? nodes.parent[rect.place] : rect.place);
});
figure.addEventListener("dblclick", () => zoomTo(0));

/* Chooses a frame by keyboard: it scrolls into view, and is read aloud. */
function focusOn(place) {
	const rect = rectOf(place);
	if (!rect)
		return;
	view.focus = place;
	const y = topOf(rect.depth);
	if (y < 0 || y + ROW > box.height)
		figure.scrollTop += y < 0 ? y : y + ROW - box.height;
	byId("cursor").textContent = sentence(place);
	root.dataset.focus = nameOf(nodes.frame[place]);
	pointer = null;
	change();
}

/* up: towards callees in a flame graph. */
function step(towardsCallees) {
	const at = view.focus < view.top || view.focus >= nodes.end[view.top] ? -1 : view.focus;
	if (at < 0)
		focusOn(view.top);
	else if (!towardsCallees)
		focusOn(at > view.top ? nodes.parent[at] : at);
	else
		focusOn(rects.filter((rect) => rect.frames === 1 && rect.place > at &&
			nodes.parent[rect.place] === at).sort((a, b) => b.width - a.width)[0]?.place ?? at);
}

function stepAside(by) {
	const row = rectsOfRow[rectOf(view.focus)?.depth ?? 0]?.filter((rect) => rect.frames === 1);
	const at = row?.findIndex((rect) => rect.place === view.focus) ?? -1;
	focusOn(row?.[at + by]?.place ?? (at < 0 ? view.top : view.focus));
}

function nextMatch(by) {
	const hits = rects.filter((rect) => rect.frames === 1 && isFiltered() &&
		lit[nodes.frame[rect.place]]).map((rect) => rect.place);
	if (!hits.length)
		return;
	const at = hits.indexOf(view.focus), next = at < 0 ? firstAfter(hits.length, (i) => hits[i] < view.focus)
		: at + by;
	focusOn(hits[(next + hits.length) % hits.length]);
	figure.focus({ preventScroll: true });
}

function help() {
	const panel = byId("help");
	if (panel.open)
		panel.close();
	else
		panel.showModal();
}

function letGo() {
	if (compares())
		set({ from: -1 });
	else if (isFiltered()) {
		byId("find").value = "";
		set({ query: "", only: -1 });
	} else if (view.focus >= 0)
		set({ focus: -1 });
	else
		zoomTo(0);
}

const to = (direction) => momentNear(view.moment + direction, direction);
const start = () => compares() ? view.from : view.moment;
const keys = {
	"Enter": () => zoomTo(view.focus >= 0 && view.focus !== view.top ? view.focus : nodes.parent[view.top]),
	"Backspace": () => zoomTo(nodes.parent[view.top]),
	"0": () => zoomTo(0),
	"ArrowUp": () => step(view.graph === "flame"),
	"ArrowDown": () => step(view.graph === "icicle"),
	"ArrowLeft": () => stepAside(-1),
	"ArrowRight": () => stepAside(1),
	"/": () => byId("find").focus(),
	"n": () => nextMatch(1),
	"N": () => nextMatch(-1),
	"i": () => turn(view.graph === "flame" ? "icicle" : "flame"),
	"m": () => set({ color: view.color === "kind" ? "module" : "kind", only: -1 }),
	"v": () => set({ native: !view.native || !hasNativeCalls, focus: -1 }),
	",": () => goTo(to(-1)),
	".": () => goTo(to(1)),
	"<": () => goTo(to(-1), start()),
	">": () => goTo(to(1), start()),
	"p": () => goTo(meta.peak),
	"e": () => goTo(LAST),
	"t": switchTheme,
	"c": copyLink,
	"?": help,
	"Escape": letGo,
};
measures.forEach((_, at) => keys[at + 1] = () => set({ by: at }));

/* On the timeline, arrows move the moment. */
const timelineKeys = {
	"ArrowLeft": (far) => far ? keys["<"]() : keys[","](),
	"ArrowRight": (far) => far ? keys[">"]() : keys["."](),
	"Home": (far) => goTo(momentNear(0, 1), far ? start() : -1),
	"End": (far) => goTo(LAST, far ? start() : -1),
};

document.addEventListener("keydown", (event) => {
	const { target, key } = event, open = byId("help").open;
	if (event.ctrlKey || event.metaKey || event.altKey || (open && key !== "?"))
		return;
	let action = keys[key];
	if (target === timeline && timelineKeys[key])
		action = () => timelineKeys[key](event.shiftKey);
	else if (target.type === "search")
		action = { Escape: letGo, Enter: () => nextMatch(1) }[key];
	else if (target !== figure && /^(Arrow|Enter|Backspace)/.test(key))
		return;
	if (!action)
		return;
	event.preventDefault();
	action();
});
figure.addEventListener("focus", change);
figure.addEventListener("blur", change);

const buttons = {
	"reset": keys["0"], "theme": switchTheme, "copy": copyLink, "keys": help, "close": help,
	"back": keys[","], "on": keys["."], "peak": keys["p"], "end": keys["e"],
	"single": () => set({ from: -1 }), "native": keys["v"],
};
for (const [id, action] of Object.entries(buttons))
	byId(id).onclick = () => action();

/* Prints in light colors. */
window.addEventListener("beforeprint", () => {
	wearTheme("light");
	redraw();
});
window.addEventListener("afterprint", () => {
	wearTheme();
	redraw();
});

byId("native").hidden = !hasNativeCalls;
makeTable();
readLink();
redraw();
turn(view.graph);
redraw(); /* the first one may have made a scroll bar */
root.dataset.openMs = performance.now().toFixed(0);
new ResizeObserver(() => stage.clientWidth !== box.width && change()).observe(figure);
