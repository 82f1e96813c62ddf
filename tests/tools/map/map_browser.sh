# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# map_browser.sh - what the tests of pages share: a browser, and hands in it. It comes behind lib.sh.
#
# Set here:  browser  its name; empty: there is none that starts

browser=
for name in chromium chromium-browser google-chrome; do
	[ -z "$browser" ] && browser=$(command -v "$name")
done

browse() # ARGUMENT...
{
	HOME=$scratch timeout 100 "$browser" --headless --no-sandbox --disable-gpu \
		--hide-scrollbars --dump-dom "$@" 2> "$scratch/log"
}

need_browser() # without one that starts here, the test ends
{
	if [ -z "$browser" ]; then
		skip "the page in a browser" "there is no chromium"
		finish
	fi
	echo '<html><body>works</body></html>' > "$scratch/plain.html"
	if ! browse "file://$scratch/plain.html" | grep -q works; then
		skip "the page in a browser" "$browser does not start here"
		finish
	fi
}

probe() # WHAT PAGE [HASH [SIZE]] < STEPS - what the page says when STEPS were done to it
{
	{
		cat "$2"
		echo "<script>"
		cat "$MAM_SRCDIR/tests/tools/map/map_probe.js"
		echo "probe(async () => {"
		cat
		echo "});</script>"
	} > "$scratch/probed.html"
	browse --window-size="${4:-1400,900}" "file://$scratch/probed.html${3:-}" |
		sed -n '/<pre id="probe"/,/<\/pre>/p' |
		sed 's/<[^>]*>//g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g' > "$scratch/said"
	if ! [ -s "$scratch/said" ]; then
		not_ok "$1" "no answer: $(grep -o 'CONSOLE.*' "$scratch/log" | head -n 1)"
	elif [ -n "$(said trouble)" ]; then
		not_ok "$1" "$(said trouble)"
	else
		ok "$1"
	fi
}

said() # KEY
{
	sed -n "s/^$1=//p" "$scratch/said"
}

yes() # NAME AWK-CONDITION WORDS - of the numbers in WORDS
{
	same "$1" yes "$(printf '%s\n' "$3" | awk "{ print ($2) ? \"yes\" : \"no: \" \$0 }")"
}
