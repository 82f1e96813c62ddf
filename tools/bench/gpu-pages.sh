#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-pages.sh - mam's page allocator for kernels beside the published ones, CUDA's own malloc, a queue and bare
# counters, on a machine with a GPU.
#
#	usage: gpu-pages.sh MAM FOLDER
#
# MAM is an installed or built `mam` command, with kernels in it; nothing is compiled here. Four parts:
#   1. mam bench pages, everything. Should a kernel of one allocator fail or hang, what was measured before is kept, and
#      the rest is measured without that one;
#   2. pictures of it: FOLDER/pages-*.svg (mam bench plot);
#   3. compute-sanitizer, where it is found: memcheck and racecheck over all kernels, on small heaps;
#   4. the tables once more, and how each part ended.
# All numbers go to FOLDER/pages-<gpu>.csv, <gpu> being short: h100, a100, rtx4090; all words to FOLDER/pages-<gpu>.log;
# what was begun, and when, to FOLDER/pages-<gpu>.begun.
#
# Environment: BUDGET (230: seconds for everything), QUICK=1 (fewer cells, in a minute), SANITIZE=0 (without part 3),
# BENCH_COMMIT (where there is no .git), CUDA_HOME.
# Exit status: 0; 1 when a part failed or a check found a fault of mam's; 2 for a wrong call; 77 without a GPU.
set -u

die() # STATUS SENTENCE
{
	echo "gpu-pages.sh: $2" >&2
	exit "$1"
}

[ $# -eq 2 ] || die 2 "usage: gpu-pages.sh MAM FOLDER"
mam=$1
folder=$2
[ -x "$mam" ] || die 2 "$mam is not a program; give the path of the mam command"
mkdir -p "$folder" || die 2 "$folder cannot be made; choose another folder"
quick=${QUICK:-0}
budget=${BUDGET:-230}
[ "$quick" = 1 ] && [ -z "${BUDGET:-}" ] && budget=60
case $budget in
'' | *[!0-9]*) die 2 "BUDGET is a number of seconds, not '$budget'" ;;
esac

name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
[ -n "$name" ] || die 77 "nvidia-smi finds no GPU; run this on a machine that has one"

# "NVIDIA H100 80GB HBM3" -> h100; "NVIDIA GeForce RTX 4090" -> rtx4090
gpu=$(printf '%s\n' "$name" | tr '[:upper:]' '[:lower:]' |
	sed -e 's/nvidia//g; s/geforce//; s/tesla//; s/quadro//; s/\(rtx\|gtx\) */\1/' -e 's/^ *//' \
	    -e 's/[ -].*//' -e 's/[^a-z0-9]//g')
[ -n "$gpu" ] || gpu=gpu
csv=$folder/pages-$gpu.csv
log=$folder/pages-$gpu.log
begun=$folder/pages-$gpu.begun
: >"$log"
: >"$begun"
rm -f "$csv"
work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-pages.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
start=$(date +%s)
failed=0

left() # seconds of the budget
{
	left_now=$((budget - ($(date +%s) - start)))
	echo $((left_now > 1 ? left_now : 1))
}

say() # WORD...
{
	echo "$*" | tee -a "$log"
}

# ---- 1. the bench ----

peers=$("$mam" bench pages --list | awk -F '\t' '$1 == "allocator" && $2 != "mam-pages" { print $2 }' | tr '\n' ',' |
	sed 's/,$//')
[ -n "$peers" ] || die 2 "$mam has no mam bench pages"

# Rows of FILE join the others; where both have a number, it is replaced.
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
	# It ends by itself, and tells what it has even where a kernel does not come back.
	timeout -k 5 $((seconds + 40)) "$mam" bench pages "$@" >"$work/words" 2>"$work/begun"
	status=$?
	cat "$work/begun" >>"$begun"
	grep -v '^[0-9.]* s: ' "$work/begun" >>"$work/words"
	cat "$work/words" >>"$log"
	merge "$work/pages.csv"
	[ $status -eq 0 ] && break
	failed=1
	say "gpu-pages.sh: mam bench pages ended with status $status: $(tail -n 1 "$work/begun" | cut -c 1-200)"
	# Who was at work when it ended so: the last word of the last line.
	culprit=$(grep '^[0-9.]* s: ' "$work/begun" | tail -n 1 | sed 's/.* //')
	grep -q '^note: the device failed\|did not come back' "$work/words" || break
	case $culprit in
	'' | mam-pages) break ;;
	esac
	say "gpu-pages.sh: once more without $culprit (round $round)"
	peers=$(printf '%s' "$peers" | tr ',' '\n' | grep -vx "$culprit" | tr '\n' ',' | sed 's/,$//')
done
[ -s "$csv" ] || die 1 "mam bench pages wrote no numbers; its words are in $log"

# ---- 2. the pictures ----

"$mam" bench plot -o "$folder" "$csv" >>"$log" 2>&1 || { failed=1; say "gpu-pages.sh: the pictures could not be drawn"; }

# ---- 3. compute-sanitizer ----

sanitizer=$(command -v compute-sanitizer || command -v "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")
sanitize() # TOOL PEERS
{
	[ "$(left)" -gt 8 ] || { say "compute-sanitizer $1, $2: no time left"; return; }
	# A kernel may take its time there.
	BENCH_GRACE=60 timeout -k 5 "$(left)" "$sanitizer" --tool "$1" --error-exitcode 9 "$mam" bench pages --smoke --pages 65536 \
		--peers "$2" -p >"$work/words" 2>&1
	status=$?
	cat "$work/words" >>"$log"
	say "compute-sanitizer $1, mam and $2: status $status; $(grep 'ERROR SUMMARY\|RACECHECK SUMMARY' "$work/words" |
		tail -n 1 | sed 's/=* *//')"
	[ $status -eq 0 ] || failed=1
}

if [ "$sanitizer_seconds" -eq 0 ]; then
	:
elif [ -n "$sanitizer" ]; then
	sanitize memcheck none
	sanitize racecheck none
	sanitize memcheck rw,rw-bm,crw,corw,rw-malloc,queue,bump,bumpw
	sanitize racecheck rw,rw-bm,crw,corw,rw-malloc,queue,bump,bumpw
else
	say "compute-sanitizer was not found: nothing is known of it"
fi

# ---- 4. the tables ----

grep -v '^=\|SUMMARY' "$log"
echo
say "status $failed after $(($(date +%s) - start)) s; numbers in $csv, all words in $log"
exit $failed
