#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# mutate_script.sh - mutate.sh kills the mutants that it is known to kill, mutants.tab still
# applies, and a table that does not apply is an error.

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
same "mutant names are unique" "" "$(cut -f 1 "$scratch/list" | sort | uniq -d)"

# Each mutant differs from the header.
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
same "each sampled mutant differs from its header" "$(wc -l < "$scratch/some")" "$changed"

# All tests that detect these mutants detect them in the first interleavings.
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
same "three mutants are known to be killed" 3 "$(wc -l < "$scratch/known")"

# A change that no test can detect survives, and is an error unless the table explains it.
sed -e '/^explained/,$d' "$table" > "$scratch/plain.tab"
cat >> "$scratch/plain.tab" << 'end'
edit pages.h nothing a different spelling of a type
- bool mam_pages_give(
+ _Bool mam_pages_give(
end
unseen=pages.h:edit:nothing:
# One program without hooks is enough.
awk '/^(program|plain) / { if (!programs++) { $1 = "plain"; print } next } { print }' "$scratch/plain.tab" > "$scratch/one.tab"
mv "$scratch/one.tab" "$scratch/plain.tab"
cp "$scratch/plain.tab" "$scratch/explained.tab"
printf 'explained %s\n  the same\n' "$unseen" >> "$scratch/explained.tab"
status=0
MUTATE_SEEDS=2 MUTATE_TABLE=$scratch/plain.tab "$mutate" -1 $unseen > "$scratch/report" 2>&1 || status=$?
same "a survivor without an explanation is an error" 1 $status
same "an unexplained survivor is reported" 1 "$(grep -c 'NOT EXPLAINED' "$scratch/report")"
try "an explained survivor is accepted" env MUTATE_SEEDS=2 MUTATE_TABLE="$scratch/explained.tab" "$mutate" -1 $unseen

printf 'edit pages.h gone a text that does not exist\n- no such text\n+ x\n' >> "$scratch/plain.tab"
status=0
MUTATE_TABLE=$scratch/plain.tab "$mutate" -l > "$scratch/report" 2>&1 || status=$?
same "an edit that does not apply is an error" 1 $status
finish
