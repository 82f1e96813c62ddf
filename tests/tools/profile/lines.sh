#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lines.sh - a C++ program whose lines allocate known numbers of bytes, recorded by mam run --profile:
# mam profile prints exactly these, with inlined functions, templates, threads and recursion, and
# also if the runtime is linked into the program, as nvcc does it.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

source=$MAM_SRCDIR/tests/tools/profile/lines.cpp
profile=$scratch/profile
: "${CXX:=c++}"
command -v "${CXX%% *}" > /dev/null || skip_all "bytes per line" "there is no C++ compiler"
[ "${HAVE_LIBDW:-no}" = yes ] || skip_all "bytes per line" "mam was built without libdw (package libdw-dev)"

line_of() # PLACE
{
	grep -n "// $1\$" "$source" | cut -d : -f 1
}

rows() # LIST OPTION... - "BYTES BLOCKS FUNCTION LINE" of each place, sorted by line and function
{
	rows_list=$1
	shift
	"$MAM" profile --plain --top 100 "$@" "$profile" 2> "$scratch/err" | awk -F '\t' -v list="$rows_list" '
		$1 == list { n = split($6, part, "/"); print $2 " " $3 " " $5 " " part[n] ":" $7 }' | LC_ALL=C sort
}

wanted() # < BYTES BLOCKS FUNCTION PLACE, a tab before PLACE
{
	while IFS='	' read -r wanted_row wanted_place; do
		echo "$wanted_row lines.cpp:$(line_of "$wanted_place")"
	done | LC_ALL=C sort
}

# A static runtime: only its own names are those of CUDA's.
cat > "$scratch/static.c" << 'END'
#include <stddef.h>
int cuInit(unsigned int), cuDevicePrimaryCtxRetain(void **, int), cuCtxSetCurrent(void *);
int cuMemAlloc_v2(void **, size_t), cuMemFree_v2(void *);
static int done(int error)
{
	__asm__ volatile("" : "+r"(error)); /* no tail call */
	return error;
}
__attribute__((noinline)) static int libcudart_static_02(void **block, size_t bytes)
{
	return done(cuMemAlloc_v2(block, bytes));
}
__attribute__((noinline)) static int libcudart_static_01(void **block, size_t bytes)
{
	void *context;
	int error = cuInit(0);

	error = error ? error : cuDevicePrimaryCtxRetain(&context, 0);
	error = error ? error : cuCtxSetCurrent(context);
	return error ? error : done(libcudart_static_02(block, bytes));
}
int cudaMalloc(void **block, size_t bytes)
{
	return done(libcudart_static_01(block, bytes));
}
int cudaFree(void *block)
{
	return done(cuMemFree_v2(block));
}
END

for flags in "-O0" "-O2" "-O2 -fomit-frame-pointer" "-O2 static runtime"; do
	runtime=$fakes/libcudart.so.13 options=${flags% static runtime}
	if [ "$options" != "$flags" ]; then
		runtime="$scratch/static.o $fakes/libcuda.so.1"
		$CC -O2 -fno-optimize-sibling-calls -c -o "$scratch/static.o" "$scratch/static.c" 2> "$scratch/log" ||
			{ not_ok "$flags: the runtime builds" "$(lib_tail "$scratch/log")"; continue; }
	fi
	# shellcheck disable=SC2086 # a compiler, flags and files are words
	if ! $CXX -g $options -o "$scratch/lines" "$source" $runtime -pthread 2> "$scratch/log"; then
		not_ok "$flags: the program builds" "$(lib_tail "$scratch/log")"
		continue
	fi
	rm -f "$profile"*
	"$MAM" run --profile="$profile" "$scratch/lines" > "$scratch/out" 2> "$scratch/err"
	same "$flags: the program runs" 0 $?
	same "$flags: bytes and blocks of each line" "$(wanted << 'END'
1024 1 void net::inner<double>(unsigned long)	inner
512 1 void net::inner<char>(unsigned long)	inner
20480 5 net::layer::forward()	forward
8192 1 repeat(int)	deepest
65536 32 work()	thread
3145728 3 freed()	freed
256 1 main::{lambda()#1}::operator()() const	lambda
100 1 main	main
200 1 main	again
END
	)" "$(rows most_allocated)"
	same "$flags: bytes and blocks at exit" "$(wanted << 'END'
1024 1 void net::inner<double>(unsigned long)	inner
512 1 void net::inner<char>(unsigned long)	inner
20480 5 net::layer::forward()	forward
8192 1 repeat(int)	deepest
32768 16 work()	thread
256 1 main::{lambda()#1}::operator()() const	lambda
100 1 main	main
200 1 main	again
END
	)" "$(rows live --at exit)"
	"$MAM" profile --format collapsed --at exit "$profile" | sed 's/ ([^;()]*:[0-9]*)//g' > "$scratch/stacks"
	same "$flags: callers of an inlined function" "main;hidden();void net::middle<double>(unsigned long);void net::inner<double>(unsigned long) 1024" \
		"$(grep 'inner<double>' "$scratch/stacks" | sed 's,.*;main;,main;,')"
	same "$flags: recursion" "main;repeat(int);repeat(int);repeat(int);repeat(int) 8192" \
		"$(grep 'repeat' "$scratch/stacks" | sed 's,.*;main;,main;,')"
done

# cudaMalloc() of a typed pointer is an inline function of CUDA's header.
cat > "$scratch/typed.cpp" << 'END'
#include <cstddef>
extern "C" int cudaMalloc(void **block, size_t bytes);
#line 870 "/cuda/include/cuda_runtime.h"
template <typename T> static inline int cudaMalloc(T **block, size_t bytes)
{
	return cudaMalloc(reinterpret_cast<void **>(block), bytes);
}
#line 100 "typed.cpp"
int main()
{
	double *block;
	return cudaMalloc(&block, 640);
}
END
for flags in -O0 -O2; do
	# shellcheck disable=SC2086 # a compiler is words
	$CXX -g $flags -fno-optimize-sibling-calls -o "$scratch/lines" "$scratch/typed.cpp" "$fakes/libcudart.so.13" 2> "$scratch/log" ||
		not_ok "$flags: a typed pointer: the program builds" "$(lib_tail "$scratch/log")"
	rm -f "$profile"*
	"$MAM" run --profile="$profile" "$scratch/lines" > "$scratch/out" 2> "$scratch/err"
	same "$flags: a typed pointer: the caller of CUDA's inline function" "640 1 main typed.cpp:103" "$(rows live)"
done
finish
