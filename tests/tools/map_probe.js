/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_probe.js - hands for tests/tools/map_page.sh: zooms, moves and hovers as a person would, and
 * writes what the page then says about itself into data-probe of the root element.
 */
/* A page that nobody looks at is given no frames. */
window.requestAnimationFrame = (draw) => setTimeout(draw, 10);

window.addEventListener("load", () => {
	const root = document.documentElement, figure = document.getElementById("figure");
	const frame = figure.getBoundingClientRect(), found = [];
	const at = (name, x, y, more) => figure.dispatchEvent(new (more && "deltaY" in more
		? WheelEvent : PointerEvent)(name, { bubbles: true, cancelable: true,
			clientX: frame.left + frame.width * x, clientY: frame.top + frame.height * y,
			...more }));
	const frames = (then) => setTimeout(then, 250);

	found.push("drawn=" + root.dataset.drawn, "whole=" + root.dataset.view);
	at("pointermove", window.probeX ?? 0.5, window.probeY ?? 0.6, {});
	found.push("hover=" + root.dataset.hover);
	found.push("tip=" + document.getElementById("tip").innerText.replace(/\s+/g, " "));
	for (let i = 0; i < (window.probeWheels ?? 6); i++)
		at("wheel", window.probeX ?? 0.5, window.probeY ?? 0.6, { deltaY: -240 });
	frames(() => {
		found.push("zoomed=" + root.dataset.view, "zoomed-drawn=" + root.dataset.drawn);
		if (!window.probeStay)
			document.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
		frames(() => {
			found.push("again=" + root.dataset.view, "alert=" + (window.alerted ?? "none"));
			root.dataset.probe = found.join("; ");
			const text = document.createElement("pre");
			text.id = "probe";
			text.hidden = true;
			text.textContent = found.join("\n");
			document.body.append(text);
		});
	});
});
