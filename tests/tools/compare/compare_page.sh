#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# compare_page.sh - a comparison's page in a real browser: its table sorts, its curves end where the
# table says, its maps zoom together and grow, a link keeps it all, and no name is obeyed.

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "${MAM_SRCDIR:-.}/tests/tools/map/map_browser.sh"

trace=$MAM_SRCDIR/tests/data/resnet50-train.trace.gz
page=$scratch/page.html

"$MAM" replay -p -r 1 --simulate --compare --map "$page" "$trace" > "$scratch/numbers"
same "a comparison refers to nothing outside itself" "" \
	"$(grep -o -i -e 'https*:[^ ]*' -e 'src=[^ ]*' -e 'href=[^ ]*' -e '@import' -e 'url(' \
		"$page" | head -n 3)"

# The still needs no browser to be looked through.
"$MAM" replay -q -r 1 --simulate --compare --map "$scratch/still.svg" "$trace"
same "a still has a curve for each setting that was played" 9 \
	"$(grep -c '<path class="curve s[0-9 a-z]*" d="M90 464H' "$scratch/still.svg")"
same "and names each" 10 "$(grep -c '<text class="[a-z]*" x="128"' "$scratch/still.svg")"
command -v xmllint > /dev/null && try "it is sound XML" xmllint --noout "$scratch/still.svg"

need_browser

probe "a comparison is drawn" "$page" <<- 'END'
	key("0");
	settle();
	say("drawn", page.dataset.drawn);
	say("view", page.dataset.view);
	say("given", page.dataset.order);
	const head = (key) => document.querySelector(`th[data-key=${key}] button`);
	head("needs").click();
	frame();
	say("sorted", page.dataset.order);
	say("aria", head("needs").parentNode.getAttribute("aria-sort"));
	head("needs").click();
	frame();
	say("down", page.dataset.order);
	head("needs").click();
	frame();
	say("unsorted", page.dataset.order);
	say("best", [...document.querySelectorAll("#table tr")].filter((row) =>
		row.cells[1].className === "best").map((row) => row.cells[1].innerText.trim()));
	say("choice", document.querySelector("#table em").parentNode.innerText.trim());

	const chart = document.getElementById("chart");
	const right = 1 - 25 / chart.clientWidth;
	hand("pointermove", right, 0.9, {}, chart);
	say("values", page.dataset.values);
	say("tip", text("tip"));
	hand("pointerleave", right, 0.9, {}, chart);
	say("gone", document.getElementById("tip").hidden);

	hand("wheel", 0.5, 0.5, { deltaY: -240 }, chart);
	say("scrolls", page.dataset.view);
	for (let i = 0; i < 4; i++)
		hand("wheel", 0.5, 0.5, { deltaY: -240, ctrlKey: true }, chart);
	settle();
	say("zoomed", page.dataset.view);
	say("zoomed-drawn", page.dataset.drawn);
	key("0");
	say("again", page.dataset.view);
END
same "all maps have all blocks" "18849 18849 18849 18849 18849 18849 18849 18849 18849" "$(said drawn)"
same "the view begins as the whole" "0 37695" "$(said view)"
same "rows are in the order of the settings" "0 1 2 3 4 5 6 7 8 9" "$(said given)"
same "a click sorts by what is needed" "$(awk -F '\t' '
	$1 == "setting" { i++ } $1 == "needed_ratio" { print $2, i - 1 }' "$scratch/numbers" |
	sort -n -k 1,1 -k 2,2 | cut -d ' ' -f 2 | tr '\n' ' ' | sed 's/ $//')" "$(said sorted)"
same "and says so" ascending "$(said aria)"
same "another one turns it" "$(awk -F '\t' '
	$1 == "setting" { i++ } $1 == "needed_ratio" { print $2, i - 1 }' "$scratch/numbers" |
	sort -k 1,1nr -k 2,2n | cut -d ' ' -f 2 | tr '\n' ' ' | sed 's/ $//')" "$(said down)"
same "a third one ends it" "0 1 2 3 4 5 6 7 8 9" "$(said unsorted)"
same "the least is set off" "1.002×,1.002×" "$(said best)"
same "the choice is marked" "$(sed -n 's/^choice	//p' "$scratch/numbers") choose" "$(said choice)"
same "curves end at what the table says" "" "$(awk -F '\t' '
	$1 == "setting" { i++ } $1 == "needed_bytes" { print i - 1 ":" $2 }' "$scratch/numbers" |
	head -n 9 | while read -r pair; do
		case " $(said values) " in *" $pair "*) ;; *) echo "$pair" ;; esac
	done)"
same "the tip names settings and the event" yes "$(case $(said tip) in
	*'vmm, cache 3.73 GiB'*'event 37,'*) echo yes ;; *) said tip ;; esac)"
same "without a pointer it is gone" true "$(said gone)"
same "the wheel alone scrolls" "0 37695" "$(said scrolls)"
yes "with Ctrl it narrows the time" '$2 - $1 < 37695 / 4 && $1 > 9000 && $2 < 28000' "$(said zoomed)"
yes "for all maps alike, where less is drawn" 'NF == 9 && $1 == $9 && $1 < 18849 / 2' \
	"$(said zoomed-drawn)"
same "key 0 shows all again" "0 37695" "$(said again)"

probe "hands on it" "$page" <<- 'END'
	key("0");
	settle();
	const maps = document.querySelectorAll(".map"), small = maps[3].querySelector(".figure");
	const before = small.clientHeight;
	hand("pointerdown", 0.5, 0.5, { button: 0 }, small);
	hand("pointerup", 0.5, 0.5, { button: 0 }, small);
	say("big", page.dataset.big);
	say("grew", small.clientHeight > 2 * before && small.clientWidth > 1200);
	key("Escape");
	say("small", page.dataset.big);
	small.focus();
	key("Enter");
	say("keyed", page.dataset.big);
	key("Escape");
	document.activeElement.blur();
	settle();
	hand("pointermove", 0.5, 0.97, {}, small);
	say("hover", page.dataset.hover);
	say("elsewhere", [...maps].map((map) => map.querySelector("p span").innerText).join(" / "));
	const chart = document.getElementById("chart");
	key("+");
	key("+");
	const from = page.dataset.view;
	hand("pointerdown", 0.5, 0.5, { button: 0 }, chart);
	hand("pointermove", 0.4, 0.5, {}, chart);
	hand("pointerup", 0.4, 0.5, {}, chart);
	say("dragged", `${from} ${page.dataset.view}`);
	say("stayed", page.dataset.big);
	key("2");
	key("7");
	key("t");
	document.querySelector("th[data-key=free_blocks] button").click();
	frame();
	say("off", page.dataset.off);
	say("gone", getComputedStyle(maps[1]).display);
	say("theme", page.dataset.theme);
	say("link", location.hash);
END
same "a click makes a map large" "3 true" "$(said big) $(said grew)"
same "Esc makes it small" -1 "$(said small)"
same "Enter does what a click does" 3 "$(said keyed)"
yes "a block under the pointer is found" '$1 ~ /^[0-9]+$/' "$(said hover)"
same "and shown in every map" 9 "$(said elsewhere | tr '/' '\n' | grep -c ' at 0x')"
yes "dragging moves the time and no more" '$3 > $1 + 10 && $4 - $3 - ($2 - $1) < 2 && $4 - $3 - ($2 - $1) > -2' "$(said dragged)"
same "a drag is no click" -1 "$(said stayed)"
same "keys switch settings off" "1 6 none" "$(said off) $(said gone)"
link=$(said link)
theme=$(said theme)
view=$(said dragged | cut -d ' ' -f 3-)
same "the link tells" "#t=$(echo "$view" | tr ' ' '-')&off=1.6&sort=free_blocks&theme=$theme" "$link"

probe "a link is followed" "$page" "$link&big=4" <<- 'END'
	say("state", facts("view", "off", "big", "theme"));
	say("order", page.dataset.order);
	key("t");
	say("other", page.dataset.theme);
END
same "to the same view" "$view 1 6 4 $theme" "$(said state)"
yes "and the same order" '$1 != 0' "$(said order)"
yes "light and dark are two" '$1 != $2' "$theme $(said other)"

probe "a link of nonsense" "$page" "#t=9-3&off=99.x&sort=__proto__&big=9&theme=%3Cb%3E" <<- 'END'
	say("state", facts("view", "off", "big", "order"));
END
same "is the whole" "0 37695 -1 0 1 2 3 4 5 6 7 8 9" "$(said state | tr -s ' ')"

# Nothing of a name is obeyed.
evil=$scratch/'<img src=x onerror=alerted=1>"&.trace'
printf 'a 18446744073709551615 1000000 3\na 2 0 0\na 5 99999999999999 0\n' > "$evil"
"$MAM" replay -q -r 1 --simulate --compare --map "$scratch/evil.html" "$evil"
probe "markup in a file's name is drawn" "$scratch/evil.html" <<- 'END'
	const map = document.querySelector(".map .figure");
	settle();
	hand("pointermove", 0.5, 0.9, {}, map);
	say("drawn", page.dataset.drawn);
	say("failed", document.querySelectorAll("#table td.bad").length);
	for (let y = 0.99; y > 0 && !page.dataset.hover; y -= 0.01)
		hand("pointermove", 0.5, y, {}, map);
	say("hover", page.dataset.hover);
END
same "and harmless" none "$(said alert)"
same "what failed is marked" 9 "$(said failed)"
same "an id of 64 bits is exact" 18446744073709551615 "$(said hover)"

: > "$scratch/empty.trace"
"$MAM" replay -q -r 1 --simulate --compare --map "$scratch/empty.html" "$scratch/empty.trace"
probe "a trace of nothing is a page" "$scratch/empty.html" <<- 'END'
	key("+");
	key("2");
	settle();
	say("drawn", page.dataset.drawn);
END
same "with nothing in it" "0 0 0 0 0 0 0 0 0" "$(said drawn)"
finish
