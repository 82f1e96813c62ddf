#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# spdx.sh - every file of mam states its license in its first five lines.
#
# Exceptions: the license itself, documents, data and stored outputs, which must stay byte for byte
# unchanged. In a released archive, also the files that autotools generated.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

wanted='SPDX-License-Identifier: Apache-2.0'
excepted='^(COPYING|README|[A-Z]*\.md|docs/[a-z]*\.md|ChangeLog|src/README|examples/README)$|\.(gz|png)$|\.csv$|\.expected$|^tests/data/'
excepted="$excepted|^packaging/debian/(changelog|copyright)\$"
excepted="$excepted|^tests/tools/.*\\.(out|err|txt|trace)\$"
generated='^\.tarball-version$|^autom4te\.cache|^(configure|aclocal\.m4|Makefile\.in|config\.h\.in)~?$|^build-aux/[^m]|^build-aux/m[^a]|^m4/(libtool|lt)'

without_license() # ROOT, names on input
{
	while read -r name; do
		[ -L "$1/$name" ] || [ ! -f "$1/$name" ] && continue
		echo "$name" | grep -Eq "$excepted" && continue
		head -n 5 "$1/$name" | grep -q "$wanted" || echo "$name"
	done
}

if git -C "$MAM_SRCDIR" rev-parse --is-inside-work-tree > /dev/null 2>&1 &&
   [ -e "$MAM_SRCDIR/.git" ]; then
	git -C "$MAM_SRCDIR" ls-files > "$scratch/files"
else
	(cd "$MAM_SRCDIR" && find . -type f -not -path './build*/*' -not -path './.git/*' -not -path './_build/*') |
		sed 's|^\./||' | grep -Ev "$generated" > "$scratch/files"
fi

if [ "$(wc -l < "$scratch/files")" -gt 30 ]; then
	missing=$(without_license "$MAM_SRCDIR" < "$scratch/files" | tr '\n' ' ')
	same "$(wc -l < "$scratch/files") files state their license" "" "$missing"
else
	not_ok "files state their license" \
		"found only $(wc -l < "$scratch/files") files in $MAM_SRCDIR"
fi

printf '/*\n * no license here\n */\nint x;\n' > "$scratch/planted.c"
same "file without a license is detected" planted.c "$(echo planted.c | without_license "$scratch")"
same "COPYING is the Apache License 2.0, word for word" "1627374496 11358" \
	"$(cksum < "$MAM_SRCDIR/COPYING")"
finish
