#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# structs.sh - every struct of a public header can grow: its first member is `size_t size;`, as in
# src/base/sized.h. Exemptions are listed below, with their reasons. tests/api/test_sizes.c passes
# each struct to the library with the sizes of older and newer versions.
#
# Structs that kernels use are in src/heap and elsewhere: the program's kernels and the library's
# host code must match anyway, which the number MAM_HEAP_LAYOUT in each heap checks.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

exemptions() # prints "NAME REASON"
{
	cat <<-'END'
	mam_source_properties the last member of struct mam_source, whose size covers it
	mam_heap_class an element of an array in struct mam_heap_info
	mam_heap_thread a member of struct mam_heap_report, three times
	mam_newfile used only inside mam, which is built as a whole; its header is not installed
	mam_tally the layout of a file, with a magic number; its header is not installed
	mam_statpage the same
	mam_statpage_counts the same
	mam_statpage_pool the same
	mam_statpage_device the same
	mam_statpage_caller the same
	mam_statpage_estimate the same
	mam_statpage_site the same
	mam_statpage_sites the same
	mam_statpage_holder used only inside mam, which is built as a whole; its header is not installed
	mam_statpage_figures used only inside mam, which is built as a whole; its header is not installed
	mam_record passed to a function whose name changes with it; its header is not installed
	mam_trace_ring the layout of a file, with a magic number; its header is not installed
	mam_trace_record the layout of a file: 64 bytes each; its header is not installed
	xmc_setting used only inside the program: the library does not use it
	xmc_note used only inside the program: the library does not use it
	END
}

# Prints "NAME FIRST-MEMBER" of each struct that is defined in the files.
structs() # FILE...
{
	cat "$@" | awk -f "$MAM_SRCDIR/tests/structs.awk" | awk '!seen[$1]++'
}

# Prints the names of structs that cannot grow and are not exempt, and of exemptions without a
# struct.
wrong() # FILE...
{
	exemptions | sed 's/ .*//' | LC_ALL=C sort > "$scratch/exempt"
	structs "$@" > "$scratch/structs"
	grep -v ' size_t size;$' "$scratch/structs" | sed 's/ .*//' | LC_ALL=C sort > "$scratch/fixed"
	LC_ALL=C comm -3 "$scratch/fixed" "$scratch/exempt" | tr -d '\t'
}

set --
for header in "$MAM_SRCDIR"/include/mam/*.h "$MAM_SRCDIR"/include/mam/*.cuh; do
	set -- "$@" "$header"
done

# Test of this test: a struct without a size is detected, whatever comments precede its first
# member.
cat > "$scratch/planted.h" <<'END'
/* struct mam_in_a_comment {
 * }; */
struct mam_planted_good {
	/* Two lines
	 * of comment. */
	size_t size; /* in */
	int x;
};
struct mam_planted_bad {
	int x; /* size_t size; */
	size_t size;
};
END
same "struct without a size is detected" "mam_planted_bad" \
	"$(wrong "$@" "$scratch/planted.h" | grep planted)"
same "every struct of the public headers starts with its size" "" "$(wrong "$@" | tr '\n' ' ')"

# Each struct with a size is tested: its name is in the table of test_sizes.c.
structs "$@" | sed -n 's/ size_t size;$//p' | LC_ALL=C sort > "$scratch/sized"
if [ "$(wc -l < "$scratch/sized")" -lt 10 ]; then
	not_ok "structs with a size are found" "$(cat "$scratch/sized")"
fi
missing=
while read -r name; do
	grep -q "struct $name\b" "$MAM_SRCDIR"/tests/api/test_sizes.c "$MAM_SRCDIR"/tests/opencl/*.c ||
		missing="$missing $name"
done < "$scratch/sized"
same "each struct is tested with sizes of older and newer versions" "" "$missing"
finish
