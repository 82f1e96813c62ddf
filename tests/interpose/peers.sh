#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# peers.sh - under --free=deferred a block becomes reusable when its own context and all contexts with access to its
# memory are done with it, and not before: however many those are, however access was enabled, and whichever call of the
# driver fails once. The scenes are in probe_peers.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_peers
wanted='failures 0 touched 0'
# The driver's own clock: nothing sleeps, and each run is the same.
FAKE_CUDA_DEVICES=2 FAKE_CUDA_MEMORY=64M FAKE_CUDA_CLOCK_NS=1000 FAKE_CUDA_LAG_US=200
export FAKE_CUDA_DEVICES FAKE_CUDA_MEMORY FAKE_CUDA_CLOCK_NS FAKE_CUDA_LAG_US

deferred() # SCENE
{
	"$MAM" run --free deferred -- "$probe" "$1" 2> "$scratch/err"
}

fails_once() # FUNCTION
{
	failed=
	for call in 1 2 3 4 5 6 7 8 9 10 11 12 20 40; do
		result=$(FAKE_CUDA_FAIL_AT=$1:$call:999 deferred one-peer)
		[ "$result" = "$wanted" ] || failed="$failed $call: $result;"
	done
	same "$1 fails once" '' "$failed"
}

for scene in one-peer many-peers peers-come-and-go peer-is-reset peer-is-released already-enabled green-peer \
	green-owner opened-handle; do
	same "$scene" "$wanted" "$(deferred $scene)"
done
same 'opened-handle, of memory that the driver allocated' "$wanted" \
	"$("$MAM" run --free deferred --ipc dedicated:8M -- "$probe" opened-handle 2> "$scratch/err")"
export FAKE_CUDA_STICKY_AFTER=cuMemsetD8:1
same peer-breaks "$wanted" "$(deferred peer-breaks)"
unset FAKE_CUDA_STICKY_AFTER

# On a device that is never full as well: fences alone make freed blocks reusable, 1.6 GiB of them one after the other.
rm -f "$scratch/stats"
FAKE_CUDA_MEMORY=8G "$MAM" run --free deferred --stats="$scratch/stats" -- "$probe" many-peers > "$scratch/out" 2> "$scratch/err"
same 'many-peers, on a large device' "$wanted" "$(cat "$scratch/out")"
same 'many-peers, on a large device: freed blocks are used again' yes \
	"$([ "$(stat_of peak_reserved_bytes)" -le $((256 * 1048576)) ] && echo yes || stat_of peak_reserved_bytes)"

# The probe does find what it looks for.
touched=$("$MAM" run --free stream -- "$probe" one-peer 2> /dev/null | sed -n 's/^.* touched //p')
same 'stream: a program that keeps no order is seen to use memory too early' 1 "$([ "${touched:-0}" -gt 0 ] && echo 1)"

# A call that fails once takes no peer away, and no memory.
for function in cuCtxRecordEvent cuEventCreate cuEventQuery cuCtxPushCurrent; do
	fails_once $function
done

# A driver of before CUDA 12.5 has no event over a context: blocks stay until memory is needed.
LD_LIBRARY_PATH=$MAM_BUILDDIR/tests/fake/old:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
for scene in one-peer many-peers peer-is-reset; do
	same "$scene, before CUDA 12.5" "$wanted" "$(deferred $scene)"
done
fails_once cuCtxSynchronize
finish
