#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# contexts.sh - the default pools of contexts that are destroyed and reset: contexts.cu, in the
# library, on both sources.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
# shellcheck disable=SC2034 # device.sh reads it
device_test=contexts
. "$MAM_SRCDIR/tests/clients/device.sh"

try 'contexts builds' build contexts contexts.cu -lcuda
for source in cudamalloc vmm; do
	MAM_SOURCE=$source
	export MAM_SOURCE
	runs contexts
done
finish
