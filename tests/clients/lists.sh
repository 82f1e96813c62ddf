#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lists.cu, whose kernels allocate, builds without a warning, optimized and for debuggers. Where
# there is a GPU it also runs.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test=lists
. "$MAM_SRCDIR/tests/clients/device.sh"

try 'lists builds' build lists lists.cu -O2
try 'lists builds with its assertions' build debug lists.cu -O2 -DMAM_KERNEL_DEBUG=1
runs lists 100000 2
runs debug 100000 2
finish
