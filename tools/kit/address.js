/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address.js - the page's address changes with the view, and the other way round. linkText() and
 * readLink() of the page convert one to the other.
 */
let linkTimer = 0;

/* Browsers limit the rate of address changes: make one when input pauses. */
function keepLink() {
	clearTimeout(linkTimer);
	linkTimer = setTimeout(() => setLink(linkText()), 200);
}

async function copyLink() {
	const text = location.href.split("#")[0] + linkText(), button = byId("copy");
	let done = true;
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = element("textarea");
		area.value = text;
		document.body.append(area);
		area.select();
		done = document.execCommand("copy");
		area.remove();
	}
	button.textContent = done ? "copied" : "not allowed";
	setTimeout(() => button.textContent = "copy link", 1500);
	return text;
}

window.addEventListener("hashchange", readLink);

