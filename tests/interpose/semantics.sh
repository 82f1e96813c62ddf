#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# semantics.sh - what CUDA specifies about its calls, scene by scene, with mam as without it. The
# scenes are described in probe_driver.c and probe_runtime.c.
# shellcheck disable=SC2086 # a client and its options are words
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

driver=$probes/probe_driver
runtime=$probes/probe_runtime

for scene in contexts context-again detach release reset capture relaxed scarce memory-info \
	bad-arguments foreign once lookups other-thread; do
	same_run "driver: $scene" "$driver" $scene
done
same_run "driver: fork" "$driver" fork
same "the child of a process with a pool has no pool" "" "$(ls "$scratch"/stats.* 2> /dev/null)"
same_run "driver: fork-before" "$driver" fork-before
same "children of a process without a pool have their own pools" "allocs	1 allocs	1" \
	"$(cat "$scratch"/stats.* | grep allocs | tr '\n' ' ' | sed 's/ $//')"
rm -f "$scratch"/stats.*
for scene in once bad-arguments reset entry at-exit failures; do
	same_run "runtime: $scene" "$runtime" $scene
done
set=FAKE_CUDA_DEVICES=2 same_run "runtime: two devices" "$runtime" devices
caught=none set=FAKE_CUDA_DEVICES=0 same_run "runtime: no device" "$runtime" once

# Waiting for the GPU takes 0.3 s here.
set=FAKE_CUDA_LAG_US=300000 same_run "a free waits for its block's context, and for no other" "$driver" waits
FAKE_CUDA_LAG_US=300000 "$MAM" run --free stream -- "$driver" waits > "$scratch/out" 2>&1
same "--free stream never waits" 3 "$(grep -c 'waited.*: 0' "$scratch/out")"

# Driver calls fail. mam makes other driver calls than the program, so different calls fail, but the
# results must be the same.
for probe in "$driver" "$runtime"; do
	name=${probe##*/}
	set=FAKE_CUDA_FAIL_AT=cuMemAlloc:1+,cuMemCreate:1+ same_run "$name: the driver never has memory" "$probe" once
	set=FAKE_CUDA_FAIL_AT=cuMemFree:1:700 set_mam=FAKE_CUDA_FAIL_AT=cuCtxSynchronize:1:700 \
		same_run "$name: a free that reports a kernel fault leaves the block allocated" "$probe" once
	FAKE_CUDA_FAIL_AT=$pool_call:1 "$MAM" run -- "$probe" once > "$scratch/out" 2> /dev/null
	"$probe" once > "$scratch/plain"
	try "$name: the second allocation attempt succeeds" cmp "$scratch/plain" "$scratch/out"
	FAKE_CUDA_FAIL_AT=cuCtxSynchronize:1:4 "$MAM" run -- "$probe" once 2> /dev/null |
		sed 's/last error 4/last error 0/' > "$scratch/out"
	try "$name: a driver that shuts down during a free is not an error" cmp "$scratch/plain" "$scratch/out"
done

# A limit of mam's is reported like the driver's out of memory: the device has four times as much,
# and the results are the same.
for client in "$driver scarce" "$clients/client_shared --check --rounds 1" "$clients/client_dlsym --check --rounds 1"; do
	set=FAKE_CUDA_MEMORY=1G set_mam=FAKE_CUDA_MEMORY=4G run='--limit 1G' \
		same_run "--limit: ${client##*/}" $client
done
same "--limit holds" 1 "$([ "$(stat_of peak_reserved_bytes)" -le 1073741824 ] && echo 1)"
same "--limit: a cudaMalloc that fails writes a null pointer" "null 1, as it was 0" \
	"$("$MAM" run --limit 512M -- "$runtime" failures 2> /dev/null | sed -n 3p)"

# Full and empty again: chunks are released when the driver has no more memory.
set=FAKE_CUDA_MEMORY=256M same_run "a small device: full, freed, full again" "$clients/client_shared" --check --rounds 2
finish
