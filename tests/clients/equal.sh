#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# equal.sh - programs with several contexts and with two processes behave the same plain and under
# mam run, with each policy of frees.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

for policy in strict deferred stream; do
	run="--free=$policy"
	same_run "two processes, runtime, $policy" "$clients/ipc_pair"
	same_run "two processes, driver, $policy" "$clients/ipc_pair_driver"
	same_run "contexts of every kind, $policy" "$clients/two_contexts"
	set=FAKE_CUDA_LAG_US=20
	same_run "contexts of every kind, work that lags, $policy" "$clients/two_contexts"
	set=
	same_run "calls that fail, $policy" "$clients/refused"
	for part in modes threads joined ends destroy detach; do
		same_run "captures, two contexts, $policy: $part" "$clients/captures" $part
		set=FAKE_CUDA_DEVICES=2 same_run "captures, two devices, $policy: $part" "$clients/captures" $part
	done
done
run=

# Without mam a peer can open the driver's handles. If only the exporting program runs under mam,
# opening fails, and the peer never sees wrong bytes.
"$clients/ipc_pair" --peer-plain > "$scratch/out" 2> "$scratch/err"
same "a plain peer opens every block of a plain program" "0 12" \
	"$? $(grep -c 'opened 0, right there 1, right here 1, others wrong 0' "$scratch/out")"
for client in ipc_pair ipc_pair_driver; do
	"$MAM" run -- "$clients/$client" --peer-plain > "$scratch/out" 2> "$scratch/err"
	same "$client: a plain peer opens no block of a program under mam" "0 12" \
		"$? $(grep -c 'opened 1, right there 0, right here 1, others wrong 0' "$scratch/out")"
	# Three of the six blocks are smaller than 1 MiB. The driver allocates their sizes from the
	# second time on, and the others always.
	"$MAM" run --ipc=dedicated -- "$clients/$client" --peer-plain > "$scratch/out" 2> "$scratch/err"
	same "$client: --ipc=dedicated: a plain peer opens what is shared for the second time" "0 3 9 111000000000" \
		"$? $(grep -c 'mam: warning: cannot share a block of .* that run without mam' "$scratch/err") $(grep -c \
			'opened 0, right there 1, right here 1, others wrong 0' "$scratch/out") $(sed -n \
			's/^block.*opened \([01]\).*/\1/p' "$scratch/out" | tr -d '\n')"
done

# The time of a free while work is in flight: it waits only under strict.
in_flight() # POLICY - nanoseconds of a free of 256 bytes, with 4 fills of 5 ms in flight
{
	FAKE_CUDA_LAG_US=5000 "$MAM" run --free="$1" -- "$clients/alloc_loop_driver" --in-flight \
		--largest 65536 | sed -n 's/^256 \([0-9]*\)\.[0-9]*$/\1/p'
}

for policy in strict deferred stream; do
	taken=$(in_flight $policy)
	case $policy in
	strict) [ "${taken:-0}" -gt 10000000 ] ;;
	*) [ "${taken:-99999999}" -lt 5000000 ] ;;
	esac
	same "a free while work is in flight, $policy" "0, ${taken:-no} ns" "$?, ${taken:-no} ns"
done

for client in alloc_loop alloc_loop_driver; do
	same "$client: a line for each size and mode" 4 "$({
		"$clients/$client" --pairs 20 --largest 65536
		"$clients/$client" --in-flight --largest 65536
	} | grep -c '^[0-9]* [0-9.]*$')"
	FAKE_CUDA_DEVICES=0 "$clients/$client" > "$scratch/out" 2>&1
	same "$client: an error without a device" "1 0 refused: no CUDA-capable device is detected" \
		"$? $(cat "$scratch/out")"
done

finish
