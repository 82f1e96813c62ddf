#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench.sh - `mam bench host` runs, prints what it promises, and refuses what it cannot do.
# What the numbers are is no matter here, but that they are numbers above zero.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

bench()
{
	"$MAM" bench host "$@"
}

refused() # NAME TEXT ARGUMENT... - exit 2, one sentence with TEXT in it, nothing on standard output
{
	refused_name=$1
	refused_text=$2
	shift 2
	bench "$@" >"$scratch/out" 2>"$scratch/err"
	same "$refused_name: exit status" 2 $?
	if [ "$(wc -l <"$scratch/err")" -eq 1 ] && grep -q -e "$refused_text" "$scratch/err"; then
		ok "$refused_name: one sentence"
	else
		not_ok "$refused_name: one sentence" "$(lib_tail "$scratch/err")"
	fi
}

# The manual page is the list of promised keys.
keys=$(sed -n '/^\.SH PLAIN OUTPUT/,/^\.SH CSV/p' "$MAM_SRCDIR/tools/mam-bench.1" |
	sed -n '/^\.nf/,/^\.fi/p' | sed '/^\./d; s/ .*//')
[ "$(printf '%s\n' "$keys" | wc -l)" -ge 15 ] && ok "the manual page lists the keys" ||
	not_ok "the manual page lists the keys" "found: $keys"

# The peers are left out here: a heap of 200,000 blocks of malloc is too much for a small machine.
bench --smoke --seconds 300 -p --sources host --peers none --csv "$scratch/all.csv" >"$scratch/keys" 2>"$scratch/err"
same "smoke: exit status" 0 $?
same "smoke: no message" "" "$(cat "$scratch/err")"
for key in $keys; do
	value=$(awk -F'\t' -v key="$key" '$1 == key { print $2 }' "$scratch/keys")
	if awk -v value="$value" 'BEGIN { exit !(value + 0 > 0) }'; then
		ok "$key is a number above zero"
	else
		not_ok "$key is a number above zero" "got '$value'"
	fi
done
for key in targets_met targets_missed; do
	try "$key is counted" grep -qE "^$key	[0-9]+\$" "$scratch/keys"
done
same "every line is a key, a tab and a value" "" \
	"$(grep -vE '^[A-Za-z0-9_.-]+	[0-9.e+-]+$' "$scratch/keys")"

# The CSV file.
same "csv: eight lines of header" "gpu driver cpu kernel date commit command columns" \
	"$(sed -n 's/^# \([a-z]*\): ..*/\1/p' "$scratch/all.csv" | tr '\n' ' ' | sed 's/ $//')"
same "csv: the header comes first" 8 "$(head -n 8 "$scratch/all.csv" | grep -c '^# ')"
for workload in pair size holes live threads foreign create random training footprint; do
	try "csv: has $workload" grep -qE "^$workload,mam-host,(\"[^\"]*\"|[^,]*),[a-z_]+,[0-9.e+-]+\$" \
		"$scratch/all.csv"
done
try "csv: nothing half written is left" test ! -e "$scratch/all.csv.part"

# A peer's numbers carry its name; a workload not asked for is not played.
bench --smoke -p --only pair --peers glibc >"$scratch/keys" 2>/dev/null
try "a peer's keys carry its name" grep -qE '^glibc\.pair_ns	[0-9.]+$' "$scratch/keys"
same "--only plays no other workload" "" "$(grep alloc_1000 "$scratch/keys")"

# The table for people.
bench --smoke --only pair --peers glibc >"$scratch/table" 2>/dev/null
try "the table names target and verdict" grep -qE '<= 80.*(met|missed)' "$scratch/table"

# Each allocator is measured, or named with the reason why not.
bench --smoke --only pair,vmm --csv "$scratch/pair.csv" >"$scratch/table" 2>/dev/null
for name in $(bench --list | awk '$1 != "workload" { print $2 }'); do
	if grep -qE "^(pair|vmm),$name," "$scratch/pair.csv" ||
		grep -qE "^note: skipped.*[ ,]$name[,:].*:? [a-z]+" "$scratch/table"; then
		ok "$name is measured or skipped aloud"
	else
		not_ok "$name is measured or skipped aloud" "neither a row nor a note"
	fi
done

# The list is what the other options take.
bench --list >"$scratch/list"
for name in $(awk '$1 == "workload" { print $2 }' "$scratch/list"); do
	try "--list names $name, as the manual does" grep -qx "\.B $name" "$MAM_SRCDIR/tools/mam-bench.1"
done

refused "unknown workload" "'speed'" --only pair,speed
refused "unknown source" "'moon'" --sources moon
refused "unknown peer" "'tcmalloc'" --peers glibc,tcmalloc
refused "a word too many" "'now'" --smoke now
refused "unknown option" "'--fast'" --fast
refused "csv without a file" "'--csv'" --csv
bench --smoke --only pair --peers none --csv "$scratch/no/such/place.csv" >/dev/null 2>"$scratch/err"
same "csv that cannot be written: exit status" 2 $?
try "csv that cannot be written: says which" grep -q 'no/such/place.csv' "$scratch/err"
bench --seconds 1 --sources host --peers glibc --only pair,threads,foreign >"$scratch/table" 2>/dev/null
same "--seconds ends the bench: exit status" 0 $?
try "--seconds: what was left out is named" grep -q "^note: foreign: cells left out" "$scratch/table"
refused "no number of seconds" "'soon'" --seconds soon
"$MAM" bench moon >/dev/null 2>"$scratch/err"
same "unknown benchmark: exit status" 2 $?

finish
