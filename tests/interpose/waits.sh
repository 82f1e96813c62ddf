#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# waits.sh - under mam run no allocation waits for the GPU while the driver has memory, because a
# kernel may wait for the thread that allocates. probe_waits.c queries the fake driver, whose clock
# advances only with calls and waits.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_waits
set="FAKE_CUDA_MEMORY=400G FAKE_CUDA_LAG_US=60000000 FAKE_CUDA_CLOCK_NS=1000"

for policy in strict deferred stream; do
	for scene in random-sizes lagging contexts; do
		run="--free $policy" same_run "$policy: $scene: same results as without mam" "$probe" $scene
		same "$policy: $scene: no allocation waits" "failed 0 waited 0" "$(tr '\n' ' ' < "$scratch/caught" | sed 's/ $//')"
	done
done

# Memory that a growth found idle and too small: 40 and 50 MiB, when the pool needs
# 70. Mapped memory moves to where it is needed. Chunks are released by the next free: it has waited,
# or no work is in flight.
releases() # NAME COUNT [MIB]
{
	if [ "$MAM_SOURCE" = vmm ]; then
		same "$1: ${3:-96} MiB suffice" "0 1" \
			"$(stat_of driver_shrinks) $([ "$(stat_of peak_reserved_bytes)" -le $((${3:-96} * 1048576)) ] && echo 1)"
	else
		same "$1: it releases $2 chunks" "$2" "$(stat_of driver_shrinks)"
	fi
}
for policy in strict deferred stream; do
	run="--free $policy" same_run "$policy: a free after a growth, idle" "$probe" outgrown-idle
	releases "$policy, idle" 2
	run="--free $policy" same_run "$policy: a free after a growth, work pending" "$probe" outgrown-busy
	freed=0
	[ $policy = strict ] && freed=2
	releases "$policy, work pending" $freed
	run="--free $policy --growth 32M" same_run "$policy: with a growth size" "$probe" outgrown-idle
	releases "$policy, with a growth size" 0 128
done

# No memory on one device: the work and the pools of the other device do not matter.
set="FAKE_CUDA_DEVICES=2 FAKE_CUDA_MEMORY=4G FAKE_CUDA_LAG_US=60000000 FAKE_CUDA_CLOCK_NS=1000"
for policy in strict deferred stream; do
	rm -f "$scratch/log"
	set_mam="$set FAKE_CUDA_LOG=$scratch/log" run="--free $policy" \
		same_run "$policy: no memory on one device of two" "$probe" devices
	released=$(stat_of driver_shrinks)
	# The first piece is a trial before there is a pool.
	[ "$MAM_SOURCE" != vmm ] || released=$(awk '
		$1 == "cuMemCreate" && / device=1 / { split($3, handle, "="); of_other[handle[2]] = created++ > 0 }
		$1 == "cuMemRelease" { split($2, handle, "="); released += of_other[handle[2]] }
		END { print released + 0 }' "$scratch/log")
	same "$policy: the other device keeps its memory" 0 "$released"
done
finish
