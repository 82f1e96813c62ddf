#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# large_cuda.sh - compiled as CUDA for sm_90, allocations and frees of large objects have the orders
# and the scopes that large.h names: writes that the host reads are released at system scope, writes
# of the host are acquired at system scope, and no access that the host sees has a smaller scope.
#
# The test compares each function's instructions that name an order, taken from PTX without
# repetition, with a table.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

if [ "$HAVE_CUDA" != yes ] || [ -z "$NVCC" ]; then
	skip_all "large_cuda" "mam was built without the CUDA toolkit"
fi

cat > "$scratch/large.cu" << 'EOF'
#include "heap/growth/large.h"

MAM_KERNEL(large)
{
	struct mam_kheap *heap = (struct mam_kheap *)argument;
	void *object = mam_large_alloc(heap, mam_thread());

	heap->words[0] = mam_large_usable(heap, object);
	heap->words[1] = mam_large_free(heap, object);
}
EOF

cat > "$scratch/wanted" << 'EOF'
alloc atom.acquire.gpu.global.and.b64
alloc atom.add.relaxed.gpu.u64
alloc atom.release.gpu.global.or.b64
alloc ld.acquire.sys.global.b64
alloc ld.relaxed.gpu.global.b64
alloc ld.relaxed.sys.global.b64
alloc st.relaxed.gpu.b64
alloc st.relaxed.sys.b64
alloc st.release.gpu.b64
alloc st.release.sys.b64
free atom.acquire.gpu.global.and.b64
free atom.relaxed.gpu.global.cas.b64
free atom.release.gpu.global.or.b64
free ld.acquire.sys.global.b64
free ld.relaxed.gpu.global.b64
free ld.relaxed.sys.global.b64
free st.relaxed.gpu.b64
free st.relaxed.sys.b64
free st.release.gpu.b64
free st.release.sys.b64
resend atom.acquire.gpu.global.cas.b64
resend atom.exch.acquire.gpu.b64
resend ld.acquire.sys.global.b64
resend ld.relaxed.gpu.global.b64
resend st.relaxed.gpu.b64
resend st.relaxed.sys.b64
resend st.release.sys.b64
usable ld.acquire.gpu.global.b64
usable ld.relaxed.gpu.global.b64
EOF

# Prints "FUNCTION INSTRUCTION" for instructions that name an order; collectives would be an error
# and are printed too.
instructions() # PTX
{
	awk '
	/^[.]func|^[.]visible/ { name = "" }
	match($0, /mam_large_[a-z]+E/) && /^[.]func/ { name = substr($0, RSTART + 10, RLENGTH - 11) }
	/^}/ { name = "" }
	name != "" && /^[ \t]*(@%[a-z0-9]+ +)?(atom|red|ld|st|fence|membar|vote|shfl|match|bar)[.]/ {
		for (i = 1; i <= NF; i++)
			if ($i ~ /^(atom|red|fence|membar|vote|shfl|match|bar)[.]/ ||
			    $i ~ /^(ld|st)[.](relaxed|acquire|release|volatile)/) {
				sub(/;$/, "", $i)
				print name, $i
			}
	}' "$1" | LC_ALL=C sort -u
}

if "$NVCC" -arch=compute_90 -ptx -I "$MAM_SRCDIR/src" -o "$scratch/ptx" "$scratch/large.cu" \
	> "$scratch/said" 2>&1 && [ ! -s "$scratch/said" ]; then
	ok "large.h compiles as CUDA without warnings"
	instructions "$scratch/ptx" > "$scratch/got"
	diff "$scratch/wanted" "$scratch/got" | grep '^[<>]' > "$scratch/why"
	same "orders and scopes" "" "$(tr '\n' ' ' < "$scratch/why")"
else
	not_ok "large.h compiles as CUDA without warnings" "$(lib_tail "$scratch/said")"
fi

# The table detects a scope that is too small.
sed 's/MAM_RELEASE, MAM_AT_SYSTEM/MAM_RELEASE, MAM_AT_DEVICE/' "$MAM_SRCDIR/src/heap/growth/large.h" > "$scratch/large.h"
sed 's|"heap/growth/large.h"|"large.h"|' "$scratch/large.cu" > "$scratch/wrong.cu"
"$NVCC" -arch=compute_90 -ptx -I "$scratch" -I "$MAM_SRCDIR/src" -o "$scratch/ptx" "$scratch/wrong.cu" \
	> "$scratch/said" 2>&1
instructions "$scratch/ptx" > "$scratch/got"
same "a scope that is too small is detected" 3 "$(diff "$scratch/wanted" "$scratch/got" | grep -c '^<.*release.sys')"
finish
