#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cuda.sh - <mam/cuda.h> in a program: built as C and as C++, against the toolkit's headers if they
# are installed and against stand-ins always, and run on the fake driver and runtime. Also a source
# file with kernels, compiled by nvcc and run if there is a GPU.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

flow=$MAM_SRCDIR/tests/flow
fake=$MAM_BUILDDIR/tests/fake/lib
mam=$MAM_BUILDDIR/.libs
warnings='-Wall -Wextra -Wundef -Werror'

if [ ! -e "$mam/libmam.so.0" ] || [ ! -e "$fake/libcudart.so.13" ]; then
	skip_all "mam/cuda.h" "there are no shared libraries in this build"
fi
: "${CXX:=c++}"
command -v "$CXX" > /dev/null || CXX=

# The same sanitizers as the library; otherwise it would not load.
sanitizers=$(printf '%s\n' $CFLAGS | grep '^-fsanitize' | tr '\n' ' ')

build() # OUTPUT COMPILER OPTIONS... - cuda_client.c against the fake runtime
{
	build_output=$1
	shift
	# shellcheck disable=SC2086 # lists of options
	"$@" $warnings $sanitizers -g -O1 "-I$MAM_SRCDIR/include" "$flow/cuda_client.c" \
		-x none -o "$build_output" "$mam/libmam.so.0" "$fake/libcudart.so.13" -lpthread
}

fakes() # COMMAND... - with the fakes in place of CUDA
{
	env LD_LIBRARY_PATH="$fake:$mam${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
		MAM_LOG_FILE=/dev/null FAKE_CUDA_DEVICES=2 FAKE_CUDA_LAG_US=20000 "$@"
}

run_parts() # NAME PROGRAM
{
	for part in memory nothing pointers invalid_calls foreign devices out_of_memory barrier \
		reset; do
		try "$1: $part" fakes "$2" "$part"
	done
	try "$1: beyond the limit" fakes env MAM_LIMIT=32M "$2" beyond_the_limit
	try "$1: many" fakes env FAKE_CUDA_LOG="$scratch/calls" "$2" many
	# Strict frees wait through the driver's free of 512 bytes, which do not belong to the
	# program.
	if [ -s "$scratch/calls" ]; then
		same "$1: 1,000 blocks need one driver allocation" 1 \
			"$(grep '^cuMemAlloc ' "$scratch/calls" | grep -vc ' bytes=512 ')"
	else
		not_ok "$1: 1,000 blocks need one driver allocation" "the fake logged nothing"
	fi
	rm -f "$scratch/calls"
}

for headers in ports toolkit; do
	case $headers in
	ports) include=-I$flow/ports ;;
	*) include=$(printf '%s' "$CUDA_CPPFLAGS" | sed 's/-I/-isystem /g') ;;
	esac
	if [ $headers = toolkit ] && [ "$HAVE_CUDA" != yes ]; then
		skip "C and C++, the toolkit's headers" "there is no CUDA toolkit"
		continue
	fi
	# shellcheck disable=SC2086
	if build "$scratch/c" "$CC" -std=gnu11 $include > "$scratch/log" 2>&1; then
		ok "C, $headers: compiles"
		run_parts "C, $headers" "$scratch/c"
	else
		not_ok "C, $headers: compiles" "$(lib_tail "$scratch/log")"
	fi
	if [ -z "$CXX" ]; then
		skip "C++, $headers" "there is no C++ compiler"
		continue
	fi
	for standard in c++11 c++17; do
		# shellcheck disable=SC2086
		if build "$scratch/c++" "$CXX" -x c++ -std=$standard $include \
			> "$scratch/log" 2>&1; then
			ok "$standard, $headers: compiles"
		else
			not_ok "$standard, $headers: compiles" "$(lib_tail "$scratch/log")"
		fi
	done
	[ -e "$scratch/c++" ] && run_parts "C++, $headers" "$scratch/c++"
done

if [ "$HAVE_CUDA" != yes ]; then
	skip "source file with kernels" "there is no CUDA toolkit"
	finish
fi
try "kernels: compiles with -include mam/cuda.h" "$NVCC" -arch=sm_90 "-I$MAM_SRCDIR/include" \
	-include mam/cuda.h -c "$flow/kernel.cu" -o "$scratch/kernel.o"
if [ -e "$scratch/kernel.o" ] && nm "$scratch/kernel.o" | grep -q ' U mam_malloc'; then
	ok "kernels: its cudaMalloc is mam's"
else
	not_ok "kernels: its cudaMalloc is mam's" "it does not reference mam_malloc"
fi
{ printf '#include <mam/cuda.h>\n'; cat "$flow/kernel.cu"; } > "$scratch/line.cu"
try "kernels: compiles with the include line, and kernels that allocate" "$NVCC" -arch=sm_90 \
	-rdc=true -DKERNELS_ALLOCATE "-I$MAM_SRCDIR/include" -c "$scratch/line.cu" -o "$scratch/line.o"

if [ ! -e /dev/nvidiactl ] || [ -n "$sanitizers" ]; then
	skip "kernels: runs" "there is no GPU, or the library has sanitizers in it"
	finish
fi
for kind in "-arch=native" "-arch=native -rdc=true -DKERNELS_ALLOCATE -lcudadevrt" \
	"-arch=native -cudart shared"; do
	# shellcheck disable=SC2086
	if "$NVCC" $kind "-I$MAM_SRCDIR/include" -include mam/cuda.h "$flow/kernel.cu" \
		-o "$scratch/kernel" "-L$mam" -lmam > "$scratch/log" 2>&1; then
		same "kernels: runs ($kind)" "scaled, kernel returned 1" \
			"$(LD_LIBRARY_PATH="$mam${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
				"$scratch/kernel" 2>&1)"
	else
		not_ok "kernels: runs ($kind)" "$(lib_tail "$scratch/log")"
	fi
done
finish
