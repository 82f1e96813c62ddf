/* SPDX-License-Identifier: Apache-2.0 */
/*
 * data.js - the data of the page, unpacked (flame_html.c): frames, nodes in preorder, leaves, and
 * the live memory of each leaf at any moment.
 *
 * The page's scripts are concatenated in one element, in the order of tools/Makefile.inc. They
 * follow kit/common.js. No code here touches the display.
 */
const KINDS = ["all", "tag", "Python", "native", "unknown"]; /* by enum profile_kind */

const names = meta.names.map(visible);

const { frames, nodes, leaves, moments, changes } = (() => {
	const { number } = reader("data"), scale = meta.sampled ? 1 / 1024 : 1;
	const amount = () => number() * scale;
	const ints = (n) => new Uint32Array(n), reals = (n) => new Float64Array(n);
	const F = meta.frames, N = meta.nodes, L = meta.leaves, M = meta.moments;

	const f = { kind: new Uint8Array(F), name: ints(F), file: ints(F), line: ints(F), module: ints(F) };
	for (let i = 0; i < F; i++) {
		f.kind[i] = number();
		f.name[i] = number();
		f.file[i] = number();
		f.line[i] = number();
		f.module[i] = number();
	}

	/* The subtree of node i is the nodes from i to before end[i]. */
	const n = { depth: ints(N), frame: ints(N), parent: ints(N), end: ints(N),
		leaf: new Int32Array(N).fill(-1) };
	const l = { node: ints(L), bytes: reals(L), count: reals(L), freed: reals(L), lifetime: reals(L), held: reals(L),
		shortest: reals(L), errors: meta.sampled ? [reals(L), reals(L), reals(L)] : null };
	const path = [];
	for (let i = 0, leaf = 0; i < N; i++) {
		const depth = path.length - number(), frame = number();
		while (path.length > depth)
			n.end[path.pop()] = i;
		n.depth[i] = depth;
		n.parent[i] = depth ? path[depth - 1] : 0;
		n.frame[i] = Math.floor(frame / 2);
		path.push(i);
		if (frame % 2 === 0)
			continue;
		n.leaf[i] = leaf;
		l.node[leaf] = i;
		l.bytes[leaf] = amount();
		l.count[leaf] = amount();
		l.freed[leaf] = amount();
		l.lifetime[leaf] = number();
		l.held[leaf] = number();
		l.shortest[leaf] = number() - 1;
		for (const error of l.errors ?? [])
			error[leaf] = number();
		leaf++;
	}
	for (const i of path)
		n.end[i] = N;

	/* Changes as differences, so that moments can be passed in both directions. */
	const m = { time: reals(M), event: reals(M), bytes: reals(M), count: reals(M), high: reals(M),
		has: new Uint8Array(M), first: ints(M + 1) };
	const c = { leaf: [], bytes: [], count: [] };
	const bytesNow = reals(L), countNow = reals(L);
	for (let i = 0, time = 0, event = 0; i < M; i++) {
		m.time[i] = time += number();
		m.event[i] = event += number();
		m.bytes[i] = amount();
		m.count[i] = amount();
		m.high[i] = amount();
		m.has[i] = number();
		for (let leaf = m.has[i] ? number() : 0; leaf; leaf = number()) {
			const bytes = amount(), blocks = amount();
			c.leaf.push(leaf - 1);
			c.bytes.push(bytes - bytesNow[leaf - 1]);
			c.count.push(blocks - countNow[leaf - 1]);
			bytesNow[leaf - 1] = bytes;
			countNow[leaf - 1] = blocks;
		}
		m.first[i + 1] = c.leaf.length;
	}
	return { frames: f, nodes: n, leaves: l, moments: m, changes: c };
})();

const LAST = meta.moments - 1;
const when = (i) => meta.times ? duration(moments.time[i]) : `event ${count(moments.event[i])}`;

/* The moment that has a graph and is nearest to `i`, in a direction if one is given. */
function momentNear(i, direction = 0) {
	const at = Math.max(0, Math.min(LAST, i));
	for (let far = 0; far <= LAST; far++) {
		if (direction >= 0 && at + far <= LAST && moments.has[at + far])
			return at + far;
		if (direction <= 0 && at - far >= 0 && moments.has[at - far])
			return at - far;
	}
	return momentNear(at);
}

/* The live memory of each leaf at a moment, which can be moved. */
function liveState() {
	const bytes = new Float64Array(meta.leaves), blocks = new Float64Array(meta.leaves);
	let at = 0; /* changes that are included */
	return {
		bytes, count: blocks,
		go(moment) {
			const to = moments.first[moment + 1];
			for (; at < to; at++) {
				bytes[changes.leaf[at]] += changes.bytes[at];
				blocks[changes.leaf[at]] += changes.count[at];
			}
			while (at > to) {
				at--;
				bytes[changes.leaf[at]] -= changes.bytes[at];
				blocks[changes.leaf[at]] -= changes.count[at];
			}
		},
	};
}

/* Sums over the leaves at and below each node. */
function sums(ofLeaf) {
	const total = new Float64Array(meta.nodes);
	for (let i = 0; i < meta.leaves; i++)
		total[leaves.node[i]] = ofLeaf[i];
	for (let i = meta.nodes - 1; i > 0; i--)
		total[nodes.parent[i]] += total[i];
	return total;
}

/* The texts of a frame. */
const nameOf = (frame) => frames.kind[frame] ? names[frames.name[frame]] || "(unnamed)" : "all";
const fileOf = (frame) => names[frames.file[frame]];
function placeOf(frame) {
	const line = frames.line[frame], file = fileOf(frame);
	return file ? file + (line ? `:${line}` : "") : "";
}
/* A Python frame's module is its file. */
const moduleOf = (frame) => names[frames.module[frame]] ||
	(frames.kind[frame] === 2 ? fileOf(frame) : "") || KINDS[frames.kind[frame]];

