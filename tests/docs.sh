#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# docs.sh - the documentation has no dead links, formats and builds.
#
# 1. Every relative link and picture of a Markdown page names an existing file.
# 2. Every page of docs/ is in the table of contents, and in the distribution.
# 3. Manual pages format at 80 columns without warnings.
# 4. docs/build builds everything without warnings, if its tools are installed.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

# Prints "PAGE: TARGET" for each relative link whose target does not exist.
dead_links() # ROOT PAGE...
{
	links_root=$1
	shift
	for links_page in "$@"; do
		grep -Eo '\]\([^)#]+(#[^)]*)?\)' "$links_root/$links_page" | sed 's/^](//; s/)$//; s/#.*//' |
			grep -Ev '^(https?|mailto):' | while read -r links_target; do
			[ -e "$links_root/$(dirname "$links_page")/$links_target" ] || echo "$links_page: $links_target"
		done
	done
}

cd "$MAM_SRCDIR" || exit 1
pages=$(ls ./*.md docs/*.md)
# shellcheck disable=SC2086 # names are words
same "links of $(echo $pages | wc -w) pages" "" "$(dead_links . $pages)"
mkdir "$scratch/planted"
echo '[a](b.md) [c](https://example.org/) ![d](d.svg)' > "$scratch/planted/a.md"
: > "$scratch/planted/d.svg"
same "dead link is detected" "a.md: b.md" "$(dead_links "$scratch/planted" a.md)"

for page in docs/*.md; do
	name=$(basename "$page" .md)
	[ "$name" = index ] && continue
	try "docs/index.md lists $name" grep -qx "$name" docs/index.md
	try "distribution contains $page" grep -q "$page" Makefile.am
done

if command -v groff > /dev/null; then
	for page in tools/*.[1-8]; do
		same "$page formats at 80 columns" "" \
			"$(groff -man -ww -rLL=80n -Tutf8 "$page" 2>&1 > /dev/null | head -n 3)"
	done
else
	skip "manual pages format" "groff is not installed"
fi

docs/build "$scratch/out" 0.0 > "$scratch/docs.log" 2>&1
status=$?
if [ "$status" -eq 77 ]; then
	skip "documentation builds" "$(tail -n 1 "$scratch/docs.log")"
else
	same "documentation builds without warnings" "0 " "$status $(lib_tail "$scratch/docs.log")"
	try "documentation has a first page" test -s "$scratch/out/html/docs/index.html"
	for call in mam_malloc mam_pool_create mam_heap_create mam_kmalloc mam_malloc_async; do
		try "API page documents $call" grep -q "$call" "$scratch/out/html/docs/api.html"
	done
fi
finish
