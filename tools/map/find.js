/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find.js - find a block by its id, or blocks by a part of their call site's name.
 */
const wanted = byId("find");

/* The next block after `from` that matches the text, with wraparound; -1: none. */
function findBlock(text, from) {
	const word = text.trim().toLowerCase(), n = meta.blocks;
	const named = meta.names.map((name) => name.toLowerCase().includes(word));
	for (let step = 1; word && step <= n; step++) {
		const i = (from + step + n) % n;
		if (blocks.taken[i] && (String(blocks.id[i]) === word ||
		    meta.who && named[blocks.who[i]]))
			return i;
	}
	return -1;
}

function find() {
	const i = findBlock(wanted.value, moment.picked);
	wanted.setAttribute("aria-invalid", String(i < 0 && wanted.value !== ""));
	root.dataset.found = i < 0 ? "" : String(blocks.id[i]);
	if (i < 0)
		return;
	go(blocks.birth[i]);
	pick(i);
}

wanted.onkeydown = (event) => {
	if (event.key === "Enter")
		find();
	else if (event.key === "Escape")
		figure.focus();
	else
		return;
	event.preventDefault();
	event.stopPropagation();
};
wanted.oninput = () => wanted.removeAttribute("aria-invalid");

