#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# map_page.sh - the heap map's page in a real browser: it draws, zooms, hovers, colours, shows the
# heap at any event, keeps a view in its link, and no text of a trace becomes part of it.
# map_probe.js has the hands.

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "${MAM_SRCDIR:-.}/tests/tools/map/map_browser.sh"

trace=$MAM_SRCDIR/tests/data/resnet50-train.trace.gz

# A page that says nothing of the sort asks nothing of a network: checked without a browser.
"$MAM" replay -q --map "$scratch/map.html" "$trace"
same "the page refers to nothing outside itself" "" \
	"$(grep -o -i -e 'https*:[^ ]*' -e 'src=[^ ]*' -e 'href=[^ ]*' -e '@import' -e 'url(' \
		"$scratch/map.html" | head -n 3)"

need_browser

probe "a page is drawn" "$scratch/map.html" <<- 'END'
	say("drawn", page.dataset.drawn);
	say("whole", page.dataset.view);
	say("moment", facts("event", "free_blocks", "freeBlockBytes", "largestFreeBlock"));
	for (let i = 0; i < 6; i++)
		hand("wheel", 0.5, 0.5, { deltaY: -240 });
	say("zoomed", page.dataset.view);
	say("zoomed-drawn", page.dataset.drawn);
	const [t0, t1, a0, a1] = [view.t0, view.t1, view.a0, view.a1];
	say("inside", [...blocks.birth.keys()].filter((i) => blocks.birth[i] < t1 &&
		blocks.death[i] > t0 && blocks.place[i] < a1 && blocks.end[i] > a0).length);
	hand("pointerdown", 0.5, 0.5);
	hand("pointermove", 0.4, 0.5);
	hand("pointerup", 0.4, 0.5);
	say("dragged", page.dataset.view);
	say("still", page.dataset.event);
	key("0");
	say("again", page.dataset.view);
	hand("pointerdown", 0.4, 0.2, { shiftKey: true });
	hand("pointermove", 0.3, 0.4);
	hand("pointerup", 0.3, 0.4);
	say("framed", page.dataset.view);
	key("0");
	say("why", document.querySelector("[value=thread]").parentNode.title);
	key("3");
	say("coloring", page.dataset.coloring);
END
same "all blocks are drawn" 18849 "$(said drawn)"
same "the view begins as the whole" "0 37695 0" "$(said whole | cut -d ' ' -f 1-3)"
yes "the wheel narrows events and addresses" '$2 - $1 < 3769 && $4 - $3 < 400e6' "$(said zoomed)"
same "what is out of sight is not drawn" "$(said inside)" "$(said zoomed-drawn)"
yes "dragging moves the window and no more" '$5 > $1 + 10 && $3 == $7 && $6 - $5 - ($2 - $1) < 2' \
	"$(said zoomed) $(said dragged)"
same "dragging leaves the event alone" "$(said moment | cut -d ' ' -f 1)" "$(said still)"
same "key 0 shows the whole again" "$(said whole)" "$(said again)"
yes "a rectangle drawn with Shift becomes the window" \
	'$2 < 37695 * 0.45 && $2 - $1 > 37695 * 0.1 && $2 - $1 < 37695 * 0.15 && $3 > 5e8 && $4 > $3' \
	"$(said framed)"
same "at the peak the strip counts the pool's free blocks" \
	"$("$MAM" replay -p "$trace" | awk '/^(free_block|largest_free_block).*peak/ { printf " %s", $2 }')" \
	" $(said moment | cut -d ' ' -f 2-)"
same "what a trace does not tell is no choice, and why is said" \
	"The trace does not record which thread allocated a block; size" \
	"$(said why); $(said coloring)"

# One block as large as the map: wherever one points, it is there, with all that is known of it.
printf 'a 18446744073709551615 1000000 3 t=5000 thread=7 who=conv%%201\na 2 0 0\n%s\n' \
	'a 5 99999999999999 0' > "$scratch/one.trace"
"$MAM" replay -q --map "$scratch/one.html" "$scratch/one.trace"
probe "a page of one block is drawn" "$scratch/one.html" <<- 'END'
	hand("pointermove", 0.5, 0.4);
	say("hover", page.dataset.hover);
	say("tip", text("tip"));
	hand("pointerleave", 0.5, 0.4);
	say("gone", document.getElementById("tip").hidden);
	key("n");
	say("picked", page.dataset.picked);
	const strip = document.getElementById("strip"), edges = strip.getBoundingClientRect();
	strip.dispatchEvent(new PointerEvent("pointermove", { clientX: edges.left + edges.width / 2,
		clientY: edges.top + 50 }));
	frame();
	say("strip", page.dataset.hover);
END
same "a block is found under the pointer, its id exact" 18446744073709551615 "$(said hover)"
same "the tip tells its size and life" \
	"requested 976.56 KiB (1,000,000 B) takes 977.00 KiB born event 0, 0 ns died never" \
	"$(said tip | grep -o 'requested.*never')"
same "the tip tells whose it is" "thread 7 stream 3 who conv 1" "$(said tip | grep -o 'thread .*')"
same "without a pointer it is gone" true "$(said gone)"
same "a key picks the block; in the strip it is found too" "$(said hover) $(said hover)" \
	"$(said picked) $(said strip)"

# Blocks laid one after the other, then some freed: awk knows where each lies.
awk 'BEGIN {
	srand(5)
	for (i = 0; i < 200; i++) {
		size[i] = int(rand() * 1000000) + 1
		print "a", i, size[i], i % 11, "thread=" int(i / 30), "who=site" i % 5
	}
	for (n = 0; n < 150; n++) {
		do i = int(rand() * 200); while (i in gone)
		gone[i]
		print "f", i
	}
}' > "$scratch/rows.trace"
free_blocks_at() # EVENT - count, bytes and largest of the free blocks, and the live bytes
{
	head -n $(($1 + 1)) "$scratch/rows.trace" | awk '
		$1 == "a" { order[++n] = $2; asked[$2] = $3; taken[$2] = int(($3 + 511) / 512) * 512 }
		$1 == "f" { gone[$2] }
		END {
			for (k = 1; k <= n; k++) {
				if (order[k] in gone) {
					run += taken[order[k]]
					continue
				}
				if (run) {
					free_blocks++
					bytes += run
					if (run > most)
						most = run
				}
				run = 0
				live += asked[order[k]]
			}
			print free_blocks + 0, bytes + 0, most + 0, live
		}'
}
"$MAM" replay -q --map "$scratch/rows.html" "$scratch/rows.trace"
probe "the heap at some events is counted" "$scratch/rows.html" <<- 'END'
	const slider = document.getElementById("event");
	for (const event of [100, 230, 301, 349]) {
		slider.value = event;
		slider.dispatchEvent(new Event("input"));
		frame();
		say(event, facts("free_blocks", "freeBlockBytes", "largestFreeBlock", "live"));
	}
	say("strip-349", picture("strip"));
	key(",");
	key(",");
	key(".");
	say("step", page.dataset.event);
	say("strip-348", picture("strip"));
	key("p");
	say("peak", page.dataset.event);
	key("n");
	key("n");
	key("N");
	say("picked", page.dataset.picked);
	key("Escape");
	say("loose", page.dataset.picked || "none");
	key("/");
	const word = document.activeElement;
	for (const text of ["77", "site3", "site3", "nobody"]) {
		word.value = text;
		key("Enter");
		say("found", facts("found", "picked", "event"));
	}
	key("5");
	key("Escape");
	say("typed", page.dataset.coloring + " " + (document.activeElement === place));
	click(0.9, 0.95);
	say("clicked", page.dataset.event);
	key("0");
	document.getElementById("event").value = 300;
	document.getElementById("event").oninput();
	frame();
	key("h");
	say("free_block", facts("view", "largestPlace", "largestFreeBlock"));
	key("0");
	for (const n of [1, 2, 3, 4, 5]) {
		key(String(n));
		say("map-" + n, picture("blocks"));
		say("strip-" + n, picture("strip"));
		say("legend-" + n, text("legend"));
		say("bytes-" + n, [...document.querySelectorAll("#legend .bytes")]
			.map((small) => small.innerText));
	}
	key("2");
	document.querySelector("#legend button").click();
	frame();
	say("map-only", picture("blocks"));
	key("t");
	say("theme", page.dataset.theme);
	key("?");
	say("help", document.getElementById("help").open + " " + text("help").includes("largest free block"));
	key("5");
	say("behind", page.dataset.coloring);
	key("?");
	say("closed", !document.getElementById("help").open);
	key("+");
	say("zoomed", page.dataset.view);
	say("link", await copyLink());
END
for event in 100 230 301 349; do
	same "the strip's free blocks after event $event are awk's" "$(free_blocks_at $event)" "$(said $event)"
done
same "keys step from event to event" 348 "$(said step)"
yes "another event is another strip" '$1 != $2' "$(said strip-349) $(said strip-348)"
same "key p goes to the peak" 199 "$(said peak)"
same "n and N pick blocks by address, Escape lets go" "0 none" "$(said picked) $(said loose)"
same "a block is found by its id or who asked for it, one after the other" \
	"77 77 77,78 78 78,83 83 83, 83 83" "$(said found | paste -s -d , -)"
same "what is typed there is no key" "size true" "$(said typed)"
yes "a click chooses the event there" '$1 > 300 && $1 < 345' "$(said clicked)"
yes "key h shows the largest free block" '$3 <= $5 && $4 >= $5 + $6 && $4 - $3 < $6 * 2' "$(said free_block)"
for what in map strip; do
	same "each colouring gives another picture of the $what" 5 \
		"$(sed -n "s/^$what-[1-5]=//p" "$scratch/said" | sort -u | wc -l | tr -d ' ')"
done
same "streams are named with their blocks, the rarest together" \
	"0 19 1 19 2 18 3 18 4 18 5 18 6 18 7 18 3 others 54" \
	"$(said legend-2 | sed 's/stream //g; s/ [0-9.]* MiB//g')"
same "so are the ones who asked" \
	"site0 40 site1 40 site2 40 site3 40 site4 40" "$(said legend-5 | sed 's/ [0-9.]* MiB//g')"
same "each with what it holds after the event" \
	"$(head -n 301 "$scratch/rows.trace" | awk '
		$1 == "a" { asked[$2] = $3 }
		$1 == "f" { delete asked[$2] }
		END {
			for (i in asked)
				sum[i % 5] += asked[i]
			for (i = 0; i < 5; i++)
				printf "%s%.1f MiB", i ? "," : "", sum[i] / 1048576
		}')" "$(said bytes-5)"
yes "a kind shown alone is another picture" '$1 != $2' "$(said map-only) $(said map-2)"
same "help opens by key, lets no other key through, and closes" "true true stream true" \
	"$(said help) $(said behind) $(said closed)"
hash=$(said link | sed 's/[^#]*//')
zoomed=$(said zoomed)
theme=$(said theme)

# A link shows the same again; one that says nothing sensible shows the page as it begins.
probe "a page is opened by its link" "$scratch/rows.html" "$hash" <<- 'END'
	say("state", facts("view", "coloring", "event", "theme"));
	say("only", document.querySelector("[aria-pressed=true]")?.innerText);
	location.hash = "#window=5,1,x,-3&by=__proto__&event=1e9&block=77777&only=40&theme=<b>";
	window.dispatchEvent(new Event("hashchange"));
	frame();
	say("bad", facts("view", "coloring", "event"));
	say("theme", ["light", "dark"].includes(page.dataset.theme));
	for (const edges of ["5,1,1000,3000", "1,5,3000,1000", "1,5,10", ",,,"]) {
		location.hash = "window=" + edges;
		window.dispatchEvent(new Event("hashchange"));
		frame();
		say("window", page.dataset.view);
	}
END
same "the link restores window, colouring, event and theme" "$zoomed stream 300 $theme" \
	"$(said state)"
same "and the kind shown alone" "stream 0 19" "$(said only | cut -d ' ' -f 1-3)"
same "so is a senseless window" "$(said bad | cut -d ' ' -f 1-4)" "$(said window | sort -u)"
same "a senseless link is passed over" "0 350 0 size 199 true" \
	"$(said bad | awk '{ print $1, $2, $3, $5, $6 }') $(said theme)"

# A quarter of a million events: opened in two seconds where nothing else runs.
awk 'BEGIN {
	srand(2)
	for (e = 0; e < 260000; e++)
		if (n < 500 || (n < 3000 && rand() < 0.5)) {
			held[n++] = e
			print "a", e, int(exp(rand() * 16)) + 1, e % 3
		} else {
			i = int(rand() * n)
			print "f", held[i]
			held[i] = held[--n]
		}
}' > "$scratch/large.trace"
"$MAM" replay -q -r 1 --map "$scratch/large.html" "$scratch/large.trace"
probe "a page of 260,000 events is drawn" "$scratch/large.html" <<- 'END'
	say("open", page.dataset.openMs);
	let worst = 0, sum = 0;
	for (let i = 0; i < 20; i++) {
		hand("wheel", 0.5, 0.5, { deltaY: i < 10 ? -100 : 100 });
		worst = Math.max(worst, Number(page.dataset.frameMs));
		sum += Number(page.dataset.frameMs);
	}
	say("frame", (sum / 20).toFixed(1));
	say("worst", worst);
	let at = performance.now();
	for (let i = 0; i < 20; i++)
		hand("pointermove", 0.2 + i / 40, 0.4);
	say("hover", ((performance.now() - at) / 20).toFixed(1));
	at = performance.now();
	for (let i = 0; i < 20; i++)
		key(">");
	say("step", ((performance.now() - at) / 20).toFixed(1));
END
echo "# 260,000 events: open $(said open) ms, a frame $(said frame) ms (worst $(said worst))," \
	"hover $(said hover) ms, a step of the strip $(said step) ms"
yes "it opens in time" '$1 > 0 && $1 < 6000' "$(said open)"
yes "its frames are fast" '$1 < 1000 && $2 < 1000 && $3 < 1000' \
	"$(said frame) $(said hover) $(said step)"
finish
