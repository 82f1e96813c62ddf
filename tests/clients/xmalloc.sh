#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# xmalloc.sh - coalesced requests, with the headers that `make install` installs: the example
# programs of xmalloc.cuh and coalesce.cuh, files that share one setting and files that do not, in
# C++11 to C++20, and xmalloc.cu. Compilers must print nothing. Where there is a GPU xmalloc.cu also
# runs.
# shellcheck disable=SC2317 # called through try
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test=xmalloc
. "$MAM_SRCDIR/tests/clients/device.sh"

staged xmalloc.cuh install-device-headers

# The first program of a header's comment: its lines after " *<tab>" up to the next paragraph,
# kernels first.
shown() # HEADER - its example, with the host's lines in a function
{
	awk '/^ \*\t#include/ { on = 1 }
		on && /^ \* / { exit }
		on { sub(/^ \*\t?/, ""); gsub(/\.\.\./, ";"); lines[++n] = $0 }
		END {
			for (i = 1; i <= n; i++) {
				print lines[i]
				if (lines[i] == "}")
					last = i
			}
		}' "$include/mam/$1" > "$scratch/lines"
	last=$(grep -n '^}$' "$scratch/lines" | tail -n 1 | cut -d : -f 1)
	head -n 1 "$scratch/lines"
	echo "$2"
	sed -n "2,${last}p" "$scratch/lines"
	echo "$3 {"
	sed "1,${last}d" "$scratch/lines"
	echo '}'
}

shown xmalloc.cuh 'struct node { int value; };' 'void host(struct node **lists, int blocks, int threads)' \
	> "$scratch/xmalloc-shown.cu"
for standard in 11 20; do
	try "example of xmalloc.cuh builds: C++$standard" compile shown.o "$scratch/xmalloc-shown.cu" -std=c++$standard \
		-Xcompiler -Wshadow
done
shown coalesce.cuh '' 'void host(struct mam_heap *heap, struct mam_buffers *buffers, int blocks)' \
	> "$scratch/coalesce-shown.cu"
try 'example of coalesce.cuh builds' compile shown.o "$scratch/coalesce-shown.cu" -std=c++11 -Xcompiler -Wshadow

# Figure 1 of the paper, with the kernel in a file of its own; a third file uses a heap underneath,
# a fourth both layers over it.
cat > "$scratch/kernel.cu" << 'EOC'
#include <mam/xmalloc.cuh>
#include <mam/xmalloc.cuh>
__global__ void kernel(void)
{
	void *p = xmcMalloc(64);
	xmcFree(p);
}
EOC
cat > "$scratch/main.cu" << 'EOC'
#include <mam/xmalloc.cuh>
__global__ void kernel(void);
int over_heap(struct mam_heap *heap);
int over_layers(struct mam_heap *heap);
int main()
{
	xmcInit();
	kernel<<<1000, 256>>>();
	over_heap(NULL);
	over_layers(NULL);
	xmcFini();
	return 0;
}
EOC
cat > "$scratch/heap.cu" << 'EOC'
#define XMC_HEAP
#include <mam/xmalloc.cuh>
__global__ void other(void **kept) { kept[threadIdx.x] = xmcMalloc(threadIdx.x); }
int over_heap(struct mam_heap *heap)
{
	if (xmcInit(heap) != MAM_OK)
		return 1;
	other<<<1, 32>>>(NULL);
	return xmcFini() != MAM_OK;
}
EOC
cat > "$scratch/layers.cu" << 'EOC'
#define XMC_HEAP
#define XMC_LAYERS 1
#include <mam/xmalloc.cuh>
__global__ void third(void **kept) { kept[threadIdx.x] = xmcMalloc(threadIdx.x); }
int over_layers(struct mam_heap *heap)
{
	if (xmcInit(heap) != MAM_OK && xmcInit(heap, 16) != MAM_OK && xmcInit(heap, 16, 256) != MAM_OK)
		return 1;
	third<<<1, 32>>>(NULL);
	return xmcFini() != MAM_OK;
}
EOC
for rdc in true false; do
	for file in kernel main heap layers; do
		try "figure 1: $file.cu builds with -rdc=$rdc" compile $file-$rdc.o "$scratch/$file.cu" -rdc=$rdc
	done
	try "figure 1 links with -rdc=$rdc" link figure-$rdc -rdc=$rdc kernel-$rdc.o main-$rdc.o heap-$rdc.o \
		layers-$rdc.o
done
# With relocatable device code files share a setting, one for each of the three ways to include the
# header.
if command -v nm > /dev/null && "$NVCC" -arch=compute_90 -rdc=true -I "$include" -ptx -o "$scratch/ptx" "$scratch/kernel.cu"; then
	same 'all files share one setting' 1 "$(grep -c '^\.weak .*xmc_setting_over_cuda.*setting' "$scratch/ptx")"
fi

at_length 'xmalloc and gpu-layout' || finish

# The program that puts all ways under load.
source=$MAM_SRCDIR/tests/clients/kernels/xmalloc.cu
try 'xmalloc over malloc() builds' eval "compile xmalloc.o '$source' -O2 && link xmalloc -O2 xmalloc.o"
try 'xmalloc over a heap builds' eval "compile xmalloc-heap.o '$source' -O2 -DXMC_HEAP &&
	link xmalloc-heap -O2 xmalloc-heap.o"
try 'gpu-layout builds' eval "compile layout.o '$MAM_SRCDIR/tools/bench/clients/gpu-layout.cu' -O2 && link gpu-layout -O2 layout.o"
"$scratch/gpu-layout" > /dev/null 2>&1
same 'gpu-layout: missing file argument' 2 $?
if [ "$has_gpu" = no ]; then
	"$scratch/gpu-layout" "$scratch/layout.csv" > /dev/null 2>&1
	same 'gpu-layout: without a GPU' '77 none' "$? $([ -e "$scratch/layout.csv" ] || echo none)"
	LD_LIBRARY_PATH=$libraries "$scratch/xmalloc" > /dev/null 2>&1
	same 'status 77 without a GPU' 77 $?
fi
runs xmalloc --lanes 8192
runs xmalloc-heap --lanes 8192
finish
