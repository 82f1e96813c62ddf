#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# limit.sh - --limit applies to the sum of all kinds of memory on a device. It is exact to the byte
# and stays correct through resets, mappings, captures and threads. The scenes are described in
# probe_pass.c. A limit of 64 MiB must behave like a device of 64 MiB, except that the fake driver
# keeps managed memory elsewhere.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_pass
run='--limit 64M --growth 2M --log error'

# Prints what a scene prints, without the lines of its setup.
scene() # NAME
{
	# shellcheck disable=SC2086 # options
	"$MAM" run $run -- "$probe" "$1" 2> "$scratch/err" | sed 1,4d
}

cat > "$scratch/wanted" << 'END'
cuMemAlloc_v2(&a, 16 * MIB): 0
cuMemAllocManaged(&managed, 16 * MIB, 1): 0
create(&handle, 16 * MIB, probe_device()): 0
cuMemAllocAsync(&async, 15 * MIB, NULL): 0
cuMemGetInfo_v2(&free_bytes, &total_bytes): 0
free 1 MiB
2 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
1 MiB more: alloc 0 managed 0 create 1 async 0 pool 0 pitch 0
cuMemFree_v2(managed): 0
16 MiB more: alloc 0 managed 0 create 0 async 0 pool 0 pitch 0
18 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
cuMemAllocManaged(&managed, 16 * MIB, 1): 0
2 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
cuMemRelease(handle): 0
16 MiB more: alloc 0 managed 0 create 0 async 0 pool 0 pitch 0
cuMemFreeAsync(async, NULL): 0
30 MiB more: alloc 0 managed 0 create 0 async 0 pool 0 pitch 0
cuMemFree_v2(a): 0
48 MiB more: alloc 0 managed 0 create 0 async 0 pool 0 pitch 0
cuMemFree_v2(managed): 0
64 MiB more: alloc 0 managed 0 create 0 async 0 pool 0 pitch 0
66 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
cuMemGetInfo_v2(&free_bytes, &total_bytes): 0
free 64 MiB
END
scene limit > "$scratch/got"
try "63 MiB of four kinds fit; 2 more fail by any call, 1 fits; freed memory can be allocated again" diff "$scratch/wanted" "$scratch/got"

same "--log error prints nothing" "" "$(cat "$scratch/err")"
"$MAM" run --limit 64M --growth 2M -- "$probe" limit > "$scratch/out" 2> "$scratch/err"
try "without it the message suggests raising --limit" grep -q 'raise --limit' "$scratch/err"
try "byte counts have units" grep -qE '^mam: warning: out of memory: cannot allocate [0-9.]+ MiB \(live [0-9.]+ (B|MiB), largest free block [0-9.]+ (B|MiB), quarantined 0 B, reserved [0-9.]+ (B|MiB)\); ' \
	"$scratch/err"

cat > "$scratch/wanted" << 'END'
26 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
26 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
26 MiB more: alloc 0 managed 0 create 0 async 0 pool 0 pitch 0
46 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
64 MiB more: alloc 0 managed 0 create 0 async 0 pool 0 pitch 0
END
scene limit-maps | grep more: > "$scratch/got"
try "physical memory counts until its last mapping and last handle are gone" diff "$scratch/wanted" "$scratch/got"

set='FAKE_CUDA_MEMORY=64M FAKE_CUDA_DEVICES=2'
set_mam='FAKE_CUDA_MEMORY=1G FAKE_CUDA_DEVICES=2'
same_run "each device has its own limit" "$probe" limit-devices
same_run "stream memory counts for the stream's device in any current context" "$probe" limit-streams
same_run "memory that ends with its context is no longer charged; cuMemCreate's still is" "$probe" limit-resets
same_run "streams next to a capture" "$probe" limit-captures
same "allocations of a capturing stream are counted but not charged" 1 "$(stat_of why.capture)"
unset set_mam
set=

# The driver's own accounting, call by call. The free of managed memory has no log line of its own.
for policy in strict deferred; do
	rm -f "$scratch/log"
	FAKE_CUDA_LOG=$scratch/log "$MAM" run --free $policy --limit 64M --growth 2M --log error -- "$probe" limit-races \
		> "$scratch/out" 2>&1
	awk '
	function value(key, i) {
		for (i = 2; i <= NF; i++)
			if (index($i, key "=") == 1)
				return substr($i, length(key) + 2)
	}
	$NF != "result=0" { next }
	/^cuMem(Alloc|AllocManaged|AllocAsync) / { key = value("address") }
	/^cuMemCreate / { key = "handle " value("handle") }
	/^cuMem(Alloc|AllocManaged|AllocAsync|Create) / {
		bytes = value("bytes"); size[key] = bytes < 2097152 ? 0 : bytes
		sum += size[key]; calls++
		if (sum > most) most = sum
	}
	/^cuMem(Free|FreeAsync) / { key = value("address") }
	/^cuMemRelease / { key = "handle " value("handle") }
	/^cuMem(Free|FreeAsync|Release) / { sum -= size[key]; size[key] = 0 }
	END { print (calls > 500 ? "many" : calls), (most <= 64 * 1048576 ? "kept" : "passed: " most) }
	' "$scratch/log" > "$scratch/sum"
	same "$policy: six threads that request too much never exceed the limit" "done many kept" \
		"$(tail -n 1 "$scratch/out") $(cat "$scratch/sum")"
done
finish
