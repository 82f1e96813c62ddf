#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# peers.sh - under --free=deferred a block becomes reusable when its own context and all contexts
# with access to its memory are done with it, and not before. This holds for any number of contexts,
# for each way to enable access, and if a call of the driver fails once. The scenes are in
# probe_peers.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_peers
wanted='failures 0 touched 0'
# The fake driver's own clock: nothing sleeps, and each run is the same.
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
	same "one failure of $1 loses no peer" '' "$failed"
}

for scene in one-peer many-peers peers-come-and-go peer-is-reset peer-is-released already-enabled green-peer \
	green-owner opened-handle; do
	same "$scene" "$wanted" "$(deferred $scene)"
done
same 'opened-handle, memory allocated by the driver' "$wanted" \
	"$("$MAM" run --free deferred --ipc dedicated:8M -- "$probe" opened-handle 2> "$scratch/err")"
export FAKE_CUDA_STICKY_AFTER=cuMemsetD8:1
same peer-breaks "$wanted" "$(deferred peer-breaks)"
unset FAKE_CUDA_STICKY_AFTER

# The same on a device that is never full: fences alone make freed blocks reusable, 1.6 GiB in
# total.
rm -f "$scratch/stats"
FAKE_CUDA_MEMORY=8G "$MAM" run --free deferred --stats="$scratch/stats" -- "$probe" many-peers > "$scratch/out" 2> "$scratch/err"
same 'many-peers, on a large device' "$wanted" "$(cat "$scratch/out")"
same 'many-peers, on a large device: freed blocks are reused' yes \
	"$([ "$(stat_of peak_reserved_bytes)" -le $((256 * 1048576)) ] && echo yes || stat_of peak_reserved_bytes)"

# A slow link: work of a peer ends long after later work of the owner.
for scene in one-peer many-peers peer-is-reset opened-handle; do
	same "$scene, slow link" "$wanted" "$(FAKE_CUDA_LINKS=0-1:pcie:3000 deferred $scene)"
done

# The probe detects the error that it checks for.
touched=$("$MAM" run --free stream -- "$probe" one-peer 2> /dev/null | sed -n 's/^.* touched //p')
same 'stream: an unordered program is seen to reuse memory too early' 1 "$([ "${touched:-0}" -gt 0 ] && echo 1)"

# A call that fails once loses neither a peer nor memory.
for function in cuCtxRecordEvent cuEventCreate cuEventQuery cuCtxPushCurrent; do
	fails_once $function
done

# A driver older than CUDA 12.5 has no event for a whole context: blocks stay in quarantine until
# memory is needed.
LD_LIBRARY_PATH=$MAM_BUILDDIR/tests/fake/old:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
for scene in one-peer many-peers peer-is-reset; do
	same "$scene, before CUDA 12.5" "$wanted" "$(deferred $scene)"
done
fails_once cuCtxSynchronize
finish
