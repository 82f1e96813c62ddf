#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# oom.sh - the report of an allocation that runs out of memory (--oom-report): what it contains in each
# situation, that its advice works when followed, that its heap can be played, and that the program
# sees the same with and without it. The scenes are described in probe_oom.c.
# shellcheck disable=SC2016 # names with dollar signs
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_oom
folder=$scratch/reports
unset MAM_OOM_REPORT MAM_SOURCE
export FAKE_CUDA_MEMORY=128M

# Plays a scene: its output is in out and err, and its reports are joined in report.
play() # SCENE OPTION...
{
	play_scene=$1
	shift
	rm -rf "$folder"
	"$MAM" run --chunk 96M --oom-report "$folder" "$@" -- "$probe" "$play_scene" > "$scratch/out" 2> "$scratch/err"
	cat "$folder"/*.txt > "$scratch/report" 2> "$scratch/none"
}

# The report of the last scene has this line.
has() # NAME LINE
{
	try "$1" grep -qxF -e "$2" "$scratch/report"
}

files() { find "$folder" -type f 2> /dev/null | wc -l; }

fails='41943040 bytes: 2, errno 7, block 42'
works='41943040 bytes: 0, errno 7, block'

# Nine seconds, nearly all of them asleep.
"$MAM" run --chunk 96M --oom-report "$scratch/often" -- "$probe" often > "$scratch/often.out" 2> "$scratch/often.err" &

play fragmented --stats="$scratch/stats"
same "fragmented: the error, errno and the pointer" "$fails" "$(cat "$scratch/out")"
try "the message names the report" grep -q "^mam: warning: out of memory: cannot allocate 40 MiB .*; report: $folder/oom.probe_oom.[0-9]*.1.txt\$" "$scratch/err"
same "one report and one heap, for this user alone" "2 0" "$(files) $(find "$folder" -type f -perm /077 | wc -l)"
has "the request" "  40.0 MiB (41943040 bytes) by cuMemAlloc_v2, process $(stat_of pid), thread $(stat_of pid), device ${PROBE_DEVICE:-0}"
has "memory of the GPU" "  total                   128.0 MiB"
has "free memory of the GPU" "  free                     32.0 MiB"
has "chunks" "  chunks of pools          96.0 MiB, of this process"
has "other memory" "  other                         0 B: contexts, modules and other processes (nvidia-smi lists them)"
has "live blocks" "  live                     48.0 MiB in 12 blocks"
has "largest free block" "  largest free block        4.0 MiB"
has "sizes" "    48.0 MiB in 12 blocks of 4194304 bytes"
has "fragmented: what would have helped" "  - enough memory is free, but not in one block; --source=vmm can move free pieces, and the request may fit: it needs 88.0 MiB of 128.0 MiB"
same "one piece of advice" 1 "$(grep -c '^  - ' "$scratch/report")"

# Plays the heap with the command of the report, which gets one more option.
replay() { (cd "$scratch" && sed -n "s|^  mam replay|'$MAM' replay --plain|p" "$scratch/report" | sh > "$scratch/played" 2>&1); }
replay
played() { sed -n "s/^$1	//p" "$scratch/played"; }
same "the command of the report plays the heap: bytes, free blocks, the largest, failures" "50331648 12 4194304 1" \
	"$(played live_end_bytes) $(grep -c '^f ' "$folder"/*.trace) $(played largest_free_block_end_bytes) $(played failures)"
same "the last event is the request" "$(sed -n 's/^  then open heap.html#by=who&event=//p' "$scratch/report")" \
	"$(($(played events) - 1))"
try "the page" grep -q waits-for-GPU\\\|failed-request "$scratch/heap.html"

has "without a trace: how to compare settings" "  mam run --trace FILE records what mam replay --compare FILE plays with them"

"$MAM" run --source=vmm -- "$probe" fragmented > "$scratch/out" 2>&1
try "--source=vmm, as advised, works" grep -q "^$works" "$scratch/out"

# The calls of the driver, with and without the report.
for where in no "$folder"; do
	rm -f "$scratch/log"
	FAKE_CUDA_LOG=$scratch/log "$MAM" run --chunk 96M --oom-report "$where" -- "$probe" fragmented > "$scratch/out" 2> /dev/null
	same "--oom-report: the same result" "$fails" "$(cat "$scratch/out")"
	sed 's/ .*//' "$scratch/log" > "$scratch/calls.${where##*/}"
done
same "the report makes two calls of the driver" "cuCtxGetDevice cuMemGetInfo " \
	"$(diff "$scratch/calls.no" "$scratch/calls.reports" | sed -n 's/^[<>] //p' | tr '\n' ' ')"
play fragmented --oom-report no
same "--oom-report no: no report, and the message does not name one" "0 1" \
	"$(files) $(grep -c 'larger --growth$' "$scratch/err")"

play full
has "full: what is missing" "  - all free memory together is too little: at least 8.0 MiB more must be freed"
play too-large
has "a request that no such GPU serves" "  - the request is larger than the memory of the GPU, which is 128.0 MiB"
play full --source=vmm
has "mapped memory: what is missing" "  - all free memory together is too little: at least 8.0 MiB more must be freed"
play fragmented --source=vmm
has "one piece of mapped memory" "  - enough memory is free, but not in one block, and live blocks share its pieces of mapped memory"
play managed
has "another function" "  the driver does not have the memory"
try "another function is named" grep -q 'by cuMemAllocAsync, ' "$scratch/report"

FAKE_CUDA_MEMORY=1G
play full --limit 100M
has "limit: what would have helped" "  - the limit is too low: would fit with --limit=136M: needs 136.0 MiB, and --limit is 100.0 MiB"
same "the limit's failure" "$fails" "$(cat "$scratch/out")"
play full --limit 136M
same "no report without a failure" 0 "$(files)"
try "--limit=136M, as advised, works" grep -q "^$works" "$scratch/out"
play full --limit 135M
same "--limit=135M does not" "$fails" "$(cat "$scratch/out")"
FAKE_CUDA_MEMORY=128M

# A wait for the quarantine that fails leaves its blocks there.
export FAKE_CUDA_LAG_US=200000 FAKE_CUDA_FAIL_AT=cuCtxSynchronize:1+
play waiting --free deferred
unset FAKE_CUDA_LAG_US FAKE_CUDA_FAIL_AT
has "waiting blocks" "  waiting for the GPU      96.0 MiB, freed"
has "waiting: what would have helped" "  - freed blocks still wait for the GPU: would fit after a synchronization, which makes 96.0 MiB free in one block"
play waiting --free deferred
try "after that wait it works" grep -q "^$works" "$scratch/out"

FAKE_CUDA_FAIL_AT=cuMemGetInfo:1+ play full
same "without the memory of the GPU, there is no advice that needs it" "0 1" \
	"$(grep -c '^  - ' "$scratch/report") $(grep -c 'total and free memory are unknown' "$scratch/report")"

play fragmented --trace "$scratch/it's.%p.trace"
try "with a trace: how to compare settings" grep -q "^  mam replay --compare '$scratch/it'\\\\''s\\.[0-9]*\\.trace'\$" "$scratch/report"
sed -n "s|^  mam replay --compare|'$MAM' replay --compare|p" "$scratch/report" | sh > "$scratch/played" 2>&1
try "its command plays the trace on mapped memory" grep -q '^vmm  .* 96.00 MiB' "$scratch/played"

play full --leaks="$scratch/leaks"
has "call sites" "    96.0 MiB in 24 blocks probe_fill@probe_oom"

# Another process, which has 96 MiB when this one runs out of memory.
"$MAM" run --chunk 96M --oom-report no -- "$probe" often > "$scratch/none" 2>&1 &
other=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	"$MAM" info --stats "$other" > "$scratch/page" 2>&1 && grep -q '96.0 MiB' "$scratch/page" && break
	sleep 0.1
done
play full
try "other processes" grep -q "^    96.0 MiB process $other (probe_oom)\$" "$scratch/report"
same "not this one" 0 "$(grep -c "process $(sed -n 's/.* process \([0-9]*\), thread.*/\1/p' "$scratch/report") (" "$scratch/report")"
kill -9 "$other"
wait "$other" 2> "$scratch/none"
play full
same "not one that was killed" 0 "$(grep -c "process $other (" "$scratch/report")"

FAKE_CUDA_MEMORY=1G
play threads
FAKE_CUDA_MEMORY=128M
same "eight threads at once: one report" "8 of 8 failed with out of memory 2" "$(cat "$scratch/out") $(files)"
play forked
same "parent and child: a report each, with its process" "4 2" "$(files) $(for file in "$folder"/*.txt; do
	pid=${file%.1.txt}
	grep "process ${pid##*.}," "$file"
done | wc -l)"

FAKE_CUDA_MEMORY=1G
play slow
FAKE_CUDA_MEMORY=128M
try "100,000 live blocks: at most 200 ms" [ "$(sed -n 's/ ms$//p' "$scratch/err")" -le 200 ]
try "a page of a part of the heap" grep -q 'The page has only the [0-9]* segments' "$scratch/report"
replay
same "that part can be played" 1 "$(played failures)"

# Folders. The output goes through a pipe, to which the file size limit does not apply.
: > "$scratch/file"
mkdir "$scratch/full"
for case in "missing folder|No such file|$scratch/missing|" "file|Not a directory|$scratch/file|" \
	"no folder for files|such file|/proc/self/fdinfo|" "full disk, heap|File too large|$scratch/full|100" \
	"full disk, text|File too large|$scratch/full|800" "long name|name too long|$scratch/$(printf '%05000d' 0)|"; do
	IFS='|' read -r name reason where bytes << END
$case
END
	{
		PROBE_FILE_BYTES=${bytes:-1000000000} MAM_OOM_REPORT=$where "$MAM" run --chunk 96M -- "$probe" twice |
			cat > "$scratch/out"
	} 2>&1 | cat > "$scratch/err"
	same "$name: one sentence" "1 1" "$(grep -c 'cannot write out-of-memory report' "$scratch/err") $(grep -c "$reason" "$scratch/err")"
	same "$name: the same result" "$fails $fails " "$(tr '\n' ' ' < "$scratch/out")"
done
same "a full disk leaves no incomplete file" "" "$(find "$scratch/full" -name '*.txt')"

refused_by "$MAM" "--oom-report is a file" 2 "File exists\|Not a directory" run --oom-report "$scratch/file" true 2> "$scratch/err"

hostile="$scratch/a 'b' \"c\" \$(touch d) \`touch e\`;*%p%h
f"
rm -rf "$folder"
"$MAM" run --chunk 96M --oom-report "$hostile" -- "$probe" fragmented > "$scratch/out" 2> "$scratch/err"
cat "$hostile"/*.txt > "$scratch/report"
same "folder with a hostile name" 2 "$(find "$hostile" -type f -exec echo x \; | wc -l)"
rm -f "$scratch/heap.html"
(cd "$scratch" && sed -n "/^  mam replay/,/^  then open/ {
	/^  then open/d
	s|^  mam replay|'$MAM' replay|
	p
}" "$scratch/report" | sh > /dev/null 2>&1)
try "its command plays the heap" test -s "$scratch/heap.html"
same "nothing in the name is run" "" "$(find "$scratch" -maxdepth 1 -name d -o -maxdepth 1 -name e)"

cp "$probe" "$scratch/ 'x;\$(y)%p"
rm -rf "$folder"
"$MAM" run --chunk 96M --oom-report "$folder" -- "$scratch/ 'x;\$(y)%p" full > "$scratch/out" 2>&1
same "program with a hostile name" "oom.__x___y__p" "$(find "$folder" -name '*.txt' | sed 's|.*/||; s/\.[0-9]*\.1\.txt//')"

# The default needs a terminal.
XDG_STATE_HOME=$scratch/state "$MAM" run -- "$probe" full > "$scratch/out" 2>&1
same "no report by default without a terminal" "no" "$([ -e "$scratch/state" ] || echo no)"
if script -qec true /dev/null > /dev/null 2>&1; then
	XDG_STATE_HOME=$scratch/state script -qec "'$MAM' run --chunk 96M -- '$probe' full" /dev/null < /dev/null > "$scratch/out" 2>&1
	same "a report by default on a terminal" 1 "$(find "$scratch/state/mam" -name '*.txt' | wc -l)"
	XDG_STATE_HOME='' HOME=$scratch/home script -qec "'$MAM' run --chunk 96M -- '$probe' full" /dev/null < /dev/null > "$scratch/out" 2>&1
	same "without XDG_STATE_HOME it is in the home folder" 1 "$(find "$scratch/home/.local/state/mam" -name '*.txt' | wc -l)"
	MAM_OOM_REPORT='' XDG_STATE_HOME=$scratch/other script -qec "'$MAM' run -- '$probe' full" /dev/null < /dev/null > "$scratch/out" 2>&1
	same "an empty MAM_OOM_REPORT turns it off" "no" "$([ -e "$scratch/other" ] || echo no)"
else
	skip "a report by default on a terminal" "script(1) is not installed"
fi

wait
same "18 failures in nine seconds: eight reports" "18 8" \
	"$(grep -cxF "$fails" "$scratch/often.out") $(find "$scratch/often" -name '*.txt' | wc -l)"
find "$scratch/often" -name '*.txt' -exec stat -c %Y {} + | sort -n > "$scratch/times"
try "at most one report per second" [ "$(sed -n '$p' "$scratch/times")" -ge "$(($(sed 1q "$scratch/times") + 6))" ]
finish
