#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-pages.sh - mam's page allocator for kernels compared with the published ones, CUDA's own malloc, a queue and
# bare counters, on a machine with a GPU.
#
#   usage: gpu-pages.sh MAM FOLDER
#
# MAM is an installed or built `mam` command, with kernels in it; nothing is compiled here. Four parts:
#   1. mam bench pages, everything. If a kernel of one allocator fails or hangs, earlier measurements are kept, and the
#      rest is measured without that allocator;
#   2. figures of them: FOLDER/pages-*.svg (mam bench plot);
#   3. compute-sanitizer, if it is found: memcheck and racecheck over all kernels, on small heaps;
#   4. the tables again, and how each part ended.
# All numbers go to FOLDER/pages-<gpu>.csv, where <gpu> is short: h100, a100, rtx4090; the complete output to
# FOLDER/pages-<gpu>.log; the started runs with their times to FOLDER/pages-<gpu>.begun.
#
# Environment: BUDGET (230: seconds for everything), QUICK=1 (fewer cells, in a minute), SANITIZE=0 (without part 3),
# BENCH_COMMIT (if there is no .git), CUDA_HOME.
# Exit status: 0; 1 if a part failed or a check found an error of mam's; 2 for invalid usage; 77 without a GPU.
set -u

here=$(dirname "$0")
script=gpu-pages.sh
# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh" || exit 2
[ $# -eq 2 ] || stop 2 "usage: gpu-pages.sh MAM FOLDER"
quick=${QUICK:-0}
budget=${BUDGET:-230}
[ "$quick" = 1 ] && [ -z "${BUDGET:-}" ] && budget=60
bench_start pages "$1" "$2"

# ---- 1. the bench ----

peers=$("$mam" bench pages --list | awk -F '\t' '$1 == "allocator" && $2 != "mam-pages" { print $2 }' | tr '\n' ',' |
	sed 's/,$//')
[ -n "$peers" ] || stop 2 "$mam has no mam bench pages"

# Adds the rows of FILE to the others; a number that exists in both is replaced.
merge() # FILE
{
	[ -s "$1" ] || return
	[ -s "$csv" ] || { cp "$1" "$csv"; return; }
	awk -F, '
	function key(  k) { k = $0; sub(/,[^,]*$/, "", k); return k }
	/^#/ { if (NR == FNR) head[++heads] = $0; next }
	NF < 5 { next }
	{ k = key(); if (!(k in row)) order[++rows] = k; row[k] = $0 }
	END { for (i = 1; i <= heads; i++) print head[i]
	  for (i = 1; i <= rows; i++) print row[order[i]] }' "$csv" "$1" >"$work/merged" && mv "$work/merged" "$csv"
}

sanitizer_seconds=$((budget / 3))
[ "${SANITIZE:-1}" = 0 ] && sanitizer_seconds=0
for round in 1 2 3; do
	seconds=$(($(left) - sanitizer_seconds - 3))
	[ "$seconds" -gt 5 ] || break
	set -- --verbose --seconds "$seconds" --peers "$peers" --csv "$work/pages.csv"
	[ "$quick" = 1 ] && set -- --quick "$@"
	rm -f "$work/pages.csv"
	# It ends by itself, and prints its results even if a kernel does not return.
	timeout -k 5 $((seconds + 40)) "$mam" bench pages "$@" >"$work/words" 2>"$work/begun"
	status=$?
	cat "$work/begun" >>"$begun"
	grep -v '^[0-9.]* s: ' "$work/begun" >>"$work/words"
	cat "$work/words" >>"$log"
	merge "$work/pages.csv"
	[ $status -eq 0 ] && break
	failed=1
	say "gpu-pages.sh: mam bench pages ended with status $status: $(tail -n 1 "$work/begun" | cut -c 1-200)"
	# The allocator that was running at such an end: the last word of the last line.
	culprit=$(grep '^[0-9.]* s: ' "$work/begun" | tail -n 1 | sed 's/.* //')
	grep -q '^note: the device failed\|did not come back' "$work/words" || break
	case $culprit in
	'' | mam-pages) break ;;
	esac
	say "gpu-pages.sh: once more without $culprit (round $round)"
	peers=$(printf '%s' "$peers" | tr ',' '\n' | grep -vx "$culprit" | tr '\n' ',' | sed 's/,$//')
done
[ -s "$csv" ] || stop 1 "mam bench pages wrote no numbers; its words are in $log"

# ---- 2. the figures ----

"$mam" bench plot -o "$folder" "$csv" >>"$log" 2>&1 || { failed=1; say "gpu-pages.sh: the pictures could not be drawn"; }

# ---- 3. compute-sanitizer ----

sanitizer=$(find_sanitizer)
if [ "$sanitizer_seconds" -eq 0 ]; then
	:
elif [ -n "$sanitizer" ]; then
	for peers in none rw,rw-bm,crw,corw,rw-malloc,queue,bump,bumpw; do
		sanitize memcheck "mam and $peers" pages --pages 65536 --peers "$peers"
		sanitize racecheck "mam and $peers" pages --pages 65536 --peers "$peers"
	done
else
	say "compute-sanitizer was not found: nothing is known of it"
fi

# ---- 4. the tables ----

grep -v '^=\|SUMMARY' "$log"
echo
say "status $failed after $(($(date +%s) - start)) s; numbers in $csv, all words in $log"
exit $failed
