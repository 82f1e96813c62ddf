#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# corpus.sh - `mam coalesce` on labeled kernels: none of its verdicts claims more than the label,
# and it finds at least 98% of the provable ones, and 94% in the kernels that are kept back.
# The paper's first listing is rewritten as its colors show.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

here=$MAM_SRCDIR/tests/tools/coalesce
COALESCE_INCLUDE=$MAM_SRCDIR/tools/coalesce/headers
export COALESCE_INCLUDE
tool=${MAM_BUILDDIR:-.}/mam-coalesce
[ -x "$tool" ] || skip_all 'labeled kernels' 'this mam was built without libclang'
least=98
for kernels in corpus corpus_kept; do
	for file in "$here/$kernels"/*.cu; do
		try "$(basename "$file") is read" eval "'$tool' --plain '$file' -- -I '$MAM_SRCDIR/include' \
			-I '$MAM_SRCDIR/src' >> '$scratch/$kernels'"
	done
	try "$kernels: $(awk -f "$here/score.awk" "$scratch/$kernels" "$here/$kernels"/*.cu | tail -n 1)" \
		eval "awk -v least=$least -f '$here/score.awk' '$scratch/$kernels' '$here/$kernels'/*.cu > '$scratch/score' 2>&1"
	sed 's/^/# /' "$scratch/score"
	least=94
done
# Allocations after tests for null: those that all threads reach once the file is rewritten are
# labeled "later: block".
grep -n 'later: block' "$here"/corpus/*.cu | sed 's/:\([0-9]*\):.*/ \1/' > "$scratch/later"
awk -F '\t' '/once the file is rewritten: block/ { print $1, $2 }' "$scratch/corpus" > "$scratch/found"
try "tests for null: $(wc -l < "$scratch/later" | tr -d ' ') allocations become collective by rewriting" \
	eval "[ -s '$scratch/later' ] && diff '$scratch/later' '$scratch/found'"
try "listing 1 is rewritten" "$tool" -o "$scratch/listing1.cu" --library MPI_Alltoall "$here/listing1.cu" -- \
	-I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src"
try "listing 1: rewritten as its colors show" cmp "$scratch/listing1.cu" "$here/listing1.want.cu"
finish
