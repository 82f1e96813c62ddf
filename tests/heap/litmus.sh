#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# litmus.sh - test_litmus.c has a case for each function of the in-kernel heap with a relaxed access,
# and names no other function.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

# A function or a macro starts in the first column.
for folder in calls debug growth objects pages slab; do
	for header in "$MAM_SRCDIR/src/heap/$folder"/*.h; do
		awk -v base="${header##*/}" '
			/^#define [A-Za-z_0-9]+[(]/ { name = $2; sub(/[(].*/, "", name) }
			/^[A-Z][A-Z_]* .*[(]/ { name = $0; sub(/[(].*/, "", name); sub(/.*[^a-z_0-9]/, "", name) }
			/MAM_RELAXED/ { print base ":" name }' "$header"
	done
done | sort -u > "$scratch/code"
grep -o '[a-z_]*[.]h:[A-Za-z_0-9]*' "$MAM_SRCDIR/tests/heap/test_litmus.c" | sort -u > "$scratch/table"
same "functions with a relaxed access that no case names" "" "$(comm -23 "$scratch/code" "$scratch/table")"
same "functions that a case names without a relaxed access" "" "$(comm -13 "$scratch/code" "$scratch/table")"
if [ "$(wc -l < "$scratch/code")" -gt 50 ]; then
	ok "relaxed accesses in $(wc -l < "$scratch/code") functions"
else
	not_ok "relaxed accesses" "only in $(wc -l < "$scratch/code") functions"
fi

finish
