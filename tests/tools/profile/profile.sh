#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# profile.sh - mam profile on profiles that are written by hand: the bytes of each line are exact.
# Also threads, tags, samples, differences, malformed frames, and every export, read back.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

here=$MAM_SRCDIR/tests/tools/profile
cd "$scratch" || exit 99

# The rows of one list of mam profile -p: bytes, blocks, place.
rows() # LIST FILE OPTIONS...
{
	rows_list=$1
	rows_file=$2
	shift 2
	"$MAM" profile -p "$@" "$rows_file" | awk -F '\t' -v list="$rows_list" '
		$1 == list { printf "%s%s %s %s:%s", sep, $2, $3, $5, $7; sep = "; " }'
}

value() # KEY FILE OPTIONS...
{
	value_key=$1
	value_file=$2
	shift 2
	"$MAM" profile -p "$@" "$value_file" | awk -F '\t' -v key="$value_key" '$1 == key { print $2 }'
}

# shellcheck disable=SC2317 # called through try
prints() # FILE TEXT
{
	"$MAM" profile "$1" | grep -q -e "$2"
}

refuses() # NAME MESSAGE ARGUMENT...
{
	refuses_name=$1
	refuses_message=$2
	shift 2
	"$MAM" profile "$@" > printed 2> said
	same "$refuses_name" "2 mam profile: error: $refuses_message " "$? $(cat said) $(cat printed)"
}

cat > train.mam <<'END'
# mam run trace of train (process 1)
#frame 1 0 python 10 /home/me/train.py <module>
#frame 2 1 python 20 /home/me/train.py step
#frame 3 2 native 1 0x1234
a 1 1000 0 t=5000000000 thread=7 device=0 stack=3
a 2 2000 0 t=6000000000 thread=7 device=0 stack=4
#frame 4 1 python 30 /home/me/my%20model.py forward
#module 1 /usr/lib/liba.so 0123abcd
a 3 500 0 t=7000000000 thread=7 stack=3
f 1 t=8000000000
a 4 100 0 t=9000000000 thread=7 stack=4
f 2 t=10000000000
END
same "bytes of each line at the peak" "2000 1 forward:30; 1500 2 step:20" "$(rows live train.mam)"
same "bytes of each line at exit" "500 1 step:20; 100 1 forward:30" "$(rows live train.mam --at exit)"
same "bytes of each line at a time" "1000 1 step:20" "$(rows live train.mam --at 0.5s)"
same "time between two events" "2000 1 forward:30; 1000 1 step:20" "$(rows live train.mam -a 1500ms)"
same "leaks" "500 1 step:20; 100 1 forward:30" "$(rows never_freed train.mam)"
same "most allocations" "2100 2 forward:30; 1500 2 step:20" "$(rows most_allocated train.mam)"
same "shortest lifetimes" "1500 2 step:20; 2100 2 forward:30" "$(rows shortest_lifetime train.mam)"
same "by count" "1500 2 step:20; 2000 1 forward:30" "$(rows live train.mam --by count)"
same "by lifetime" "2000 1 forward:30; 1500 2 step:20" "$(rows live train.mam --by lifetime)"
same "only as many rows as asked for" "2000 1 forward:30" "$(rows live train.mam --top 1)"
same "summary" "6 2 3500 3 2000000000 3600 600 5000000000" "$(for key in events stacks peak_bytes peak_blocks \
	peak_ns allocated_bytes exit_bytes duration_ns; do value $key train.mam; done | tr '\n' ' ' | sed 's/ $//')"
same "callers as a tree" "all|<module> (train.py:10)|forward (my model.py:30)|step (train.py:20)|liba.so+0x1234" \
	"$("$MAM" profile -f tree train.mam | sed '1d; s/.*[0-9]  *\([a-z<]\)/\1/' | paste -s -d '|' -)"
try "text has the limit of the method" prints train.mam "last use of a block by a kernel is not recorded"
cat > expected <<'END'
train.mam: 6 events of 2 stacks in 5.00 s
peak 3.42 KiB in 3 blocks after 2.00 s; allocated 3.52 KiB in 4 blocks; never freed 600 B in 2

Live at the peak (after 2.00 s), by bytes
       bytes   share     blocks  place
    1.95 KiB   57.1%          1  forward (my model.py:30)
    1.46 KiB   42.9%          2  step (train.py:20)

Most allocations
       bytes  allocations    mean life     shortest  place
    1.46 KiB            2       3.00 s       3.00 s  step (train.py:20)
              and 1 more place

END
"$MAM" profile --top 4 train.mam | sed '/^Most bytes/,$d' > printed
same "text" "" "$(diff expected printed)"
same "title at exit" "Live at exit (after 5.00 s), by bytes" "$("$MAM" profile --at exit train.mam | grep '^Live')"
same "title at another time" "Live then (after 0 ns), by blocks" "$("$MAM" profile --at 0 --by count train.mam | grep '^Live')"
cat > expected <<'END'
       bytes   share     blocks  place
    3.42 KiB  100.0%          3  all
    3.42 KiB  100.0%          3    <module> (train.py:10)
    1.95 KiB   57.1%          1      forward (my model.py:30)
    1.46 KiB   42.9%          2      step (train.py:20)
    1.46 KiB   42.9%          2        liba.so+0x1234
END
"$MAM" profile --format tree train.mam > printed
same "tree" "" "$(diff expected printed)"
same "tree without small nodes" "all|one:1" "$(printf '%s\n' '#frame 1 0 python 1 - one' '#frame 2 0 python 1 - two' \
	'a 1 1000 0 stack=1' 'a 2 5 0 stack=2' | "$MAM" profile -f tree - |
	awk 'NR > 1 { sub(/ \(-:/, ":"); sub(/\)$/, ""); printf "%s%s", sep, $NF; sep = "|" }')"
same "bytes times seconds" "step (train.py:20);liba.so+0x1234 4500|forward (my model.py:30) 8100" \
	"$("$MAM" profile -f collapsed --by lifetime train.mam | sed 's/^[^;]*;//' | paste -s -d '|' -)"
same "an event at the time itself" "2000 1 forward:30; 1000 1 step:20" "$(rows live train.mam --at 1000000us)"
same "the first of equal peaks" "1" "$(printf 'a 1 9 0\nf 1\na 2 9 0\nf 2\n' > equal.mam; value peak_event equal.mam)"
try "numbers of one" prints equal.mam "^peak 9 B in 1 block after 1 event; allocated 18 B in 2 blocks; never freed 0 B in 0$"
gzip -c train.mam > train.mam.gz
same "compressed" "$(rows live train.mam)" "$(rows live train.mam.gz)"
same "standard input" "$(rows live train.mam)" "$(rows live - < train.mam)"
{ head -n 6 train.mam; printf 'a 3'; } > cut.mam
"$MAM" profile -p cut.mam > printed 2> said
same "truncated file is used to its end" "0 1 3000" "$? $(grep -c 'the rest is lost' said) $(
	awk '$1 == "peak_bytes" { print $2 }' printed)"

# Growth.
same "growth between two times" "2000 1 forward:30" "$(rows growth train.mam --diff 500ms --at 1s)"
same "growth since the peak" "-1900 0 forward:30; -1000 -1 step:20" "$(rows growth train.mam --diff 2s --at exit)"
same "title of growth" "Growth to 600 B (after 5.00 s) from 1000 B (after 0 ns), by bytes" \
	"$("$MAM" profile --diff 0 --at exit train.mam | grep '^Growth')"
sed 's/2000/2600/; s/my%20model/other/' train.mam > other.mam
same "growth since another file" "-2600 -1 forward:30; 2000 1 forward:30" "$(rows growth train.mam --diff other.mam)"
same "no growth since an equal file" "" "$(rows growth train.mam --diff train.mam.gz)"

# Threads: events that arrive slightly out of order, and equal stacks of several threads.
awk 'BEGIN { print "#frame 1 0 python 1 w.py work"; print "#frame 2 0 python 2 w.py wait"
	for (i = 0; i < 4000; i++) print "a", i, 512 + i, 0, "t=" 1000 * i + i % 7 * 300, "thread=" i % 8, "stack=" 1 + i % 2
	for (i = 0; i < 4000; i += 4) print "f", i, "t=" 4000000 + i }' > threads.mam
same "threads are together" "$(awk 'BEGIN { for (i = 0; i < 4000; i++) sum[i % 2] += 512 + i
	print sum[1], 2000, "wait:2; " sum[0], 2000, "work:1" }')" "$(rows live threads.mam)"
same "and exact after many moments" "$(awk 'BEGIN { for (i = 0; i < 4000; i++) if (i % 4) sum[i % 2] += 512 + i
	print sum[1], 2000, "wait:2; " sum[0], 1000, "work:1" }')" "$(rows live threads.mam --at exit)"
same "and at a time among them" "$(awk '$1 == "a" { sub(/t=/, "", $5); if ($5 + 0 > last) last = $5 + 0
	if (last > 500000) exit; sum[$2 % 2] += $3; count[$2 % 2]++ }
	END { print sum[1], count[1], "wait:2; " sum[0], count[0], "work:1" }' threads.mam)" "$(rows live threads.mam --at 500us)"
awk 'BEGIN { print "a 1 1000000 0\nf 1"; for (i = 2; i < 3000; i++) {
	print "a", i, (i % 65 ? 10 : 5000 + i), 0; print "f", i } }' > spike.mam
same "short maxima stay" "46" "$("$MAM" profile -f json spike.mam | grep -o '"highest":[5-7][0-9]*,' | sort -u | wc -l)"

# Lifetimes. Two stacks are at the same line; one block is never freed.
cat > life.mam <<'END'
#frame 1 0 python 1 w.py one
#frame 2 0 python 2 w.py two
#frame 3 0 python 3 w.py three
#frame 4 0 python 1 w.py one
a 1 10 0 t=0 stack=1
a 2 10 0 t=0 stack=1
a 3 10 0 t=0 stack=2
a 4 10 0 t=0 stack=3
a 5 10 0 t=0 stack=4
f 1 t=2000
f 2 t=2000
f 3 t=3500
f 5 t=5000
END
same "shortest mean first, and only of freed blocks" "30 3 one:1; 10 1 two:2" "$(rows shortest_lifetime life.mam)"
same "mean and minimum" "3 us 2 us one|3.5 us 3.5 us two" "$("$MAM" profile life.mam | sed -n '/^Shortest/,/^$/p' |
	awk '/w.py/ { printf "%s%s %s %s %s %s", sep, $4, $5, $6, $7, $8; sep = "|" }')"
same "lifetimes in json" "3000,2000,90000 3500,3500,35000 0,0,50000" "$("$MAM" profile -f json life.mam |
	sed -n 's/.*"mean_lifetime":\([0-9]*\),"shortest_lifetime":\([0-9]*\),"byte_time":\([0-9]*\).*/\1,\2,\3/p' | paste -s -d ' ' -)"

# A file so large that a thread decompresses it.
awk 'BEGIN { srand(1); print "#frame 1 0 python 1 w.py work"
	for (i = 0; i < 60000; i++) { t += int(1e6 * rand()); printf "a %d %d 0 t=%.0f stack=1\n", i, 1e6 * rand(), t } }' |
	gzip -c > large.mam.gz
try "the file is large" test "$(wc -c < large.mam.gz)" -gt 300000
same "bytes of a large file" "$(gzip -dc large.mam.gz | awk '/^a/ { sum += $3 } END { printf "%.0f 60000 work:1", sum }')" \
	"$(rows live large.mam.gz)"
head -c 300000 large.mam.gz > cut.mam.gz
"$MAM" profile -p cut.mam.gz > printed 2> said
same "large file that is truncated" "0 1 some" "$? $(
	grep -c 'the gzip data is truncated, and the rest is lost' said) $(
	awk '$1 == "events" && $2 > 1000 && $2 < 60000 { print "some" }' printed)"

# Tags, and call sites where there is no stack.
cat > tags.mam <<'END'
#frame 1 0 python 1 w.py work
a 1 100 0 stack=1 tag=kv%20cache
a 2 30 0 stack=1 tag=optimizer/step%2Ftwo
a 3 7 0 stack=1
a 4 5 0 who=f@libx.so
a 5 2 0
END
same "tags are outside of frames" "(unknown stack) 2
f@libx.so 5
tag kv cache;work (w.py:1) 100
tag optimizer;tag step/two;work (w.py:1) 30
work (w.py:1) 7" "$("$MAM" profile -f collapsed tags.mam | LC_ALL=C sort)"

# Devices.
printf '#frame 1 0 python 1 w.py work\na 1 10 0 device=0 stack=1\na 2 5 0 device=1 stack=1\nf 2\nf 1\n' > devices.mam
same "one device" "5 1 work:1" "$(rows live devices.mam --device 1)"
same "all devices" "15 2 work:1" "$(rows live devices.mam 2> said)"
same "are mentioned" "mam profile: note: devices.mam: all devices together; --device N selects one" "$(cat said)"

# Samples: weights are s / (1 - exp(-s / rate)), and one size has the error that the formula gives.
awk 'BEGIN { print "#sampled 524288"; print "#frame 1 0 python 1 w.py work"
	for (i = 0; i < 100; i++) print "a", i, 65536, 0, "stack=1" }' > sampled.mam
same "samples represent what was not recorded" "1" "$(awk -v bytes="$(value peak_bytes sampled.mam)" \
	-v blocks="$(value peak_blocks sampled.mam)" 'BEGIN { p = 1 - exp(-65536 / 524288)
	print (bytes / (100 * 65536 / p) - 1) ^ 2 < 1e-6 && (blocks / (100 / p) - 1) ^ 2 < 1e-4 }')"
same "and their error" "1" "$(awk -v error="$(value peak_error_bytes sampled.mam)" 'BEGIN { p = 1 - exp(-65536 / 524288)
	print (error / (sqrt(100 * (1 - p)) * 65536 / p) - 1) ^ 2 < 1e-6 }')"
awk 'BEGIN { print "#sampled 524288" } !/^#sampled/ { print } /^a/ { print "f", $2 }' sampled.mam > freed.mam
same "nothing is left after all frees" "0 0" "$(value exit_bytes freed.mam) $(value exit_blocks freed.mam)"
try "the text has the error" prints sampled.mam "+-"
# 64 of 100 blocks are freed, so the error at exit is 0.6 times that at the peak.
awk '{ print } /^a/ && $2 < 64 { frees = frees "f " $2 "\n" } END { printf "%s", frees }' sampled.mam > half.mam
same "errors at the peak and at exit" "+-5.00 MiB +-3.00 MiB" "$("$MAM" profile half.mam | awk '/[w]ork \(/ { print $5, $6; exit }') $(
	"$MAM" profile --at exit half.mam | awk '/[w]ork \(/ { print $5, $6; exit }')"
same "growth has no error" "0" "$("$MAM" profile --diff 0 --at exit half.mam | grep work | grep -c -e +-)"
same "errors in json" "1.00 1.00 0.60" "$("$MAM" profile -f json half.mam | sed -n 's/.*"errors":\[\([^]]*\)].*/\1/p' |
	awk -F , -v error="$(value peak_error_bytes half.mam)" '{ printf "%.2f %.2f %.2f", $1 / error, $2 / error, $3 / error }')"

# Malformed frames.
{
	cat <<'END'
#frame 1 99 python 1 lost.py orphan
#frame 2 3 python 2 c.py cycle2
#frame 3 2 python 3 c.py cycle3
#frame 4 4 python 4 c.py self
#frame 5 0 python 5 first.py first
#frame 5 0 python 6 second.py second
#frame 6 0 native 77 0x10
#frame 7 0 address 0x7f00
#frame x 0 python 1 a b
#frame 0 0 python 1 a b
#frame 8 0 python 99999999999999999999 a b
#frame 9 0 alien 1
#frame 18446744073709551615 0 python 7 m.py last
a 1 1 0 stack=1
a 2 2 0 stack=2
a 3 4 0 stack=4
a 4 8 0 stack=5
a 5 16 0 stack=6
a 6 32 0 stack=7
a 7 64 0 stack=18446744073709551614
a 8 128 0 stack=99999999999999999999
#frame 10 0 python 1 x%1b%5b2J.py a%0ab%3b%ff
a 9 256 0 stack=10
END
} > odd.mam
"$MAM" profile -f collapsed odd.mam 2> said | LC_ALL=C sort > printed
same "malformed frames" "(unknown file)+0x10 16
(unknown stack) 192
(unknown stack);cycle3 (c.py:3);cycle2 (c.py:2) 2
(unknown stack);orphan (lost.py:1) 1
(unknown stack);self (c.py:4) 4
0x7f00 32
a?b:$(printf '\357\277\275') (x?[2J.py:1) 256
first (first.py:5) 8" "$(cat printed)"
same "other comments that are invalid" "7" "$(printf '#sampled %s\n' 0 -1 '5 6' > odd2.mam
	printf '#module 1 /a\n#module x /a -\n#perf-map /etc/passwd\n#perf-map /tmp/perf-1/map\n' >> odd2.mam
	"$MAM" profile -f collapsed odd2.mam 2>&1 | sed -n 's/.*invalid: \([0-9]*\), ignored/\1/p')"
same "control characters of two bytes" "a?b (?:1) 1" "$(printf '#frame 1 0 python 1 %%c2%%9b a%%c2%%80b\na 1 1 0 stack=1\n' |
	"$MAM" profile -f collapsed -)"
same "are counted" "mam profile: warning: odd.mam: comments that look like frames and are invalid: 5, ignored" "$(cat said)"

# Only a file of perf's name in /tmp is read as a map of JIT code.
maps=$(mktemp -d /tmp/perf-XXXXXX) || exit 99
echo "7f00 10 jit_code" | tee "$maps/perf-1.map" > "$maps.map"
jit() # PATH
{
	printf '#perf-map %s\n#frame 1 0 address 0x7f04\na 1 1 0 stack=1\n' "$1" > jit.mam
	"$MAM" profile -f collapsed jit.mam 2> said
}
same "map of JIT code" "jit_code 1" "$(jit "$maps.map"; cat said)"
for path in "$maps/perf-1.map" "$maps%2Fperf-1.map" "$maps%2f..%2f${maps##*/}.map" /tmp/./perf-1.map; do
	same "map at $path is ignored" "0x7f04 1
mam profile: warning: jit.mam: comments that look like frames and are invalid: 1, ignored" "$(jit "$path"; cat said)"
done
rm -r "$maps" "$maps.map"
awk 'BEGIN { for (i = 1; i <= 20000; i++) print "#frame", i, i - 1, "python", i, "d.py f"
	for (i = 1; i <= 20000; i += 9) print "a", i, 1, 0, "stack=" i }' > deep.mam
same "deep stacks are cut" "114 (deeper frames) 2109" \
	"$("$MAM" profile -f collapsed deep.mam | awk -F ';' '{ print NF, $NF }' | LC_ALL=C sort -n |
		awk '/deeper/ { deeper = $2 " " $3 " " $4 } $1 <= 1024 { count++ } END { print count, deeper }')"
same "and are a place of their own" "2109 2109 (deeper frames):0" "$(rows live deep.mam --top 1)"
awk 'BEGIN { print "#frame 1 0 python 1 d.py f"; for (i = 2; i <= 1200; i++) print "#frame", i, i - 1, "native 1 0x" i
	print "a 1 1 0 stack=1200" }' > native.mam
same "except of native code below Python" "1 1 f:1" "$(rows live native.mam)"
printf 'a 1 1 0\nf 2\n' > bad.mam
refuses "invalid free" "bad.mam: line 2: invalid free: block 2 is not live" bad.mam
printf 'a 1 1 0\na 1 1 0\n' > bad.mam
refuses "id that is live" "bad.mam: line 2: block 1 is allocated again before it is freed" bad.mam
printf 'a 1 1 0\nhello\n' > bad.mam
refuses "invalid line" "bad.mam: line 2: expected 'a ID BYTES STREAM', 'f ID' or '#', found 'hello'" bad.mam
: > empty.mam
same "empty file" "0 0" "$(value events empty.mam) $(value peak_bytes empty.mam)"

# Usage.
refuses "no file" "no file given; see 'mam profile --help'"
refuses "two files" "unexpected argument 'b'; see 'mam profile --help'" a b
refuses "unknown moment" "--at is 'now', but must be peak, exit, or a time such as 90s or 12.5ms" --at now train.mam
refuses "time after the end" "train.mam has nothing at '9s': it ends after 5.00 s" --at 9s train.mam
refuses "time in a file without times" "tags.mam has no times; specify the number of an event in place of '9s'" --at 9s tags.mam
same "number of an event" "130 2 work:1" "$(rows live tags.mam --at 2)"
refuses "unknown suffix" "cannot write 'x.png': the suffix must be .html, .svg, .txt, .json, .speedscope.json, .pb.gz or .folded, or use --format" \
	-o x.png train.mam
try "and writes nothing" test ! -e x.png
refuses "growth of lifetimes" "--diff cannot show the growth of lifetimes; use --by bytes or count" --diff 1s --by lifetime train.mam

# Exports.
if command -v python3 > /dev/null; then
	for file in train tags threads sampled deep; do
		"$MAM" profile -o $file.folded $file.mam 2> /dev/null
		python3 "$here/profile_read.py" collapsed $file.folded > expected
		for kind in speedscope:speedscope.json pprof:pb.gz json:json; do
			"$MAM" profile -o "$file.${kind#*:}" $file.mam 2> /dev/null
			python3 "$here/profile_read.py" "${kind%:*}" "$file.${kind#*:}" > found 2>&1
			try "$file as ${kind%:*} reads back" cmp expected found
		done
	done
	for kind in speedscope:speedscope.json pprof:pb.gz json:json; do
		"$MAM" profile -o "odd.${kind#*:}" odd.mam 2> /dev/null
		try "odd names are valid in ${kind%:*}" python3 "$here/profile_read.py" "${kind%:*}" "odd.${kind#*:}"
	done
	"$MAM" profile --at exit -o life.pb.gz life.mam
	same "totals in pprof" "alloc_objects 5 alloc_space 50 inuse_objects 1 inuse_space 10 duration 5000" \
		"$(python3 "$here/profile_read.py" totals life.pb.gz)"
	same "modules in json" "1" "$(grep -c '"line":0,"module":"/usr/lib/liba.so"' train.json)"
	same "unit of speedscope" '"unit":"none"' "$("$MAM" profile -f speedscope --by count train.mam | grep -o '"unit":"[a-z]*"')"
	python3 "$MAM_SRCDIR/tests/tools/replay/read_make.py" devices > devices.pickle
	same "device of a snapshot" "50 2 (unknown stack):0" "$(rows live devices.pickle --device 1 2> /dev/null)"
	python3 "$MAM_SRCDIR/tests/tools/replay/read_make.py" deep > deep.pickle
	same "deep stack of a snapshot" "1000 1 (deeper frames):0" "$(rows live deep.pickle)"
	python3 "$MAM_SRCDIR/tests/tools/replay/read_make.py" frames > frames.pickle
	same "snapshot of PyTorch has stacks" "0 1" "$("$MAM" profile -f collapsed frames.pickle > found; echo "$? $(
		grep -c 'main (train.py:88);forward (net.py:7)' found)")"
	same "without the frames of the allocator" "torch::autograd::generated::AddmmBackward0::apply(std::vector<int> (*)(int));at::native::mm(at::Tensor const&) (Functions.cpp) 1000" \
		"$(grep -e AddmmBackward0 -e unwind found)"
else
	skip "exports read back" "no python3"
fi
finish
