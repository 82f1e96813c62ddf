#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# rows.sh - each row of the table in mam-semantics.7 has a test, which rows.txt names. Comments
# do not count as tests.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

rows=$MAM_SRCDIR/tests/interpose/rows.txt
# The first column of the table: the lines between T{ and T}@.
awk '/^\.TS/ { inside = 1 } /^\.TE/ { inside = 0 } inside && $0 == "T{" { getline; print }' \
	"$MAM_SRCDIR/tools/mam-semantics.7" | sed "s/\\\\(aq/'/g" > "$scratch/man"
grep -v '^#' "$rows" | cut -f 1 > "$scratch/tested"
same "the manual page and rows.txt have the same rows" "$(sort "$scratch/man")" "$(sort "$scratch/tested")"
grep -v '^#' "$rows" > "$scratch/rows"
tab=$(printf '\t')
while IFS=$tab read -r row file words; do
	if grep -v '^[[:space:]]*#' "$MAM_SRCDIR/$file" | grep -qF -- "$words" && grep -qF "$file" "$MAM_SRCDIR/tests/interpose/Makefile.inc"; then
		ok "tested: $row"
	else
		not_ok "tested: $row" "$file has no test of the name '$words'"
	fi
done < "$scratch/rows"
finish
