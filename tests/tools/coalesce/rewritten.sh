#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# rewritten.sh - `mam coalesce` reads what it wrote, and leaves it unchanged: each file of labeled
# kernels, listing 1 and the kernels that are timed. Collective allocations stay as they are, and no
# call of CUDA's malloc() remains. Most files do change the first time.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

rewrite=$MAM_SRCDIR/tests/tools/coalesce/rewrite.sh

# shellcheck disable=SC2317 # called through refused_by
refused() # ARGUMENT... - leaves the message in $scratch/err
{
	sh "$rewrite" "$@" > "$scratch/out" 2> "$scratch/err"
}
refused_by refused 'rewrite.sh without a folder' 2 'name one folder'
refused_by refused 'rewrite.sh with two folders' 2 'name one folder' "$scratch/one" "$scratch/two"
# shellcheck disable=SC2317
without_tool()
{
	env MAM_BUILDDIR="$scratch/none" sh "$rewrite" "$@" > "$scratch/out" 2> "$scratch/err"
}
refused_by without_tool 'rewrite.sh without mam-coalesce' 77 'set MAM_BUILDDIR' "$scratch/one"

tool=${MAM_BUILDDIR:-.}/mam-coalesce
[ -x "$tool" ] || skip_all 'rewritten files' 'this mam was built without libclang'
COALESCE_INCLUDE=$MAM_SRCDIR/tools/coalesce/headers
export COALESCE_INCLUDE
: > "$scratch/file"
"$rewrite" "$scratch/file/out" > "$scratch/out" 2> "$scratch/err"
same 'rewrite.sh with an invalid folder' 2 $?

try 'all are rewritten' "$rewrite" "$scratch/all"
same 'each exists in both folders' "$(find "$scratch/all/before" -name '*.cu' | wc -l)" \
	"$(find "$scratch/all/after" -name '*.cu' | wc -l)"
changed=0
for file in "$scratch"/all/after/*.cu; do
	name=$(basename "$file")
	cmp -s "$scratch/all/before/$name" "$file" || changed=$((changed + 1))
	set --
	[ "$name" != listing1.cu ] || set -- --library MPI_Alltoall
	try "$name can be read again" "$tool" -o "$scratch/again.cu" "$@" "$file" -- -I "$MAM_SRCDIR/include" \
		-I "$MAM_SRCDIR/src" -I "$MAM_SRCDIR/tests/tools/coalesce"
	try "$name is unchanged" cmp "$file" "$scratch/again.cu"
	rm -f "$scratch/again.cu"
done
# In one instance of a template free() is CUDA's, in the other one a member function.
cat > "$scratch/lookup.cu" << 'end'
namespace mine
{
struct box {
	int *p;
};
__device__ void free(box *b)
{
	b->p = 0;
}
} // namespace mine
template <typename T> __global__ void k(T *x, int n)
{
	T *row = (T *)malloc(n * sizeof(T));
	free(row);
}
void go(mine::box *b, int *i)
{
	k<<<1, 32>>>(i, 3);
	k<<<1, 32>>>(b, 3);
}
end
"$tool" --diff "$scratch/lookup.cu" > "$scratch/out" 2> "$scratch/err"
same "free() that differs between instances: exit status" 0 $?
same "free() that differs between instances is unchanged" "" "$(cat "$scratch/out")"
try "free() that differs between instances: message" grep -q 'another call in another instance' "$scratch/err"
sed '/<<<.*(b, 3)/d' "$scratch/lookup.cu" > "$scratch/plain.cu"
"$tool" --diff "$scratch/plain.cu" > "$scratch/out" 2> "$scratch/err"
try "free() of CUDA is rewritten" grep -q '^+.*mam_cfree(row)' "$scratch/out"
try "$changed files change the first time" test "$changed" -ge 35
finish
