#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# headers.sh - each public header compiles alone, as C11 and as C++17, without a warning.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

flags="-Wall -Wextra -Wundef -Wshadow -Wpedantic -Werror -fsyntax-only"
system=$(echo "${CUDA_CPPFLAGS:-}" | sed 's/-I/-isystem /g')

alone() # HEADER LANGUAGE STANDARD - include it twice, first and last
{
	printf '#include <%s>\n#include <%s>\nint mam_header_was_read;\n' "$1" "$1" > "$scratch/alone.$2"
	# shellcheck disable=SC2086 # flags are words
	$CC -x "$2" -std="$3" $flags -I "$scratch/include" -I "$MAM_SRCDIR/include" $system "$scratch/alone.$2"
}

echo 'int x;' > "$scratch/probe.c"
has_cxx=yes
$CC -x c++ -std=c++17 -fsyntax-only "$scratch/probe.c" > /dev/null 2>&1 || has_cxx=no

# Test of this test: a header that depends on another must fail, and a self-contained one must not.
mkdir -p "$scratch/include/planted"
echo 'static inline size_t planted(void) { return 0; }' > "$scratch/include/planted/leans.h"
printf '#ifndef P\n#define P\n#include <stddef.h>\nsize_t planted(void);\n#endif\n' > "$scratch/include/planted/stands.h"
if alone planted/leans.h c c11 > /dev/null 2>&1 || ! alone planted/stands.h c c11; then
	not_ok "header that is not self-contained is detected" "$CC does not distinguish them"
else
	ok "header that is not self-contained is detected"
fi

for path in "$MAM_SRCDIR"/include/mam/*.h; do
	header=mam/${path##*/}
	if [ "$header" = mam/cuda.h ] && [ "$HAVE_CUDA" != yes ]; then
		skip "$header" "the CUDA toolkit's headers are missing"
		continue
	fi
	if [ "$header" = mam/opencl.h ] && [ "${HAVE_OPENCL:-no}" != yes ]; then
		no_opencl
		continue
	fi
	try "$header as C11" alone "$header" c c11
	if [ "$has_cxx" = yes ]; then
		try "$header as C++17" alone "$header" c++ c++17
	else
		skip "$header as C++17" "$CC does not compile C++"
	fi
done
finish
