#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# suspend.sh - mam ctl suspends and resumes a program that runs: its memory is released, its threads
# are held, and its contents come back. If the driver refuses a call, nothing is lost. No work uses
# memory that is away.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
. "$MAM_SRCDIR/tests/interpose/control/talk.sh"

probe=$probes/probe_sleep
talk_source=vmm
XDG_RUNTIME_DIR=$scratch/run
export XDG_RUNTIME_DIR
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkdir "$scratch/contents"

stop() # NAME
{
	exec 3>&-
	wait "$process"
	same "$1: exit status" 0 $?
}

ctl() # ARGUMENT... - one request; the output is in $scratch/reply
{
	"$MAM" ctl "$process" "$@" > "$scratch/reply" 2>&1
}

reply_is() # NAME TEXT
{
	same "$1" "$2" "$(tail -n 1 "$scratch/reply")"
}

refused() # NAME TEXT
{
	same "$1: exit status" 1 $?
	try "$1: the reason" grep -q "refused the request: $2" "$scratch/reply"
}

# Contents, addresses and memory.
start
tell "fill 20 3000000" > /dev/null
address=$(tell address)
held=$(tell holds)
for how in host "$scratch/contents"; do
	if [ "$how" = host ]; then ctl suspend; else ctl suspend "$how"; fi
	reply_is "suspend, $how: what it released" "suspended; released 58.00 MiB"
	same "the driver has the memory" 0 "$(tell holds)"
	send check
	sleep 0.2
	try "the program is held" test "$(wc -l < "$scratch/out")" -lt "$lines"
	same "no file has a name" "" "$(ls "$scratch/contents")"
	ctl suspend
	refused "a second suspend" "the program is already suspended"
	ctl resume
	reply_is "resume" resumed
	until_true has_lines "$lines"
	same "the held call goes on, and all blocks have their contents" 0 "$(tail -n 1 "$scratch/out")"
	same "they are at the same address" "$address" "$(tell address)"
	same "the memory is as before" "$held" "$(tell holds)"
done
ctl resume
refused "a second resume" "the program is not suspended"
ctl suspend
send lookup
sleep 0.2
try "a function that was looked up is held" test "$(wc -l < "$scratch/out")" -lt "$lines"
ctl resume
until_true has_lines "$lines"
same "it has all its arguments" 0 "$(tail -n 1 "$scratch/out")"
ctl suspend discard
ctl resume
same "discarded contents are gone" 20 "$(tell check)"
same "the blocks can be freed" 0 "$(tell free)"
tell "fill 3 1000000" > /dev/null
same "and new ones allocated" 0 "$(tell check)"

# Threads that allocate, copy and free all the time.
tell "threads 6" > /dev/null
bad=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	if [ $((i % 2)) -eq 0 ]; then ctl suspend; else ctl suspend "$scratch/contents"; fi || bad=$((bad + 1))
	before=$(tell rounds)
	sleep 0.1
	[ "$(tell rounds)" = "$before" ] || bad=$((bad + 1))
	[ "$(tell holds)" = 0 ] || bad=$((bad + 1))
	ctl resume || bad=$((bad + 1))
done
same "6 threads are held 10 times" 0 $bad
before=$(tell rounds)
sleep 0.2
try "they go on" test "$(tell rounds)" -gt "$before"
same "no thread found wrong contents or an error" 0 "$(tell wrong)"
same "no memory was unmapped while work used it" 0 "$(tell disturbed)"
ctl suspend
kill -9 "$process"
wait "$process" 2> /dev/null
exec 3>&-
same "a process that is killed while it is suspended leaves no file" "" "$(ls "$scratch/contents")"

# Reasons to refuse a suspend.
FAKE_CUDA_DEVICES=2
export FAKE_CUDA_DEVICES
start
tell "fill 3 1000000" > /dev/null
same "a capture begins" 0 "$(tell begin)"
ctl suspend &
waiter=$!
sleep 0.7
try "the request waits for a capture, and reports it" grep -q "waits for the end of a stream capture" "$scratch/reply"
same "it holds no thread" 0 "$(tell check)"
tell end > /dev/null
wait $waiter
same "then the program is suspended" "suspended; released 4.00 MiB" "$(tail -n 1 "$scratch/reply")"
ctl resume
tell begin > /dev/null
"$MAM" ctl "$process" suspend > /dev/null 2>&1 &
waiter=$!
sleep 0.3
kill -9 $waiter
wait $waiter 2> /dev/null
sleep 0.7
tell end > /dev/null
sleep 0.3
same "a client that is killed takes its request along" 0 "$(tell check)"
ctl resume
refused "so the program is not suspended" "the program is not suspended"
child=$(tell fork)
same "the child of a fork is left to the driver, and not held" 3 "$child"
ctl suspend
same "a program with a forked child can be suspended" 0 $?
ctl resume
same "a block is shared" 0 "$(tell share)"
ctl suspend
refused "shared memory" "a block is shared with other processes"
tell free > /dev/null
tell "fill 3 1000000" > /dev/null
ctl suspend
same "once it is freed, nothing is shared" 0 $?
ctl resume
same "peer access is enabled" 0 "$(tell peer)"
ctl suspend
refused "memory of peers" "other devices have peer access"
same "the program is not held" 0 "$(tell check)"
stop "a program that could not be suspended"
FAKE_CUDA_DEVICES=1
start
tell "fill 3 1000000" > /dev/null
same "a block is exported" 0 "$(tell export)"
ctl suspend
refused "exported memory" "a block was exported"
stop "a program with exported memory"
start --source=cudamalloc
tell "fill 3 1000000" > /dev/null
ctl suspend
refused "chunks" "the program was started without --source=vmm"
stop "a program with chunks"
FAKE_CUDA_VMM=0
export FAKE_CUDA_VMM
start
tell "fill 3 1000000" > /dev/null
ctl suspend
refused "a device without mapped memory" "a pool has chunks of cuMemAlloc"
stop "a program on such a device"
unset FAKE_CUDA_VMM

# Work that takes 2 s: the request waits for it.
FAKE_CUDA_LAG_US=2000000
export FAKE_CUDA_LAG_US
start
tell "fill 1 1000" > /dev/null
same "a thread is cancelled in a call" 0 "$(tell cancel)"
tell busy > /dev/null
"$MAM" ctl "$process" suspend > /dev/null 2>&1 &
waiter=$!
sleep 0.5
kill -9 $waiter
wait $waiter 2> /dev/null
sleep 0.7
ctl suspend
refused "a suspend while an earlier one still waits for the GPU" "the last request still waits for the work"
same "a client that was killed meanwhile leaves no thread held" 0 "$(tell check)"
tell busy > /dev/null
ctl suspend
same "suspend with work on the GPU: exit status" 0 $?
try "it reports what it waits for" grep -q "waits for the work on the GPU" "$scratch/reply"
same "the work was not disturbed" 0 "$(tell disturbed)"
kill -9 "$process"
wait "$process" 2> /dev/null
exec 3>&-
unset FAKE_CUDA_LAG_US

# Too little memory at the resume: another process has it by then, as a lower limit shows.
start
tell "fill 20 3000000" > /dev/null
ctl suspend
ctl limit 20M
ctl resume
refused "resume with too little memory" "the device has too little free memory; nothing is lost"
send check
sleep 0.2
try "the program is still held" test "$(wc -l < "$scratch/out")" -lt "$lines"
ctl suspend
refused "and still suspended" "the program is already suspended"
ctl limit none
ctl resume
reply_is "a later resume" resumed
until_true has_lines "$lines"
same "nothing is lost" 0 "$(tail -n 1 "$scratch/out")"
stop "a program that was resumed later"

# Each driver call of a suspend and a resume fails once.
start --log=error
tell "fill 4 3000000" > /dev/null
socket=$(find "$XDG_RUNTIME_DIR/mam" -name "$process-*.ctl")
for how in "suspend" "suspend $scratch/contents"; do
	same "whichever driver call of a $how fails, nothing is lost" 0 "$(tell "faults $socket $how")"
done
try "such failures are reported" test "$(tell failures)" -gt 20
stop "a program with faults"

# The process is killed in a driver call: 118 come before the suspend, 91 are in it.
left=0
for at in 120 140 160 180 200 240; do
	FAKE_CUDA_FAIL_AT="*:$at:kill"
	export FAKE_CUDA_FAIL_AT
	start
	unset FAKE_CUDA_FAIL_AT
	tell "fill 4 3000000" > /dev/null
	ctl suspend "$scratch/contents" && ctl resume
	kill -9 "$process" 2> /dev/null
	wait "$process" 2> /dev/null
	exec 3>&-
	[ -z "$(ls "$scratch/contents")" ] || left=$((left + 1))
done
same "killed in a driver call, it leaves no file" 0 $left

# The functions that have a gate, compared with those of a driver.
stub=/usr/local/cuda/lib64/stubs/libcuda.so
if [ -e "$stub" ] && command -v nm > /dev/null; then
	names=$MAM_SRCDIR/src/interpose/routes/gate_names.h
	prefixes=$(sed -n '/MAM_GATE_PREFIXES /,/^$/p' "$names" | grep -o '"cu[A-Za-z]*"' | tr -d '"' | tr '\n' '|')
	nm -D --defined-only "$stub" | awk '{ print $3 }' | sed 's/@.*//' | grep -E "^(${prefixes%|})" | sort > "$scratch/driver"
	grep -o 'ROW([a-zA-Z0-9_]*)' "$names" | sed 's/ROW(//; s/)//' | grep '^cu' | sort > "$scratch/gates"
	same "each function of the driver with such a name has a stub" "" "$(comm -23 "$scratch/driver" "$scratch/gates")"
	nm -D --defined-only "$MAM_BUILDDIR/.libs/libmam-preload.so" | awk '{ print $3 }' | sort > "$scratch/exported"
	same "each stub is exported" "" "$(comm -23 "$scratch/gates" "$scratch/exported")"
else
	skip "the functions of a driver" "requires CUDA's libcuda.so for linking"
fi

# Usage.
start
tell "fill 1 1000" > /dev/null
for arguments in "suspend a b" "suspend $scratch/none" "suspend $scratch/in" "resume now"; do
	# shellcheck disable=SC2086 # words
	ctl $arguments
	same "mam ctl $arguments: exit status" 2 $?
	same "mam ctl $arguments: one line" 1 "$(grep -c '^mam ctl: error: ' "$scratch/reply")"
done
stop "a program at the end"
finish
