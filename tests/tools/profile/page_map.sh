#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# page_map.sh - the heap map of a profile: the tip of a block has its call stack, blocks are colored
# by function or module, names of frames are not interpreted, and a trace without stacks has none.

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "${MAM_SRCDIR:-.}/tests/tools/map/map_browser.sh"

awk -f "$MAM_SRCDIR/tests/tools/profile/page_trace.awk" /dev/null > "$scratch/train.mam"
"$MAM" replay -q --map "$scratch/train.html" "$scratch/train.mam"
"$MAM" replay -q --map "$scratch/late.html" "$MAM_SRCDIR/tests/data/torch-gnn-late.pickle.gz" \
	2> "$scratch/messages"
same "a file that is read twice is reported once" 1 "$(grep -c 'older than' "$scratch/messages")"

need_browser

probe "a map with stacks is drawn" "$scratch/train.html" <<- 'END'
	key("6");
	say("function", text("legend"));
	say("painted", picture("blocks"));
	key("7");
	say("module", text("legend"));
	say("other", picture("blocks"));
	const say_tip = (key, i) => {
		describeBlock(i);
		say(key, document.getElementById("tip").innerText.replace(/.*stack/s, ""));
	};
	say_tip("first", 0);
	say_tip("tagged", [...blocks.asked].indexOf(48 << 20));
END
same "functions are named with their blocks and live bytes" \
	"Attention.forward 36 168.0 MiB MLP.forward 36 240.0 MiB LayerNorm.forward 36 36.0 MiB" \
	"$(said function | cut -d ' ' -f 1-12)"
same "and modules" "model.py 108 444.0 MiB" "$(said module | cut -d ' ' -f 1-4 | sed 's/.*\///')"
yes "which are two pictures" '$1 != $2' "$(said painted) $(said other)"
same "the tip has the stack, innermost frame first" \
	"libc10_cuda.so+0x5510 libtorch_cuda.so+0x88f0 load_weights (/home/u/train.py:97) main (/home/u/train.py:188) <module> (/home/u/train.py:210)" \
	"$(said first)"
same "and the tag outermost" "<module> (/home/u/train.py:210) optimizer" \
	"$(said tagged | sed 's/.*:188) //')"

# Blocks of one device, and a deep stack with names of any bytes.
{
	for name in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		printf '#frame %d %d python %d <b>%%e2%%80%%ae</script><img%%20src=x%%20onerror=alerted=1> f%d\n' \
			$name $((name - 1)) $name $name
	done
	echo 'a 1 5000000 0 device=0 stack=3'
	echo 'a 2 1000 0 device=1 stack=20'
	echo 'a 3 2000 0 device=1 stack=2'
} > "$scratch/odd.mam"
"$MAM" replay -q --device 1 --map "$scratch/odd.html" "$scratch/odd.mam"
probe "a map of one device is drawn" "$scratch/odd.html" "#by=module" <<- 'END'
	describeBlock(0);
	say("deep", document.getElementById("tip").innerText.replace(/.*stack/s, ""));
	describeBlock(1);
	say("short", document.getElementById("tip").innerText.replace(/.*stack/s, ""));
	say("images", document.images.length);
	say("why", document.querySelector("[value=function]").parentNode.title);
END
same "a long stack is cut in its middle" 16 "$(said deep | grep -o 'f[0-9]* (\|… 5 more' | grep -c .)"
same "it begins and ends with its ends" "f20 f1" \
	"$(said deep | grep -o 'f[0-9]* (' | sed -n '1p;$p' | tr -d '(' | tr -s ' \n' ' ' | sed 's/ $//')"
same "blocks of other devices do not shift the stacks" "f2 f1" \
	"$(said short | grep -o 'f[0-9]* (' | tr -d '(' | tr -s ' \n' ' ' | sed 's/ $//')"
same "no name is interpreted" "none 0" "$(said alert) $(said images)"

if python3 "$MAM_SRCDIR/tests/tools/replay/read_make.py" frames > "$scratch/frames.pickle"; then
	"$MAM" replay -q --map "$scratch/frames.html" "$scratch/frames.pickle"
	probe "a map of a snapshot is drawn" "$scratch/frames.html" <<- 'END'
		key("6");
		say("coloring", page.dataset.coloring);
		say("stack", framesOf(0).length > 0);
	END
	same "it has stacks, too" "function true" "$(said coloring) $(said stack)"
else
	skip "a map of a snapshot" "there is no python3"
fi

echo 'a 1 4096 0' > "$scratch/plain.trace"
"$MAM" replay -q --map "$scratch/none.html" "$scratch/plain.trace"
probe "a trace without stacks is drawn" "$scratch/none.html" <<- 'END'
	key("6");
	say("coloring", page.dataset.coloring);
	say("why", document.querySelector("[value=function]").parentNode.title);
	describeBlock(0);
	say("tip", document.getElementById("tip").innerText.includes("stack"));
END
same "it has no such coloring, and the reason is shown" "size The trace does not record call stacks false" \
	"$(said coloring) $(said why) $(said tip)"
finish
