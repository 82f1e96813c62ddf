#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# shapes.cu, whose kernels allocate in blocks and grids of many shapes, builds without a warning.
# Where there is a GPU it also runs, and its line about speed is printed.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test=shapes
. "$MAM_SRCDIR/tests/clients/device.sh"

try 'shapes builds' build shapes shapes.cu -O2
runs shapes
[ "$has_gpu" = yes ] && sed -n 's/^speed/# speed/p' "$scratch/out"
finish
