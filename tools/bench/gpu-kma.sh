#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-kma.sh - the figures of the KMA paper, in CUDA and in NVIDIA's OpenCL, on a machine with a GPU.
#
#   usage: gpu-kma.sh MAM FOLDER
#
# MAM is an installed or built `mam` command, with kernels and mam-bench-opencl; nothing is compiled here. Four parts:
#   1. mam bench kma, everything; a kernel that does not return loses only its own cell. A result whose OpenCL device
#      is not the GPU is invalid;
#   2. figures of them: FOLDER/kma-*.svg (mam bench plot);
#   3. compute-sanitizer, if it is found: memcheck over the kernels of KMA in CUDA, on small heaps;
#   4. the tables, the targets as keys, and how each part ended.
# All numbers go to FOLDER/kma-<gpu>.csv, where <gpu> is short: h100, a100, rtx4090; the complete output to
# FOLDER/kma-<gpu>.log; the started runs with their times to FOLDER/kma-<gpu>.begun.
#
# NVIDIA's driver may be installed without an entry where OpenCL looks (OCL_ICD_VENDORS, /etc/OpenCL/vendors): then
# the script makes a folder with such an entry, for this run.
#
# Environment: BUDGET (420: seconds for everything), QUICK=1 (fewer cells, 100), SANITIZE=0 (without part 3), PLATFORM
# (NVIDIA; empty: without OpenCL), BENCH_OPENCL (the program that uses it), BENCH_COMMIT (if there is no .git),
# CUDA_HOME.
# Exit status: 0; 1 if a part failed or a check found an error of mam's; 2 for invalid usage; 77 without a GPU.
set -u

here=$(dirname "$0")
script=gpu-kma.sh
# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh" || exit 2
[ $# -eq 2 ] || stop 2 "usage: gpu-kma.sh MAM FOLDER"
quick=${QUICK:-0}
budget=${BUDGET:-420}
platform=${PLATFORM-NVIDIA}
[ "$quick" = 1 ] && [ -z "${BUDGET:-}" ] && budget=100
bench_start kma "$1" "$2"

# ---- NVIDIA's OpenCL, if no entry names it ----

vendors=${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}
if [ "$platform" = NVIDIA ] && ! grep -rqs nvidia "$vendors" && ldconfig -p | grep -q 'libnvidia-opencl\.so\.1'; then
	mkdir "$work/vendors" || exit 1
	echo libnvidia-opencl.so.1 > "$work/vendors/nvidia.icd"
	OCL_ICD_VENDORS=$work/vendors
	export OCL_ICD_VENDORS
	say "NVIDIA's OpenCL is not named in $vendors: it is named for this run"
fi

# ---- 1. the bench ----

sanitizer_seconds=$((budget / 5))
[ "${SANITIZE:-1}" = 0 ] && sanitizer_seconds=0
# CUDA's part and OpenCL's each; the last run may take its time.
seconds=$((($(left) - sanitizer_seconds - 30) / 2))
[ "$seconds" -gt 5 ] || seconds=5
set -- --verbose --seconds "$seconds" --csv "$csv"
[ "$quick" = 1 ] && set -- --quick "$@"
if [ -n "$platform" ]; then
	set -- --platform "$platform" "$@"
else
	set -- --allocators kma,mam_kmalloc,cuda,poor "$@"
fi
timeout -k 5 $((2 * seconds + 60)) "$mam" bench kma "$@" > "$work/words" 2> "$begun"
status=$?
grep -v '^[0-9.]* s: ' "$begun" >> "$work/words"
cat "$work/words" >> "$log"
if [ $status -ne 0 ]; then
	failed=1
	say "$script: mam bench kma ended with status $status: $(tail -n 1 "$begun" | cut -c 1-200)"
fi
[ -s "$csv" ] || stop 1 "mam bench kma wrote no numbers; its words are in $log"
if [ -n "$platform" ] && ! grep '^# driver: .*OpenCL: ' "$csv" | grep -qF "$name"; then
	failed=1
	say "$script: OpenCL's device is not $name: $(grep '^# driver: ' "$csv"), $(grep 'OpenCL was left out' "$log" | head -n 1)"
fi

# ---- 2. the figures ----

"$mam" bench plot -o "$folder" "$csv" >> "$log" 2>&1 || { failed=1; say "$script: the pictures could not be drawn"; }

# ---- 3. compute-sanitizer ----

sanitizer=$(find_sanitizer)
if [ "$sanitizer_seconds" -eq 0 ]; then
	:
elif [ -n "$sanitizer" ]; then
	sanitize memcheck kma kma --allocators kma
else
	say "compute-sanitizer was not found: nothing is known of it"
fi

# ---- 4. the tables ----

grep -v '^=\|SUMMARY' "$log"
echo
"$mam" bench kma --read "$csv" -p 2> /dev/null
say "status $failed after $(($(date +%s) - start)) s; numbers in $csv, all words in $log"
exit $failed
