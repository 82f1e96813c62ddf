#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# map_still.sh - the stills of the heap map: each of the six views is well-formed and shows what a
# reckoning by awk says of a small trace, whatever the trace and its name are.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

cd "$scratch" || exit 99
real=$MAM_SRCDIR/tests/data/resnet50-train.trace.gz

is_xml() # FILE
{
	if command -v xmllint > /dev/null 2>&1; then
		xmllint --noout "$1"
	else
		python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$1"
	fi
}

can_read=yes
echo '<a/>' > probe.xml
is_xml probe.xml > log 2>&1 || can_read=no

draw() # NAME FILE ARGUMENT... - a still that is drawn, and that a reader of XML takes
{
	draw_name=$1
	draw_file=$2
	shift 2
	if ! "$MAM" replay -q --map "$draw_file" "$@" > log 2>&1; then
		not_ok "$draw_name" "$(lib_tail log)"
	elif [ $can_read = no ]; then
		skip "$draw_name: well-formed" "neither xmllint nor python3 is here"
	else
		try "$draw_name: well-formed" is_xml "$draw_file"
	fi
}

texts() # FILE - each text of it on a line
{
	sed -n 's/.*<text[^>]*>\(.*\)<\/text>.*/\1/p' "$1"
}

says() # NAME FILE TEXT - is it one of its texts?
{
	if texts "$2" | grep -q -x -F -e "$3"; then
		ok "$1"
	else
		not_ok "$1" "no text '$3' in: $(texts "$2" | tr '\n' '|' | cut -c 1-400)"
	fi
}

moves() # FILE PATTERN - how many stretches the paths on such lines have
{
	grep -e "$2" "$1" | sed 's/.* d="//; s/"\/>.*//' | tr -cd M | wc -c | tr -d ' '
}

refused() # NAME WORD ARGUMENT... - status 2, one sentence with the word in it, and no file
{
	refused_name=$1
	refused_word=$2
	shift 2
	"$MAM" replay -q "$@" > log 2>&1
	status=$?
	if [ $status -eq 2 ] && [ "$(wc -l < log)" -eq 1 ] && grep -q -e "$refused_word" log &&
		[ ! -e no.svg ]; then
		ok "$refused_name"
	else
		not_ok "$refused_name" "status $status: $(lib_tail log)"
	fi
}

# ---- a small trace, of which all is known: blocks lie one behind the other, and some go ----

awk 'BEGIN {
	for (i = 0; i < 60; i++)
		print "a", i, (i % 7 + 1) * 262144, i % 11
	for (i = 3; i < 60; i++)
		if (i % 5 == 0 || i % 5 == 1 || i % 13 == 0)
			print "f", i
}' > small.trace
awk '
	function human(n) { return n < 1048576 ? sprintf("%.2f KiB", n / 1024) : sprintf("%.2f MiB", n / 1048576) }
	$1 == "a" { at[$2] = top; bytes[$2] = $3; top += $3; n++; live[$2] = 1; used[$4]++; held[$4] += $3 }
	$1 == "f" { live[$2] = 0 }
	END {
		for (i = 0; i < n; i++) {
			if (!live[i])
				continue
			if (at[i] > end) {
				free_blocks++
				sum += at[i] - end
				if (at[i] - end > most) { most = at[i] - end; where = end }
			}
			end = at[i] + bytes[i]
			kept++
			all += bytes[i]
		}
		for (s in used)
			streams++
		for (s = 8; s < streams; s++) {
			rest += held[s]
			rest_blocks += used[s]
		}
		print "first=\"stream 0: " used[0] " blocks, " human(held[0]) " at the peak\""
		print "others=\"3 others: " rest_blocks " blocks, " human(rest) " at the peak\""
		print "free_blocks=" free_blocks "; free_block_bytes=\"" human(sum) "\"; largest=\"" human(most) "\""
		print "where=" where "; live=\"" human(all) " in " kept " blocks\"; streams=" streams
		printf "outside=\"%.1f %%\"; part=\"%.1f %%\"\n", 100 - 100 * most / sum, 100 * sum / (sum + all)
	}' small.trace > known
. ./known
events=$(wc -l < small.trace | tr -d ' ')

draw "the strip of an event" strip.svg --export small.json --view strip --at $((events - 1)) small.trace
base=$(grep -o '0x[0-9a-f]*' small.json | sort | head -n 1)
says "its live blocks" strip.svg "$live"
same "its free blocks, in words" "$free_blocks" "$(texts strip.svg | awk '/^[0-9]+$/ && !found { print; found = 1 }')"
same "a tick for each free block" "$free_blocks" "$(moves strip.svg 'class="bad" stroke-width="3"')"
same "each free block is hatched" "$free_blocks" "$(moves strip.svg 'url(#free_blocks)')"
says "bytes in free blocks" strip.svg "$free_block_bytes"
says "of free bytes, outside the largest" strip.svg "$outside"
says "fragmentation" strip.svg "$part"
says "the largest free block by size and address" strip.svg \
	"$(printf 'largest free block %s at 0x%x' "$largest" $((base + where)))"
draw "the strip without an event" peak.svg --view strip small.trace
says "is that of the peak" peak.svg \
	"after event 59 of $events, the peak of live bytes; free blocks are hatched, each with a tick below"
draw "the strip of the first event" first.svg --view strip --at 0 small.trace
says "has one block" first.svg "256.00 KiB in 1 block"
says "and no free block" first.svg "none"

draw "blocks by size" size.svg small.trace
same "a rectangle a block" 60 "$(($(moves size.svg 'fill="#.* d="M') - $(moves size.svg 'h[0-9.]*v10h-')))"
draw "blocks by stream" stream.svg --view stream small.trace
same "eight streams have a name, and the others one" \
	"8 1" "$(texts stream.svg | grep -c '^stream [0-9]*: ') $(texts stream.svg | grep -c '^3 others: ')"
says "the first with its blocks and bytes" stream.svg "$first"
says "the others with theirs" stream.svg "$others"
same "which are all blocks" "60 $streams" "$(texts stream.svg | awk '
	/ blocks, / { sub(/^.*: /, ""); sum += $1; n++ } END { print sum, n + 2 }')"
draw "blocks by thread, unknown" unknown.svg --view thread small.trace
says "and that is said" unknown.svg "The trace does not record which thread allocated a block."
draw "blocks by age" age.svg --view age small.trace
says "what was never freed has a name" age.svg "never freed"
draw "the curves" curves.svg --view curves small.trace
says "name the peak" curves.svg "peak: 58.50 MiB at event 59"
same "of a made-up chunk nobody reserved anything" "live, at most 58.50 MiB high water, at most 58.50 MiB " \
	"$(texts curves.svg | grep ', at most' | tr '\n' ' ')"
draw "the curves of vmm" mapped.svg --view curves --source vmm --simulate small.trace
says "have what is reserved" mapped.svg "reserved, all physical, at most 60.00 MiB"
"$MAM" replay -q --export small.pickle small.trace
draw "the curves with a program's own pool" recorded.svg --view curves small.pickle
says "name it" recorded.svg "program&#39;s own pool, at most: 58.50 MiB"

awk '{ $0 = $0 " t=" NR * 1000000; if ($1 == "a") $0 = $0 " thread=" $2 % 2; print }' small.trace > told.trace
draw "blocks by thread" thread.svg --view thread told.trace
same "two threads" "thread 0: 30 blocks thread 1: 30 blocks " \
	"$(texts thread.svg | sed -n 's/^\(thread .*blocks\),.*/\1/p' | tr '\n' ' ')"
draw "time along it" time.svg --time --view size,curves told.trace
says "with its unit" time.svg "time since the first event (ms)"

# ---- any trace ----

: > empty.trace
draw "all views of an empty trace" empty.svg --view all empty.trace
draw "all views where nothing fits" failed.svg --view all --chunk 128K small.trace
says "failures are counted" failed.svg "failed: 60"
same "and marked: in four maps and in the curves" 300 "$(moves failed.svg 'class="bad" d="M[0-9. ]*v-6')"
draw "all views of several chunks" chunks.svg --view all --chunk 8M --growth 8M small.trace
says "chunks are named in the strip" chunks.svg "chunk 2"
draw "all views of vmm" vmm.svg --view all --source vmm --simulate small.trace
says "memory idle is told" vmm.svg "memory idle"
draw "all views of a real trace" real.svg --view all "$real"
same "in at most a megabyte" yes "$([ "$(wc -c < real.svg)" -lt 1000000 ] && echo yes || wc -c < real.svg)"
same "of six names" 6 "$(grep -c 'class="name" [^>]*>[A-Z][a-z]*: ' real.svg)"
same "no script" 0 "$(grep -c -i -e '<script' -e 'onload' -e 'href' real.svg)"

# Short lives, one in each cell of the map: as much as a picture can have.
awk 'BEGIN {
	for (i = 0; i < 60000; i++) {
		print "a", i, (i * 7919 % 1000 + 1) * 4096, i % 20
		if (i >= 400)
			print "f", (i - 400)
	}
}' > many.trace
draw "one view of a long trace" many.svg --view stream many.trace
same "in a few hundred KiB" yes "$([ "$(wc -c < many.svg)" -lt 500000 ] && echo yes || wc -c < many.svg)"

# ---- names ----

odd=$(printf '<b>&"c"\303\050\302\233\342\200\256\001\303\251.trace')
cp small.trace "./$odd"
draw "a name of any bytes" odd.svg --view all "./$odd"
says "is text alone" odd.svg "&#60;b&#62;&#38;&#34;c&#34;?(???$(printf '\303\251')"

# ---- what cannot be ----

refused "a view nobody knows" "'heap'" --map no.svg --view size,heap small.trace
refused "no view at all" "''" --map no.svg --view '' small.trace
refused "a view twice" twice --map no.svg --view size,strip,size small.trace
refused "a view without a map" --map --view size small.trace
refused "a view of a page" FILE.svg --map no.html --view size small.trace
refused "an event without the strip" 'view strip' --map no.svg --view size --at 3 small.trace
refused "an event that is none" "'-1'" --map no.svg --view strip --at=-1 small.trace
refused "an event beyond the last" "$((events - 1))" --map no.svg --view strip --at "$events" small.trace
refused "an event of none" '--at requires an event' --map no.svg --view strip --at 0 empty.trace
refused "time that nobody told" '--time requires times' --map no.svg --time small.trace
refused "time along the strip" strip --map no.svg --time --view strip told.trace

finish
