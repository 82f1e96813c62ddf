/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_probe.js - hands for tests/tools/*_page.sh. A test appends its own steps: what a person
 * would do, with these functions, and what to say() of the page after it. They run when the page
 * is there, and their answers go into an element of id "probe".
 */
const asked = []; /* frames the page asked for: one that nobody looks at is given none */
window.requestAnimationFrame = (draw) => asked.push(draw);

const probed = [];
const page = document.documentElement, place = document.getElementById("figure");
const say = (key, value) => probed.push(`${key}=${String(value).replace(/\s+/g, " ")}`);
const facts = (...names) => names.map((name) => page.dataset[name]).join(" ");
const text = (id) => document.getElementById(id).innerText;

function frame() {
	for (const draw of asked.splice(0))
		draw();
}

/* What is drawn in several frames is there. */
function settle() {
	for (let i = 0; i < 50; i++)
		frame();
}

/* x and y are parts of the figure, or of another element. */
function hand(name, x, y, more = {}, on = place) {
	const edges = on.getBoundingClientRect();
	const Kind = "deltaY" in more ? WheelEvent : PointerEvent;
	on.dispatchEvent(new Kind(name, { bubbles: true, cancelable: true, pointerId: 1,
		clientX: edges.left + edges.width * x, clientY: edges.top + edges.height * y, ...more }));
	frame();
}

function click(x, y) {
	hand("pointerdown", x, y);
	hand("pointerup", x, y);
}

function key(name, more = {}) {
	(document.activeElement ?? document).dispatchEvent(
		new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true, ...more }));
	frame();
}

/* A number for the picture on a canvas. */
function picture(id) {
	const canvas = document.getElementById(id);
	const all = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
	let sum = 0;
	for (const byte of all)
		sum = (sum * 31 + byte) >>> 0;
	return sum;
}

function probe(steps) {
	window.addEventListener("load", async () => {
		/* A window may get its size after the page is there, and the frame that tells of it late. */
		window.layout?.();
		window.draw?.();
		try {
			await steps();
		} catch (error) {
			say("trouble", error);
		}
		say("alert", window.alerted ?? "none");
		const answer = document.createElement("pre");
		answer.id = "probe";
		answer.hidden = true;
		answer.textContent = probed.join("\n");
		document.body.append(answer);
	});
}
