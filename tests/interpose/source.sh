#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# source.sh - mam run --source=vmm: mapped memory looks like memory of cuMemAlloc to the program, and
# a device that cannot use it keeps its chunks. The scenes are described in probe_mapped.c. Most
# other tests of mam run run on both sources (on_both_sources in interpose.sh).
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_mapped
client=$clients/client_driver
log=$scratch/log

# Runs the client, and prints the driver's functions by which the pool has grown.
grown_by() # VARIABLE=VALUE... [OPTION...] - the options of mam run begin with a dash
{
	rm -f "$log"
	grown_set=
	while [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; do
		grown_set="$grown_set $1"
		shift
	done
	# shellcheck disable=SC2086 # variables are words
	env $grown_set FAKE_CUDA_LOG="$log" "$MAM" run "$@" -- "$client" --rounds 2 > "$scratch/out" 2> "$scratch/err"
	grown_status=$?
	sed -n 's/^\(cuMemAlloc\|cuMemCreate\) .*result=0$/\1/p' "$log" | sort -u | paste -s -d ' '
	return $grown_status
}

same "by default pools allocate chunks" cuMemAlloc "$(grown_by)"
same "--source=cudamalloc: chunks" cuMemAlloc "$(grown_by --source=cudamalloc)"
same "--source=vmm: mapped memory" cuMemCreate "$(grown_by --source=vmm)"
same "MAM_SOURCE=vmm: mapped memory" cuMemCreate "$(grown_by MAM_SOURCE=vmm)"
same "an option replaces the variable" cuMemAlloc "$(grown_by MAM_SOURCE=vmm --source=cudamalloc)"
same "no message" "" "$(grown_by --source=vmm > /dev/null; grep -v '^ms_per_round' "$scratch/err")"

# Each of these keeps a device's chunks. One message gives the reason and the effect.
kept() # NAME REASON VARIABLE=VALUE...
{
	kept_name=$1
	kept_reason=$2
	shift 2
	same "$kept_name: chunks" cuMemAlloc "$(grown_by "$@" --source=vmm)"
	grown_by "$@" --source=vmm > /dev/null
	same "$kept_name: one message" "1 1" "$(grep -c '^mam: warning' "$scratch/err") $(grep -c \
		"^mam: warning: device 0 cannot use mapped memory ($kept_reason): its pools allocate chunks, as with --source=cudamalloc" "$scratch/err")"
}
kept "no mapped memory" "CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED is 0" \
	FAKE_CUDA_FAIL_AT=cuDeviceGetAttribute:1+
kept "no peer access" "device 1 has no peer access to it, and copies between the two could be wrong" \
	FAKE_CUDA_DEVICES=2 FAKE_CUDA_FAIL_AT=cuDeviceCanAccessPeer:1+
kept "no link to one of three devices" "device 2 has no peer access to it, and copies between the two could be wrong" \
	FAKE_CUDA_DEVICES=3 FAKE_CUDA_LINKS=0-1:nvlink,1-2:pcie
kept "no addresses" "the driver refused a call that maps memory" FAKE_CUDA_FAIL_AT=cuMemAddressReserve:1+
kept "a call that the driver does not support" "the driver refused a call that maps memory" \
	FAKE_CUDA_FAIL_AT=cuMemCreate:1+:801
for call in cuMemGetAllocationGranularity cuMemMap cuMemSetAccess cuMemUnmap; do
	grown_by FAKE_CUDA_FAIL_AT=$call:1+:801 --source=vmm > /dev/null
	same "$call always fails: the program ends well, one piece is tried at most, and pools serve" "0 yes yes" \
		"$grown_status $([ "$(grep -c '^cuMemCreate' "$log")" -le 1 ] && echo yes) \
$([ "$(grep -c '^cuMemAlloc ' "$log")" -le 2 ] && echo yes)"
done
same "no peer access, and MAM_PEERS=none: mapped memory" cuMemCreate \
	"$(grown_by FAKE_CUDA_DEVICES=2 FAKE_CUDA_FAIL_AT=cuDeviceCanAccessPeer:1+ MAM_PEERS=none --source=vmm)"

run=--source=vmm
set=FAKE_CUDA_DEVICES=2 same_run "copies between devices" "$probe" devices
same "copies between devices: no message" "" "$(cat "$scratch/caught.err")"
set="FAKE_CUDA_DEVICES=2 FAKE_CUDA_LINKS=none" same_run "copies between devices without a link" "$probe" devices
FAKE_CUDA_DEVICES=2 MAM_PEERS=none "$MAM" run --source=vmm -- "$probe" devices > "$scratch/out" 2>&1
try "the scene detects missing access" grep -q 'right 0' "$scratch/out"
same "peer access that has no effect: one message" 1 \
	"$(grep -c '^mam: warning: peers have no access to mapped memory with MAM_PEERS=none: .*; unset it, or use --source=cudamalloc$' "$scratch/out")"
same_run "functions for mapped memory reject blocks" "$probe" pieces
for source in cudamalloc vmm; do
	run=--source=$source same_run "$source: dma-bufs of blocks" "$probe" dma-bufs
done
same_run "memory ends with its context" "$probe" ends

# Memory for 64 MiB, and work that takes longer than the calls that submit it.
for policy in strict deferred stream; do
	rm -f "$log"
	FAKE_CUDA_LOG=$log FAKE_CUDA_MEMORY=64M FAKE_CUDA_LAG_US=100 FAKE_CUDA_CLOCK_NS=1000 \
		"$MAM" run --log error --source=vmm --free=$policy -- "$probe" moves > "$scratch/out" 2>&1
	same "$policy: pieces move and are unmapped after their work" "wrong 0, disturbed 0, most served 1" \
		"$(tail -n 1 "$scratch/out")"
	try "$policy: many pieces move or are unmapped" test "$(grep -c '^cuMemUnmap .*result=0' "$log")" -gt 50
done

# Another process maps the pieces of a block. It receives all of them or none, whichever call fails,
# and unmaps them at the end.
rm -f "$log"
set_mam=FAKE_CUDA_LOG=$log same_run "blocks of several pieces are shared" "$probe" share
set='FAKE_CUDA_LAG_US=100 FAKE_CUDA_CLOCK_NS=1000' same_run "blocks are shared, with work in flight" "$probe" share
try "a block has several pieces" test "$(grep -c '^cuMemImportFromShareableHandle .*result=0' "$log")" -gt 3
same "no note remains" "" "$(MAM_SOURCE=vmm notes_left_by "$probe" share)"
for call in cuMemExportToShareableHandle cuMemRetainAllocationHandle cuMemImportFromShareableHandle \
	cuMemAddressReserve cuMemMap cuMemSetAccess cuMemGetAllocationPropertiesFromHandle; do
	for number in 1 2 3 5; do
		rm -f "$log"
		FAKE_CUDA_LOG=$log FAKE_CUDA_FAIL_AT=$call:$number "$MAM" run --source=vmm -- "$probe" share > "$scratch/out" 2> "$scratch/err"
		same "call $number of $call fails: what is opened is right" "0 0" "$(grep -c 'right 0' "$scratch/out") $(sed -n 's/^peer ended //p' "$scratch/out")"
		same "call $number of $call fails: what is opened is closed" "handles 0 mappings 0 reservations 0" \
			"$(grep '^handles' "$scratch/out")"
	done
done
FAKE_CUDA_FAIL_AT=cuCtxSynchronize:2 "$MAM" run --source=vmm -- "$probe" share > "$scratch/out" 2> "$scratch/err"
same "a block stays open if the wait of its close fails" "1 handles 1 mappings 1 reservations 1" \
	"$(grep -c '^cuIpcCloseMemHandle(opened\[i\]): 999$' "$scratch/out") $(grep '^handles' "$scratch/out")"
FAKE_CUDA_DEVICES=1 FAKE_CUDA_FAIL_AT=cuDeviceGetAttribute:3 "$MAM" run --source=vmm -- "$probe" share > "$scratch/out" 2> "$scratch/err"
same "a device that exports nothing: not supported, and a message" "3 1" \
	"$(grep -c '^cuIpcGetMemHandle.*: 801$' "$scratch/out") $(grep -c \
	'warning: cannot share a block in mapped memory: .*; use --source=cudamalloc$' "$scratch/err")"

for call in cuMemAddressReserve cuMemCreate cuMemMap cuMemSetAccess; do
	for number in 1 2 3; do
		set=FAKE_CUDA_FAIL_AT=$call:$number same_run "call $number of $call fails" "$probe" ends
	done
done
finish
