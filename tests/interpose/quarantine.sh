#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# quarantine.sh - no block is handed out while work still touches it, whatever the order in which work ends:
# probe_quarantine.c asks the fake driver after each allocation.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_quarantine
wanted="failures 0 touched 0"

for seed in 1 2 3 4 5; do
	for policy in strict deferred; do
		same "$policy, seed $seed: nothing is touched" "$wanted" \
			"$(FAKE_CUDA_LAG_US=300 FAKE_CUDA_LAG_RANDOM=$seed "$MAM" run --stats="$scratch/stats" \
				--free $policy -- "$probe" 4 1500 2> "$scratch/err" | tr '\n' ' ' | sed 's/ $//')"
	done
	same "seed $seed: all calls were served" "0 0" "$(stat_of forwarded) $(stat_of failed)"
done
retired=$(stat_of retired_peak_bytes)
same "deferred: blocks were in quarantine" 1 "$([ "${retired:-0}" -gt 100000 ] && echo 1)"

# The probe does find what it looks for: under --free=stream it keeps no order, and is caught at it.
touched=$(FAKE_CUDA_LAG_US=300 FAKE_CUDA_LAG_RANDOM=1 "$MAM" run --free stream -- "$probe" 4 1500 2> /dev/null |
	sed -n 's/^touched //p')
same "stream: a program that keeps no order is seen to touch memory in use" 1 "$([ "${touched:-0}" -gt 0 ] && echo 1)"

# A driver without a fence over a whole context: blocks stay until somebody needs them.
LD_LIBRARY_PATH=$MAM_BUILDDIR/tests/fake/old:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
same "deferred on a driver of before CUDA 12.5" "$wanted" \
	"$(FAKE_CUDA_MEMORY=256M FAKE_CUDA_LAG_US=100 FAKE_CUDA_LAG_RANDOM=1 "$MAM" run --free deferred -- "$probe" 2 1500 |
		tr '\n' ' ' | sed 's/ $//')"
finish
