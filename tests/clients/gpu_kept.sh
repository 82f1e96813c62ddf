#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu_kept.sh - probe_kept.c builds against the real CUDA. Where there is a GPU, mam run trims the
# driver's memory pool when memory runs out, and counts graph memory under --limit, as with the fake
# driver.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

if [ "$HAVE_CUDA" != yes ] && [ ! -x "${NVCC:=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}" ]; then
	skip_all gpu_kept 'there is no CUDA toolkit'
fi
[ -f "$MAM_BUILDDIR/.libs/libmam-preload.so" ] || skip_all gpu_kept 'this build has no libmam-preload.so'
case "$CFLAGS" in
*-fsanitize=*) skip_all gpu_kept 'a sanitizer in the preload object needs one in the program' ;;
esac
unset MAKEFLAGS MFLAGS MAKELEVEL
toolkit=$(dirname "$NVCC")/..

try 'the program builds' "$NVCC" -I "$MAM_SRCDIR/tests" -o "$scratch/probe" "$MAM_SRCDIR/tests/interpose/programs/probe_kept.c" \
	-L "$toolkit/lib64/stubs" -lcuda
if ! nvidia-smi > /dev/null 2>&1; then
	skip gpu_kept 'there is no GPU'
	finish
fi

"$MAM" run --log error -- "$scratch/probe" trim > "$scratch/out" 2> "$scratch/err"
same 'too large a request: the pool caches 40 MiB before it, rounded up, and nothing after it' "0 kept 2 0" \
	"$? $(sed -n 's/^kept \([0-9]*\) MiB$/\1/p; s/^cuMemAlloc_v2.*: //p' "$scratch/out" |
		awk '{ print (NR == 1 && $1 >= 40 && $1 <= 128 ? "kept" : $1) }' | paste -s -d ' ')"
sed 's/^/# trim: /' "$scratch/out"

"$MAM" run --log error --limit 64M --growth 2M -- "$scratch/probe" graphs > "$scratch/out" 2> "$scratch/err"
same 'graphs: exit status' 0 $?
same 'graphs: six nodes of 70 MiB fail' 6 "$(grep -cE '^(cuGraphAdd|add_).*: 2$' "$scratch/out")"
same 'graphs: a node of 40 MiB is launched' 1 "$(grep -c '^cuGraphLaunch.*: 0$' "$scratch/out")"
free=$(sed -n 's/^free \([0-9]*\) MiB$/\1/p' "$scratch/out" | head -n 1)
same 'graphs: their memory counts under the limit' yes "$([ "${free:-99}" -le 24 ] && echo yes || echo "$free MiB free")"
same 'graphs: so 30 MiB more are out of memory' 1 "$(grep -c '^cuMemAlloc_v2(&a, 30 .*: 2$' "$scratch/out")"
sed 's/^/# graphs: /' "$scratch/out"
finish
