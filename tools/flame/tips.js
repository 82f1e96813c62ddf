/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tips.js - the numbers of a frame, as a tip for the pointer and as a sentence for screen readers.
 */
const share = (part, whole) => whole > 0 ? percent(part / whole) : "0 %";
const signed = (n, say) => (n < 0 ? "\u2212" : n > 0 ? "+" : "") + say(Math.abs(n));

/* The sum of a column of leaves at and below a node. */
function sumBelow(place, ofLeaf) {
	let sum = 0;
	for (let i = place; i < nodes.end[place]; i++)
		if (nodes.leaf[i] >= 0)
			sum += ofLeaf(nodes.leaf[i]);
	return sum;
}

/* The standard error of an estimate; known of all allocations, of the peak and of the end. */
function errorOf(place) {
	const which = !isLive() ? 0 : view.moment === meta.peak ? 1 : view.moment === LAST ? 2 : -1;
	if (!meta.sampled || compares() || which < 0 || view.by === 4)
		return undefined;
	return `\u00b1 ${bytesOf(Math.sqrt(sumBelow(place, (i) => leaves.errors[which][i] ** 2)))}`;
}

function lifetimeOf(place) {
	const freed = sumBelow(place, (i) => leaves.freed[i]);
	let shortest = Infinity;
	for (let i = place; i < nodes.end[place]; i++)
		if (nodes.leaf[i] >= 0 && leaves.shortest[nodes.leaf[i]] >= 0)
			shortest = Math.min(shortest, leaves.shortest[nodes.leaf[i]]);
	if (!freed)
		return "none was freed";
	return `mean ${timeOf(sumBelow(place, (i) => leaves.lifetime[i]) / freed)}, ` +
		`shortest ${timeOf(shortest)}`;
}

/* Name and value of each number of a frame. */
function rowsOf(place) {
	const all = shown.width[0], width = shown.width[place], { say } = measures[view.by];
	const own = nodes.leaf[place] >= 0 ? shown.own[nodes.leaf[place]] : 0;
	const rows = [];
	if (compares()) {
		const key = view.by === 1 ? "count" : "bytes";
		rows.push(["change", signed(shown.net[place], say)],
			["before", say(shown.before[key][place])], ["after", say(shown.now[key][place])],
			["of all changes", share(width, all)]);
	} else if (isLive()) {
		rows.push(["live", `${bytesOf(shown.now.bytes[place])} in ${blocksOf(shown.now.count[place])}`],
			["error", errorOf(place)], ["share", share(width, all)]);
	} else {
		rows.push(["allocated", `${bytesOf(sumBelow(place, (i) => leaves.bytes[i]))} in ` +
			blocksOf(sumBelow(place, (i) => leaves.count[i]))],
		["error", errorOf(place)],
		["bytes \u00d7 lifetime", view.by === 4 ? say(width) : undefined], ["share", share(width, all)]);
	}
	if (view.top)
		rows.push(["of what is shown", share(width, shown.width[view.top])]);
	if (own && nodes.end[place] > place + 1)
		rows.push(["own", compares() ? signed(own, say) : say(own)]);
	if (!compares())
		rows.push(["lifetime", lifetimeOf(place)]);
	return rows.filter(([, value]) => value !== undefined);
}

const TEXT_MAX = 600;
function describe(rect) {
	const frame = nodes.frame[rect.place], table = element("table"), head = element("b");
	if (rect.frames > 1) {
		const all = rect.width / (rectsOfRow[0][0].width || 1) * shown.width[view.top];
		tip.replaceChildren(element("b", "", `${counted(rect.frames, "frame")} too narrow to draw`),
			element("p", "", `${measures[view.by].say(all)} together`));
		return;
	}
	head.textContent = tail(nameOf(frame), TEXT_MAX);
	for (const [name, value] of rowsOf(rect.place)) {
		const row = table.insertRow();
		row.insertCell().textContent = name;
		row.insertCell().textContent = value;
	}
	const places = [placeOf(frame), frames.kind[frame] === 2 ? "" : names[frames.module[frame]]]
		.filter((text) => text).map((text) => element("p", "", tail(text, TEXT_MAX)));
	tip.replaceChildren(head, ...places, table);
}

function sentence(place) {
	const frame = nodes.frame[place], below = nodes.end[place] > place + 1;
	return [nameOf(frame), placeOf(frame), ...rowsOf(place).map(([name, value]) => `${name} ${value}`),
		below ? "" : "no callees"].filter((text) => text).join(", ");
}

/* Places the tip near a point of the window, where there is room. */
function placeTip(x, y) {
	const pad = 16;
	tip.hidden = false;
	const w = tip.offsetWidth, h = tip.offsetHeight;
	const left = x + pad + w < root.clientWidth ? x + pad : x - pad - w;
	const top = y + pad + h < window.innerHeight ? y + pad : y - pad - h;
	tip.style.left = `${Math.max(4, left)}px`;
	tip.style.top = `${Math.max(4, top)}px`;
}

