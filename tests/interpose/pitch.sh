#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pitch.sh - pitched memory: the pitch is the driver's, the pool serves a pitch from the second
# allocation on, and no call waits. The scenes are described in probe_pass.c and probe_runtime.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_pass

for policy in strict deferred stream; do
	run="--free $policy" same_run "$policy: 40 widths, 3 sizes of elements, twice" "$probe" pitches
	run="--free $policy" set=FAKE_CUDA_LAG_US=300000 same_run "$policy: work in flight, and a capture" "$probe" pitch-waits
done
same_run "pitches" "$probe" pitches
same "the pool serves nearly all allocations of the second round" 1 \
	"$([ "$(stat_of call.cuMemAllocPitch_v2.driver.served)" -ge 115 ] && echo 1)"
same "the pool serves no allocation of the first round" 1 "$([ "$(stat_of call.cuMemAllocPitch_v2.driver.served)" -le 123 ] && echo 1)"
run='--limit 64M' same_run "pitches with a limit" "$probe" pitches
MAM_GRANULE=64 same_run "blocks with less alignment than the driver's are not used" "$probe" pitches
same "the driver serves them instead" 0 "$(grep -c 'AllocPitch.*served' "$scratch/stats")"
same_run "cudaMallocPitch and cudaMalloc3D" "$probes/probe_runtime" pitched
same "cuMemAllocPitch is called underneath: one forwarded, three served, one too large" "1 3 1" "$(stat_of \
	call.cuMemAllocPitch_v2.lookup.forwarded) $(stat_of call.cuMemAllocPitch_v2.lookup.served) $(stat_of \
	call.cuMemAllocPitch_v2.lookup.failed)"
finish
