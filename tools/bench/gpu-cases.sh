#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-cases.sh - programs that allocate as their kernels run: a hash join, a group-by, an octree, a changing graph, on
# a machine with a GPU.
#
#   usage: gpu-cases.sh MAM FOLDER
#
# MAM is an installed or built `mam` command with kernels; nothing is compiled here. Four parts:
#   1. mam bench case join, then the other cases; a kernel that does not return loses only its own cell;
#   2. figures of them: FOLDER/case-*.svg (mam bench plot);
#   3. compute-sanitizer, if it is found: memcheck over all cases over mam_kmalloc, small;
#   4. the tables, the targets as keys, and how each part ended.
# Numbers of the join go to FOLDER/join-<gpu>.csv, of the others to FOLDER/cases-<gpu>.csv, where <gpu> is short:
# h100, a100, rtx4090; the complete output to FOLDER/cases-<gpu>.log; the started runs with their times to
# FOLDER/cases-<gpu>.begun.
#
# Environment: BUDGET (300: seconds for everything), QUICK=1 (fewer cells, 100), SANITIZE=0 (without part 3),
# BENCH_COMMIT (if there is no .git), CUDA_HOME.
# Exit status: 0; 1 if a part failed or a check found an error of mam's; 2 for invalid usage; 77 without a GPU.
set -u

here=$(dirname "$0")
script=gpu-cases.sh
# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh" || exit 2
[ $# -eq 2 ] || stop 2 "usage: gpu-cases.sh MAM FOLDER"
quick=${QUICK:-0}
budget=${BUDGET:-300}
[ "$quick" = 1 ] && [ -z "${BUDGET:-}" ] && budget=100
bench_start cases "$1" "$2"
join_csv=$folder/join-$gpu.csv
rm -f "$join_csv"

# ---- 1. the bench ----

sanitizer_seconds=$((budget / 4))
[ "${SANITIZE:-1}" = 0 ] && sanitizer_seconds=0

cases() # SECONDS CSV LIST
{
	[ "$1" -gt 5 ] || set -- 5 "$2" "$3"
	cases_csv=$2
	cases_seconds=$1
	set -- --only "$3" --verbose --seconds "$1" --csv "$2"
	[ "$quick" = 1 ] && set -- --quick "$@"
	timeout -k 5 $((cases_seconds + 60)) "$mam" bench case "$@" > "$work/words" 2> "$work/begun"
	cases_status=$?
	cat "$work/begun" >> "$begun"
	grep -v '^[0-9.]* s: ' "$work/begun" >> "$work/words"
	cat "$work/words" >> "$log"
	if [ $cases_status -ne 0 ]; then
		failed=1
		say "$script: mam bench case $* ended with status $cases_status: $(tail -n 1 "$work/begun" | cut -c 1-200)"
	fi
	[ -s "$cases_csv" ] || stop 1 "mam bench case wrote no numbers; its words are in $log"
}

cases $((($(left) - sanitizer_seconds) / 2)) "$join_csv" join
cases $(($(left) - sanitizer_seconds - 5)) "$csv" group,octree,graph

# ---- 2. the figures ----

"$mam" bench plot -o "$folder" "$join_csv" "$csv" >> "$log" 2>&1 || { failed=1; say "$script: the pictures could not be drawn"; }

# ---- 3. compute-sanitizer ----

sanitizer=$(find_sanitizer)
if [ "$sanitizer_seconds" -eq 0 ]; then
	:
elif [ -n "$sanitizer" ]; then
	sanitize memcheck "mam_kmalloc" case --allocators mam_kmalloc
else
	say "compute-sanitizer was not found: nothing is known of it"
fi

# ---- 4. the tables ----

grep -v '^=\|SUMMARY' "$log"
echo
"$mam" bench case --read "$join_csv" -p 2> /dev/null
"$mam" bench case --read "$csv" -p 2> /dev/null
say "status $failed after $(($(date +%s) - start)) s; numbers in $join_csv and $csv, all words in $log"
exit $failed
