#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu_source.sh - programs that share memory between processes, contexts and devices build against
# the real CUDA. Where there is a GPU they print the same lines plain and under mam run with each
# source and policy.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

if [ "$HAVE_CUDA" != yes ] && [ ! -x "${NVCC:=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}" ]; then
	skip_all gpu_source 'there is no CUDA toolkit'
fi
[ -f "$MAM_BUILDDIR/.libs/libmam-preload.so" ] || skip_all gpu_source 'this build has no libmam-preload.so'
case "$CFLAGS" in
*-fsanitize=*) skip_all gpu_source 'a sanitizer in the preload object needs one in the program' ;;
esac
unset MAKEFLAGS MFLAGS MAKELEVEL
toolkit=$(dirname "$NVCC")/..

# The stand-in driver's own functions, which no real driver has.
cat > "$scratch/none.c" << 'END'
#include "fake/driver_api.h"

void fake_holds(struct fake_held *held)
{
	*held = (struct fake_held){ 0 };
}

int fake_disturbed(unsigned long long *address, size_t *bytes)
{
	(void)address;
	(void)bytes;
	return 0;
}
END
build() # PROGRAM SOURCE... [OPTION...]
{
	build_program=$1
	shift
	try "$build_program builds" "$NVCC" -I "$MAM_SRCDIR/tests" -o "$scratch/$build_program" "$@" -L "$toolkit/lib64/stubs" \
		-lcuda -ldl
}
build ipc_pair "$MAM_SRCDIR/tests/clients/ipc_pair.c"
build ipc_pair_driver "$MAM_SRCDIR/tests/clients/ipc_pair.c" -DIPC_PAIR_DRIVER
build two_contexts "$MAM_SRCDIR/tests/clients/two_contexts.c"
build probe "$MAM_SRCDIR/tests/interpose/programs/probe_mapped.c" "$scratch/none.c"
if ! nvidia-smi > /dev/null 2>&1; then
	skip 'sources on a GPU' 'there is no GPU'
	finish
fi

# Without lines that depend on what the driver placed after a block.
comparable() # FILE
{
	grep -v '^dma-buf of more than a block' "$1"
}

compare() # NAME COMMAND...
{
	compare_name=$1
	shift
	"$@" > "$scratch/said" 2> "$scratch/err"
	compare_plain=$?
	comparable "$scratch/said" > "$scratch/plain"
	for source in cudamalloc vmm; do
		for policy in strict deferred stream; do
			"$MAM" run --source=$source --free=$policy -- "$@" > "$scratch/said" 2> "$scratch/err"
			compare_status=$?
			comparable "$scratch/said" > "$scratch/caught"
			diff "$scratch/plain" "$scratch/caught" > "$scratch/diff"
			same "$compare_name, $source, $policy" "$compare_plain " \
				"$compare_status $(head -n 20 "$scratch/diff" | tr '\n' ';')"
		done
	done
}
for program in ipc_pair ipc_pair_driver two_contexts; do
	compare $program "$scratch/$program"
done
for scene in pieces dma-bufs ends share moves; do
	compare "$scene" "$scratch/probe" $scene
done
if [ "$(nvidia-smi -L | wc -l)" -ge 2 ]; then
	compare devices "$scratch/probe" devices
else
	skip 'copies between devices' 'there is one GPU'
fi
finish
