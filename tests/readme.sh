#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# readme.sh - the two READMEs are correct.
#
# src/README follows a request through the code as path/file.c:function. Each function must be
# defined in that file. README shows a program of ten lines. It must compile with pkg-config against
# an installed mam, as C and as C++, and run.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

unset MAKEFLAGS MFLAGS MAKELEVEL

# Definitions start in the first column; a declaration would end its line with a semicolon.
defined_in() # FILE FUNCTION
{
	grep -E "^[A-Za-z_].*[ *]$2\(|^$2\(" "$1" | grep -qv ';[[:space:]]*$'
}

stops() # README - "file function" for each function that it names
{
	grep -Eo '[A-Za-z_0-9]+(/[A-Za-z_0-9]+)*\.(c|h|cu|cuh):[A-Za-z_0-9]+' "$1" | LC_ALL=C sort -u | tr ':' ' '
}

stops "$MAM_SRCDIR/src/README" > "$scratch/stops"
count=0
while read -r file function; do
	count=$((count + 1))
	path=$MAM_SRCDIR/$file
	[ -f "$path" ] || path=$MAM_SRCDIR/src/$file
	if [ ! -f "$path" ]; then
		not_ok "src/README: $file:$function" "the file does not exist"
	elif defined_in "$path" "$function"; then
		ok "src/README: $file:$function"
	else
		not_ok "src/README: $file:$function" "$file does not define it"
	fi
done < "$scratch/stops"
[ "$count" -ge 8 ] || not_ok "src/README names the functions of both paths" "it names only $count"

printf 'static int here(int x)\n{\n\treturn there(x);\n}\nint there(int x);\n' > "$scratch/planted.c"
if defined_in "$scratch/planted.c" here && ! defined_in "$scratch/planted.c" there; then
	ok "function that is only declared or called is detected"
else
	not_ok "function that is only declared or called is detected" \
		"it was accepted as a definition"
fi

# The program is the fenced block of README that has a main().
awk '/^```/ { if (inside && text ~ /int main/) { printf "%s", text; exit } inside = !inside; text = ""; next }
	inside { text = text $0 "\n" }' "$MAM_SRCDIR/README.md" > "$scratch/ten.c"
if [ ! -s "$scratch/ten.c" ]; then
	not_ok "README has a program" "no fenced block with a main() in it"
	finish
fi
lines=$(wc -l < "$MAM_SRCDIR/README.md")
if [ "$lines" -le 150 ]; then
	ok "README.md has at most 150 lines"
else
	not_ok "README.md has at most 150 lines" "it has $lines"
fi

# Its table of PyTorch programs has lines of frameworks.awk only.
table_of() # FILE - the lines of the table
{
	sed -n "/^| a step's time/,/^\$/p" "$1" | grep '^|'
}
awk -F, -f "$MAM_SRCDIR/tools/bench/frameworks.awk" "$MAM_SRCDIR/tools/bench/results/h200/frameworks-h200.csv" > "$scratch/table"
try "README has a table of PyTorch programs" test "$(table_of "$MAM_SRCDIR/README.md" | wc -l)" -ge 5
same "README's table of PyTorch programs has the figures of frameworks-h200.csv" "" \
	"$(table_of "$MAM_SRCDIR/README.md" | grep -vxF -f "$scratch/table")"

same "README is a link to it" README.md "$(readlink "$MAM_SRCDIR/README" || echo README.md)"

lines=$(grep -c . "$scratch/ten.c")
if [ "$lines" -le 12 ]; then
	ok "README's program is short ($lines lines)"
else
	not_ok "README's program is short" "it has $lines lines"
fi

"${MAKE:-make}" -C "$MAM_BUILDDIR" install DESTDIR="$scratch/stage" > "$scratch/install.log" 2>&1 ||
	not_ok "make install" "$(lib_tail "$scratch/install.log")"
pkgconfig=$(dirname "$(find "$scratch/stage" -name mam.pc)")
library=$(dirname "$(find "$scratch/stage" -name 'libmam.so' -o -name 'libmam.a' | head -n 1)")
words=$(PKG_CONFIG_PATH=$pkgconfig ${PKG_CONFIG:-pkg-config} --cflags --libs mam)

# shellcheck disable=SC2086 # pkg-config prints words, and CFLAGS are words
as_language() # LANGUAGE FLAGS...
{
	language=$1
	shift
	try "README's program compiles as $language" \
		$CC ${CFLAGS:-} "$@" -Wall -Wextra -Werror "$scratch/ten.c" -x none -o "$scratch/ten" $words
	MAM_SOURCE=host LD_LIBRARY_PATH=$library \
		try "README's program runs as $language" "$scratch/ten"
	rm -f "$scratch/ten"
}

as_language C -x c -std=c11
echo 'int x;' > "$scratch/probe.c"
if $CC -x c++ -std=c++17 -fsyntax-only "$scratch/probe.c" > /dev/null 2>&1; then
	as_language C++ -x c++ -std=c++17
else
	skip "README's program as C++" "$CC does not compile C++"
fi
finish
