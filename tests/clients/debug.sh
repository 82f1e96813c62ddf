#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# debug.cu, whose kernels make errors on purpose, builds without a warning, and so does malloc() in
# kernels on a heap with checks. Kernels compiled without MAM_KDEBUG contain no checks. Where there
# is a GPU both programs also run.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test=debug
. "$MAM_SRCDIR/tests/clients/device.sh"

if at_length 'debug and override'; then
	try 'debug builds' build debug debug.cu -O2
	try 'malloc in kernels builds for a heap with checks' build override override.cu -DMAM_KDEBUG
	runs debug
	runs override
fi

# The code of a kernel shows whether it handles red zones.
cat > "$scratch/kernel.cu" << 'EOC'
#include <mam/heap.cuh>
__global__ void touch(struct mam_kheap *heap, void **o) { o[0] = mam_kmalloc(heap, 3); (void)mam_kfree(heap, o[1]); }
EOC
knows() # FLAGS... - how often the code refers to the checks
{
	"$NVCC" -arch=compute_90 -I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src" "$@" -ptx -o "$scratch/ptx" \
		"$scratch/kernel.cu" > /dev/null 2>&1 || echo failed
	grep -c kdebug "$scratch/ptx"
}
same 'without MAM_KDEBUG a kernel contains no checks' 0 "$(knows)"
same 'with MAM_KDEBUG a kernel contains checks' yes "$([ "$(knows -DMAM_KDEBUG)" -gt 0 ] && echo yes)"
finish
