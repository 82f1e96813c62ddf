#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# limit.sh - --limit is one for all kinds of memory on a device, exact, and true through resets, mappings, captures and
# threads. probe_pass.c says what each scene does. A limit of 64 MiB is to be as a device of 64 MiB, except that the fake
# driver keeps managed memory elsewhere.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_pass
run='--limit 64M --growth 2M --log error'

# Takes the start of the scene off.
scene() # NAME
{
	# shellcheck disable=SC2086 # options
	"$MAM" run $run -- "$probe" "$1" 2> "$scratch/err" | sed 1,4d
}

cat > "$scratch/wanted" << 'END'
cuMemAlloc_v2(&a, 16 * MIB): 0
cuMemAllocManaged(&managed, 16 * MIB, 1): 0
create(&handle, 16 * MIB, 0): 0
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
try "63 MiB of four kinds pass, 2 more do not by any call, 1 does; freed, it can be had again" diff "$scratch/wanted" "$scratch/got"

same "--log error says nothing" "" "$(cat "$scratch/err")"
"$MAM" run --limit 64M --growth 2M -- "$probe" limit > "$scratch/out" 2> "$scratch/err"
try "otherwise it is said what to do" grep -q 'raise --limit' "$scratch/err"
try "bytes have units" grep -qE '^mam: warning: out of memory: cannot allocate [0-9.]+ MiB \(live [0-9.]+ (B|MiB), largest free block [0-9.]+ (B|MiB), quarantined 0 B, reserved [0-9.]+ (B|MiB)\); ' \
	"$scratch/err"

cat > "$scratch/wanted" << 'END'
26 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
26 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
26 MiB more: alloc 0 managed 0 create 0 async 0 pool 0 pitch 0
46 MiB more: alloc 2 managed 2 create 2 async 2 pool 2 pitch 2
64 MiB more: alloc 0 managed 0 create 0 async 0 pool 0 pitch 0
END
scene limit-maps | grep more: > "$scratch/got"
try "physical memory counts until its last mapping and its last handle are gone" diff "$scratch/wanted" "$scratch/got"

set='FAKE_CUDA_MEMORY=64M FAKE_CUDA_DEVICES=2'
set_mam='FAKE_CUDA_MEMORY=1G FAKE_CUDA_DEVICES=2'
same_run "each device has its own" "$probe" limit-devices
same_run "memory of a stream is its device's, whichever context is current" "$probe" limit-streams
same_run "what ends with its context is off the account, and cuMemCreate's does not" "$probe" limit-resets
same_run "streams beside a capture" "$probe" limit-captures
same "what a captured stream asks for is counted, not charged" 1 "$(stat_of why.capture)"
unset set_mam
set=

# The driver's own account of it, call by call. Managed memory has no line of its own for its free.
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
	same "$policy: six threads that want more than there is never have it" "done many kept" \
		"$(tail -n 1 "$scratch/out") $(cat "$scratch/sum")"
done
finish
