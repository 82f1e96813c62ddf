#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_case.sh - `mam bench case` without a GPU: what it rejects and lists, what it computes and
# plots from stored results, and gpu-cases.sh with stubs. The cases are tested on a simulated
# device, by test_bench_case*.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

suite=case
. "$MAM_SRCDIR/tests/tools/bench/bench_suite.sh"

refused "unknown case" 2 "there is no case 'sort'; there are join, group, octree and graph" sort
refused "extra argument" 2 "'now' is one word too many; see mam bench case --help" join now
refused "unknown allocator" 2 "no allocator 'mam'; mam bench case --list" --allocators corw,mam
refused "invalid number of seconds" 2 "--seconds" join --seconds soon
refused_without_driver

help_has 'mam bench case [NAME]' '--allocators LIST' 'join, group, octree and graph' 'mam-bench-case(1)'

suite --list
same "the list: allocators, slow ones last" "mam_kmalloc mam-pages corw rw two-pass two-pass-compact cuda-malloc" "$(listed allocator)"
same "the list: cases" "join group octree graph" "$(listed workload)"
named_in_manual
try "the list: cells in heaps that are in use" grep -q '^cell	join 1M 5%' "$scratch/out"

cat > "$scratch/stored.csv" << 'END'
# gpu: A GPU
# driver: 1
# cpu: One x 1
# kernel: Linux
# date: 2026-01-01T00:00:00Z
# commit: abc
# command: mam bench case
# columns: workload,allocator,parameter,metric,value
case-join,mam_kmalloc,1M 50%,us,90
case-join,mam_kmalloc,1M 50%,peak_mib,15
case-join,two-pass,1M 50%,us,120
case-join,two-pass,1M 50%,peak_mib,40
case-join,mam_kmalloc,1M 50%,time_ratio,0.75
case-join,mam_kmalloc,1M 50%,memory_ratio,0.375
case-join,mam_kmalloc,4M 50%,time_ratio,0.8
case-join,mam_kmalloc,4M 50%,memory_ratio,0.55
case-join,mam_kmalloc,64K 50%,time_ratio,3
case-join,rw,1M 50%,none,7
case-join,rw,1M 50%,wrong,0
case-group,mam_kmalloc,1M 5%,time_ratio,1.5
END
suite --read "$scratch/stored.csv"
same "stored results: exit status" 0 $?
same "a table row" "90.0 - 120" "$(line 'case-join: a hash join: us' '1M 50%' | sed 's/ [0-9.]*!//')"
try "a target: the worst case from a million up" grep -q '^join from 1M, 50% free: time to two-pass *0\.80[0-9]* times *<= 1\(\.00\)* *met' "$scratch/out"
try "a missed target" grep -q '^join from 1M, 50% free: memory to two-pass *0\.55[0-9]* times *<= 0\.50* *missed' "$scratch/out"
suite --read "$scratch/stored.csv" -p
same "keys" "0.8 1.5" "$(awk -F '\t' '$1 == "join_50_time_ratio" || $1 == "group_5_time_ratio" { print $2 }' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
sed 's/rw,1M 50%,wrong,0/mam_kmalloc,1M 50%,wrong,2/' "$scratch/stored.csv" > "$scratch/faulty.csv"
suite --read "$scratch/faulty.csv"
same "a fault of mam's sets the status" 1 $?
pictures_are "$scratch/stored.csv" "case-join.svg case-join-memory.svg"

# gpu-cases.sh with stubs: a mam, and a GPU that is only a name.
script=$MAM_SRCDIR/tools/bench/gpu-cases.sh
if [ ! -e "$script" ]; then
	skip "gpu-cases.sh" "it is not here"
	finish
fi
mkdir "$scratch/bin"
cat > "$scratch/bin/nvidia-smi" << 'END'
#!/bin/sh
echo "NVIDIA H100 80GB HBM3"
END
cat > "$scratch/bin/compute-sanitizer" << 'END'
#!/bin/sh
echo "$*" >> "$STAND_IN/sanitized"
echo "========= ERROR SUMMARY: 0 errors"
exit ${SANITIZER:-0}
END
cat > "$scratch/bin/mam" << 'END'
#!/bin/sh
echo "$*" >> "$STAND_IN/calls"
case "$*" in
*--read*) echo "faults	0"; exit 0 ;;
*plot*) exit 0 ;;
esac
case "$*" in
*--only\ join*) what=join ;;
*) what=group ;;
esac
while [ $# -gt 0 ]; do
	[ "$1" = --csv ] && csv=$2
	shift
done
echo "0.1 s: case-$what 1M 50% mam_kmalloc" >&2
[ "${BENCH:-0}" = 0 ] || echo "a word" >&2
echo "case-$what,mam_kmalloc,1M 50%,us,1" > "$csv"
echo "the table of $what"
exit "${BENCH:-0}"
END
chmod +x "$scratch/bin"/*
gpu_cases() # NAME=VALUE...
{
	rm -rf "$scratch/results" "$scratch/calls" "$scratch/sanitized"
	env PATH="$scratch/bin:$PATH" STAND_IN="$scratch" "$@" sh "$script" "$scratch/bin/mam" "$scratch/results" \
		> "$scratch/out" 2>&1
}
gpu_cases
same "gpu-cases.sh: exit status" 0 $?
same "gpu-cases.sh: the join has a file of its own" "case-join,mam_kmalloc,1M 50%,us,1" "$(cat "$scratch/results/join-h100.csv")"
same "gpu-cases.sh: the others share one" "case-group,mam_kmalloc,1M 50%,us,1" "$(cat "$scratch/results/cases-h100.csv")"
same "gpu-cases.sh: cases" "join group,octree,graph" "$(sed -n 's/.*--only \([a-z,]*\) .*/\1/p' "$scratch/calls" | tr '\n' ' ' | sed 's/ $//')"
same "gpu-cases.sh: plots of both" "bench plot -o $scratch/results $scratch/results/join-h100.csv $scratch/results/cases-h100.csv" \
	"$(grep plot "$scratch/calls")"
same "gpu-cases.sh: memcheck runs" memcheck "$(sed 's/^--tool \([a-z]*\) .*/\1/' "$scratch/sanitized")"
try "gpu-cases.sh: tables" grep -q '^the table of join$' "$scratch/out"
try "gpu-cases.sh: keys" grep -q '^faults	0$' "$scratch/out"
try "gpu-cases.sh: log of started cells" grep -q '^0.1 s: case-group' "$scratch/results/cases-h100.begun"
gpu_cases SANITIZER=9
same "gpu-cases.sh: a sanitizer finding sets the status" 1 $?
gpu_cases BENCH=1 SANITIZE=0
same "gpu-cases.sh: a failed bench sets the status" 1 $?
try "gpu-cases.sh: a failed bench, last message" grep -q 'ended with status 1: a word$' "$scratch/out"
same "gpu-cases.sh: without a sanitizer" "" "$(cat "$scratch/sanitized" 2> /dev/null)"
gpu_cases QUICK=1 SANITIZE=0
try "gpu-cases.sh: quick" grep -q '^bench case --quick --only join' "$scratch/calls"
gpu_cases BUDGET=soon
same "gpu-cases.sh: invalid number of seconds" 2 $?
sh "$script" > /dev/null 2>&1
same "gpu-cases.sh: without arguments" 2 $?

finish
