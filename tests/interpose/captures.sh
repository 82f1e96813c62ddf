#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# captures.sh - stream captures under mam run: pools serve allocations again after a capture ends in
# any way; threads that a capture does not restrict are served during the capture; other calls
# return what the driver returns. The scenes are described in probe_capture.c and probe_runtime.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_capture
log=$scratch/log

# The scene prints the same lines as without mam, and the driver's allocation function is called at
# most MAX times, although the scene allocates 100 times after the last capture. The pool has grown.
pooled_run() # NAME MAX COMMAND...
{
	pooled_name=$1
	pooled_max=$2
	shift 2
	rm -f "$log"
	set_mam="$set FAKE_CUDA_LOG=$log" same_run "$pooled_name" "$@"
	pooled_calls=$(grep -c '^cuMemAlloc ' "$log")
	same "$pooled_name: few driver allocations" 1 \
		"$([ "$(grep -c "^$pool_call " "$log")" -ge 1 ] && [ "$pooled_calls" -le "$pooled_max" ] && echo 1 || echo "$pooled_calls")"
}

set=FAKE_CUDA_DEVICES=2
for policy in strict deferred stream; do
	run="--free $policy"
	for scene in end-elsewhere end-graph unseen per-thread many; do
		pooled_run "$policy: $scene" 10 "$probe" $scene
	done
	pooled_run "$policy: destroys" 20 "$probe" destroys
	pooled_run "$policy: destroyed" 20 "$probe" destroyed
	same "$policy: destroyed: no driver call uses an invalid handle" 0 \
		"$(grep -c '^cuStreamIsCapturing .*result=400' "$log")"
	pooled_run "$policy: contexts" 30 "$probe" contexts
	pooled_run "$policy: joined" 10 "$probe" joined
	pooled_run "$policy: frees-async" 40 "$probe" frees-async
	pooled_run "$policy: frees-per-thread" 20 "$probe" frees-per-thread
	set="$set FAKE_CUDA_FAIL_AT=cuStreamEndCapture:1:999" pooled_run "$policy: end-fails" 10 "$probe" end-fails
	same_run "$policy: global" "$probe" global
	pooled_run "$policy: shared runtime" 20 "$probes/probe_runtime" captures
done

# A pool serves the threads that no capture restricts: without a pool the driver gets 240
# allocations or more. Under strict each free waits by means of a driver allocation, which the log
# does not distinguish.
for policy in deferred stream; do
	run="--free $policy"
	pooled_run "$policy: other-threads" 40 "$probe" other-threads
done
for policy in strict deferred stream; do
	run="--free $policy"
	same_run "$policy: other-threads" "$probe" other-threads
	same "$policy: other-threads: every call is served" "$(stat_of calls_caught)" "$(stat_of served)"
	same_run "$policy: relaxed" "$probe" relaxed
	same "$policy: relaxed: every call is served" "$(stat_of calls_caught)" "$(stat_of served)"
	same_run "$policy: turnover" "$probe" turnover
	same "$policy: turnover: memory freed during a capture is reused" 1 \
		"$([ "$(stat_of peak_reserved_bytes)" -le $((256 * 1048576)) ] && echo 1 || stat_of peak_reserved_bytes)"
done
run=
set_mam="$set FAKE_CUDA_MEMORY=2G" set="$set FAKE_CUDA_MEMORY=256M" run='--free deferred --limit 256M' \
	same_run "deferred, full: turnover" "$probe" turnover

# Driver calls that mam makes for captures fail, and the program's calls return the same results.
# The pools serve allocations after captures that cuStreamEndCapture ended; if the capture mode
# cannot be exchanged, the pools cannot grow.
devices=$set
for call in cuStreamGetCtx cuStreamIsCapturing cuThreadExchangeStreamCaptureMode; do
	set="$devices FAKE_CUDA_FAIL_AT=$call:1+"
	for scene in destroys relaxed turnover joined; do
		same_run "$scene, $call fails" "$probe" $scene
	done
	[ $call = cuThreadExchangeStreamCaptureMode ] ||
		pooled_run "end-elsewhere, $call fails" 10 "$probe" end-elsewhere
done
set="$devices FAKE_CUDA_FAIL_AT=cuDevicePrimaryCtxGetState:1+"
# A pool that does not notice the reset can use its chunk, but it cannot map memory.
pooled_max=30
[ "$MAM_SOURCE" != vmm ] || pooled_max=120
pooled_run "contexts, cuDevicePrimaryCtxGetState fails" $pooled_max "$probe" contexts
set=$devices

# Work takes 0.3 s of the fake driver's clock.
set="$set FAKE_CUDA_LAG_US=300000 FAKE_CUDA_CLOCK_NS=1000"
same_run "strict: busy" "$probe" busy
# shellcheck disable=SC2086 # variables are words
env $set "$MAM" run --free deferred -- "$probe" busy > "$scratch/out" 2>&1
same "deferred: busy" "the free waited: 0;work of the old owner is pending: 0;" \
	"$(grep -E 'waited|pending' "$scratch/out" | tr '\n' ';')"

# Random calls of three threads return the same results, and the pool serves allocations after the
# last capture. In every second run work lags, and no new block may have pending work of its old
# owner. The clock is the fake driver's, so nothing sleeps.
random_run() # SEED POLICY [pending]
{
	rm -f "$log"
	set_mam="$set FAKE_CUDA_LOG=$log" run="--free $2" same_run "random calls, seed $1, $2${3:+, $3}" \
		"$probes/probe_random" "$1" 400 ${3:+"$3"}
	same "random calls: the pool serves allocations after the last capture" 0 "$(sed -n '/^cuModuleLoadData/,$p' "$log" | grep -c '^cuMemAlloc ')"
}
for seed in 1 2 3 4 5 6; do
	for policy in strict deferred stream; do
		set=FAKE_CUDA_DEVICES=2
		random_run $seed $policy
	done
	for policy in strict deferred; do
		set="FAKE_CUDA_DEVICES=2 FAKE_CUDA_LAG_US=50 FAKE_CUDA_LAG_RANDOM=$seed FAKE_CUDA_CLOCK_NS=5000"
		random_run 1$seed $policy pending
	done
done

finish
