/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame.js - the layout of the graph: the same as in flame.c, for a part of the tree.
 */
const NARROWEST = 0.5; /* pixels */

/*
 * Lays out the subtree of `top`, in preorder: { place, depth, x, width, frames }. Siblings that are
 * too narrow each share a rectangle, with nothing above it.
 */
function flameLayout(total, top, width) {
	const scale = total[top] > 0 ? width / total[top] : 0, base = nodes.depth[top];
	const lefts = [0], rects = [];
	let narrow = null, at = top;
	const add = (rect) => rect.width >= NARROWEST && rects.push(rect);

	while (at < nodes.end[top]) {
		const depth = nodes.depth[at] - base, x = lefts[depth], wide = total[at] * scale;
		lefts[depth] += wide;
		if (narrow && (narrow.depth !== depth || wide >= NARROWEST)) {
			add(narrow);
			narrow = null;
		}
		if (wide >= NARROWEST) {
			rects.push({ place: at, depth, x, width: wide, frames: 1 });
			lefts[depth + 1] = x;
			at++;
			continue;
		}
		if (wide > 0) {
			narrow ??= { place: at, depth, x, width: 0, frames: 0 };
			narrow.width += wide;
			narrow.frames++;
		}
		at = nodes.end[at];
	}
	if (narrow)
		add(narrow);
	return rects;
}

