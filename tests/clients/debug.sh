#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# debug.cu, whose kernels make mistakes, builds without a warning, and so does malloc() in kernels on a
# heap that finds them. What finds them is in no kernel that did not ask for it. Where there is a GPU
# both also run.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test=debug
. "$MAM_SRCDIR/tests/clients/device.sh"

try 'debug builds' build debug debug.cu -O2
try 'malloc in kernels builds for a heap that finds mistakes' build override override.cu -DMAM_KDEBUG
runs debug
runs override

# What a kernel is compiled to says whether it knows of red zones.
cat > "$scratch/kernel.cu" << 'EOC'
#include <mam/heap.cuh>
__global__ void touch(struct mam_kheap *heap, void **o) { o[0] = mam_kmalloc(heap, 3); (void)mam_kfree(heap, o[1]); }
EOC
knows() # FLAGS... - how often the code names what finds mistakes
{
	"$NVCC" -arch=compute_90 -I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src" "$@" -ptx -o "$scratch/ptx" \
		"$scratch/kernel.cu" > /dev/null 2>&1 || echo failed
	grep -c kdebug "$scratch/ptx"
}
same 'without MAM_KDEBUG nothing of it is in a kernel' 0 "$(knows)"
same 'with it something is' yes "$([ "$(knows -DMAM_KDEBUG)" -gt 0 ] && echo yes)"
finish
