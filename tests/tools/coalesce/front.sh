#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# front.sh - sources become the trees that are stored next to them: front_cases/*.cu,
# expected/*.expected.
#
# For some there is also a *.later.expected, because libclang 18 and 19 know more positions than
# earlier versions. FRONT_PUT names the program that prints the tree of a source (front_put.c).
# Without that program, that is without libclang, nothing is tested. FRONT_WRITE=1 stores the new
# output: read it before you keep it. Also, unreadable input is reported in one line that names the
# line, and no input crashes the program.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

put=${FRONT_PUT:-$MAM_BUILDDIR/tests/tools/coalesce/front_put}
[ -x "$put" ] || skip_all "sources as trees" "there is no $put, as there is no libclang"
put=$(cd "$(dirname "$put")" && pwd)/$(basename "$put")
COALESCE_INCLUDE=$(cd "$MAM_SRCDIR/tools/coalesce/headers" && pwd)
export COALESCE_INCLUDE
unset CUDA_HOME

cases=$(cd "$MAM_SRCDIR/tests/tools/coalesce/front_cases" && pwd)

tree() # FILE FLAG... - leaves the tree in $scratch/tree, and the messages in $scratch/err
{
	(cd "$(dirname "$1")" && file=$(basename "$1") && shift &&
		timeout 60 "$put" "$file" "$@") > "$scratch/tree" 2> "$scratch/err"
}

case_is() # NAME
{
	tree "$cases/$1.cu" || { cat "$scratch/err"; return 1; }
	[ -z "${FRONT_WRITE:-}" ] || cp "$scratch/tree" "$cases/expected/$1.expected"
	cmp -s "$cases/expected/$1.later.expected" "$scratch/tree" || diff "$cases/expected/$1.expected" "$scratch/tree"
}

count=0
for source in "$cases"/*.cu; do
	name=$(basename "$source" .cu)
	count=$((count + 1))
	try "$name" case_is "$name"
done
try "there are cases" test "$count" -ge 25

refused() # NAME TEXT - of $scratch/bad.cu
{
	refused_by tree "$1" 1 "$2" "$scratch/bad.cu" --cuda-path=/nowhere
	try "$1: no tree" test ! -s "$scratch/tree"
}

printf '__global__ void k(int n)\n{\n\tn = not_there;\n}\n' > "$scratch/bad.cu"
refused "unknown name" "^bad.cu:3: .*'not_there'; pass the compiler's -I"
printf '\n#include <not/there.h>\n' > "$scratch/bad.cu"
refused "unknown header" "^bad.cu:2: .*not/there.h.*; pass the compiler's -I"
printf '__global__ void k(int n)\n{\n' > "$scratch/bad.cu"
refused "half a function" "^bad.cu:2: "
rm "$scratch/bad.cu"
refused "missing file" '^bad.cu: it cannot be read'
mkdir "$scratch/bad.cu"
refused "folder as input" '^bad.cu: it cannot be read'

mkdir "$scratch/part"
printf '#define PART 3\n' > "$scratch/part/part.h"
printf '#include "part.h"\n__global__ void k(int *out) { out[0] = TWO + PART; }\n' > "$scratch/good.cu"
try "relevant flags are used, others are ignored" tree "$scratch/good.cu" -arch=sm_90 -O3 \
	-Xcompiler -Wall -D TWO=2 -I "$scratch/part" -rdc=true --std=c++14 -gencode arch=compute_80

: > "$scratch/empty.cu"
try "empty file" tree "$scratch/empty.cu"
awk 'BEGIN { printf "__global__ void k(int *o, int n) { o[0] = n"
	for (i = 0; i < 3000; i++) printf " + n"
	print "; }" }' > "$scratch/deep.cu"
try "deep expression" tree "$scratch/deep.cu"
try "deep expression is truncated" grep -q '(unknown' "$scratch/tree"
for bytes in 50 250 450 650; do
	head -c "$bytes" "$cases/operators_in_macros.cu" > "$scratch/cut.cu"
	tree "$scratch/cut.cu"
	try "the first $bytes bytes of a file" test $? -le 1
done

finish
