#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# pitch.sh - pitched memory: rows as far apart as the driver puts them, from the pool from the second time on, and never a
# wait. probe_pass.c and probe_runtime.c say what each scene does.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_pass

for policy in strict deferred stream; do
	run="--free $policy" same_run "$policy: 40 widths, 3 sizes of elements, twice" "$probe" pitches
	run="--free $policy" set=FAKE_CUDA_LAG_US=300000 same_run "$policy: work in flight, and a capture" "$probe" pitch-waits
done
same_run "pitches" "$probe" pitches
same "nearly all of the second round are served" 1 \
	"$([ "$(stat_of call.cuMemAllocPitch_v2.driver.served)" -ge 115 ] && echo 1)"
same "none of the first" 1 "$([ "$(stat_of call.cuMemAllocPitch_v2.driver.served)" -le 123 ] && echo 1)"
run='--limit 64M' same_run "with a limit" "$probe" pitches
MAM_GRANULE=64 same_run "blocks that are less aligned than the driver's are not used" "$probe" pitches
same "but the driver's" 0 "$(grep -c 'AllocPitch.*served' "$scratch/stats")"
same_run "cudaMallocPitch and cudaMalloc3D" "$probes/probe_runtime" pitched
same "come down to the same: one for the pitch, three served, one too large" "1 3 1" "$(stat_of \
	call.cuMemAllocPitch_v2.lookup.forwarded) $(stat_of call.cuMemAllocPitch_v2.lookup.served) $(stat_of \
	call.cuMemAllocPitch_v2.lookup.failed)"
finish
