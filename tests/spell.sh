#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# spell.sh - codespell finds no misspelled word in the READMEs, docs, include, src and tools.
#
# .codespellrc lists the false positives.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

command -v codespell > /dev/null || skip_all "spelling" "codespell is not installed (package codespell)"
cd "$MAM_SRCDIR" || exit 1

misspelled() # PATH... - what codespell reports, on one line
{
	codespell --config .codespellrc "$@" 2>&1 | tr '\n' ' ' | cut -c 1-400
}

for part in README README.md CONTRIBUTING.md SECURITY.md ChangeLog docs include src tools; do
	same "spelling in $part" "" "$(misspelled "$part")"
done

# The misspelling is written in two parts, so that this file has none.
printf '/* wait for the re%s */\nuint32_t upto;\n' 'ciever' > "$scratch/planted.c"
same "misspelled word is detected, exempt word is not" "$scratch/planted.c:1: re""ciever ==> receiver " \
	"$(misspelled "$scratch/planted.c")"
finish
