# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# browser.sh - a real browser without a screen, for tests of pages. After lib.sh:
#
#	browser_start WHAT          ends the test with one skip line where there is none
#	probe WHAT PAGE < STEPS     ok when STEPS ran through; map_probe.js says what they may be
#	said KEY                    what they said
#	yes NAME CONDITION WORDS    awk's condition on WORDS
#
# A page's own look at what it refers to needs no browser: page_is_alone NAME PAGE.

browser=
for browser_name in chromium chromium-browser google-chrome; do
	[ -z "$browser" ] && browser=$(command -v "$browser_name")
done

page_is_alone() # NAME PAGE
{
	same "$1" "" "$(grep -o -i -e 'https*:[^ ]*' -e 'src=[^ ]*' -e 'href=[^ ]*' -e '@import' \
		-e 'url(' "$2" | head -n 3)"
}

browse() # ARGUMENT...
{
	HOME=$scratch timeout 100 "$browser" --headless --no-sandbox --disable-gpu \
		--hide-scrollbars --dump-dom "$@" 2> "$scratch/log"
}

# Whether a browser is there says little: does it start here at all?
browser_start() # WHAT
{
	if [ -z "$browser" ]; then
		skip "$1" "there is no chromium"
		finish
	fi
	echo '<html><body>works</body></html>' > "$scratch/plain.html"
	if ! browse "file://$scratch/plain.html" | grep -q works; then
		skip "$1" "$browser does not start here"
		finish
	fi
}

probe() # WHAT PAGE [HASH [SIZE]] < STEPS - what the page says when STEPS were done to it
{
	{
		cat "$2"
		echo "<script>"
		cat "$MAM_SRCDIR/tests/tools/map_probe.js"
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
