#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# abi.sh - the symbols that libmam.so exports: those stored in tests/abi.symbols, no more and no
# fewer, which are exactly the functions that the public headers mark MAM_API. libmam-opencl.so
# exports those of opencl.h. Removing a symbol from the stored list breaks programs: then the
# library's version number must change.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

library=$MAM_BUILDDIR/.libs/libmam.so.0
stored=$MAM_SRCDIR/tests/abi.symbols

same_list() # NAME WANTED GOT - two sorted files have the same lines
{
	LC_ALL=C comm -23 "$2" "$3" > "$scratch/gone"
	LC_ALL=C comm -13 "$2" "$3" > "$scratch/new"
	if [ -s "$scratch/gone" ] || [ -s "$scratch/new" ]; then
		not_ok "$1" "missing: $(tr '\n' ' ' < "$scratch/gone")unexpected: $(tr '\n' ' ' < "$scratch/new")"
	else
		ok "$1"
	fi
}

# Declarations may span lines: take the name before the first parenthesis after each MAM_API.
declared() # HEADER...
{
	cat "$@" | grep -v '^#' | tr '\n' ' ' |
		grep -o 'MAM_API [^;(]*(' | sed 's/.*[ *]\([A-Za-z_0-9]*\) *($/\1/' | LC_ALL=C sort
}
in_map() # MAP
{
	sed -n 's/^\t\([A-Za-z_0-9]*\);.*/\1/p' "$1" | LC_ALL=C sort
}
set --
for header in "$MAM_SRCDIR"/include/mam/*.h; do
	[ "${header##*/}" = opencl.h ] || set -- "$@" "$header"
done
declared "$@" > "$scratch/declared"
grep -v '^#' "$stored" | LC_ALL=C sort > "$scratch/stored"

if [ "$(wc -l < "$scratch/stored")" -gt 10 ]; then
	same_list "headers declare the symbols in tests/abi.symbols" "$scratch/stored" \
		"$scratch/declared"
else
	not_ok "headers declare the symbols in tests/abi.symbols" "$stored is empty"
fi

in_map "$MAM_SRCDIR/src/libmam.map" > "$scratch/map"
same_list "src/libmam.map lists the same symbols" "$scratch/stored" "$scratch/map"

# With the version that each symbol came with, for dependencies of packages; update it when you add a symbol.
sed -n 's/^ \(.*\)@MAM_0 [0-9].*/\1/p' "$MAM_SRCDIR/packaging/debian/libmam0.symbols" | grep -vx MAM_0 |
	LC_ALL=C sort > "$scratch/debian"
same_list "packaging/debian/libmam0.symbols lists the same symbols" "$scratch/stored" "$scratch/debian"

declared "$MAM_SRCDIR/include/mam/opencl.h" > "$scratch/declared_opencl"
in_map "$MAM_SRCDIR/src/libmam-opencl.map" > "$scratch/map_opencl"
same_list "src/libmam-opencl.map lists the symbols of opencl.h" "$scratch/declared_opencl" \
	"$scratch/map_opencl"
opencl=$MAM_BUILDDIR/.libs/libmam-opencl.so.0
if [ "${HAVE_OPENCL:-no}" != yes ]; then
	no_opencl
elif [ ! -e "$opencl" ] || ! command -v nm > /dev/null; then
	skip "libmam-opencl.so.0 exports the same symbols" \
		"this build has no shared library, or nm is missing"
else
	nm -D --defined-only "$opencl" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | LC_ALL=C sort > "$scratch/exported_opencl"
	same_list "libmam-opencl.so.0 exports the same symbols" "$scratch/map_opencl" \
		"$scratch/exported_opencl"
fi

if [ ! -e "$library" ]; then
	skip "libmam.so.0 exports the same symbols" "this build has no shared library"
elif ! command -v nm > /dev/null; then
	skip "libmam.so.0 exports the same symbols" "nm is not installed"
else
	nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
		LC_ALL=C sort > "$scratch/exported"
	same_list "libmam.so.0 exports the same symbols" "$scratch/stored" "$scratch/exported"
	nm -D --defined-only --with-symbol-versions "$library" | awk '$2 != "A" && $3 !~ /@@MAM_0$/ { print $3 }' \
		> "$scratch/unversioned"
	same "every symbol has version MAM_0" "" "$(tr '\n' ' ' < "$scratch/unversioned")"
fi
finish
