#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# trace.sh - what --trace writes: every trace replays, and its totals match the statistics. A
# program that is killed, a full disk and a file that cannot be opened affect only the trace.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_watched
trace=$scratch/trace

watch() # OPTIONS... - one run's trace and statistics
{
	rm -f "$trace"* "$scratch/stats"
	"$MAM" run --trace="$trace" --stats="$scratch/stats" "$@" > "$scratch/out" 2> "$scratch/err"
}

lines() # FILE - as text, compressed or not
{
	gzip -dcf < "$1"
}

replayed() # FILE KEY... - the counts of a replay with checks
{
	"$MAM" replay --check -p "$1" > "$scratch/replayed" 2> "$scratch/replay.err" || return
	shift
	replayed_line=
	for replayed_key in "$@"; do
		replayed_line="$replayed_line $(sed -n "s/^$replayed_key	//p" "$scratch/replayed")"
	done
	echo "${replayed_line# }"
}

totals() # NAME - the trace's totals match the statistics
{
	same "$1: totals of the trace match the statistics" \
		"$(stat_of allocs) $(stat_of frees) $(stat_of live_bytes) $(stat_of peak_live_bytes)" \
		"$(replayed "$trace" allocs frees live_end_bytes peak_live_bytes)"
}

for client in client_shared client_dlsym client_driver; do
	watch -- "$clients/$client" --rounds 4 --check
	totals "$client"
	same "$client: no other file remains next to the trace" "$trace" "$(ls "$trace"*)"
done
watch -- "$probe" leak
totals "blocks never freed stay live"
watch -- "$probe" threads
same "threads: every event is written" "20000 20000 0" "$(replayed "$trace" allocs frees live_end_bytes)"
same "threads: each has its number" 4 "$(lines "$trace" | sed -n 's/.* thread=\([0-9]*\).*/\1/p' | sort -u | wc -l)"
same "threads: no id occurs twice" 20000 "$(lines "$trace" | sed -n 's/^a \([0-9]*\) .*/\1/p' | sort -u | wc -l)"
same "only its owner can read the file" 600 "$(stat -c %a "$trace")"
same "the first line names program and process" "# mam run trace of probe_watched $(stat_of pid)" \
	"$(lines "$trace" | head -n 1 | cut -d ' ' -f 1-7)"
same "every other line is an event with time and thread" "" \
	"$(lines "$trace" | sed 1d | grep -vE '^(a [0-9]+ [0-9]+ [0-9]+|f [0-9]+) t=[0-9]+ thread=[0-9]+( context=0x[0-9a-f]+ device=0)?$' | head -n 1)"
same "sizes are the requested ones" 200 "$(lines "$trace" | grep -c '^a [0-9]* 9901 ')"
watch -- "$probe" reset
same "a reset frees the context's blocks" "103 104 3" \
	"$(replayed "$trace" frees allocs) $(lines "$trace" | grep -c '^f .* implied=yes$')"
MAM_PASS_ABOVE=1M watch -- "$probe" leak
same "blocks of the driver are marked" 2 "$(lines "$trace" | grep -c '^a [0-9]* 2097152 .* by=driver$')"
same "blocks of the driver are in the totals" "105 4195204" "$(replayed "$trace" allocs live_end_bytes)"

# Two devices: each allocation has its device, pooled or not, through any function.
FAKE_CUDA_DEVICES=2 MAM_PASS_ABOVE=20M watch --growth 2M -- "$probes/probe_pass" limit-devices
same "two devices: every block has a device" 0 "$(lines "$trace" | grep '^a ' | grep -vc ' device=[01]\( \|$\)')"
same "two devices: each context has one device" 2 "$(lines "$trace" | grep -o 'context=[^ ]* device=[01]' | sort -u | wc -l)"
for device in 0 1; do
	"$MAM" replay -p -r 1 --device $device "$trace" > "$scratch/replayed" 2> "$scratch/err"
	same "two devices: device $device alone replays" "$(lines "$trace" | awk -v key="device=$device" '
		$1 == "a" { ours[$2] = index($0 " ", " " key " ") > 0 } ours[$2] { count++ } END { print count + 0 }')" \
		"$(sed -n 's/^events	//p' "$scratch/replayed")"
	cat "$scratch/replayed" >> "$scratch/each"
done
"$MAM" replay -p -r 1 --device all "$trace" > "$scratch/replayed" 2> "$scratch/err"
same "two devices: --device all replays both" "$(grep -E '^(events|peak_live_bytes|live_end_bytes|device)	' "$scratch/each")" \
	"$(grep -E '^(events|peak_live_bytes|live_end_bytes|device)	' "$scratch/replayed")"

# Compression with libz. A library of that name without its functions stands for a machine without
# libz.
watch -- "$probe" threads
same "the trace is compressed by gzip" "1f8b" "$(od -An -tx1 -N2 "$trace" | tr -d ' ')"
echo 'int mam_test_no_zlib;' > "$scratch/z.c"
mkdir "$scratch/no-zlib"
$CC -shared -fPIC -Wl,-soname,libz.so.1 -o "$scratch/no-zlib/libz.so.1" "$scratch/z.c"
LD_LIBRARY_PATH=$scratch/no-zlib:$LD_LIBRARY_PATH
rm -f "$trace"
MAM_RUN_PID=1 MAM_TRACE=$trace sh -c 'LD_PRELOAD=$1 MAM_RUN_PID=$$ exec "$2" threads' - \
	"$MAM_BUILDDIR/.libs/libmam-preload.so" "$probe" > "$scratch/out" 2> "$scratch/err"
LD_LIBRARY_PATH=${LD_LIBRARY_PATH#*:}
same "without libz the trace is plain text" "# mam run trace" "$(head -c 15 "$trace")"
same "without libz the trace is complete" "20000 20000 0" "$(replayed "$trace" allocs frees live_end_bytes)"

# A killed program. The ring holds the events that are missing in the file, up to the last one.
watch -- "$probe" killed
same "killed: the exit status is kept" 137 $?
same "killed: file and ring remain" "$trace $trace.ring" "$(ls "$trace" "$trace.ring" | tr '\n' ' ' | sed 's/ $//')"
same "killed: every event up to the last is replayed" "20016 20000 136" "$(replayed "$trace" allocs frees live_end_bytes)"
same "killed: only the ring has the last events" yes "$([ "$(lines "$trace" 2> /dev/null | wc -l)" -lt 40017 ] && echo yes)"
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

# A ring of another trace, or a corrupt one: the file alone is read, or an error is printed. A
# replay never crashes.
"$MAM" run --trace="$scratch/other" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
cp "$trace.ring" "$scratch/other.ring"
same "the ring of another trace is ignored" "100 100" "$(replayed "$scratch/other" allocs frees)"
replays() # STATUS - of a replay of the file alone, whose end the kill may have cut off
{
	[ "$1" -le 1 ] || { [ "$1" -eq 2 ] && grep -q '^mam replay: error: ' "$scratch/err"; }
}
damage() # NAME OFFSET BYTES - overwrite those bytes and replay
{
	cp "$trace" "$scratch/bad"
	cp "$trace.ring" "$scratch/bad.ring"
	# shellcheck disable=SC2059 # bytes by octal escapes
	printf "$3" | dd of="$scratch/bad.ring" bs=1 seek="$2" conv=notrunc 2> /dev/null
	"$MAM" replay --check -p "$scratch/bad" > "$scratch/out" 2> "$scratch/err"
	damage_status=$?
	if replays $damage_status; then
		ok "$1"
	else
		not_ok "$1" "status $damage_status: $(lib_tail "$scratch/err")"
	fi
}
damage "corrupt ring: magic" 0 'x'
damage "corrupt ring: a huge capacity" 8 '\377\377\377\377\377\377\377\377'
damage "corrupt ring: a capacity of 0" 8 '\000\000\000\000\000\000\000\000'
damage "corrupt ring: more header than lines" 24 '\377\377\377\377'
damage "corrupt ring: kind and flags of a record" 4156 '\377\377\377\377'
damage "corrupt ring: an id" 4112 '\377\377\377\377\377\377\377\377'
cp "$trace" "$scratch/bad"
head -c 5000 "$trace.ring" > "$scratch/bad.ring"
"$MAM" replay --check -p "$scratch/bad" > "$scratch/out" 2> "$scratch/err"
same "a truncated ring is ignored" 1 "$(replays $? && echo 1)"

# No file to write to.
mkdir "$scratch/closed"
for row in "/dev/full|No space" "$scratch/closed|[Dd]irectory" "/no/such/folder/file|No such file"; do
	MAM_TRACE=${row%|*} MAM_RUN_PID=1 LD_PRELOAD=$MAM_BUILDDIR/.libs/libmam-preload.so "$probe" tidy \
		> "$scratch/out" 2> "$scratch/err"
	same "${row%|*}: the program runs normally" "0 tidy" "$? $(cat "$scratch/out")"
	same "${row%|*}: one error line" 1 "$(grep -c "^mam: error: cannot write trace '.*': .*${row#*|}" "$scratch/err")"
done
echo mine > "$scratch/mine"
ln -s "$scratch/mine" "$scratch/link"
MAM_TRACE=$scratch/link MAM_RUN_PID=1 sh -c 'MAM_RUN_PID=$$ LD_PRELOAD=$1 exec "$2" tidy' - \
	"$MAM_BUILDDIR/.libs/libmam-preload.so" "$probe" > "$scratch/out" 2> "$scratch/err"
same "a symbolic link as trace file is refused" "0 mine 1" \
	"$? $(cat "$scratch/mine") $(grep -c "^mam: error: cannot write trace '.*': .*symbolic" "$scratch/err")"
rm -f "$trace"*
"$MAM" run --trace="$trace" -- "$probe" limited > "$scratch/out" 2> "$scratch/err"
same "no space for the ring: the program runs" "0 joined" "$? $(tail -n 1 "$scratch/out")"
same "no space for the ring: one error line" 1 "$(grep -c "^mam: error: cannot write trace '.*': .*too large" "$scratch/err")"
same "no space for the ring: no file remains" "" "$(ls "$trace"* 2> /dev/null)"

# Errors while a trace is written: if the reader goes away, the trace ends and the program
# continues.
mkfifo "$scratch/pipe"
head -c 100 "$scratch/pipe" > "$scratch/read" &
exec 3> "$scratch/pipe" # waits until head has opened it
"$MAM" run --trace="$scratch/pipe" -- "$probe" threads > "$scratch/out" 2> "$scratch/err"
same "reader goes away: the program runs" "0 joined" "$? $(cat "$scratch/out")"
exec 3>&-
wait
same "reader goes away: one error line" 1 "$(grep -c "^mam: error: trace '.*' ends early: Broken pipe" "$scratch/err")"
cat "$scratch/pipe" > "$scratch/read" &
exec 3> "$scratch/pipe"
"$MAM" run --trace="$scratch/pipe" -- "$probe" threads > "$scratch/out" 2> "$scratch/err"
exec 3>&-
wait
same "a trace read from a pipe is complete" "20000 20000 0" "$(replayed "$scratch/read" allocs frees live_end_bytes)"

# Two runs at once with one file name. The first is in the middle of its trace while the second
# starts and ends; the second touches neither the file nor its ring. A finished trace, or one whose
# process was killed, is replaced.
rm -f "$trace"*
hold() # NAME COMMAND... - run under mam with a trace up to its first allocation; let_go lets it continue
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
same "the preload object refuses it too, and the program runs" "0 tidy 1" \
	"$? $(cat "$scratch/out") $(grep -c "^mam: error: cannot write trace '.*': another process is writing" "$scratch/err")"
same "the second run leaves no file, and the first run's ring stays" "$trace $trace.ring" "$(echo "$trace"*)"
"$MAM" run --trace="$trace.%p" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "another name can be used" "100 100" "$(replayed "$trace".[0-9]* allocs frees)"
let_go
same "the first run's trace is intact" "2 2" "$(replayed "$trace" allocs frees)"
"$MAM" run --trace="$trace" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "a finished trace is replaced" "0 100 100" "$? $(replayed "$trace" allocs frees)"
"$MAM" run --trace="$trace" -- "$probe" killed > "$scratch/out" 2> "$scratch/err"
"$MAM" run --trace="$trace" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "the trace of a killed run is replaced" "0 100 100" "$? $(replayed "$trace" allocs frees)"

# Several processes.
for scene in family woken-family; do
	watch -- "$probe" $scene
	set -- "$trace".[0-9]*
	same "$scene: a child writes its own trace" "2 1 300 2097152" \
		"$(replayed "$1" allocs frees live_end_bytes) $(replayed "$trace" live_end_bytes)"
done
watch --children=no -- "$probe" family
same "--children=no: the child writes no trace" "$trace" "$(ls "$trace"*)"
watch -- "$probe" late-child
same "a child of a process that used CUDA leaves its parent's trace alone" "1 1 $trace" \
	"$(replayed "$trace" allocs frees) $(ls "$trace"*)"
watch -- "$probe" again
same "exec: the first program's trace" "100 100" "$(replayed "$trace" allocs frees)"
same "exec: the second program's trace" "105 100" "$(replayed "$trace.2" allocs frees)"
watch -- true
try "nothing to trace: one warning" grep -q "^mam: warning: trace '.*' was not written: no allocation was intercepted" "$scratch/err"
finish
