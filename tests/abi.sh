#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# abi.sh - the interface that programs are linked to is the one in tests/abi.dump, and programs that were linked to the
# last release run with this library.
#
# 1. The headers and libmam.so have the soname, functions, structs and fields of tests/abi.dump: a function that is marked
#    MAM_API, the size of a struct, the offset and the size of a field. A field that is a struct has no size of its own.
# 2. The dump of the last release, from its tag, has nothing that disappeared, shrank or moved, unless the soname changed
#    (docs/versioning.md).
#
# libmam-opencl.so exports the functions of opencl.h.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

stored=$MAM_SRCDIR/tests/abi.dump
soname=$(sed -n 's/^soname //p' "$stored")
major=${soname##*.}

same_list() # NAME WANTED GOT - two sorted files have the same lines
{
	LC_ALL=C comm -23 "$2" "$3" > "$scratch/gone"
	LC_ALL=C comm -13 "$2" "$3" > "$scratch/new"
	if [ -s "$scratch/gone" ] || [ -s "$scratch/new" ]; then
		not_ok "$1" "missing: $(paste -s -d , "$scratch/gone"); unexpected: $(paste -s -d , "$scratch/new")"
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
sed -n 's/^function //p' "$stored" | LC_ALL=C sort > "$scratch/stored"

if [ "$(wc -l < "$scratch/stored")" -gt 10 ]; then
	same_list "headers declare the functions in tests/abi.dump" "$scratch/stored" \
		"$scratch/declared"
else
	not_ok "headers declare the functions in tests/abi.dump" "$stored is empty"
fi

# A program prints the structs of these headers.
layouts()
{
	cat "$@" | awk -f "$MAM_SRCDIR/tests/structs.awk" > "$scratch/members"
	for header in "$@"; do
		# cuda.h has none, and needs CUDA's headers.
		[ "${header##*/}" = cuda.h ] || echo "#include \"$header\""
	done
	echo '#include <stddef.h>
#include <stdio.h>
#define MEMBER(of, name) ((struct of *)NULL)->name
int main(void)
{'
	awk '
	!seen[$1]++ { printf "printf(\"struct %s %%zu\\n\", sizeof(struct %s));\n", $1, $1 }
	{
		field = $0
		if (match(field, /\(\*[a-z_0-9]+\)/)) {
			field = substr(field, RSTART + 2, RLENGTH - 3)
		} else {
			sub(/(\[.*)?;$/, "", field)
			sub(/.*[ *]/, "", field)
		}
		printf "printf(\"field %s.%s %%zu\", offsetof(struct %s, %s));\n", $1, field, $1, field
		if ($2 == "struct" && $0 !~ /\*/)
			print "puts(\"\");"
		else
			printf "printf(\" %%zu\\n\", sizeof(MEMBER(%s, %s)));\n", $1, field
	}' "$scratch/members"
	echo 'return 0; }'
}
if [ "$(getconf LONG_BIT)" -ne 64 ]; then
	skip "headers define the structs in tests/abi.dump" "pointers do not have 64 bits here"
else
	set --
	for header in "$MAM_SRCDIR"/include/mam/*.h; do
		[ "${header##*/}" = opencl.h ] || grep -q 'not installed\.$' "$header" || set -- "$@" "$header"
	done
	layouts "$@" > "$scratch/layouts.c"
	# shellcheck disable=SC2086 # CFLAGS are words
	try "program that prints structs builds" $CC ${CFLAGS:-} -I "$MAM_SRCDIR/include" "$scratch/layouts.c" -o "$scratch/layouts"
	"$scratch/layouts" > "$scratch/in_order"
	LC_ALL=C sort "$scratch/in_order" > "$scratch/structs"
	grep -E '^(struct|field) ' "$stored" | LC_ALL=C sort > "$scratch/stored_structs"
	same_list "headers define the structs in tests/abi.dump" "$scratch/stored_structs" "$scratch/structs"
	# For copying, after a change on purpose.
	if ! cmp -s "$scratch/stored" "$scratch/declared" || ! cmp -s "$scratch/stored_structs" "$scratch/structs"; then
		{
			sed '/^function /,$d' "$stored"
			sed 's/^/function /' "$scratch/declared"
			cat "$scratch/in_order"
		} > "$MAM_BUILDDIR/abi.dump"
		echo "the interface of the headers is in '$MAM_BUILDDIR/abi.dump'"
	fi
fi

in_map "$MAM_SRCDIR/src/libmam.map" > "$scratch/map"
same_list "src/libmam.map lists the same symbols" "$scratch/stored" "$scratch/map"

# With the version that each symbol came with, for dependencies of packages; update it when you add a symbol.
debian=packaging/debian/libmam$major.symbols
sed -n "s/^ \\(.*\\)@MAM_$major [0-9].*/\\1/p" "$MAM_SRCDIR/$debian" | grep -vx "MAM_$major" | LC_ALL=C sort > "$scratch/debian"
same_list "$debian lists the same symbols" "$scratch/stored" "$scratch/debian"
same "$debian has the soname" "$soname libmam$major #MINVER#" "$(grep '^libmam' "$MAM_SRCDIR/$debian")"

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

library=$MAM_BUILDDIR/.libs/libmam.so
if [ ! -e "$library" ]; then
	skip "libmam.so exports the same symbols" "this build has no shared library"
elif ! command -v nm > /dev/null || ! command -v readelf > /dev/null; then
	skip "libmam.so exports the same symbols" "nm or readelf is not installed"
else
	nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' |
		LC_ALL=C sort > "$scratch/exported"
	same_list "libmam.so exports the same symbols" "$scratch/stored" "$scratch/exported"
	nm -D --defined-only --with-symbol-versions "$library" |
		awk -v "version=@@MAM_$major" '$2 != "A" && $3 !~ version "$" { print $3 }' > "$scratch/unversioned"
	same "every symbol has version MAM_$major" "" "$(tr '\n' ' ' < "$scratch/unversioned")"
	same "libmam.so has the soname" "$soname" "$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]$/\1/p')"
fi

breaks() # OLD NEW - prints what breaks programs of OLD, and a soname that changed without such a reason
{
	awk '
	/^#/ || NF == 0 { next }
	$1 == "soname" { soname[FNR == NR] = $2; next }
	FNR == NR { keys[++count] = $1 " " $2; old[$1 " " $2] = $3 " " $4; next }
	{ new[$1 " " $2] = $3 " " $4 }
	END {
		for (i = 1; i <= count; i++) {
			key = keys[i]
			if (!(key in new))
				text = text key " is missing\n"
			else if (key ~ /^struct/ ? new[key] + 0 < old[key] + 0 : new[key] != old[key])
				text = text key " was " old[key] " and is " new[key] "\n"
		}
		if (soname[0] == soname[1])
			printf "%s", text
		else if (text == "")
			print "soname was " soname[1] " and is " soname[0]
	}' "$1" "$2" | sed 's/  */ /g; s/ $//'
}

# Test of this test: a copy of the dump with a change.
planted() # NAME WANTED SED-SCRIPT...
{
	planted_name=$1
	planted_wanted=$2
	shift 2
	sed "$@" "$stored" > "$scratch/planted"
	same "$planted_name" "$planted_wanted" "$(breaks "$stored" "$scratch/planted")"
}

planted "unchanged interface is accepted" "" -e ''
# shellcheck disable=SC2016 # $ is the last line
planted "function, field and larger struct are accepted" "" \
	-e 's/^\(struct mam_vmm_attr\) .*/\1 999/; $a function mam_planted' -e '$a field mam_vmm_attr.planted 900 8'
planted "missing function is found" "function mam_free is missing" -e '/^function mam_free$/d'
planted "smaller struct is found" "struct mam_vmm_attr was $(sed -n 's/^struct mam_vmm_attr //p' "$stored") and is 8" \
	-e 's/^\(struct mam_vmm_attr\) .*/\1 8/'
planted "field that moved is found" "field mam_vmm_attr.device was 8 4 and is 12 4" -e 's/^\(field mam_vmm_attr.device\) 8/\1 12/'
planted "field that grew is found" "field mam_vmm_attr.device was 8 4 and is 8 8" -e 's/^\(field mam_vmm_attr.device 8\) 4/\1 8/'
planted "soname must not change without need" "soname was $soname and is libmam.so.9" -e 's/^soname .*/soname libmam.so.9/'
planted "another soname permits a missing function" "" -e '/^function mam_free$/d; s/^soname .*/soname libmam.so.9/'

# The newest release before the commit of TREE. A tree without .git may be inside another repository.
last_release() # TREE
{
	[ -e "$1/.git" ] && git -C "$1" describe --tags --abbrev=0 --match 'v[0-9]*.[0-9]*.[0-9]*' HEAD^ 2> /dev/null
}
since_release() # TREE - prints what breaks programs of its last release; fails if there is none, or it has no dump
{
	release=$(last_release "$1") && git -C "$1" show "$release:tests/abi.dump" > "$scratch/last" 2> /dev/null &&
		breaks "$scratch/last" "$1/tests/abi.dump"
}

if command -v git > /dev/null; then
	mkdir -p "$scratch/tree/tests"
	cp "$stored" "$scratch/tree/tests"
	commit() # NAME
	{
		git -C "$scratch/tree" -c user.name=mam -c user.email=mam@example.org commit -q -a -m "$1"
	}
	git -C "$scratch/tree" init -q && git -C "$scratch/tree" add . && commit one && git -C "$scratch/tree" tag v0.1.0
	same "first release has none before it" none "$(since_release "$scratch/tree" || echo none)"
	sed -i '/^function mam_free$/d' "$scratch/tree/tests/abi.dump"
	commit two
	git -C "$scratch/tree" tag v0.2.0
	same "release is compared with the one before it" "function mam_free is missing" "$(since_release "$scratch/tree")"
fi
if broken=$(since_release "$MAM_SRCDIR"); then
	same "programs of $(last_release "$MAM_SRCDIR") run with this library" "" "$broken"
else
	skip "programs of the last release run with this library" "no release with tests/abi.dump precedes this commit here"
fi
finish
