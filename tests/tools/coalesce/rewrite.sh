#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# rewrite.sh OUT - labeled kernels, listing 1 and the kernels that are timed, unchanged and as `mam
# coalesce` rewrites them: OUT/before/NAME.cu and OUT/after/NAME.cu. tools/bench/gpu-collective.sh
# runs both on a GPU, where libclang is not needed.
#
# Environment: MAM_SRCDIR (default: the tree of this file), MAM_BUILDDIR (the folder of
# mam-coalesce; default: the current one). Exit status: 0, 1 if a file could not be rewritten, 2 for
# an invalid call, 77 without mam-coalesce.

if [ $# -ne 1 ]; then
	echo 'rewrite: name one folder for the files' >&2
	exit 2
fi
out=$1
MAM_SRCDIR=${MAM_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
tool=${MAM_BUILDDIR:-.}/mam-coalesce
here=$MAM_SRCDIR/tests/tools/coalesce
COALESCE_INCLUDE=$MAM_SRCDIR/tools/coalesce/headers
export COALESCE_INCLUDE
if [ ! -x "$tool" ]; then
	echo "rewrite: there is no $tool: set MAM_BUILDDIR to where mam was built with libclang" >&2
	exit 77
fi
if ! mkdir -p "$out/before" "$out/after"; then
	echo "rewrite: $out cannot be made: name a folder that can be written to" >&2
	exit 2
fi

failed=0
for file in "$here"/corpus/*.cu "$here"/corpus_kept/*.cu "$here/listing1.cu" \
	"$MAM_SRCDIR/tools/bench/clients/gpu-collective.cu"; do
	name=$(basename "$file")
	set --
	[ "$name" != listing1.cu ] || set -- --library MPI_Alltoall
	rm -f "$out/after/$name"
	if ! "$tool" -o "$out/after/$name" "$@" "$file" -- -I "$MAM_SRCDIR/include" -I "$MAM_SRCDIR/src" \
		> "$out/said" 2>&1; then
		cat "$out/said" >&2
		failed=1
	fi
	cp "$file" "$out/before/$name" || failed=1
done
rm -f "$out/said"
exit $failed
