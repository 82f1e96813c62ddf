#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-device.sh - malloc and free in kernels, mam's compared with published ones, CUDA's own and bare counters, on a
# machine with a GPU.
#
#   usage: gpu-device.sh MAM FOLDER
#
# MAM is an installed or built `mam` command, with kernels in it; nothing is compiled here. Four parts:
#   1. mam bench device, everything; a kernel that does not return loses only its own cell;
#   2. figures of them: FOLDER/device-*.svg (mam bench plot);
#   3. compute-sanitizer, if it is found: memcheck and racecheck over mam's kernels, on small heaps;
#   4. the tables, the targets as keys, and how each part ended.
# All numbers go to FOLDER/device-<gpu>.csv, where <gpu> is short: h100, a100, rtx4090; the complete output to
# FOLDER/device-<gpu>.log; the started runs with their times to FOLDER/device-<gpu>.begun.
#
# Environment: BUDGET (235: seconds for everything), QUICK=1 (fewer cells, in a minute), SANITIZE=0 (without part 3),
# ADAPTER (the argument of --adapter), BENCH_COMMIT (if there is no .git), CUDA_HOME.
# Exit status: 0; 1 if a part failed or a check found an error of mam's; 2 for invalid usage; 77 without a GPU.
set -u

here=$(dirname "$0")
script=gpu-device.sh
# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh" || exit 2
[ $# -eq 2 ] || stop 2 "usage: gpu-device.sh MAM FOLDER"
quick=${QUICK:-0}
budget=${BUDGET:-235}
[ "$quick" = 1 ] && [ -z "${BUDGET:-}" ] && budget=60
bench_start device "$1" "$2"

# ---- 1. the bench ----

sanitizer_seconds=$((budget / 4))
[ "${SANITIZE:-1}" = 0 ] && sanitizer_seconds=0
# The last run may take its time.
seconds=$(($(left) - sanitizer_seconds - 15))
[ "$seconds" -gt 5 ] || seconds=5
set -- --verbose --seconds "$seconds" --csv "$csv"
[ "$quick" = 1 ] && set -- --quick "$@"
[ -n "${ADAPTER:-}" ] && set -- --adapter "$ADAPTER" "$@"
timeout -k 5 $((seconds + 40)) "$mam" bench device "$@" > "$work/words" 2> "$begun"
status=$?
grep -v '^[0-9.]* s: ' "$begun" >> "$work/words"
cat "$work/words" >> "$log"
if [ $status -ne 0 ]; then
	failed=1
	say "$script: mam bench device ended with status $status: $(tail -n 1 "$begun" | cut -c 1-200)"
fi
[ -s "$csv" ] || stop 1 "mam bench device wrote no numbers; its words are in $log"

# ---- 2. the figures ----

"$mam" bench plot -o "$folder" "$csv" >> "$log" 2>&1 || { failed=1; say "$script: the pictures could not be drawn"; }

# ---- 3. compute-sanitizer ----

sanitizer=$(find_sanitizer)
if [ "$sanitizer_seconds" -eq 0 ]; then
	:
elif [ -n "$sanitizer" ]; then
	sanitize memcheck mam device --allocators mam
	sanitize racecheck mam device --allocators mam
else
	say "compute-sanitizer was not found: nothing is known of it"
fi

# ---- 4. the tables ----

grep -v '^=\|SUMMARY' "$log"
echo
"$mam" bench device --read "$csv" -p 2> /dev/null
say "status $failed after $(($(date +%s) - start)) s; numbers in $csv, all words in $log"
exit $failed
