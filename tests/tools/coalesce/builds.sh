#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# builds.sh - properties of a build that `mam coalesce` cannot see in a source: callers in other
# files, where device code is linked, and different text for other architectures. Verdicts hold for
# all builds, or the flags must specify the build.

. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/tools/coalesce/coalesce.sh"

begin_coalesce 'builds'

scopes() # FLAG... - verdicts of linked.cu, in its order
{
	run --plain linked.cu -- "$@" || cat err
	cut -f 3,4 out | tr '\t\n' '  '
}

cat > linked.cu << 'END'
__device__ int *open_to_all(int n) { return (int *)malloc(n); }
static __device__ int *of_this_file(int n) { return (int *)malloc(n); }
namespace { __device__ int *nameless(int n) { return (int *)malloc(n); } }
struct maker { __device__ int *make(int n) { return (int *)malloc(n); } };
template <class T> __device__ T *of_type(int n) { return (T *)malloc(n); }
__global__ void k(int **p, int n)
{
	maker m;
	p[0] = open_to_all(n), p[1] = of_this_file(n), p[2] = nameless(n), p[3] = m.make(n);
	p[4] = of_type<int>(n), p[5] = (int *)malloc(n);
}
END
all="open_to_all block of_this_file block (anonymous)::nameless block maker::make block of_type<int> block k block "
some="open_to_all none of_this_file block (anonymous)::nameless block maker::make none of_type<int> none k block "
same "a single file" "$all" "$(scopes)"
same "-rdc=false" "$all" "$(scopes -rdc=false)"
same "-rdc=true: other files may call" "$some" "$(scopes -rdc=true)"
same "-rdc true" "$some" "$(scopes -rdc true)"
same "-dc" "$some" "$(scopes -dc)"
same "--relocatable-device-code=true" "$some" "$(scopes --relocatable-device-code=true)"
same "-fgpu-rdc" "$some" "$(scopes -fgpu-rdc)"

source_with() # CONDITION
{
	printf '__global__ void k(int **p, int n)\n{\n%s\n\tif (threadIdx.x & 1)\n#endif\n\tp[0] = (int *)malloc(n);\n}\n' "$1" > arch.cu
}

for condition in '#if __CUDA_ARCH__ >= 900' '#if 900 <= __CUDA_ARCH__' '#if __CUDA_ARCH__ > 700' '#if __CUDA_ARCH__ == 700' \
	'#if __CUDA_ARCH__ >= 700 + 200' '#if __CUDA_ARCH__ / 100 > 7' '#if defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 900)' \
	'#if __CUDA_ARCH__ < 700 || __CUDA_ARCH__ > 800' '#if !(__CUDA_ARCH__ - 800)'; do
	source_with "$condition"
	refused_by run "$condition" 2 'arch.cu:3: .*__CUDA_ARCH__.*-arch=' arch.cu
	try "$condition, for one architecture" run arch.cu -- -arch=sm_80
	run arch.cu -- -gencode arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90
	same "$condition, for two" 2 $?
done
printf '#define NEW __CUDA_ARCH__\n' > arch.h
printf '#include "arch.h"\n' | cat - linked.cu > includes.cu
refused_by run "condition in a header" 2 'arch.h:1: .*__CUDA_ARCH__' includes.cu
for condition in '#ifndef __CUDA_ARCH__' '#if !defined(__CUDA_ARCH__)' '#if !defined __CUDA_ARCH__' '#if __CUDA_ARCH__ < 600' \
	'#if (__CUDA_ARCH__ < 700)' '#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ <= 610' \
	'#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 700 /* __CUDA_ARCH__ */'; do
	source_with "$condition"
	run --plain arch.cu
	same "$condition" "0 block" "$? $(cut -f 4 out)"
done
source_with '#if __CUDA_ARCH__ >= 900'
run --plain arch.cu -- -arch=sm_90
same "text for sm_90 alone" none "$(cut -f 4 out)"
for flags in -arch=sm_80 --gpu-architecture=sm_80 --cuda-gpu-arch=sm_86 '-arch compute_80' '-gencode arch=compute_80,code=sm_90'; do
	# shellcheck disable=SC2086 # words on purpose
	run --plain arch.cu -- $flags
	same "text for sm_90, with $flags" block "$(cut -f 4 out)"
done
finish
