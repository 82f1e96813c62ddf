/* SPDX-License-Identifier: Apache-2.0 */
/* legend.js - the choice of a coloring, and the legend of its colors. */

/* Draws a bar of all colors with a label at regular distances. */
function drawScale(box) {
	const bar = element("div", "scale"), { colors, ends } = coloring;
	const every = (colors.length - 1) / (coloring.name === "size" ? 8 : 6);
	const strip = element("i");
	strip.style.background = `linear-gradient(90deg, ${colors.join(", ")})`;
	bar.append(strip);
	for (const [at, word] of coloring.ticks(every)) {
		const tick = element("span", "", word);
		tick.style.left = `${100 * at / (colors.length - 1)}%`;
		bar.append(tick);
	}
	box.append(bar);
	if (ends) {
		const dot = element("i");
		dot.style.background = ends.color;
		box.append(element("span", "end", dot, ends.name));
	}
}

/* The bytes of each kind in a heap. */
function tellKinds(heap) {
	if (!coloring.kinds)
		return;
	const sums = new Float64Array(coloring.colors.length);
	for (const i of heap.list)
		sums[coloring.tone[i]] += blocks.asked[i];
	[...byId("legend").children].forEach((button, tone) => {
		button.lastChild.textContent = bytes(sums[tone], 1);
	});
}

/*
 * Draws a button per kind, with its total number of blocks and its live bytes. A pressed button
 * highlights only its kind.
 */
function drawKinds(box) {
	coloring.kinds.forEach((kind, tone) => {
		const dot = element("i"), button = element("button", "kind", dot,
			element("span", "", tail(kind.name, 40)), element("small", "", count(kind.blocks)),
			element("small", "bytes"));
		dot.style.background = coloring.colors[tone];
		button.type = "button";
		button.title = `${kind.name}: ${counted(kind.blocks, "block")} in all, and the bytes live ` +
			"after the chosen event. Press to see it alone.";
		button.setAttribute("aria-pressed", String(only === tone));
		button.onclick = () => {
			only = only === tone ? -1 : tone;
			for (const other of box.children)
				other.setAttribute("aria-pressed", String(only >= 0 && other === button));
			change();
		};
		box.append(button);
	});
}

function drawLegend() {
	const box = byId("legend");
	box.replaceChildren();
	box.setAttribute("aria-label", coloring.title);
	box.classList.toggle("kinds", !!coloring.kinds);
	(coloring.kinds ? drawKinds : drawScale)(box);
	for (const input of document.querySelectorAll("#colorings input"))
		input.checked = input.value === coloring.name;
}

/* Shows another coloring; false: this trace does not support it. */
function show(name) {
	if (!colorBy(name))
		return false;
	drawLegend();
	change();
	return true;
}

colorings.forEach(({ name, title, why }, at) => {
	const input = element("input"), label = element("label", "", input, element("span", "", name));
	Object.assign(input, { type: "radio", name: "coloring", value: name, disabled: !!why });
	input.onchange = () => show(name);
	label.title = why || `${title} (${at + 1})`;
	byId("colorings").append(label);
});

