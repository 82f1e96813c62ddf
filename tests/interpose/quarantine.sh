#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# quarantine.sh - no block is allocated while work still accesses it, in whatever order work ends.
# probe_quarantine.c queries the fake driver after each allocation.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_quarantine
wanted="failures 0 touched 0"

for seed in 1 2 3 4 5; do
	for policy in strict deferred; do
		same "$policy, seed $seed: no block in use is allocated" "$wanted" \
			"$(FAKE_CUDA_LAG_US=300 FAKE_CUDA_LAG_RANDOM=$seed "$MAM" run --stats="$scratch/stats" \
				--free $policy -- "$probe" 4 1500 2> "$scratch/err" | tr '\n' ' ' | sed 's/ $//')"
	done
	same "seed $seed: all calls are served" "0 0" "$(stat_of forwarded) $(stat_of failed)"
done
retired=$(stat_of retired_peak_bytes)
same "deferred: blocks were in quarantine" 1 "$([ "${retired:-0}" -gt 100000 ] && echo 1)"

# The probe detects the error that it checks for: its frees are unordered under --free=stream, which
# it reports.
touched=$(FAKE_CUDA_LAG_US=300 FAKE_CUDA_LAG_RANDOM=1 "$MAM" run --free stream -- "$probe" 4 1500 2> /dev/null |
	sed -n 's/^touched //p')
same "stream: an unordered program is seen to access memory in use" 1 "$([ "${touched:-0}" -gt 0 ] && echo 1)"

# A driver without a fence for a whole context: blocks stay in quarantine until an allocation needs
# them.
LD_LIBRARY_PATH=$MAM_BUILDDIR/tests/fake/old:$LD_LIBRARY_PATH
export LD_LIBRARY_PATH
same "deferred with a driver older than CUDA 12.5" "$wanted" \
	"$(FAKE_CUDA_MEMORY=256M FAKE_CUDA_LAG_US=100 FAKE_CUDA_LAG_RANDOM=1 "$MAM" run --free deferred -- "$probe" 2 1500 |
		tr '\n' ' ' | sed 's/ $//')"
finish
