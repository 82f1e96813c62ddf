#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# collective.sh - collective.cuh as `make install` installs it: its example, each way to include it,
# in C++11 to C++20, files that share a heap, and collective.cu. Compilers must print nothing. Where
# there is a GPU collective.cu also runs, over CUDA's malloc() and over a heap.
# shellcheck disable=SC2317 # called through try
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test=collective
. "$MAM_SRCDIR/tests/clients/device.sh"

staged collective.cuh install-device-headers

# The first program in the header's comment.
awk '/^ \*\t#include/ { on = 1 }
	on && /^ \* / { exit }
	on { sub(/^ \*\t?/, ""); gsub(/\.\.\./, ";"); print }' "$include/mam/collective.cuh" > "$scratch/shown.cu"
try "the header's example is a kernel" grep -q '^__global__' "$scratch/shown.cu"
try "the header's example builds" compile shown.o "$scratch/shown.cu" -std=c++11 -Xcompiler -Wshadow

# Each way to include it, also twice, and classes like those of real programs.
cat > "$scratch/ways.cu" << 'EOC'
#include <mam/collective.cuh>
#include <mam/collective.cuh>
struct shape {
	int sides;
	__host__ __device__ shape() : sides(3) {}
	__host__ __device__ virtual ~shape() {}
};
__global__ void touch(shape **kept)
{
	shape *one = new (MAM_COLLECTIVE_BLOCK) shape, *few = new (MAM_COLLECTIVE_WARP) shape[3], *own = new shape;
	void *words = mam_cmalloc(threadIdx.x);
	delete kept[1];
	delete[] few;
	kept[0] = one;
	kept[1] = own;
	if (mam_cfree(words))
		return;
#ifdef MAM_COLLECTIVE_NEW /* the toolkit has none */
	kept[2] = new (std::nothrow_t{}) shape[2];
#endif
}
shape *on_host(void) { return new (MAM_COLLECTIVE_BLOCK) shape; }
EOC
for standard in 11 14 17 20; do
	try "builds with both defines: C++$standard" compile ways.o "$scratch/ways.cu" -std=c++$standard -Xcompiler -Wshadow \
		-DMAM_COLLECTIVE_HEAP -DMAM_COLLECTIVE_NEW
done
try 'builds without defines' compile ways.o "$scratch/ways.cu" -std=c++17
try 'builds with MAM_COLLECTIVE_NEW' compile ways.o "$scratch/ways.cu" -std=c++17 -DMAM_COLLECTIVE_NEW

# Over a heap the code contains no call of the toolkit's allocator.
toolkits() # FLAGS... - the number of such calls
{
	silent "$NVCC" -arch=compute_90 -I "$include" "$@" -ptx -o "$scratch/ptx" "$scratch/ways.cu" || echo failed
	grep -cE '^[[:space:]]*(malloc|free)[[:space:]]*,' "$scratch/ptx"
}
try "over CUDA's malloc() the toolkit's allocator is called" test "$(toolkits -DMAM_COLLECTIVE_NEW)" -ge 2
same "over a heap the toolkit's allocator is not called" 0 "$(toolkits -DMAM_COLLECTIVE_NEW -DMAM_COLLECTIVE_HEAP)"

# A type with an alignment above 16 has no collective new: the compiler reports an error.
cat > "$scratch/aligned.cu" << 'EOC'
#include <mam/collective.cuh>
struct alignas(64) line { int words[16]; };
__global__ void touch(line **kept) { kept[0] = NEW line; }
EOC
try 'an aligned type keeps its own new' compile aligned.o "$scratch/aligned.cu" -std=c++17 -DNEW=new
"$NVCC" -arch="$architecture" -I "$include" -std=c++17 '-DNEW=new (MAM_COLLECTIVE_BLOCK)' -c -o "$scratch/aligned.o" \
	"$scratch/aligned.cu" > "$scratch/said" 2>&1
same 'an aligned type has no collective new' '2 yes' "$? $(grep -q 'cannot be referenced.*deleted\|deleted function' "$scratch/said" && echo yes)"

# Files that free each other's memory: with relocatable device code they share a setting.
cat > "$scratch/one.cu" << 'EOC'
#define MAM_COLLECTIVE_HEAP
#include <mam/collective.cuh>
__global__ void give(void **kept) { (void)mam_cfree(kept[threadIdx.x]); }
EOC
cat > "$scratch/two.cu" << 'EOC'
#define MAM_COLLECTIVE_HEAP
#include <mam/collective.cuh>
__global__ void give(void **kept);
__global__ void take(void **kept) { kept[threadIdx.x] = mam_cmalloc(8, MAM_COLLECTIVE_BLOCK); }
int main()
{
	if (mam_collective_use(NULL) != MAM_OK)
		return 1;
	take<<<1, 32>>>(NULL);
	give<<<1, 32>>>(NULL);
	return 0;
}
EOC
for rdc in true false; do
	try "two files link with -rdc=$rdc" eval "compile one.o '$scratch/one.cu' -rdc=$rdc &&
		compile two.o '$scratch/two.cu' -rdc=$rdc && link both -rdc=$rdc one.o two.o"
done
if "$NVCC" -arch=compute_90 -rdc=true -I "$include" -ptx -o "$scratch/ptx" "$scratch/one.cu"; then
	same 'all files share one setting' 1 "$(grep -c '^\.weak .*mam_collective_setting.*heap' "$scratch/ptx")"
fi

at_length 'collective and gpu-collective' || finish

# The load test, and the program that is rewritten and timed.
source=$MAM_SRCDIR/tests/clients/kernels/collective.cu
try "collective over CUDA's malloc() builds" eval "compile collective.o '$source' -O2 &&
	link collective -O2 collective.o"
try 'collective over a heap builds' eval "compile heap.o '$source' -O2 -DMAM_COLLECTIVE_HEAP &&
	link collective-heap -O2 heap.o"
try 'gpu-collective builds' eval "compile timed.o '$MAM_SRCDIR/tools/bench/clients/gpu-collective.cu' -DCOLLECTIVE_MAIN &&
	link timed -O2 timed.o"
if [ "$has_gpu" = no ]; then
	for program in collective collective-heap timed; do
		LD_LIBRARY_PATH=$libraries "$scratch/$program" > /dev/null 2>&1
		same "$program: status 77 without a GPU" 77 $?
	done
fi
runs collective
runs collective-heap
finish
