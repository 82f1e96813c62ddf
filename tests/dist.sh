#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# dist.sh - `make dist` packs every file of the repository, except measurements and files for git.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

git -C "$MAM_SRCDIR" rev-parse --git-dir > /dev/null 2>&1 || skip_all "make dist" "this is not a git checkout"
unset MAKEFLAGS MFLAGS MAKELEVEL

packed() # leaves the paths of the packed files in $scratch/packed
{
	"$MAKE" -s -C "$MAM_BUILDDIR" distdir distdir="$scratch/mam" > "$scratch/out" 2>&1 &&
		(cd "$scratch/mam" && find . -type f -o -type l) | sed 's|^\./||' | LC_ALL=C sort > "$scratch/packed"
}

missing() # < PATHS - those that must be packed and are not
{
	grep -vE '^(\.ci/|\.git|\.editorconfig$|tools/bench/results/)' | LC_ALL=C sort | LC_ALL=C comm -23 - "$scratch/packed"
}

try "make distdir" packed
git -C "$MAM_SRCDIR" ls-files > "$scratch/tracked"
same "every tracked file is packed" "" "$(missing < "$scratch/tracked" | tr '\n' ' ')"
same "a file that is not packed is found" src/planted.c "$({ cat "$scratch/tracked"; echo src/planted.c; } | missing)"
chmod -R u+w "$scratch/mam"
finish
