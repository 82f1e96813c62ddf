#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# map_odd.sh - the heap map's page of traces unlike others, in a real browser: texts that look like
# markup are harmless, and heaps of nothing, of failures, of many chunks and of one huge range of
# addresses are drawn.

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "${MAM_SRCDIR:-.}/tests/tools/map/map_browser.sh"

trace=$MAM_SRCDIR/tests/data/resnet50-train.trace.gz
need_browser

# Nothing of a name or a text is obeyed.
evil=$scratch/'<img src=x onerror=alerted=1>"&.trace'
mark='</script%20x><script>alerted=1</script%20x><img%20src=x%20onerror=alerted=1>'
ends=$(printf '\342\200\250"\\')
printf 'a 1 4096 0 who=%s\na 2 4096 0 who=%s\na 3 4096 0 who=<!--%%01%%ff\nf 2\n' \
	"$mark" "x$ends" > "$evil"
"$MAM" replay -q --map "$scratch/evil.html" "$evil"
probe "a page with markup in its texts is drawn" "$scratch/evil.html" "#by=who" <<- 'END'
	say("drawn", page.dataset.drawn);
	say("legend", text("legend"));
	key("n");
	say("tip", text("tip"));
	say("images", document.images.length);
	say("name", meta.names[2] === "x\u2028\"\\");
END
same "texts are shown as they are" "none 3 0 true" \
	"$(said alert) $(said drawn) $(said images) $(said name)"
shown='index($0, "</script x><script>alerted=1</script x><img src=x") > 0'
yes "in the tip whole" "$shown" "$(said tip)"
yes "in the legend what comes last" 'index($0, "x><img src=x onerror=alerted=1> 1") > 0' \
	"$(said legend)"

# Heaps unlike others.
printf '' > "$scratch/empty.trace"
printf 'a 1 99999999999999 0\na 2 99999999999999 0\nf 1\n' > "$scratch/failed.trace"
odd() # PAGE NAME [SIZE]
{
	probe "$2 is drawn" "$scratch/$1.html" "" "${3:-1400,900}" <<- 'END'
		for (const name of ["1", "2", "4", "+", "x", "Y", ".", ",", "]", "[", "p", "h", "n", "f", "0"])
			key(name);
		hand("pointermove", 0.5, 0.5);
		hand("pointerleave", 0.5, 0.5);
		say("drawn", facts("drawn", "free_blocks", "event"));
		say("chunks", meta.chunks.length);
		say("top", meta.top);
		say("wide", page.scrollWidth <= window.innerWidth);
	END
}
"$MAM" replay -q --map "$scratch/empty.html" "$scratch/empty.trace"
odd empty "an empty trace"
same "an empty trace is an empty page" "0 0 0" "$(said drawn)"
"$MAM" replay -q --map "$scratch/failed.html" "$scratch/failed.trace"
odd failed "a trace of failures alone"
same "keys go to its failures and find no free block" "0 0 1" "$(said drawn)"
awk 'BEGIN { for (i = 0; i < 60; i++) print "a", i, 900000 + i, 0 }' > "$scratch/chunks.trace"
"$MAM" replay -q --chunk 8M --growth 8M --map "$scratch/chunks.html" "$scratch/chunks.trace"
odd chunks "a heap of many chunks"
yes "its chunks are all there" '$1 > 5' "$(said chunks)"
"$MAM" replay -q --source vmm --simulate --map "$scratch/vmm.html" "$trace"
odd vmm "a heap of one reserved range" 390,844
yes "what was reserved and never used is not in the picture" '$1 > 1 && $2 < 8e9' \
	"$(said chunks) $(said top)"
yes "all its blocks are" '$1 == 18849' "$(said drawn)"
same "the page is no wider than a phone" true "$(said wide)"

# Physical bytes have a curve of their own where they are not what is reserved.
curves() # PAGE
{
	probe "the curves of $1 are named" "$scratch/$1.html" <<- 'END'
		say("names", text("curves"));
		key("p");
		say("picture", picture("blocks"));
	END
}
curves chunks
same "one curve stands for reserved and physical where they are the same" \
	"live 51.50 MiB high water 51.50 MiB reserved, all physical 56.00 MiB event 59" "$(said names)"
same_picture=$(said picture)
sed '/^"steps":/s/,\([0-9]*\),\([0-9]*\),\([0-9]*\)\]/,\1,\2,1048576]/g' "$scratch/chunks.html" \
	> "$scratch/physical.html"
curves physical
same "otherwise each has its own" \
	"live 51.50 MiB high water 51.50 MiB reserved 56.00 MiB physical 1.00 MiB event 59" \
	"$(said names)"
yes "and is drawn" '$1 != $2' "$same_picture $(said picture)"

# What the recorded program had reserved is told; a chunk that is made up is not.
echo 'a 1 4194304 0' > "$scratch/own.trace"
"$MAM" replay -q --map "$scratch/made-up.html" "$scratch/own.trace"
curves made-up
same "of a made-up chunk nothing is told" "live 4.00 MiB high water 4.00 MiB event 0" \
	"$(said names)"
sed 's/"recorded":0/"recorded":6291456/' "$scratch/made-up.html" > "$scratch/own.html"
curves own
same "the program's own pool has a curve" \
	"live 4.00 MiB high water 4.00 MiB program's own pool, at most 6.00 MiB event 0" \
	"$(said names)"

# Times, where a trace has them: of a block, of an event, along the map.
printf 'a 1 4096 0 t=1000\na 2 8192 5 t=2500000\nf 1 stream=3 t=2000001000\n' \
	> "$scratch/times.trace"
"$MAM" replay -q --map "$scratch/times.html" "$scratch/times.trace"
probe "a trace with times is drawn" "$scratch/times.html" "#event=1" <<- 'END'
	key("n");
	say("tip", text("tip"));
	say("event", text("event-what"));
END
same "a block's times and streams are told" \
	"born event 0, 0 ns died event 2, 2.000 s lived 2 events, 2.000 s stream 0, freed on 3" \
	"$(said tip | sed 's/.*born/born/; s/address.*stream/stream/')"
same "an event's time is told" "allocates 8.00 KiB, block 2, at 2.499 ms" "$(said event)"
finish
