#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# mutate_script.sh - mutate.sh finds what it is known to find, mutants.tab still applies,
# and a table that does not is an error.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

mutate=$MAM_SRCDIR/tests/heap/mutate.sh
table=$MAM_SRCDIR/tests/heap/mutants.tab

[ -f "$MAM_BUILDDIR/tests/simt/.libs/libsimt.a" ] || skip_all "mutants" "the simulator is not built"
case $CFLAGS in
*-fsanitize*) skip_all "mutants" "the simulator was built with a sanitizer" ;;
esac

if "$mutate" -l > "$scratch/list" 2> "$scratch/why" && [ "$(wc -l < "$scratch/list")" -gt 300 ]; then
	ok "mutants.tab applies: $(wc -l < "$scratch/list") mutants"
else
	not_ok "mutants.tab applies" "$(wc -l < "$scratch/list") mutants; $(lib_tail "$scratch/why")"
fi
for set in objects large growth coalesce kma; do
	if "$mutate" -l -s $set > "$scratch/$set" 2> "$scratch/why" && [ "$(wc -l < "$scratch/$set")" -gt 100 ]; then
		ok "the table of $set applies: $(wc -l < "$scratch/$set") mutants"
	else
		not_ok "the table of $set applies" "$(wc -l < "$scratch/$set") mutants; $(lib_tail "$scratch/why")"
	fi
	cat "$scratch/$set" >> "$scratch/list"
done
same "no two mutants have one name" "" "$(cut -f 1 "$scratch/list" | sort | uniq -d)"

# Each mutant is another text than the header.
changed=0
awk 'NR % 17 == 0' "$scratch/list" | cut -f 1 > "$scratch/some"
while IFS= read -r name; do
	of=$table
	for set in objects large growth; do
		! cut -f 1 "$scratch/$set" | grep -qxF "$name" || of=$MAM_SRCDIR/tests/heap/mutants-$set.tab
	done
	for set in coalesce kma; do
		cut -f 1 "$scratch/$set" | grep -qxF "$name" || continue
		of=$MAM_SRCDIR/tests/$set/mutants.tab
	done
	header=$MAM_SRCDIR/$(sed -n "s|^header \(.*/${name%%:*}\)$|\1|p" "$of")
	awk -v want="$name" -f "$MAM_SRCDIR/tests/heap/mutate.awk" "$of" "$header" > "$scratch/mutant" &&
		! cmp -s "$header" "$scratch/mutant" && changed=$((changed + 1))
done < "$scratch/some"
same "each of a sample can be made, and changes its header" "$(wc -l < "$scratch/some")" "$changed"

# All of the tests that see these see them at once.
sed -n 's/^known //p' "$table" > "$scratch/known"
mkdir "$scratch/keep"
while IFS= read -r name; do
	MUTATE_KEEP=$scratch/keep MUTATE_SEEDS=10 "$mutate" -1 "$name" > "$scratch/report" 2>&1 < /dev/null
	if grep -q '^1 mutants: 1 killed' "$scratch/report"; then
		ok "$name is killed"
	else
		not_ok "$name is killed" "$(lib_tail "$scratch/report")"
	fi
done < "$scratch/known"
same "three are known" 3 "$(wc -l < "$scratch/known")"

# A change that no test can see survives, and is an error unless the table explains it.
sed -e '/^explained/,$d' "$table" > "$scratch/plain.tab"
cat >> "$scratch/plain.tab" << 'end'
edit pages.h nothing a name that is spelt in another way
- bool mam_pages_give(
+ _Bool mam_pages_give(
end
unseen=pages.h:edit:nothing:
# One program is enough, and no hooks.
awk '/^(program|plain) / { if (!programs++) { $1 = "plain"; print } next } { print }' "$scratch/plain.tab" > "$scratch/one.tab"
mv "$scratch/one.tab" "$scratch/plain.tab"
cp "$scratch/plain.tab" "$scratch/told.tab"
printf 'explained %s\n  the same\n' "$unseen" >> "$scratch/told.tab"
status=0
MUTATE_SEEDS=2 MUTATE_TABLE=$scratch/plain.tab "$mutate" -1 $unseen > "$scratch/report" 2>&1 || status=$?
same "a survivor without an explanation is an error" 1 $status
same "and is said to be one" 1 "$(grep -c 'NOT EXPLAINED' "$scratch/report")"
try "an explained one is none" env MUTATE_SEEDS=2 MUTATE_TABLE="$scratch/told.tab" "$mutate" -1 $unseen

printf 'edit pages.h gone a text that is not there\n- no such text\n+ x\n' >> "$scratch/plain.tab"
status=0
MUTATE_TABLE=$scratch/plain.tab "$mutate" -l > "$scratch/report" 2>&1 || status=$?
same "an edit that has no place any more is an error" 1 $status
finish
