#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# page_map.sh - the heap map of a profile: the tip of a block has its call stack, blocks are colored
# by function or module, a rectangle has a flame graph of its blocks, names of frames are not
# interpreted, and a trace without stacks has none.

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
	say("stacks", page.dataset.stacks);
END
same "functions are named with their blocks and live bytes" \
	"Attention.forward 36 168.0 MiB MLP.forward 36 240.0 MiB LayerNorm.forward 36 36.0 MiB" \
	"$(said function | cut -d ' ' -f 1-12)"
same "and modules" "model.py 108 444.0 MiB" "$(said module | cut -d ' ' -f 1-4 | sed 's/.*\///')"
yes "which are two pictures" '$1 != $2' "$(said painted) $(said other)"
same "the tip has the stack, innermost frame first" \
	"libc10_cuda.so+0x5510 libtorch_cuda.so+0x88f0 load_weights (/home/u/train.py:97) main (/home/u/train.py:188) <module> (/home/u/train.py:210)" \
	"$(said first)"
same "the graph leaves out native functions that Python calls" "MLP.forward (model.py:35) 15.9 %" \
	"$(said stacks | grep -o 'MLP.forward[^,]*$\|MLP.forward[^,]*' | tail -n 1 | cut -d , -f 1)$(said stacks | grep -o libtorch)"
same "and the tag outermost" "<module> (/home/u/train.py:210) optimizer" \
	"$(said tagged | sed 's/.*:188) //')"

# Areas in MiB times events: 2 of small() in one(), 6 of large(), 12 of small() in other().
cat > "$scratch/areas.mam" <<- 'TRACE'
	#frame 1 0 python 10 /home/u/main.py main
	#frame 2 1 python 20 /home/u/main.py one
	#frame 3 2 python 30 /home/u/sizes.py small
	#frame 4 1 python 21 /home/u/main.py other
	#frame 5 4 python 30 /home/u/sizes.py small
	#frame 6 1 python 40 /home/u/sizes.py large
	a 1 1048576 0 stack=3
	a 2 3145728 0 stack=6
	f 1
	f 2
	a 3 1048576 0 stack=5
	f 3
	a 4 1048576 0 stack=5
	f 4
TRACE
for number in 5 6 7 8 9 10 11 12 13 14; do
	printf 'a %d 1048576 0 stack=5\nf %d\n' $number $number
done >> "$scratch/areas.mam"
"$MAM" replay -q --map "$scratch/areas.html" "$scratch/areas.mam" 2> "$scratch/log"
probe "a map with a graph is drawn" "$scratch/areas.html" <<- 'END'
	say("all", page.dataset.stacks);
	say("what", text("stacks-what"));
	const canvas = byId("graph"), point = (name, share, row) =>
		hand(name, (box.x + share * box.w) / box.width, (row + 0.5) / graphed.room, {}, canvas);
	point("pointermove", 0.8, 2);
	say("tip", text("tip"));
	hand("pointerleave", 0, 0, {}, canvas);
	say("gone", byId("tip").hidden);
	point("click", 0.8, 2);
	say("zoomed", page.dataset.stacks);
	point("click", 0.5, 0);
	say("out", page.dataset.stacks);
	const draw_frame = (...corners) => corners.forEach(([name, event, bytes]) =>
		hand(name, xOf(event) / figure.clientWidth, yOf(bytes) / figure.clientHeight,
			{ shiftKey: name === "pointerdown" }));
	draw_frame(["pointerdown", 1, 0], ["pointermove", 9, 1 << 19], ["pointerup", 9, 1 << 19]);
	say("rectangle", page.dataset.stacks);
	key("0");
	say("again", page.dataset.stacks);
	draw_frame(["pointerdown", 5, 2 << 20], ["pointermove", 20, 3 << 20], ["pointerup", 20, 3 << 20]);
	say("nothing", page.dataset.stacks + text("stacks-what"));
END
same "a frame is as wide as the area of its blocks" \
	"all 100.0 %; main (main.py:10) 100.0 %; other (main.py:21) 60.0 %, large (sizes.py:40) 30.0 %, one (main.py:20) 10.0 %; small (sizes.py:30) 60.0 %, small (sizes.py:30) 10.0 %" \
	"$(said all)"
same "which is said in bytes" "14 blocks in this view, which take 731.4 KiB of it on average" "$(said what)"
same "the tip of a frame has its numbers" "large (/home/u/sizes.py:40) takes 219.4 KiB on average share 30.0 %" \
	"$(said tip)"
same "which ends with the pointer" true "$(said gone)"
same "a click shows the callees of a frame" "large (sizes.py:40) 30.0 %" "$(said zoomed)"
same "a click on the first frame its caller" "main (main.py:10) 100.0 %" "$(said out | cut -d ';' -f 1)"
yes "a rectangle has the stacks of its blocks" '$1 ~ /large/ ? 0 : $2 > 22 && $2 < 28 && $3 > 72 && $3 < 78' \
	"$(said rectangle | sed 's/.*small (sizes.py:30) \([0-9.]*\) %, small (sizes.py:30) \([0-9.]*\) %/x \2 \1/')"
same "key 0 shows all again" "$(said all)" "$(said again)"
same "a rectangle without blocks has no graph" "0 blocks in this view, which take 0 B of it on average" "$(said nothing)"

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
	say("graph", page.dataset.stacks.includes("onerror=alerted=1"));
	say("images", document.images.length);
	say("why", document.querySelector("[value=function]").parentNode.title);
END
same "a long stack is cut in its middle" 16 "$(said deep | grep -o 'f[0-9]* (\|… 5 more' | grep -c .)"
same "it begins and ends with its ends" "f20 f1" \
	"$(said deep | grep -o 'f[0-9]* (' | sed -n '1p;$p' | tr -d '(' | tr -s ' \n' ' ' | sed 's/ $//')"
same "blocks of other devices do not shift the stacks" "f2 f1" \
	"$(said short | grep -o 'f[0-9]* (' | tr -d '(' | tr -s ' \n' ' ' | sed 's/ $//')"
same "no name is interpreted" "none 0 true" "$(said alert) $(said images) $(said graph)"

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
	say("hidden", byId("stacks").hidden);
END
same "it has no such coloring, and the reason is shown" "size The trace does not record call stacks false true" \
	"$(said coloring) $(said why) $(said tip) $(said hidden)"
finish
