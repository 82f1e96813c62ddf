#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# cuda.sh - the gallery's kernels are valid CUDA: nvcc compiles all of them without a warning; and the
# README has a line for each.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

folder=$MAM_SRCDIR/tests/simt/gallery
if [ "$HAVE_CUDA" != yes ]; then
	skip "nvcc compiles the gallery" "built without the CUDA toolkit"
elif arch=$("$NVCC" --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$/\1/p' | sort -n | tail -n 1) &&
	"$NVCC" -arch="sm_$arch" -I"$MAM_SRCDIR/src" -I"$MAM_SRCDIR/tests" -Werror all-warnings \
		-cubin -o "$scratch/gallery.cubin" "$folder/stress.cu" > "$scratch/said" 2>&1; then
	ok "nvcc compiles the gallery"
else
	not_ok "nvcc compiles the gallery" "$(head -n 5 "$scratch/said")"
fi

# If stress.cu lacks a row, its kernel was not compiled above.
sed -n 's/^[[:space:]]*ROW(\([a-z_]*\)).*/\1/p' "$folder/gallery.h" | LC_ALL=C sort > "$scratch/rows"
sed -n 's|^#include "simt/gallery/\([a-z_]*\)\.c"$|\1|p' "$folder/stress.cu" | LC_ALL=C sort \
	> "$scratch/included"
for file in "$folder"/*.c; do
	name=${file##*/}
	[ "$name" = test_gallery.c ] || echo "${name%.c}"
done | LC_ALL=C sort > "$scratch/files"
if [ -s "$scratch/gallery.cubin" ]; then
	grep -a -o '\.text\.gallery_[a-z_]*' "$scratch/gallery.cubin" | sed 's/.*gallery_//' |
		LC_ALL=C sort -u > "$scratch/kernels"
fi

names() # FILE
{
	tr '\n' ' ' < "$scratch/$1"
}
same "each file of the gallery has a row" "$(names files)" "$(names rows)"
sed -n 's/^    \([a-z_]*\)  .*/\1/p' "$folder/README" | grep -vx bug | LC_ALL=C sort > "$scratch/lines"
same "each row has a line in README" "$(names rows)" "$(names lines)"
same "each row is compiled" "$(names rows)" "$(names included)"
[ ! -f "$scratch/kernels" ] || same "each row has a kernel in the cubin" "$(names rows)" "$(names kernels)"
finish
