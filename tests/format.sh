#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# format.sh - clang-format changes no C, CUDA or OpenCL source.
#
# Versions of clang-format differ, so only version 14 counts. Test data and the replacements of
# CUDA's headers are exempt.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

format=
for name in clang-format-14 clang-format; do
	case $("$name" --version 2> /dev/null) in
	*' version 14.'*) format=$name && break ;;
	esac
done
[ -n "$format" ] || skip_all "formatting" "clang-format 14 is not installed, and other versions format differently"
cd "$MAM_SRCDIR" || exit 1

unformatted() # FILE... - the files that clang-format would change
{
	"$format" --style=file --dry-run "$@" 2>&1 |
		sed -n 's/:[0-9]*:[0-9]*: warning: code should be clang-formatted .*//p' | uniq
}

for part in examples include src tests tools; do
	find "$part" \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cl' -o -name '*.cc' \) \
		! -name '*_fatbin.c' ! -name '*_text.c' ! -path 'tools/coalesce/headers/*' \
		! -path 'tests/tools/coalesce/corpus*' ! -path 'tests/tools/coalesce/front_cases/*' \
		! -name 'listing1*' | LC_ALL=C sort > "$scratch/files"
	# shellcheck disable=SC2046 # names of files are words
	same "$part: $(wc -l < "$scratch/files") files are formatted" "" \
		"$(unformatted $(cat "$scratch/files") | tr '\n' ' ')"
done

cp .clang-format "$scratch"
printf 'int main(void)\n{\n    return 0;\n}\n' > "$scratch/planted.c"
same "file with wrong indentation is detected" "$scratch/planted.c" \
	"$(unformatted "$scratch/planted.c")"
finish
