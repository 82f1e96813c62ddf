#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu_captures.sh - captures.c and refused.c build against the real CUDA. Where there is a GPU they
# print the same lines plain and under mam run with each source and policy, and the pools serve
# allocations after captures that ended.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

if [ "$HAVE_CUDA" != yes ] && [ ! -x "${NVCC:=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}" ]; then
	skip_all gpu_captures 'there is no CUDA toolkit'
fi
[ -f "$MAM_BUILDDIR/.libs/libmam-preload.so" ] || skip_all gpu_captures 'this build has no libmam-preload.so'
case "$CFLAGS" in
*-fsanitize=*) skip_all gpu_captures 'a sanitizer in the preload object needs one in the program' ;;
esac
unset MAKEFLAGS MFLAGS MAKELEVEL
toolkit=$(dirname "$NVCC")/..
sources=$MAM_SRCDIR/tests/clients

try 'captures builds' "$NVCC" -o "$scratch/captures" "$sources/captures.c" -L "$toolkit/lib64/stubs" -lcuda -Xcompiler -pthread
for runtime in static shared; do
	try "refused, $runtime runtime, builds" "$NVCC" -cudart "$runtime" -o "$scratch/refused-$runtime" "$sources/refused.c"
done
if ! nvidia-smi > /dev/null 2>&1; then
	skip 'captures on a GPU' 'there is no GPU'
	finish
fi
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$toolkit/lib64
export LD_LIBRARY_PATH

compare() # NAME COMMAND... - the lines and the exit status, plain and under each policy
{
	compare_name=$1
	shift
	"$@" > "$scratch/plain" 2> "$scratch/err"
	compare_plain=$?
	for run in cudamalloc-strict cudamalloc-deferred cudamalloc-stream vmm-strict vmm-deferred vmm-stream; do
		"$MAM" run --stats="$scratch/stats-$run" --source="${run%-*}" --free="${run#*-}" -- "$@" > "$scratch/caught" 2> "$scratch/err"
		compare_status=$?
		diff "$scratch/plain" "$scratch/caught" > "$scratch/diff"
		same "$compare_name, $run" "$compare_plain " "$compare_status $(head -n 20 "$scratch/diff" | tr '\n' ';')"
	done
}

for runtime in static shared; do
	compare "refused, $runtime runtime" "$scratch/refused-$runtime"
done
for part in modes threads joined ends destroy detach; do
	compare "captures: $part" "$scratch/captures" $part
done
# This part makes 50 pairs after its captures: without a pool the driver counts each allocation of
# them.
compare 'captures: ends' "$scratch/captures" ends
for run in cudamalloc-strict cudamalloc-deferred cudamalloc-stream vmm-strict vmm-deferred vmm-stream; do
	forwarded=$(sed -n 's/^call.cuMemAlloc_v2.driver.forwarded	//p' "$scratch/stats-$run")
	same "the pool serves after captures, $run" yes \
		"$([ "${forwarded:-0}" -le 5 ] && echo yes || echo "$forwarded allocations of the driver's")"
done
finish
