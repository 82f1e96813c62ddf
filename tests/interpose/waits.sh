#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# waits.sh - under mam run no allocation waits for the GPU while the driver has memory, because a
# kernel may wait for the thread that allocates. probe_waits.c queries the fake driver, whose clock
# advances only with calls and waits.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_waits
set="FAKE_CUDA_MEMORY=400G FAKE_CUDA_LAG_US=60000000 FAKE_CUDA_CLOCK_NS=1000"

for policy in strict deferred stream; do
	for scene in random-sizes lagging contexts; do
		run="--free $policy" same_run "$policy: $scene: same results as without mam" "$probe" $scene
		same "$policy: $scene: no allocation waits" "failed 0 waited 0" "$(tr '\n' ' ' < "$scratch/caught" | sed 's/ $//')"
	done
done

# Chunks that a growth found idle and too small are released by the next free: it has waited, or no
# work is in flight.
for policy in strict deferred stream; do
	run="--free $policy" same_run "$policy: a free after a growth, idle" "$probe" outgrown-idle
	same "$policy: it releases both idle chunks" 2 "$(stat_of driver_shrinks)"
	run="--free $policy" same_run "$policy: a free after a growth, work pending" "$probe" outgrown-busy
	freed=0
	[ $policy = strict ] && freed=2
	same "$policy: with work pending it releases $freed" $freed "$(stat_of driver_shrinks)"
	run="--free $policy --growth 32M" same_run "$policy: with a growth size" "$probe" outgrown-idle
	same "$policy: with a growth size it releases none" 0 "$(stat_of driver_shrinks)"
done

# No memory on one device: the work and the pools of the other device do not matter.
set="FAKE_CUDA_DEVICES=2 FAKE_CUDA_MEMORY=4G FAKE_CUDA_LAG_US=60000000 FAKE_CUDA_CLOCK_NS=1000"
for policy in strict deferred stream; do
	run="--free $policy" same_run "$policy: no memory on one device of two" "$probe" devices
	same "$policy: the other device keeps its chunks" 0 "$(stat_of driver_shrinks)"
done
finish
