#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-model.sh - the random-walk paper's equations compared with measurements, on a machine with a GPU.
#
#   usage: gpu-model.sh MAM FOLDER
#
# MAM is an installed or built `mam` command, with kernels in it; nothing is compiled here. Four parts:
#   1. mam bench model, everything; measurements before a kernel that fails or hangs are kept;
#   2. figures of them: FOLDER/model-*.svg (mam bench plot);
#   3. compute-sanitizer, if it is found: memcheck over all kernels except those with CUDA's malloc, on a small heap;
#   4. the targets, as keys, and how each part ended.
# All numbers go to FOLDER/model-<gpu>.csv, where <gpu> is short: h100, a100, rtx4090; the complete output to
# FOLDER/model-<gpu>.log; the started runs with their times to FOLDER/model-<gpu>.begun.
#
# Environment: BUDGET (220: seconds for everything), QUICK=1 (fewer cells, in a minute), SANITIZE=0 (without part 3),
# PEERS (a list for --peers: to leave one out that hangs), BENCH_COMMIT (if there is no .git), CUDA_HOME.
# Exit status: 0; 1 if a part failed or a check found an error of mam's; 2 for invalid usage; 77 without a GPU.
set -u

here=$(dirname "$0")
script=gpu-model.sh
# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh" || exit 2
[ $# -eq 2 ] || stop 2 "usage: gpu-model.sh MAM FOLDER"
quick=${QUICK:-0}
budget=${BUDGET:-220}
[ "$quick" = 1 ] && [ -z "${BUDGET:-}" ] && budget=70
bench_start model "$1" "$2"

# ---- 1. the bench ----

sanitizer_seconds=$((budget / 5))
[ "${SANITIZE:-1}" = 0 ] && sanitizer_seconds=0
seconds=$(($(left) - sanitizer_seconds - 20))
[ "$seconds" -gt 130 ] && seconds=130
[ "$seconds" -gt 5 ] || seconds=5
set -- --verbose --seconds "$seconds" --csv "$csv"
[ "$quick" = 1 ] && set -- --quick "$@"
[ -n "${PEERS:-}" ] && set -- --peers "$PEERS" "$@"
timeout -k 5 $((seconds + 60)) "$mam" bench model "$@" > "$work/words" 2> "$begun"
status=$?
cat "$work/words" >> "$log"
if [ $status -ne 0 ]; then
	failed=1
	say "$script: mam bench model ended with status $status: $(tail -n 1 "$begun" | cut -c 1-200)"
fi
[ -s "$csv" ] || stop 1 "mam bench model wrote no numbers; its words are in $log"

# ---- 2. the figures ----

"$mam" bench plot -o "$folder" "$csv" >> "$log" 2>&1 || { failed=1; say "$script: the pictures could not be drawn"; }

# ---- 3. compute-sanitizer ----

sanitizer=$(find_sanitizer)
if [ "$sanitizer_seconds" -eq 0 ]; then
	:
elif [ -n "$sanitizer" ]; then
	# Not CUDA's malloc: its heap size cannot be restored after a kernel has used it, which is reported as an
	# error.
	sanitize memcheck "all but CUDA's malloc" model --pages 6400 --peers rw,rw-bm,crw,corw,rw-malloc,queue
else
	say "compute-sanitizer was not found: nothing is known of it"
fi

# ---- 4. the targets ----

sed -n '/^note: /p; /^correlation/p; /^the model/,$p' "$log"
echo
"$mam" bench model --read "$csv" -p 2> /dev/null
say "status $failed after $(($(date +%s) - start)) s; numbers in $csv, all words in $log"
exit $failed
