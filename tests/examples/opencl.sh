#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# opencl.sh - the examples for OpenCL: clang compiles their kernels as OpenCL C 1.2 and 3.0; the programs
# build without a warning, run on the machine's first device, and report invalid options.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

examples=$MAM_SRCDIR/examples

as_opencl() # STANDARD FILE
{
	clang -x cl "-cl-std=$1" -Xclang -finclude-default-header -Wall -Wextra -Werror -fsyntax-only -I "$examples" "$2"
}

# The text that edges_opencl.c inserts before mam.cl.
sed -n '/^static const char over_ring/,/;$/s/^[^"]*"\(.*\)\\n".*/\1/p' "$examples/edges_opencl.c" > "$scratch/over_ring.cl"
: > "$scratch/nothing.cl"
echo 'kernel void probe(volatile global atomic_uint *at)
	{ atomic_store_explicit(at, 1, memory_order_relaxed, memory_scope_device); }' > "$scratch/probe.cl"
for standard in CL1.2 CL3.0; do
	if ! as_opencl CL3.0 "$scratch/probe.cl" > /dev/null 2>&1; then
		skip "clang compiles the kernels as $standard" 'no clang with OpenCL C 3.0'
		continue
	fi
	for kernels in 'nothing automaton' 'nothing edges' 'over_ring edges' 'nothing frontier'; do
		{
			cat "$scratch/${kernels% *}.cl"
			sh "$MAM_SRCDIR/build-aux/mam-bundle" "$MAM_SRCDIR/src" "$MAM_SRCDIR/src/opencl/mam.cl"
			echo "#include \"${kernels#* }.cl\""
		} > "$scratch/whole.cl"
		try "clang compiles ${kernels#* }.cl after ${kernels% *} as $standard" as_opencl "$standard" "$scratch/whole.cl"
	done
done

if [ "${HAVE_OPENCL:-no}" != yes ]; then
	no_opencl
	finish
fi
POCL_CACHE_DIR=$scratch/cache
LD_LIBRARY_PATH=$MAM_BUILDDIR/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export POCL_CACHE_DIR LD_LIBRARY_PATH

built() # PROGRAM
{
	# shellcheck disable=SC2086 # CFLAGS are words
	$CC -std=c11 -O1 ${CFLAGS:-} -Wall -Wextra -Wshadow -Wpedantic -Werror -DEXAMPLES_FOLDER="\"$examples\"" \
		-I "$MAM_SRCDIR/include" -o "$scratch/$1" "$examples/$1.c" -L "$MAM_BUILDDIR/.libs" -lmam-opencl \
		-lOpenCL
}

# Memory that drivers keep until the process ends is not a leak of the examples.
printf 'leak:%s\n' libpocl libLLVM libclang libOpenCL > "$scratch/theirs"
LSAN_OPTIONS=suppressions=$scratch/theirs:print_suppressions=0
export LSAN_OPTIONS

example() # PROGRAM OPTION...
{
	program=$1
	shift
	timeout 120 "$scratch/$program" "$@" > "$scratch/out" 2> "$scratch/err"
	status=$?
	if [ $status -eq 77 ]; then
		no_opencl_device
	elif [ $status -eq 0 ]; then
		same "$program $*" 'all is well' "$(tail -n 1 "$scratch/out")"
	else
		not_ok "$program $*" "status $status: $(lib_tail "$scratch/err")"
	fi
}

refused() # STATUS MESSAGE PROGRAM OPTION... - and no other output
{
	status=$1
	sentence=$2
	program=$3
	shift 3
	timeout 120 "$scratch/$program" "$@" > "$scratch/out" 2> "$scratch/err"
	got=$?
	if [ $got -eq 77 ]; then
		no_opencl_device
	else
		same "$program $*" "$status $program: $sentence" "$got $(cat "$scratch/out" "$scratch/err")"
	fi
}

for program in automaton_opencl edges_opencl frontier_opencl; do
	try "$program builds" built "$program"
	try "$program --help" sh -c "'$scratch/$program' --help | grep -q -- '--platform'"
	refused 2 "error: unknown option '--sead'; see '$program --help'" "$program" --sead 5
	refused 2 "error: invalid value '0' for --lanes: expected 1 to 1048576" "$program" --lanes 0
	refused 1 "error: --platform: no such platform; see 'clinfo -l'" "$program" --platform 15
	refused 1 "error: --device: no such device on this platform; see 'clinfo -l'" "$program" --device 63
done
example edges_opencl --edges 65536 --nodes 10000 --rounds 2
example edges_opencl --edges 20000 --nodes 3 --lanes 1024 --rounds 2
example edges_opencl --edges 1 --nodes 1 --lanes 1
example frontier_opencl --nodes 20000 --reach 20000
example frontier_opencl --nodes 3000 --reach 100 --degree 2
example frontier_opencl --nodes 1
example automaton_opencl --texts 300 --length 60 --word 6 --errors 1
example automaton_opencl --texts 1 --length 0
example automaton_opencl --texts 70 --length 30 --word 3 --errors 4
finish
