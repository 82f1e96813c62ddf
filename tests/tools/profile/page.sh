#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# page.sh - the page of a profile in a real browser: its graph, table and tips have the numbers of
# `mam profile`, a click zooms, a drag compares two moments, a link keeps the view, and no name of a
# profile is interpreted. The still has the same layout.

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "${MAM_SRCDIR:-.}/tests/tools/map/map_browser.sh"

run=$scratch/train.mam
awk -f "$MAM_SRCDIR/tests/tools/profile/page_trace.awk" /dev/null > "$run"

"$MAM" profile -o "$scratch/run.html" "$run"
same "the page refers to nothing outside itself" "" \
	"$(grep -o -i -e 'https*:[^ ]*' -e 'src=[^ ]*' -e 'href=[^ ]*' -e '@import' -e 'url(' \
		"$scratch/run.html" | head -n 3)"

# ---- the still, without a browser ----

is_xml() # FILE
{
	if command -v xmllint > /dev/null 2>&1; then
		xmllint --noout "$1"
	else
		python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$1"
	fi
}

"$MAM" profile -o "$scratch/run.svg" "$run"
try "a still is well-formed" is_xml "$scratch/run.svg"
tip() # TEXT - its numbers in the still
{
	sed -n "s/.*<title>$1: \(.*\)<\/title>.*/\1/p" "$scratch/run.svg"
}
same "it has the peak's frames with bytes and shares" "240.00 MiB, 25.4 %; 288.00 MiB, 30.5 %" \
	"$(tip 'MLP.forward (model.py:35)'); $(tip optimizer)"
same "it is the picture of docs/profile.md" same \
	"$(cmp -s "$scratch/run.svg" "$MAM_SRCDIR/tests/data/profile.svg" && echo same || echo differs)"
"$MAM" profile --diff 0.0004 --at peak -o "$scratch/growth.svg" "$run"
try "a difference is well-formed" is_xml "$scratch/growth.svg"
same "what grew is red" '#ef6a5b' \
	"$(sed -n 's/.*fill="\([^"]*\)"><title>optimizer:.*/\1/p' "$scratch/growth.svg")"

# Names of any bytes: markup, quotes, control characters, marks of direction, invalid UTF-8, length.
name=0
{
	for text in '</script><script>alerted=1</script>' '<img%20src=x%20onerror=alerted=1>' \
		"\"'\\\`\${alerted=1}" 'a%01b%1b[31mc%0aq' '%e2%80%aeevil.py%e2%80%8f' '%ff%fe%c3%28%20bad' \
		'%e2%80%a8line' '<!--' '__proto__' 'constructor' '%d7%a9%d7%9c' '@SUMMARY@%20&amp;' \
		"$(awk 'BEGIN { while (n++ < 1200) printf "x" }')"; do
		name=$((name + 1))
		printf '#frame %d %d python 7 %s %s\n' $name $((name % 5 ? name - 1 : 0)) "$text" "$text"
		printf 'a %d %d 0 stack=%d tag=%s\n' $name $((name * 1000000)) $name "$text"
	done
} > "$scratch/evil.mam"
"$MAM" profile -o "$scratch/evil.svg" "$scratch/evil.mam"
try "a still of hostile names is well-formed" is_xml "$scratch/evil.svg"
same "and has no script" 0 "$(grep -c -i -e '<script' -e '<img' "$scratch/evil.svg")"

need_browser

probe "a page is drawn" "$scratch/run.html" <<- 'END'
	settle();
	say("view", page.dataset.view);
	say("shown", text("shown"));
	say("drawn", page.dataset.drawn);
	say("rects", flameLayout(shown.width, 0, 1160).map((rect) => rect.x.toFixed(1) + "+" +
		rect.width.toFixed(1)).sort());
	say("sites", page.dataset.sites);
	const cells = (row) => [...document.querySelectorAll("#sites tbody tr")[row].cells]
		.map((one) => one.innerText).slice(1);
	say("first", cells(0));
	byId("sort-total").click();
	settle();
	say("total", page.dataset.sites);
	byId("sort-own").click();

	/* The first row above the root: all of Python, and the tag. */
	const y = (row) => 1 - (row + 0.5) * ROW / figure.clientHeight;
	hand("pointermove", 0.9, y(1));
	say("hover", page.dataset.hover);
	say("tip", text("tip"));
	hand("pointerleave", 0.9, y(1));
	say("gone", byId("tip").hidden);
	hand("click", 0.9, y(1));
	settle();
	say("zoomed", page.dataset.top);
	say("crumbs", text("crumbs"));
	say("zoomed-sites", page.dataset.sites);
	hand("click", 0.5, y(0));
	settle();
	say("out", page.dataset.top || "all");

	figure.focus();
	for (const name of ["ArrowUp", "ArrowUp", "ArrowRight", "ArrowUp"])
		key(name);
	say("focus", page.dataset.focus);
	say("spoken", byId("cursor").textContent);
	key("Enter");
	settle();
	say("entered", page.dataset.top);
	key("0");
	settle();
	const rows = () => [...new Set(rects.map((rect) => nameOf(nodes.frame[rect.place])))].join();
	key("v");
	settle();
	say("python", rows().includes("libtorch") + " " + linkText() + " " +
		byId("native").getAttribute("aria-pressed"));
	byId("native").click();
	settle();
	say("native", rows().includes("libtorch") + " " + linkText());
	zoomTo(nodes.frame.findIndex((frame) => nameOf(frame) === "optimizer"));
	settle();
	key("i");
	settle();
	say("icicle", page.dataset.view.split(" ")[1] + " " + page.dataset.top);
	key("0");

	search("model.py");
	settle();
	say("found", text("found"));
	say("lit", page.dataset.sites);
	key("n");
	say("match", page.dataset.focus);
	key("Escape");
	settle();
	say("cleared", text("found") || "nothing");
END
same "as at the peak of live bytes" "Live at the peak, 4.300 ms (event 276): 945.00 MiB in 36 blocks" \
	"$(said shown)"
same "it has the rectangles of the still" "$(said rects)" \
	"$(sed -n 's/.*<rect x="\([0-9.]*\)" y="[0-9.]*" width="\([0-9.]*\)" .*<title>.*/\1 \2/p' \
		"$scratch/run.svg" | awk '{ printf "%.1f+%.1f\n", $1 - 20, $2 + 1 }' | LC_ALL=C sort | paste -s -d , -)"
same "the table has the places of the text" \
	"$("$MAM" profile "$run" | awk '/^Live at/ { on = 1 } on && / MiB / { print $5 } on && !NF { exit }' |
		head -n 5 | paste -s -d , -)" "$(said sites)"
same "with bytes and shares" "288.00 MiB,30.5 %,288.00 MiB,30.5 %" "$(said first)"
same "sorted by total, callers are first" "<module>,main" "$(said total | cut -d , -f 1-2)"
same "a frame is found under the pointer" optimizer "$(said hover)"
same "the tip has its numbers" \
	"optimizer live 288.00 MiB in 6 blocks share 30.5 % lifetime none was freed" "$(said tip)"
same "without a pointer it is gone" true "$(said gone)"
same "a click zooms to a frame" "optimizer all optimizer" "$(said zoomed) $(said crumbs | sed 's/ . / /')"
same "the table follows" "Adam.step" "$(said zoomed-sites | cut -d , -f 1)"
same "a click on the first frame zooms out" all "$(said out)"
same "arrows choose a frame" "<module>" "$(said focus)"
same "which is read aloud" "<module>, /home/u/train.py:210, live 288.00 MiB in 6 blocks" \
	"$(said spoken | cut -d , -f 1-3)"
same "Enter zooms to it, Backspace zooms out" "<module>; icicle optimizer" \
	"$(said entered); $(said icicle)"
same "native functions that Python calls are hidden" "false #native=hidden false" "$(said python)"
same "and shown again" "true" "$(said native | sed 's/ *$//')"
same "a search has its share" "47.0 % matches" "$(said found)"
same "and the table what matches" "MLP.forward,Attention.forward,LayerNorm.forward" \
	"$(said lit | cut -d , -f 1-3)"
same "keys go to the matches, Escape ends the search" "GPT.forward nothing" \
	"$(said match) $(said cleared)"

probe "moments are chosen" "$scratch/run.html" <<- 'END'
	const at = (moment) => xOf(moment) / timeline.clientWidth;
	const press = (name, moment) => hand(name, at(moment), 0.5, {}, timeline);
	settle();
	press("pointerdown", 40);
	press("pointerup", 40);
	settle();
	say("clicked", view.moment);
	say("bytes", shown.width[0]);
	say("moment", moments.bytes[40]);
	press("pointerdown", 30);
	press("pointermove", 100);
	press("pointerup", 100);
	settle();
	say("drag", `${view.from} ${view.moment}`);
	say("net", shown.net[0] === moments.bytes[100] - moments.bytes[30]);
	say("least", shown.width[0] >= Math.abs(shown.net[0]));
	const place = nodes.frame.findIndex((frame) => nameOf(frame) === "optimizer");
	say("new", signed(shown.net[place], bytesOf));
	say("first", document.querySelector("#sites tbody td").innerText);
	say("link", linkText());
	timeline.focus();
	key("ArrowRight", { shiftKey: true });
	settle();
	say("longer", `${view.from} ${view.moment}`);
	say("value", timeline.getAttribute("aria-valuenow"));
	key("Escape");
	settle();
	say("single", view.from);
	for (const name of ["End", "p", ","])
		key(name);
	settle();
	say("keyed", view.moment === meta.peak - 1);
	const sum = (name, by) => {
		key(by);
		settle();
		return `${page.dataset.view.split(" ")[0]} ${measures[view.by].say(shown.width[0])}`;
	};
	say("measures", [1, 2, 3, 4, 5].map((by) => sum("", String(by))).slice(2, 4));
	key("m");
	settle();
	say("legend", text("legend"));
	key("t");
	say("theme", page.dataset.theme);
END
same "a click shows its moment" "40 $(said moment)" "$(said clicked) $(said bytes)"
same "a drag compares two" "30 100" "$(said drag)"
same "the difference is that of the timeline" "true true" "$(said net) $(said least)"
same "a frame that is new has grown by all it has" "+288.00 MiB" "$(said new)"
same "the table has the change" "+288.00 MiB" "$(said first)"
same "keys lengthen the comparison" "30 101 101" "$(said longer) $(said value)"
same "and end it" -1 "$(said single)"
same "keys step through moments" true "$(said keyed)"
same "all allocations can be measured" "allocated 3.92 GiB,allocations 162 blocks" "$(said measures)"
same "modules have a color each" yes "$(case $(said legend) in
	*model.py*libc10_cuda.so* | *libc10_cuda.so*model.py*) echo yes ;; *) said legend ;; esac)"
link=$(said link)
same "the link has both" "#at=100&from=30" "$link"

probe "a link is followed" "$scratch/run.html" "$link&graph=icicle&color=module&q=adam&theme=dark" <<- 'END'
	settle();
	say("state", facts("view", "theme"));
	say("query", view.query);
	location.hash = "#at=x&from=1e9&by=__proto__&graph=%3Cb%3E&top=99999&only=77&theme=<b>&sort=constructor";
	window.dispatchEvent(new Event("hashchange"));
	settle();
	say("bad", page.dataset.view);
	say("wide", page.scrollWidth <= window.innerWidth);
END
same "to the same view" "bytes icicle module 100 30 -1 dark adam" "$(said state) $(said query)"
yes "one of nonsense shows the start" '$1 == "bytes" && $2 == "flame" && $3 == "kind" && $5 == -1' \
	"$(said bad)"

"$MAM" profile -o "$scratch/evil.html" "$scratch/evil.mam"
probe "hostile names are drawn" "$scratch/evil.html" "#color=module" 390,844 <<- 'END'
	settle();
	for (const graph of ["i", "i", "m", "m"])
		key(graph);
	for (let y = 0.02; y < 1; y += 0.06)
		for (let x = 0.01; x < 1; x += 0.1)
			hand("pointermove", x, y);
	for (const button of document.querySelectorAll("#sites tbody button")) {
		button.click();
		settle();
	}
	key("Escape");
	settle();
	say("images", document.images.length);
	say("scripts", document.scripts.length);
	say("odd", /[\u0000-\u001f\u200e\u200f\u202a-\u202e]/.test(names.join("")));
	say("markup", names.includes("<\/script><script>alerted=1<\/script>"));
	say("wide", page.scrollWidth <= window.innerWidth);
END
same "none is interpreted" "none 0 false true" \
	"$(said alert) $(said images) $(said odd) $(said markup)"
same "the page is no wider than a phone" true "$(said wide)"

printf '#frame %s\n' '1 0 python 1 a.py f' '2 1 python 2 a.py g' '3 2 python 1 a.py f' > "$scratch/again.mam"
printf 'a 1 1000 0 stack=3\na 2 500 0 stack=1\n' >> "$scratch/again.mam"
"$MAM" profile -o "$scratch/again.html" "$scratch/again.mam"
probe "a recursion is drawn" "$scratch/again.html" <<- 'END'
	settle();
	say("rows", [...document.querySelectorAll("#sites tbody tr")].map((row) => row.innerText));
END
same "a recursive frame counts once" "fa.py:1 1.46 KiB 100.0 % 1.46 KiB 100.0 %" \
	"$(said rows | sed 's/,ga.py.*//')"

: > "$scratch/empty.mam"
"$MAM" profile -o "$scratch/empty.html" "$scratch/empty.mam"
probe "an empty profile is drawn" "$scratch/empty.html" <<- 'END'
	settle();
	for (const name of ["2", "5", "1", "i", "m", ">", "p", "n", "0", "Escape"])
		key(name);
	hand("pointermove", 0.5, 0.5);
	hand("click", 0.5, 0.5);
	settle();
	say("drawn", page.dataset.drawn);
END
same "with nothing in it" 0 "$(said drawn)"

# 200,000 nodes: opened in three seconds where nothing else runs.
awk 'BEGIN {
	srand(4)
	for (i = 1; i <= 200000; i++) {
		parent = i < 20 ? i - 1 : i - 1 - int(rand() * (i < 900 ? i : 900))
		print "#frame", i, parent, "python", i % 4000, "/src/file" i % 90 ".py", "function_" i % 4000
		print "a", i, int(exp(rand() * 9 + 9)), "0 t=" i * 1000, "stack=" i
		if (i > 5000)
			print "f", i - 5000, "t=" i * 1000 + 500
	}
}' > "$scratch/large.mam"
"$MAM" profile -o "$scratch/large.html" "$scratch/large.mam"
probe "a page of 200,000 nodes is drawn" "$scratch/large.html" <<- 'END'
	settle();
	say("open", page.dataset.openMs);
	say("nodes", meta.nodes);
	const timed = (times, act) => {
		const from = performance.now();
		for (let i = 0; i < times; i++) {
			act(i);
			settle();
		}
		return ((performance.now() - from) / times).toFixed(1);
	};
	say("moment", timed(5, () => key(",")));
	say("hover", timed(10, (i) => hand("pointermove", 0.1 + i / 20, 0.5)));
	say("search", timed(3, (i) => search("function_" + i)));
END
echo "# 200,000 nodes: open $(said open) ms, a moment $(said moment) ms, hover $(said hover) ms," \
	"a search $(said search) ms"
same "all of them are in it" 200001 "$(said nodes)"
yes "it opens in time" '$1 > 0 && $1 < 9000' "$(said open)"
yes "its frames are fast" '$1 < 2000 && $2 < 1000 && $3 < 2000' \
	"$(said moment) $(said hover) $(said search)"
finish
