#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# options.sh - the table of options in src/base/option.c is complete: `mam info --options` prints
# each row, mam(7) explains each, and no other MAM_ variable is read anywhere.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

manual=$MAM_SRCDIR/tools/mam.7

names() { grep -o 'MAM_[A-Z_]*[A-Z]' | LC_ALL=C sort -u; }

read_by_name() # ROOT - the variables that code reads by name
{
	find "$1" \( -name '*.c' -o -name '*.h' \) -exec cat {} + |
		grep -Eo 'getenv\("MAM_[A-Z_]*"' | names
}

env -i PATH="$PATH" "$MAM" info --options > "$scratch/printed" ||
	not_ok "mam info --options" "status $?"
sed -n 's/^\(MAM_[A-Z_]*\)=.*/\1/p' "$scratch/printed" | names > "$scratch/table"
[ "$(wc -l < "$scratch/table")" -ge 10 ] || not_ok "mam info --options prints the table" \
	"it lists only $(wc -l < "$scratch/table") options"

# A row that the code has and the command does not print, or vice versa.
sed -n 's/.*ROW("\(MAM_[A-Z_]*\)", "[a-z]*".*/\1/p' "$MAM_SRCDIR/src/base/option.c" | names > "$scratch/rows"
try "mam info --options prints every row" diff "$scratch/rows" "$scratch/table"

while read -r name; do
	# Its own heading, with the default from the table.
	default=$(sed -n "s/^$name=.*; default \(.*\))\$/\1/p" "$scratch/printed")
	if ! grep -Eq "^\.(B|BR|TP|IP|SS).*$name" "$manual"; then
		not_ok "mam(7) explains $name" "it has no heading"
	elif ! awk -v name="$name" '$1 ~ /^\.(B|BR|IP|SS)$/ && index($0, "MAM_") { inside = $2 ~ "^\"?" name "(\"|=|$)" }
		inside' "$manual" | sed 's/\\-/-/g' | grep -qi -- "$default"; then
		not_ok "mam(7) explains $name" "its default, $default, is not in its paragraph"
	else
		ok "mam(7) explains $name"
	fi
done < "$scratch/table"

grep '^[^"]*' "$manual" | names | grep -v '^MAM_\(ERROR\|OK\|VERSION\|FREE_\|POOL_ATTR\|GROWTH_\|CHUNK_\|DEVICE_\|KDEBUG\)' |
	LC_ALL=C comm -23 - "$scratch/table" > "$scratch/extra"
same "mam(7) explains no other variable" "" "$(tr '\n' ' ' < "$scratch/extra")"

{ read_by_name "$MAM_SRCDIR/src"; read_by_name "$MAM_SRCDIR/tools"; } | LC_ALL=C sort -u |
	LC_ALL=C comm -23 - "$scratch/table" > "$scratch/extra"
same "every variable that is read is in the table" "" "$(tr '\n' ' ' < "$scratch/extra")"

mkdir "$scratch/planted"
echo 'const char *f(void) { return secure_getenv("MAM_PLANTED"); }' > "$scratch/planted/planted.c"
same "variable that is read by name is detected" MAM_PLANTED "$(read_by_name "$scratch/planted")"
finish
