#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# several.sh - other tests of mam run hold on the second of two devices, too. The first one is
# smaller, so mam fails if it takes anything from it. Without a link between the two, programs that
# use one of them see no difference.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

FAKE_CUDA_DEVICES=2 FAKE_CUDA_MEMORY=16M,1G PROBE_DEVICE=1
export FAKE_CUDA_DEVICES FAKE_CUDA_MEMORY PROBE_DEVICE

FAKE_CUDA_LOG=$scratch/log "$MAM" run -- "$probes/probe_memory" ranges > /dev/null 2>&1
same "scenes use the second device" 1 "$(sed -n 's/^cu.* device=\([0-9]\).*/\1/p' "$scratch/log" | sort -u | paste -sd ' ')"

again() # SUITE [LINKS] - its tests, each with a longer name
{
	sh "$MAM_SRCDIR/tests/interpose/$1.sh" > "$scratch/again" 2>&1
	again_status=$?
	sed "s#^\(ok\|not ok\|skip\) - #&$1${2+, $2}: #" "$scratch/again"
	same "$1${2+, $2}: exit status" 0 $again_status
}

for suite in memory semantics pass limit life; do
	again $suite
done
if [ "${TEST_SHARE:-1}" -gt 1 ]; then
	skip "further tests" "only tools/check --all runs them"
else
	for suite in policies watch/tags; do
		again $suite
	done
	unset FAKE_CUDA_MEMORY # these set it, or use the first device, too
	for suite in oom quarantine cache ranks; do
		again $suite
	done
	export FAKE_CUDA_MEMORY=16M,1G
fi
export FAKE_CUDA_LINKS=none MAM_SOURCE=cudamalloc
for suite in memory limit; do
	again $suite "no link"
done
finish
