#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# trace.sh - what --trace writes: every trace replays, its totals are the statistics', and a program that is killed, a disk
# that is full, and a file that cannot be had cost nothing but the trace.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_watched
trace=$scratch/trace

watch() # OPTIONS... - one run's trace and statistics
{
	rm -f "$trace"* "$scratch/stats"
	"$MAM" run --trace="$trace" --stats="$scratch/stats" "$@" > "$scratch/out" 2> "$scratch/err"
}

lines() # FILE - as text, gzip or not
{
	gzip -dcf < "$1"
}

replayed() # FILE KEY... - what a replay with checks counts
{
	"$MAM" replay --check -p "$1" > "$scratch/replayed" 2> "$scratch/replay.err" || return
	shift
	replayed_line=
	for replayed_key in "$@"; do
		replayed_line="$replayed_line $(sed -n "s/^$replayed_key	//p" "$scratch/replayed")"
	done
	echo "${replayed_line# }"
}

totals() # NAME - the trace's totals are the statistics'
{
	same "$1: totals of the trace are the statistics'" \
		"$(stat_of allocs) $(stat_of frees) $(stat_of live_bytes) $(stat_of peak_live_bytes)" \
		"$(replayed "$trace" allocs frees live_end_bytes peak_live_bytes)"
}

for client in client_shared client_dlsym client_driver; do
	watch -- "$clients/$client" --rounds 4 --check
	totals "$client"
	same "$client: nothing is left beside the trace" "$trace" "$(ls "$trace"*)"
done
watch -- "$probe" leak
totals "blocks never freed"
watch -- "$probe" threads
same "threads: every event" "20000 20000 0" "$(replayed "$trace" allocs frees live_end_bytes)"
same "threads: each has its number" 4 "$(lines "$trace" | sed -n 's/.* thread=\([0-9]*\).*/\1/p' | sort -u | wc -l)"
same "threads: no id twice" 20000 "$(lines "$trace" | sed -n 's/^a \([0-9]*\) .*/\1/p' | sort -u | wc -l)"
same "its owner alone may read it" 600 "$(stat -c %a "$trace")"
same "the first line names program and process" "# mam run trace of probe_watched $(stat_of pid)" \
	"$(lines "$trace" | head -n 1 | cut -d ' ' -f 1-7)"
same "every other line is an event with time and thread" "" \
	"$(lines "$trace" | sed 1d | grep -vE '^(a [0-9]+ [0-9]+ [0-9]+|f [0-9]+) t=[0-9]+ thread=[0-9]+( context=0x[0-9a-f]+ device=0)?$' | head -n 1)"
same "sizes are what was asked for" 200 "$(lines "$trace" | grep -c '^a [0-9]* 9901 ')"
watch -- "$probe" reset
same "a reset frees what it takes" "103 104 3" \
	"$(replayed "$trace" frees allocs) $(lines "$trace" | grep -c '^f .* implied=yes$')"
MAM_PASS_ABOVE=1M watch -- "$probe" leak
same "blocks of the driver's own say so" 2 "$(lines "$trace" | grep -c '^a [0-9]* 2097152 .* by=driver$')"
same "and are in the totals" "105 4195204" "$(replayed "$trace" allocs live_end_bytes)"

# Two devices: each allocation has its device, pooled or not, by any call.
FAKE_CUDA_DEVICES=2 MAM_PASS_ABOVE=20M watch --growth 2M -- "$probes/probe_pass" limit-devices
same "two devices: no block without one" 0 "$(lines "$trace" | grep '^a ' | grep -vc ' device=[01]\( \|$\)')"
same "two devices: a context is of one" 2 "$(lines "$trace" | grep -o 'context=[^ ]* device=[01]' | sort -u | wc -l)"
for device in 0 1; do
	"$MAM" replay -p -r 1 --device $device "$trace" > "$scratch/replayed" 2> "$scratch/err"
	same "two devices: device $device alone" "$(lines "$trace" | awk -v key="device=$device" '
		$1 == "a" { ours[$2] = index($0 " ", " " key " ") > 0 } ours[$2] { count++ } END { print count + 0 }')" \
		"$(sed -n 's/^events	//p' "$scratch/replayed")"
done

# Compression, where there is libz; a library of that name that is none stands for a machine without.
watch -- "$probe" threads
same "gzip" "1f8b" "$(od -An -tx1 -N2 "$trace" | tr -d ' ')"
echo 'int mam_test_no_zlib;' > "$scratch/z.c"
mkdir "$scratch/no-zlib"
$CC -shared -fPIC -Wl,-soname,libz.so.1 -o "$scratch/no-zlib/libz.so.1" "$scratch/z.c"
LD_LIBRARY_PATH=$scratch/no-zlib:$LD_LIBRARY_PATH
rm -f "$trace"
MAM_RUN_PID=1 MAM_TRACE=$trace sh -c 'LD_PRELOAD=$1 MAM_RUN_PID=$$ exec "$2" threads' - \
	"$MAM_BUILDDIR/.libs/libmam-preload.so" "$probe" > "$scratch/out" 2> "$scratch/err"
LD_LIBRARY_PATH=${LD_LIBRARY_PATH#*:}
same "without libz plain text" "# mam run trace" "$(head -c 15 "$trace")"
same "and as good" "20000 20000 0" "$(replayed "$trace" allocs frees live_end_bytes)"

# Killed. The ring holds what the file lacks, to the last event.
watch -- "$probe" killed
same "killed: that is the status" 137 $?
same "killed: file and ring stay" "$trace $trace.ring" "$(ls "$trace" "$trace.ring" | tr '\n' ' ' | sed 's/ $//')"
same "killed: every event, to the last" "20016 20000 136" "$(replayed "$trace" allocs frees live_end_bytes)"
same "killed: ring alone has the end" yes "$([ "$(lines "$trace" 2> /dev/null | wc -l)" -lt 40017 ] && echo yes)"
bytes=$(wc -c < "$trace")
whole=$bytes
for cut in 1 100 5000; do
	cp "$trace" "$scratch/cut"
	cp "$trace.ring" "$scratch/cut.ring"
	[ "$whole" -gt $((cut + 200)) ] || continue
	truncate -s $((whole - cut)) "$scratch/cut"
	same "killed while it wrote, $cut bytes short" "20016 20000 136" \
		"$(replayed "$scratch/cut" allocs frees live_end_bytes)"
done

# A ring that is another's, or nonsense: the file alone, or a sentence; never a crash.
"$MAM" run --trace="$scratch/other" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
cp "$trace.ring" "$scratch/other.ring"
same "another trace's ring is left alone" "100 100" "$(replayed "$scratch/other" allocs frees)"
damage() # NAME OFFSET BYTES - put those bytes there, and read
{
	cp "$trace" "$scratch/bad"
	cp "$trace.ring" "$scratch/bad.ring"
	# shellcheck disable=SC2059 # bytes by octal escapes
	printf "$3" | dd of="$scratch/bad.ring" bs=1 seek="$2" conv=notrunc 2> /dev/null
	"$MAM" replay --check -p "$scratch/bad" > "$scratch/out" 2> "$scratch/err"
	damage_status=$?
	if [ $damage_status -le 1 ]; then
		ok "$1"
	else
		not_ok "$1" "status $damage_status: $(lib_tail "$scratch/err")"
	fi
}
damage "damaged: magic" 0 'x'
damage "damaged: a capacity of nearly everything" 8 '\377\377\377\377\377\377\377\377'
damage "damaged: a capacity of 0" 8 '\000\000\000\000\000\000\000\000'
damage "damaged: more heading than lines" 24 '\377\377\377\377'
damage "damaged: kind and flags of a record" 4156 '\377\377\377\377'
damage "damaged: an id" 4112 '\377\377\377\377\377\377\377\377'
cp "$trace" "$scratch/bad"
head -c 5000 "$trace.ring" > "$scratch/bad.ring"
"$MAM" replay --check -p "$scratch/bad" > "$scratch/out" 2> "$scratch/err"
same "a ring that is cut is none" 1 "$([ $? -le 1 ] && echo 1)"

# No file to write to.
mkdir "$scratch/closed"
for row in "/dev/full|No space" "$scratch/closed|[Dd]irectory" "/no/such/folder/file|No such file"; do
	MAM_TRACE=${row%|*} MAM_RUN_PID=1 LD_PRELOAD=$MAM_BUILDDIR/.libs/libmam-preload.so "$probe" tidy \
		> "$scratch/out" 2> "$scratch/err"
	same "${row%|*}: the program is not disturbed" "0 tidy" "$? $(cat "$scratch/out")"
	same "${row%|*}: one sentence" 1 "$(grep -c "^mam: error: cannot write trace '.*': .*${row#*|}" "$scratch/err")"
done
echo mine > "$scratch/mine"
ln -s "$scratch/mine" "$scratch/link"
MAM_TRACE=$scratch/link MAM_RUN_PID=1 sh -c 'MAM_RUN_PID=$$ LD_PRELOAD=$1 exec "$2" tidy' - \
	"$MAM_BUILDDIR/.libs/libmam-preload.so" "$probe" > "$scratch/out" 2> "$scratch/err"
same "a symbolic link in the file's place is refused" "0 mine 1" \
	"$? $(cat "$scratch/mine") $(grep -c "^mam: error: cannot write trace '.*': .*symbolic" "$scratch/err")"
rm -f "$trace"*
"$MAM" run --trace="$trace" -- "$probe" limited > "$scratch/out" 2> "$scratch/err"
same "no room for the ring" "0 joined" "$? $(tail -n 1 "$scratch/out")"
same "no room for the ring: one sentence" 1 "$(grep -c "^mam: error: cannot write trace '.*': .*too large" "$scratch/err")"
same "no room for the ring: nothing is left behind" "" "$(ls "$trace"* 2> /dev/null)"

# Trouble in the middle: a reader that goes away ends the trace, and not the program.
mkfifo "$scratch/pipe"
head -c 100 "$scratch/pipe" > "$scratch/read" &
exec 3> "$scratch/pipe" # waits until head has opened it
"$MAM" run --trace="$scratch/pipe" -- "$probe" threads > "$scratch/out" 2> "$scratch/err"
same "a reader that goes away" "0 joined" "$? $(cat "$scratch/out")"
exec 3>&-
wait
same "a reader that goes away: one sentence" 1 "$(grep -c "^mam: error: trace '.*' ends early: Broken pipe" "$scratch/err")"
cat "$scratch/pipe" > "$scratch/read" &
exec 3> "$scratch/pipe"
"$MAM" run --trace="$scratch/pipe" -- "$probe" threads > "$scratch/out" 2> "$scratch/err"
exec 3>&-
wait
same "a pipe that is read has all" "20000 20000 0" "$(replayed "$scratch/read" allocs frees live_end_bytes)"

# Two runs at once with one name. The first is in the middle of its trace while the second starts and ends; the second
# does not touch the file nor its ring. A trace that is finished, or whose process was killed, is replaced.
rm -f "$trace"*
hold() # NAME COMMAND... - under mam, with a trace, up to its first allocation; it goes on when let_go is called
{
	rm -f "$scratch/ready" "$scratch/go"
	mkfifo "$scratch/ready" "$scratch/go"
	READY=$scratch/ready GO=$scratch/go "$MAM" run --trace="$1" -- "$probe" held > "$scratch/held.out" 2>&1 &
	read -r hold_word < "$scratch/ready"
}
let_go()
{
	echo go > "$scratch/go"
	wait
}
hold "$trace"
"$MAM" run --trace="$trace" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "a name that another run writes to is refused" "2  1" \
	"$? $(cat "$scratch/out") $(grep -c '^mam run: error: --trace: .*another process is writing it' "$scratch/err")"
MAM_TRACE=$trace MAM_RUN_PID=1 sh -c 'MAM_RUN_PID=$$ LD_PRELOAD=$1 exec "$2" tidy' - \
	"$MAM_BUILDDIR/.libs/libmam-preload.so" "$probe" > "$scratch/out" 2> "$scratch/err"
same "and by the object itself, which lets the program run" "0 tidy 1" \
	"$? $(cat "$scratch/out") $(grep -c "^mam: error: cannot write trace '.*': another process is writing" "$scratch/err")"
same "nothing of it is left, and the first run's ring stays" "$trace $trace.ring" "$(echo "$trace"*)"
"$MAM" run --trace="$trace.%p" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "another name is free" "100 100" "$(replayed "$trace".[0-9]* allocs frees)"
let_go
same "the first run's trace is its own" "2 2" "$(replayed "$trace" allocs frees)"
"$MAM" run --trace="$trace" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "a finished trace is replaced" "0 100 100" "$? $(replayed "$trace" allocs frees)"
"$MAM" run --trace="$trace" -- "$probe" killed > "$scratch/out" 2> "$scratch/err"
"$MAM" run --trace="$trace" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "the trace of a killed run is replaced" "0 100 100" "$? $(replayed "$trace" allocs frees)"

# Several processes.
for scene in family woken-family; do
	watch -- "$probe" $scene
	set -- "$trace".[0-9]*
	same "$scene: a child has a trace of its own" "2 1 300 2097152" \
		"$(replayed "$1" allocs frees live_end_bytes) $(replayed "$trace" live_end_bytes)"
done
watch --children=no -- "$probe" family
same "--children=no: it has none" "$trace" "$(ls "$trace"*)"
watch -- "$probe" late-child
same "a child of a process with CUDA changes nothing in its parent's trace" "1 1 $trace" \
	"$(replayed "$trace" allocs frees) $(ls "$trace"*)"
watch -- "$probe" again
same "one process, two programs: the first one's trace" "100 100" "$(replayed "$trace" allocs frees)"
same "and the second one's" "105 100" "$(replayed "$trace.2" allocs frees)"
watch -- true
try "nothing to trace: one sentence" grep -q "^mam: warning: trace '.*' was not written: no allocation was intercepted" "$scratch/err"
finish
