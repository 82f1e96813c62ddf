#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# debug.cu, whose kernels make mistakes, builds without a warning, and so does malloc() in kernels on a
# heap that finds them. What finds them is in no kernel that did not ask for it. Where there is a GPU
# both also run.
# shellcheck disable=SC2317 # called through try
. "${MAM_SRCDIR:-.}/tests/lib.sh"

if [ "$HAVE_CUDA" != yes ] || [ -z "$NVCC" ]; then
	skip_all debug 'mam was built without the CUDA toolkit'
fi
libraries=$MAM_BUILDDIR/.libs
[ -e "$libraries/libmam.so.0" ] || skip_all debug 'there is no shared library in this build'
case ${CFLAGS:-} in
*-fsanitize*) skip_all debug 'libmam has a sanitizer in it, and nvcc links none' ;;
esac

architecture=sm_90
has_gpu=no
nvidia-smi > /dev/null 2>&1 && architecture=native has_gpu=yes

build() # NAME SOURCE FLAGS... - nothing is said
{
	name=$1
	source=$2
	shift 2
	"$NVCC" "$@" -arch="$architecture" -Xcompiler -Wall,-Wextra \
		-I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src" -o "$scratch/$name" \
		"$MAM_SRCDIR/tests/clients/$source" -L "$libraries" -lmam > "$scratch/said" 2>&1 ||
		{ cat "$scratch/said"; return 1; }
	[ ! -s "$scratch/said" ] || { cat "$scratch/said"; return 1; }
}

try 'debug builds' build debug debug.cu -O2
try 'malloc in kernels builds for a heap that finds mistakes' build override override.cu -DMAM_KDEBUG
for program in debug override; do
	if [ "$has_gpu" = yes ]; then
		LD_LIBRARY_PATH=$libraries "$scratch/$program" > "$scratch/out" 2>&1
		same "$program runs to its end" 'all is well' "$(tail -n 1 "$scratch/out")"
	else
		skip "$program runs to its end" 'there is no GPU'
	fi
done

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
