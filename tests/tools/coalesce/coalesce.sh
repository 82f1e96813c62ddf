# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# coalesce.sh - for tests of `mam coalesce`, after lib.sh.
# shellcheck disable=SC2154 # of lib.sh
#
# Variable:  tool  the program, by an absolute name

# NAME - the folder becomes $scratch, and no toolkit is found; skips the tests of that name without libclang
begin_coalesce()
{
	tool=${MAM_BUILDDIR:-.}/mam-coalesce
	[ -x "$tool" ] || skip_all "$1" 'this mam was built without libclang'
	tool=$(cd "$(dirname "$tool")" && pwd)/mam-coalesce
	COALESCE_INCLUDE=$(cd "$MAM_SRCDIR/tools/coalesce/headers" && pwd)
	export COALESCE_INCLUDE
	unset CUDA_HOME
	cd "$scratch" || exit 99
}

run()
{
	timeout 60 "$tool" "$@" > out 2> err < /dev/null
}
