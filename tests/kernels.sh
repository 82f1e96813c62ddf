#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kernels.sh - the fat binary in libmam has machine code for each architecture that configure chose,
# and PTX of the highest one for newer GPUs.
#
# A fat binary is a header of 16 bytes, then entries: kind (1 PTX, 2 code) in 2 bytes, at byte 4 the
# length of the entry's header, then the length of the data that follows, and at byte 28 the
# architecture.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

[ "$HAVE_CUDA" = yes ] || skip_all "kernels" "built without the CUDA toolkit"

fatbin=$MAM_BUILDDIR/src/source/pattern.fatbin
od -A n -v -t u4 -w4 "$fatbin" | awk '
	{ word[NR - 1] = $1 + 0 }
	END {
		for (at = 4; at + 7 < NR && word[at + 1] > 0; at += (word[at + 1] + word[at + 2]) / 4)
			print (word[at] % 65536 == 1 ? "compute_" : "sm_") word[at + 7]
	}' | LC_ALL=C sort > "$scratch/found"
sed -n 's/^CUDA_GENCODE = //p' "$MAM_BUILDDIR/Makefile" | tr ' ' '\n' | sed -n 's/.*code=//p' |
	LC_ALL=C sort > "$scratch/wanted"

same "fat binary has an entry for each architecture" "$(tr '\n' ' ' < "$scratch/wanted")" \
	"$(tr '\n' ' ' < "$scratch/found")"
highest=$(sed -n 's/^sm_//p' "$scratch/found" | sort -n | tail -n 1)
same "PTX is for the highest architecture" "compute_$highest" "$(grep compute_ "$scratch/found")"
if ! "$MAM_BUILDDIR/config.status" --config | grep -q CUDA_ARCH=; then
	all=$("$NVCC" --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$/\1/p' | awk '$1 >= 70' | sort -n | tr '\n' ' ')
	same "fat binary has every architecture of the toolkit from 70 up" "$all" \
		"$(sed -n 's/^sm_//p' "$scratch/found" | sort -n | tr '\n' ' ')"
fi
same "libmam contains the fat binary" mam_pattern_fatbin \
	"$(nm "$MAM_BUILDDIR/.libs/libmamcore.a" | sed -n 's/.* [Rr] //p' | grep -x mam_pattern_fatbin)"
finish
