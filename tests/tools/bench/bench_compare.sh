#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_compare.sh - mam bench compare lists the rows that became slower by more than noise, and nothing else.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

compare() # OLD NEW
{
	"$MAM" bench compare "$@" > "$scratch/out" 2> "$scratch/err"
}

slower() # the names of the listed rows
{
	sed -n 's/^ *[0-9.]* *[0-9.]* *[0-9.e+]* *[0-9.e+]*  \(.*\)/\1/p' "$scratch/out" | tr '\n' ';'
}

# Two repeats. "steady" differs by 1%, "wild" by 60%. Rates are worse if they fall, bytes are not compared.
cat > "$scratch/old" << 'END'
# gpu: NVIDIA H100
# commit: 0123abc
# date: 2026-01-02
pair,mam,256B,pair_ns,100
pair,mam,256B,pair_ns,101
pair,mam,4K,pair_ns,100
pair,mam,4K,pair_ns,101
pair,mam,"1,5M",pair_ns,50
wild,mam,x,p99_ns,100
wild,mam,x,p99_ns,160
threads,mam,8,mops,10
threads,mam,16,mops,10
live,mam,x,used_bytes,100
gone,mam,x,ns,1
END
cat > "$scratch/new" << 'END'
# gpu: NVIDIA H200
new,mam,x,ns,1
wild,mam,x,p99_ns,150
pair,mam,256B,pair_ns,102
pair,mam,256B,pair_ns,101
pair,mam,4K,pair_ns,105
pair,mam,4K,pair_ns,106
pair,mam,"1,5M",pair_ns,40
threads,mam,8,mops,8
threads,mam,16,mops,12
live,mam,x,used_bytes,200
END
compare "$scratch/old" "$scratch/new"
same "exit status: something is slower" 1 $?
same "the worst first, and nothing within noise" "threads, mam, 8, mops;pair, mam, 4K, pair_ns;" "$(slower)"
same "the sums" "6 compared: 2 slower, 2 faster; 1 only in the old file, 1 only in the new one" "$(tail -n 1 "$scratch/out")"
same "the machines" "old: NVIDIA H100, commit 0123abc, 2026-01-02;new: NVIDIA H200, commit unknown, no date;" \
	"$(head -n 2 "$scratch/out" | tr '\n' ';')"
gzip -c "$scratch/old" > "$scratch/old.gz"
compare "$scratch/old.gz" "$scratch/old"
same "exit status: nothing is slower" 0 $?

# Without repeats, a tenth is noise.
printf 'a,mam,x,ns,100\nb,mam,x,ns,100\n' > "$scratch/old"
printf 'a,mam,x,ns,109\nb,mam,x,ns,111\n' > "$scratch/new"
compare "$scratch/old" "$scratch/new"
same "without repeats" "b, mam, x, ns;" "$(slower)"
same "the noise is assumed" "noise: 1.10, assumed, as no row is repeated" "$(sed -n 3p "$scratch/out")"

refused_by compare "one file" 2 'expected two files' "$scratch/old"
refused_by compare "no file" 2 'cannot read' "$scratch/old" "$scratch/missing"
echo 'a,b' > "$scratch/bad"
refused_by compare "no results" 2 'line 1: no row of results' "$scratch/old" "$scratch/bad"

# Files of two GPUs.
compare "$MAM_SRCDIR/tools/bench/results/h100/host-h100.csv.gz" "$MAM_SRCDIR/tools/bench/results/h200/host-h200.csv.gz"
[ $? -lt 2 ] && grep -q '^[1-9][0-9]* compared' "$scratch/out"
same "results of an H100 and an H200 can be compared" 0 $?
finish
