#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cuda.sh - the examples for CUDA, with the headers that `make install` installs: they build without a
# warning for two architectures, have no indirect calls, report invalid options, and run if there is a
# GPU.
# shellcheck disable=SC2154 # device.sh and lib.sh set $include, $scratch and $libraries
. "${MAM_SRCDIR:-.}/tests/lib.sh"

device_test='examples for CUDA'
. "$MAM_SRCDIR/tests/clients/device.sh"

staged ds.cuh install-device-headers
examples=$MAM_SRCDIR/examples

# For another architecture than the linked program, so that no list of two is needed.
of_old() # PROGRAM
{
	silent "$NVCC" -O2 -arch=sm_75 -Werror all-warnings -Xcompiler -Wall,-Wextra,-Werror -I "$include" -c \
		-o "$scratch/$1.old.o" "$examples/$1.cu"
}

refused() # PROGRAM MESSAGE ARGUMENT... - status 2, the message, and no other output
{
	program=$1
	sentence=$2
	shift 2
	LD_LIBRARY_PATH=$libraries "$scratch/$program" "$@" > "$scratch/out" 2> "$scratch/err"
	same "$program $*: status" 2 $?
	same "$program $*: message" "$sentence" "$(cat "$scratch/out" "$scratch/err")"
}

programs='automaton edges frontier'
at_length 'edges and frontier' || programs=automaton
for program in $programs; do
	# Once at full length, as it takes as long as the others together.
	[ "${TEST_SHARE:-1}" -gt 1 ] || try "$program.cu builds for sm_75" of_old "$program"
	try "$program.cu builds" compile "$program.o" "$examples/$program.cu" -O2 -Werror all-warnings -Xcompiler -Werror
	try "$program links" link "$program" -O2 "$program.o"
	try "$program.cu compiles to PTX" "$NVCC" -arch=sm_90 -I "$include" -ptx -o "$scratch/$program.ptx" "$examples/$program.cu"
	same "$program: no indirect calls" '' "$(grep 'prototype_' "$scratch/$program.ptx" | head -n 1)"
	LD_LIBRARY_PATH=$libraries try "$program --help" sh -c "'$scratch/$program' --help | grep -q -- '--seed'"
	refused "$program" "$program: error: unknown option '--sead'; see '$program --help'" --sead 5
	refused "$program" "$program: error: invalid value '' for --seed: expected 0 to 1048576" --seed
	refused "$program" "$program: error: invalid value '-1' for --seed: expected 0 to 1048576" --seed -1
	refused "$program" "$program: error: invalid value '1048577' for --seed: expected 0 to 1048576" --seed 1048577
	refused "$program" "$program: error: invalid value '5x' for --seed: expected 0 to 1048576" --seed 5x
done
[ "$programs" != automaton ] || finish
runs edges --edges 20000 --nodes 1000 --rounds 2 --cuda 1
runs edges --edges 1 --nodes 1
runs edges --edges 3000 --lanes 7
runs frontier --nodes 20000 --reach 300
runs frontier --nodes 1
runs automaton --texts 300 --length 50 --word 5 --errors 1
runs automaton --texts 1 --length 0
finish
