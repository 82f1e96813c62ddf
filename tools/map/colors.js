/* SPDX-License-Identifier: Apache-2.0 */
/*
 * colors.js - the color of a block: by size, stream, thread, age or call site.
 *
 * A coloring assigns a tone, a small number, to each block, and a color to each tone. Size and age
 * are scales. The others are kinds: those with most blocks get a color each, the rest share one.
 */
function scaleColoring(first, per, colors, of, label, ends) {
	return {
		colors, ends, kinds: null,
		tones: () => Uint8Array.from({ length: meta.blocks }, (_, i) => of(i)),
		ticks: (every) => {
			const ticks = [];
			for (let at = 0; at < colors.length; at += every)
				ticks.push([at, label(2 ** (first + at / per))]);
			return ticks;
		},
	};
}

/* `index` has for each block the index of its value in `values`. */
function kindColoring(index, values, name) {
	const most = meta.kinds.length - 1, uses = new Uint32Array(values.length);
	for (let i = 0; i < meta.blocks; i++)
		uses[index[i]]++;
	const order = [...uses.keys()].filter((at) => uses[at]).sort((a, b) => uses[b] - uses[a]);
	const toneOf = new Uint8Array(values.length).fill(most);
	order.slice(0, most).forEach((at, tone) => toneOf[at] = tone);
	const kinds = order.slice(0, most).map((at) => ({ name: name(values[at]), blocks: uses[at] }));
	const others = order.slice(most);
	if (others.length)
		kinds[most] = {
			name: counted(others.length, "other"),
			blocks: others.reduce((sum, at) => sum + uses[at], 0),
		};
	return {
		colors: meta.kinds, kinds, distinct: order.length,
		tones: () => Uint8Array.from(index, (at) => toneOf[at]),
	};
}

const ageOf = (i) => immortal(i) ? meta.ages.length - 1
	: scaleStep(blocks.death[i] - blocks.birth[i], 0, meta.age_per_power, meta.ages.length - 1);
const sizeOf = (i) => blocks.taken[i] ? scaleStep(blocks.taken[i], meta.color_first,
	meta.color_per_power, meta.colors.length) : 0;
const short = (n) => n < 1000 ? String(n) : `${Math.round(n / 1000)}k`;
const ages = (n) => n === 1 ? "1 event" : short(Math.round(n));

const NO_STACKS = "The trace does not record call stacks";
function bySite(textOf) {
	const texts = category(meta.blocks);
	for (let i = 0; i < meta.blocks; i++)
		texts.put(i, textOf(siteOf(i)));
	return kindColoring(texts.index, texts.values, (value) => value || "unknown");
}

/* In the order of their keys, 1 and up. `why`: why this trace does not support the coloring. */
const colorings = [
	{
		name: "size", title: "The bytes of a block",
		make: () => scaleColoring(meta.color_first, meta.color_per_power, meta.colors, sizeOf,
			(n) => bytes(n, 0)),
	}, {
		name: "stream", title: "The stream that allocated a block",
		make: () => kindColoring(blocks.stream.index, blocks.stream.values,
			(value) => `stream ${value}`),
	}, {
		name: "thread", title: "The thread that allocated a block",
		why: meta.threads ? "" : "The trace does not record which thread allocated a block",
		make: () => kindColoring(blocks.thread.index, blocks.thread.values,
			(value) => `thread ${value}`),
	}, {
		name: "age", title: "The lifetime of a block in events",
		make: () => scaleColoring(0, meta.age_per_power, meta.ages.slice(0, -1), ageOf,
			ages, { name: "never freed", color: meta.ages.at(-1) }),
	}, {
		name: "who", title: "The call site or owner of a block",
		why: meta.names.length > 1 ? "" : "The trace does not record call sites",
		make: () => kindColoring(blocks.who, meta.names, (value) => value || "unknown"),
	}, {
		name: "function", title: "The function of a block: the innermost Python frame of its stack, " +
			"or its innermost frame",
		why: meta.stacks ? "" : NO_STACKS,
		make: () => bySite(({ name }) => name),
	}, {
		name: "module", title: "The loaded file, or the Python file, of that function",
		why: meta.stacks ? "" : NO_STACKS,
		make: () => bySite(({ module }) => module),
	},
];

let coloring = null; /* the current one; with `tones` of the blocks once it was used */
let only = -1;       /* the only tone that is shown; -1: all */

function colorBy(name) {
	const wanted = colorings.find((c) => c.name === name);
	if (!wanted || wanted.why)
		return false;
	if (!wanted.tone) {
		const made = wanted.make(), all = made.ends ? [...made.colors, made.ends.color] : made.colors;
		Object.assign(wanted, made, {
			tone: made.tones(), all,
			fills: Uint32Array.from(all, (c) => pixel(c)),
			edges: Uint32Array.from(all, (c) => pixel(c, 0.72)),
		});
	}
	if (coloring !== wanted)
		only = -1;
	coloring = wanted;
	root.dataset.coloring = name;
	return true;
}

const toneColor = (i) => coloring.all[coloring.tone[i]];

