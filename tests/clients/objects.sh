#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# objects.sh - kernels that allocate, with the headers that `make install` installs: README's
# example, objects.cu, and override.cu as one file and as two, with -rdc=true and without, in C++11
# to C++20. Compilers must print nothing. Where there is a GPU the programs also run.
# shellcheck disable=SC2317 # called through try
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test=objects
. "$MAM_SRCDIR/tests/clients/device.sh"

staged kmalloc_override.cuh install-device-headers

# README's kernel: the fenced block that calls mam_kmalloc().
awk '/^```/ { if (inside && text ~ /mam_kmalloc\(/) { printf "%s", text; exit } inside = !inside; text = ""; next }
	inside { text = text $0 "\n" }' "$MAM_SRCDIR/README.md" > "$scratch/readme.cu"
same "README's kernel has ten lines" yes "$([ "$(awk '/__global__/ { n = 1 } n { n++ } /^}/ { print n - 1; exit }' \
	"$scratch/readme.cu")" -le 10 ] && echo yes)"
for rdc in true false; do
	try "README's kernel builds with -rdc=$rdc" compile readme-$rdc.o "$scratch/readme.cu" -rdc=$rdc
done

# A heap that one file passes to another.
cat > "$scratch/main.cu" << 'EOC'
#include <mam/heap.cuh>
struct node;
__global__ void make(struct mam_kheap *heap, struct node **nodes);
__global__ void free_all(struct mam_kheap *heap, void **objects) { (void)mam_kfree(heap, objects[threadIdx.x]); }
int main()
{
	make<<<1, 1>>>(mam_heap_device(NULL), NULL);
	free_all<<<1, 1>>>(mam_heap_device(NULL), NULL);
	return 0;
}
EOC
for rdc in true false; do
	try "files that share a heap link with -rdc=$rdc" eval "compile main.o '$scratch/main.cu' -rdc=$rdc &&
		link readme -rdc=$rdc readme-$rdc.o main.o"
done

# malloc() and new in kernels, in one file and in two.
source=$MAM_SRCDIR/tests/clients/kernels/override.cu
for standard in 11 17; do
	try "malloc in kernels: C++$standard" compile one-false.o "$source" -rdc=false -std=c++$standard -DFILES=2
done
for standard in 14 20; do
	try "malloc in kernels: C++$standard, -rdc=true" compile one-true.o "$source" -rdc=true -std=c++$standard \
		-DFILES=2
done
for rdc in true false; do
	try "malloc in kernels of two files links with -rdc=$rdc" eval "compile two.o '$source' -rdc=$rdc -DPART=2 &&
		link override-$rdc -rdc=$rdc one-$rdc.o two.o"
	runs override-$rdc
done

# The header comes first or last; in both cases the code contains no call of the toolkit's
# allocator.
cat > "$scratch/last.cu" << 'EOC'
#include <cstdlib>
#include <vector>
#include <memory>
#ifdef MAM
#include <mam/kmalloc_override.cuh>
#endif
__global__ void touch(void **o) { o[0] = malloc(3); o[1] = new int; std::free(o[2]); delete (int *)o[3]; }
EOC
toolkits() # FLAGS... - the number of calls of the toolkit's allocator in the generated code
{
	silent "$NVCC" -arch=compute_90 -I "$include" "$@" -ptx -o "$scratch/ptx" "$scratch/last.cu" || echo failed
	grep -cE '^[[:space:]]*(malloc|free)[[:space:]]*,' "$scratch/ptx"
}
same "without the header kernels call the toolkit's malloc" 4 "$(toolkits)"
for flag in -rdc=true -rdc=false -G; do
	same "with the header they do not, with $flag" 0 "$(toolkits -DMAM $flag)"
done

# clang has its own headers for host and device code.
mkdir "$scratch/shim"
: > "$scratch/shim/texture_fetch_functions.h"
by_clang() # SOURCE SIDE
{
	silent clang -x cuda "--cuda-$2-only" --cuda-gpu-arch=sm_80 --cuda-path="$(dirname "$NVCC")/.." \
		-Wno-unknown-cuda-version -I "$scratch/shim" -D__CLANG_CUDA_TEXTURE_INTRINSICS_H__ \
		-Wall -Wextra -O1 -I "$include" -fsyntax-only "$1"
}
echo '__global__ void probe(int *at) { *at = threadIdx.x; }' > "$scratch/probe.cu"
for side in host device; do
	if by_clang "$scratch/probe.cu" $side > /dev/null; then
		try "clang compiles malloc in kernels, for the $side" by_clang "$source" $side
	else
		skip "clang compiles malloc in kernels, for the $side" 'no clang here can use this toolkit'
	fi
done

at_length 'objects, grow and gpu-growth' || finish

# The program that puts a heap under load.
source=$MAM_SRCDIR/tests/clients/kernels/objects.cu
try 'objects builds' eval "compile objects.o '$source' -O2 && link objects -O2 objects.o"
runs objects --lanes 4096

# A heap that grows: the program that README shows, and the one that measures.
try 'grow builds' eval "compile grow.o '$MAM_SRCDIR/tests/clients/kernels/grow.cu' -O2 && link grow -O2 grow.o"
runs grow
try 'gpu-growth builds' eval "compile growth.o '$MAM_SRCDIR/tools/bench/growth/gpu-growth.cu' -O2 -I '$MAM_SRCDIR/tests/clients/kernels' &&
	link gpu-growth -O2 growth.o"
runs gpu-growth full
finish
