#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# map_page.sh - the heap map's page in a real browser: it draws, zooms, hovers, and no name of a
# file becomes part of it. map_probe.js does what a person would.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

trace=$MAM_SRCDIR/tests/data/resnet50-train.trace.gz

browser=
for name in chromium chromium-browser google-chrome; do
	[ -z "$browser" ] && browser=$(command -v "$name")
done

# A page that says nothing of the sort asks nothing of a network: checked without a browser.
"$MAM" replay -q --map "$scratch/map.html" "$trace"
same "the page refers to nothing outside itself" "" \
	"$(grep -o -i -e 'https*:[^ ]*' -e 'src=[^ ]*' -e 'href=[^ ]*' -e '@import' -e 'url(' \
		"$scratch/map.html" | head -n 3)"

if [ -z "$browser" ]; then
	skip "the page in a browser" "there is no chromium"
	finish
fi

probe() # PAGE SETTINGS - what the page says after the probe's hands were on it
{
	{
		cat "$1"
		echo "<script>$2"
		cat "$MAM_SRCDIR/tests/tools/map_probe.js"
		echo "</script>"
	} > "$scratch/probed.html"
	HOME=$scratch timeout 100 "$browser" --headless --no-sandbox --disable-gpu \
		--window-size=1400,900 --virtual-time-budget=5000 --dump-dom \
		"file://$scratch/probed.html" 2> "$scratch/log" |
		sed -n '/<pre id="probe"/,/<\/pre>/p' | sed 's/<[^>]*>//g' > "$scratch/said"
	if ! [ -s "$scratch/said" ]; then
		probe_trouble=$(grep -o 'CONSOLE.*' "$scratch/log" | head -n 1)
		return 1
	fi
}

said() # KEY
{
	sed -n "s/^$1=//p" "$scratch/said"
}

# First of all: does this browser start here at all?
echo '<html><body>works</body></html>' > "$scratch/plain.html"
if ! HOME=$scratch timeout 100 "$browser" --headless --no-sandbox --disable-gpu --dump-dom \
	"file://$scratch/plain.html" 2> /dev/null | grep -q works; then
	skip "the page in a browser" "$browser does not start here"
	finish
fi

if probe "$scratch/map.html" ""; then
	same "all blocks are drawn" 18849 "$(said drawn)"
	same "the view begins as the whole" "0 37695 0" "$(said whole | cut -d ' ' -f 1-3)"
	zoomed=$(said zoomed)
	same "the wheel narrows the time" yes "$(said zoomed | awk '{ print ($2 - $1 < 37695 / 10) ? "yes" : $0 }')"
	same "the wheel narrows the addresses" yes \
		"$(echo "$(said whole) $zoomed" | awk '{ print ($8 - $7 < ($4 - $3) / 10) ? "yes" : $0 }')"
	same "what is out of sight is not drawn" yes \
		"$(said zoomed-drawn | awk '{ print ($1 < 18849 / 4) ? "yes" : $0 }')"
	same "key 0 shows the whole again" "$(said whole)" "$(said again)"
else
	not_ok "the page is drawn" "no answer from it: $probe_trouble"
fi

# One block as large as the map: wherever one points, it is there, with all that is known of it.
printf 'a 18446744073709551615 1000000 3\na 2 0 0\na 5 99999999999999 0\n' > "$scratch/one.trace"
"$MAM" replay -q --map "$scratch/one.html" "$scratch/one.trace"
if probe "$scratch/one.html" "window.probeWheels = 0;"; then
	same "a block is found under the pointer, its id exact" 18446744073709551615 "$(said hover)"
	same "the tip tells of it" \
		"asked for 976.56 KiB (1,000,000 B) takes 977.00 KiB born event 0 died never" \
		"$(said tip | grep -o 'asked.*never')"
	same "the tip tells its stream" "stream 3" "$(said tip | grep -o 'stream .*')"
else
	not_ok "one block is drawn" "no answer from it: $probe_trouble"
fi

# Nothing of a name is obeyed.
evil=$scratch/'<img src=x onerror=alerted=1>"&.trace'
cp "$scratch/one.trace" "$evil"
"$MAM" replay -q --map "$scratch/evil.html" "$evil"
if probe "$scratch/evil.html" ""; then
	same "markup in a file's name is harmless" none "$(said alert)"
	same "and the page is whole" 1 "$(said drawn)"
else
	not_ok "a page with markup in its name is drawn" "no answer from it: $probe_trouble"
fi

printf '' > "$scratch/empty.trace"
"$MAM" replay -q --map "$scratch/empty.html" "$scratch/empty.trace"
if probe "$scratch/empty.html" ""; then
	same "an empty trace is an empty page" 0 "$(said drawn)"
else
	not_ok "an empty trace is drawn" "no answer from it: $probe_trouble"
fi
finish
