#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# replay_sources.sh - mam replay on sources that need a GPU, with the fake driver instead: the real
# vmm source gives exactly the simulated results; a GPU that is too small or whose calls fail leads
# to results or an error message.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

fake=$MAM_BUILDDIR/tests/fake/lib
trace=$MAM_SRCDIR/tests/data/resnet50-train.trace.gz
small=$scratch/small.trace

if [ ! -e "$fake/libcuda.so.1" ]; then
	skip_all "mam replay on sources of a GPU" "there are no shared libraries in this build"
fi

replay() # MEMORY OPTION... - on the fake driver; results in "out", messages in "err"
{
	memory=$1
	shift
	env LD_LIBRARY_PATH="$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FAKE_CUDA_MEMORY="$memory" \
		"$MAM" replay -p --repeat 1 "$@" > "$scratch/out" 2> "$scratch/err"
}

value() # KEY
{
	awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$scratch/out"
}

# Blocks of every size from 64 KiB up, of which a third is freed and allocated again with a slightly
# larger size.
awk 'BEGIN {
	for (i = 0; i < 600; i++)
		print "a", i, 65536 * (1 + i * 7 % 60), 0
	for (i = 0; i < 600; i += 3)
		print "f", i
	for (i = 0; i < 600; i += 3)
		print "a", 1000 + i, 65536 * (2 + i * 7 % 60), 0
	for (i = 1; i < 600; i += 3)
		print "f", i
	for (i = 0; i < 40; i++)
		print "a", 2000 + i, 65536 * 150, 0
}' > "$small"

for source in cudamalloc vmm pinned managed; do
	if replay 8G --source $source "$trace"; then
		same "$source: everything fits in 8 GiB" 0 "$(value failures)"
		same "$source: not simulated" "$source no" "$(value source) $(value simulated)"
	else
		not_ok "$source: everything fits in 8 GiB" "$(lib_tail "$scratch/err")"
	fi
done

keys='events failures peak_live_bytes high_water_bytes peak_reserved_bytes physical_peak_bytes
	driver_calls remaps'

numbers()
{
	for key in $keys; do
		printf '%s %s  ' "$key" "$(value "$key")"
	done
}

compare() # NAME OPTION... - real and simulated
{
	name="vmm, $1: the real source does what the simulated one said"
	shift
	rm -f "$scratch/log"
	if ! FAKE_CUDA_LOG=$scratch/log replay 8G --source vmm "$@"; then
		not_ok "$name" "$(lib_tail "$scratch/err")"
		return
	fi
	real=$(numbers)
	same "$name: the driver is called" 1 "$(grep -c -m 1 '^cuMemMap ' "$scratch/log")"
	rm -f "$scratch/log"
	FAKE_CUDA_LOG=$scratch/log replay 8G --source vmm --simulate "$@"
	same "$name" "$real" "$(numbers)"
	same "$name: the simulated run is marked" yes "$(value simulated)"
	same "$name: the simulated run calls no driver" no \
		"$(grep -q -s '^cuMemMap ' "$scratch/log" && echo yes || echo no)"
}

compare "a training run" "$trace"
compare "a training run, deferred" --free deferred "$trace"
compare "large blocks" "$small"
compare "large blocks, under a limit" --limit 700M "$small"
compare "large blocks, with caches" --cache on "$small"

# A strict free waits for the device each time, by means of a small block that it frees; frees of
# other policies never wait.
for free in strict stream deferred; do
	: > "$scratch/log"
	FAKE_CUDA_LOG=$scratch/log replay 8G --source cudamalloc --free $free "$small"
	waits=$(grep -c -E '^(cuCtxSynchronize|cuMemAlloc bytes=512) ' "$scratch/log")
	case $free in
	strict) try "cudamalloc, $free: every free waits" [ "$waits" -ge 800 ] ;;
	*) same "cudamalloc, $free: no free waits" 0 "$waits" ;;
	esac
done

if replay 1G --source vmm "$trace"; then
	if [ "$(value failures)" -gt 0 ] && [ "$(value physical_peak_bytes)" -le 1073741824 ]; then
		ok "vmm: 1 GiB is too small, and the rest is replayed"
	else
		not_ok "vmm: 1 GiB is too small, and the rest is replayed" \
			"$(value failures) failures, $(value physical_peak_bytes) bytes"
	fi
else
	not_ok "vmm: 1 GiB is too small, and the rest is replayed" "$(lib_tail "$scratch/err")"
fi

# A driver call that fails once, anywhere: no crash, and an error message if the replay ends.
ends=0
for call in cuInit cuMemAddressReserve cuMemCreate cuMemMap cuMemSetAccess cuMemUnmap cuMemRelease; do
	for n in 1 2 3 9; do
		name="vmm: the driver refuses, $call $n"
		FAKE_CUDA_FAIL_AT=$call:$n replay 8G --source vmm --check "$small"
		status=$?
		if [ $status -gt 2 ] && [ $status -ne 77 ]; then
			not_ok "$name" "status $status: $(lib_tail "$scratch/err")"
		elif [ $status -ne 0 ] && ! grep -q '^mam replay: ' "$scratch/err"; then
			not_ok "$name" "status $status without a sentence"
		else
			ok "$name"
		fi
		[ $status -eq 0 ] || ends=$((ends + 1))
	done
done
try "vmm: some failures end a replay" [ $ends -gt 0 ]

# No GPU: vmm is simulated, the other sources report what is missing.
for source in cudamalloc pinned managed; do
	LD_LIBRARY_PATH="" "$MAM" replay --source $source "$small" > /dev/null 2> "$scratch/err"
	status=$?
	if [ $status -eq 0 ]; then
		skip "$source without a GPU" "there is one"
	else
		same "$source without a GPU: status" 77 $status
		try "$source without a GPU: message" grep -q "source '$source' needs a GPU" "$scratch/err"
	fi
done

# Five streams take turns of 200 events, and the GPU lags: with a footprint, memory that one stream freed
# serves the others.
gzip -dc "$trace" | awk '/^#/ { next } $1 == "a" { $4 = int(n / 200) % 5 } { n++; print }' > "$scratch/five.trace"

needs() # OPTION... - physical over live bytes in thousandths
{
	"$MAM" replay -p --repeat 1 --source vmm --simulate --lag 512 "$@" "$scratch/five.trace" |
		awk -F '\t' '$1 == "physical_peak_ratio" { printf "%d", 1000 * $2 }'
}

without=$(needs)
with=$(needs --footprint 2)
if [ "$without" -gt 1500 ] && [ "$with" -le 1050 ]; then
	ok "five streams need 1.05 times their live bytes with a footprint"
else
	not_ok "five streams need 1.05 times their live bytes with a footprint" \
		"they need $with thousandths, and $without without it"
fi

# Twelve streams, each of which frees 8 blocks of 50 MB beside 4.8 GB of live ones and then does nothing. The GPU
# does not lag, so the next stream can use the memory.
awk 'BEGIN {
	for (n = 0; n < 96; n++)
		print "a " n " 50000000 0"
	for (stream = 1; stream <= 12; stream++) {
		for (i = 0; i < 8; i++)
			print "a " (n + i) " 50000000 " stream
		for (i = 0; i < 8; i++)
			print "f " n++
	}
}' > "$scratch/idle.trace"
most=$("$MAM" replay -p --repeat 1 --source vmm --simulate --lag 0 "$scratch/idle.trace" |
	awk -F '\t' '$1 == "physical_peak_ratio" { printf "%d", 1000 * $2 }')
if [ "$most" -le 1100 ]; then
	ok "idle streams keep little memory"
else
	not_ok "idle streams keep little memory" "the pool needs $most thousandths of the live bytes"
fi

finish
