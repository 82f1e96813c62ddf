/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words.js - formats numbers, and selects the steps of an axis. It is first in the single script of
 * its page, and depends on nothing of the page.
 */
"use strict";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/* Formats 1536 as "1.50 KiB". */
function bytes(n, digits = 2) {
	let unit = 0;
	while (Math.abs(n) >= 1024 && unit < UNITS.length - 1) {
		n /= 1024;
		unit++;
	}
	return `${unit ? n.toFixed(digits) : n} ${UNITS[unit]}`;
}

const count = (n) => typeof n === "bigint" ? String(n) : Math.round(n).toLocaleString("en");
const counted = (n, noun) => `${count(n)} ${noun}${n == 1 ? "" : "s"}`;
const hex = (n) => "0x" + (typeof n === "bigint" ? n : Math.round(n)).toString(16);
const percent = (part, digits = 1) => `${(100 * part).toFixed(digits)} %`;

/* Formats nanoseconds with about four digits. */
function duration(ns) {
	const units = [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3]];
	const [name, scale] = units.find((u) => Math.abs(ns) >= u[1]) || ["ns", 1];
	const n = ns / scale;
	const digits = scale === 1 ? 0 : Math.abs(n) >= 100 ? 1 : Math.abs(n) >= 10 ? 2 : 3;
	return `${n.toFixed(digits)} ${name}`;
}

/* The end of a long text, such as a path, is the most informative part. */
const tail = (text, most) => text.length > most ? "\u2026" + text.slice(1 - most) : text;

/* A step of 1, 2 or 5 times a power of ten, or a power of two for bytes; at least 1. */
function stepOf(span, most, binary) {
	const rough = Math.max(span / most, 1);
	if (binary)
		return 2 ** Math.ceil(Math.log2(rough));
	const power = 10 ** Math.floor(Math.log10(rough));
	return [1, 2, 5, 10].map((k) => k * power).find((s) => s >= rough);
}

/* Labels share one unit, the largest in which a step has at most three decimal places. */
function byteLabels(high, step) {
	let unit = 0;
	while (1024 ** (unit + 1) <= Math.min(high, step * 8) && unit < UNITS.length - 1)
		unit++;
	const scale = 1024 ** unit, digits = Math.max(0, Math.log2(scale / step));
	const label = (v) => (v / scale).toLocaleString("en", {
		minimumFractionDigits: digits, maximumFractionDigits: digits,
	});
	return { label, unit: UNITS[unit] };
}

/* The step of a color scale that starts at 2^first and has `per` steps per power of two. */
function scaleStep(n, first, per, steps) {
	const step = Math.round((Math.log2(n) - first) * per);
	return Math.max(0, Math.min(steps - 1, step));
}

/* A color "#rrggbb" as a pixel of an image, darkened for edges. */
function pixel(text, shade = 1) {
	const part = (from) => Math.round(parseInt(text.slice(from, from + 2), 16) * shade);
	return (0xff000000 | part(5) << 16 | part(3) << 8 | part(1)) >>> 0;
}

