#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# life.sh - calls from anywhere in a process's life, with mam as without: probe_life.c says what each scene does.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_life
for policy in strict deferred stream; do
	run="--free $policy"
	set=PROBE_EARLY=1 same_run "$policy: before-main" "$probe" before-main
	for scene in signals vforks closes ends ends-in-thread; do
		same_run "$policy: $scene" "$probe" $scene
		same "$policy: $scene: nothing went past the pool" 0 "$(stat_of forwarded)"
	done
done
finish
