#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# structures.cu, whose kernels fill mam's structures, builds without a warning. Where there is a GPU
# it also runs.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test=structures
. "$MAM_SRCDIR/tests/clients/device.sh"

try 'structures builds' build structures structures.cu -O2
runs structures
finish
