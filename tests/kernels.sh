#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# kernels.sh - the fat binary that libmam carries has real code for each architecture that
# configure chose, and PTX of the highest, so that newer GPUs are served too.
#
# A fat binary is a header of 16 bytes, then entries: kind (1 PTX, 2 code) in 2 bytes, 4 bytes on
# the length of the entry's header, then that of what follows it, and at byte 28 the architecture.

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

same "an entry for each architecture" "$(tr '\n' ' ' < "$scratch/wanted")" "$(tr '\n' ' ' < "$scratch/found")"
highest=$(sed -n 's/^sm_//p' "$scratch/found" | sort -n | tail -n 1)
same "PTX is that of the highest" "compute_$highest" "$(grep compute_ "$scratch/found")"
if ! "$MAM_BUILDDIR/config.status" --config | grep -q CUDA_ARCH=; then
	all=$("$NVCC" --list-gpu-code | sed -n 's/^sm_\([0-9]*\)$/\1/p' | awk '$1 >= 70' | sort -n | tr '\n' ' ')
	same "every architecture of the toolkit from 70 up is there" "$all" \
		"$(sed -n 's/^sm_//p' "$scratch/found" | sort -n | tr '\n' ' ')"
fi
same "libmam carries them" mam_pattern_fatbin \
	"$(nm "$MAM_BUILDDIR/.libs/libmamcore.a" | sed -n 's/.* [Rr] //p' | grep -x mam_pattern_fatbin)"
finish
