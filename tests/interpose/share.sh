#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# share.sh - two processes under mam share blocks: in containers, with many handles, and when one of
# them is killed at any call of the driver. The scenes are described in probe_share.c.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_share

play() # SCENE
{
	"$MAM" run -- "$probe" "$1" > "$scratch/out" 2> "$scratch/err"
}

# A peer without the owner's /dev/shm, or outside of its network namespace, opens all or nothing.
apart() # SCENE CODE MESSAGES
{
	play "$1"
	if [ $? -eq 77 ]; then
		skip "$1" "this user cannot have another namespace"
	else
		same "$1" "block 0: $2 block 1: $2 block 2: $2 peer ended 0 messages $3" \
			"$(tr '\n' ' ' < "$scratch/out")messages $(grep -c '^mam: warning: .*--source=' "$scratch/err")"
	fi
}

if [ "$MAM_SOURCE" = vmm ]; then
	apart own-shm 0 0
	apart own-network 1 1
else
	apart own-shm 1 1
	apart own-network 0 0
fi

# Notes of the processes that the last scene started.
notes_left()
{
	for left in $(sed -n 's/^process //p' "$scratch/err"); do
		find /dev/shm -maxdepth 1 -name "mam-ipc-$(id -u)-*" 2> /dev/null | while read -r left_path; do
			[ "$(od -An -tu4 -j12 -N4 "$left_path" 2> /dev/null | tr -d ' ')" != "$left" ] || echo "$left_path"
		done
	done
}

play killed-importer
same "the importer is killed: the exporter continues" \
	"killed at many calls 1, then ended 0, wrong 0" "$(head -n 1 "$scratch/out")"
same "the importer is killed: blocks stay as they are and can be shared again" \
	"unchanged 1 cuMemFree_v2(blocks[i]): 0 unchanged 1 cuMemFree_v2(blocks[i]): 0 unchanged 1 cuMemFree_v2(blocks[i]): 0 another peer ended 0, wrong 0 files 0" \
	"$(sed 1d "$scratch/out" | paste -sd ' ')"
play killed-exporter
same "the exporter is killed: the importer continues" \
	"killed at many calls 1, then ended 0, opened some 1, wrong 0" "$(head -n 1 "$scratch/out")"
same "the exporter is killed: the importer keeps nothing" "mappings 0, files 0" "$(sed -n 2p "$scratch/out")"
# Notes that were never sent are removed by the next process that shares a block.
cp "$scratch/err" "$scratch/processes"
play killed-importer
cp "$scratch/processes" "$scratch/err"
same "the exporter is killed: no note remains" "" "$(notes_left)"

play many
same "10,000 handles" "opened 10000, right 10000, closed 10000 mappings 0, files 0 peer ended 0 failed 0" \
	"$(paste -sd ' ' < "$scratch/out")"
finish
