#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_advise.sh - `mam bench advise`: its output for heaps described by options, by counters and
# by measured times, and what it rejects. Its computations are tested by test_bench_advise.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

advise()
{
	"$MAM" bench advise "$@" > "$scratch/out" 2> "$scratch/err"
}

refused() # NAME TEXT ARGUMENT...
{
	refused_text_of=$1
	refused_wanted=$2
	shift 2
	refused_by advise "$refused_text_of" 2 "$refused_wanted" "$@"
	same "$refused_text_of: nothing is printed" "" "$(cat "$scratch/out")"
}

key() # KEY
{
	awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$scratch/out"
}

# ---- output ----

advise --threads 5000 --pages 1000000 --free 1 --page-bytes 256 -p
same "options: exit status" 0 $?
same "options: L, S_L and the heap" "256 5 1076 1000000 256000000" \
	"$(key page_bytes) $(key low_per_mille) $(key patience) $(key heap_pages) $(key heap_bytes)"
same "options: free now" "0.01 0.005" "$(key now_free_before) $(key now_free_after)"
same "options: with the same share now equals then" "$(key now_steps)" "$(key then_steps)"
same "without times there are no microseconds" "" "$(key now_us)$(key then_us)$(key step_us)"
advise --threads 1000 --sizes 64:1000,256:50 -p
same "sizes: pages and waste" "256 0.714286 1000" "$(key page_bytes) $(key waste) $(key burst_pages)"
same "sizes alone: nothing about now" "" "$(key now_steps)"
advise --threads 1000 --sizes 64:1000,256:50
same "table: exit status" 0 $?
try "table: the page size" grep -q '^  page size  *256 B  *71\.4% of the allocated bytes' "$scratch/out"
try "table: now is unknown" grep -q '^  free after it, %  *-  *[0-9.]*$' "$scratch/out"
try "table: a heap of objects would waste less" grep -q '^note: .*a heap of objects' "$scratch/out"
advise --threads 5000 --lanes 1 --was-most 16 -p
same "one lane per warp: exit status" 0 $?

printf '%s\t%s\n' size 800 pages 1000000 taken 990000 free 10000 page_bytes 256 searches 100 looks 250 full 0 \
	no_run 3 > "$scratch/counters"
advise --threads 5000 --counters "$scratch/counters" -p
same "counters: exit status" 0 $?
same "counters: same result as with options" "256 5 1000000 0.005 2.5" \
	"$(key page_bytes) $(key low_per_mille) $(key heap_pages) $(key now_free_after) $(key counted_looks)"
advise --threads 5000 --counters "$scratch/counters" --free 2 -p
same "options take precedence over counters" 0.015 "$(key now_free_after)"
advise --threads 5000 --counters "$scratch/counters"
try "counters: failed requests" grep -q '^note: requests that got nothing, as the heap counted: 3$' "$scratch/out"
printf '# of a heap of objects\n%s\t%s\n%s\t%s\n%s\t%s\n%s\t%s\n%s\t%s\n' pages 8192 free 4096 page_bytes 1024 objects 100 \
	object_bytes 204800 > "$scratch/objects"
advise --threads 1000 --counters "$scratch/objects"
same "objects: exit status" 0 $?
try "objects: their mean size is used" grep -q '^  page size  *2 KiB' "$scratch/out"
try "objects: note about the page size" grep -q '^note: the counters are of a heap of objects' "$scratch/out"

# us = 4 + 2 WAS; one row with too many threads, one of another allocator
cat > "$scratch/times.csv" << 'END'
# gpu: made up
model-get,mam-pages,1000000 1% 500,us,8
model-get,mam-pages,1000000 1% 500,was,2
model-get,mam-pages,1000000 0.5% 500,us,12
model-get,mam-pages,1000000 0.5% 500,was,4
model-get,mam-pages,1000000 0.5% 4000,us,20
model-get,mam-pages,1000000 0.5% 4000,was,8
model-get,mam-pages,32M 10% 1M,us,500
model-get,mam-pages,32M 10% 1M,was,1
model-get,rw,1000000 1% 500,us,400
model-get,rw,1000000 1% 500,was,400
END
advise --threads 5000 --pages 1000000 --free 1 --page-bytes 256 --read "$scratch/times.csv" -p
same "times: fitted line" "4 2" "$(key first_us) $(key step_us)"
same "times: time of the kernel" "$(key now_steps | awk '{ printf "%.4g", 4 + 2 * $1 }')" "$(key now_us | awk '{ printf "%.4g", $1 }')"
if [ -e "$MAM_SRCDIR/tools/bench/results/h100/pages-h100.csv.gz" ]; then
	advise --threads 4096 --read "$MAM_SRCDIR/tools/bench/results/h100/pages-h100.csv.gz" -p
	same "times of an H100: exit status" 0 $?
	try "times of an H100: 1 to 4 us per step" awk -v us="$(key step_us)" 'BEGIN { exit !(us > 1 && us < 4) }'
fi

printf 'model-atomic,rw,x,us,1\n' | gzip -c > "$scratch/whole.csv.gz"
head -c $(($(wc -c < "$scratch/whole.csv.gz") - 4)) "$scratch/whole.csv.gz" > "$scratch/cut.csv.gz"
advise --threads 5 --read "$scratch/cut.csv.gz"
same "damaged compressed file: exit status" 2 $?
try "damaged compressed file: message" grep -q "cannot read .*cut.csv.gz': its gzip data is damaged" "$scratch/err"

# ---- rejected input ----

refused "no threads" "--threads N is required"
refused "extra argument" "one word too many" --threads 5 now
refused "0 threads" "threads" --threads 0
refused "threads that overflow" "threads" --threads 99999999999999999999999
refused "more threads than possible" "at most 4294967295" --threads 5000000000
refused "too many lanes" "--lanes must be at most 32" --threads 5 --lanes 33
refused "more threads than free pages" "too small: the burst takes 5001 pages of 256 bytes" --threads 5001 --pages 1000000 \
	--free 0.5 --page-bytes 256
try "more threads than free pages: the needed size" grep -q 'give it [0-9]* pages of 256, [0-9.]* MiB' "$scratch/err"
refused "too many pages" "at most 4294967232" --threads 5 --pages 5000000000
refused "share of 0" "not a percentage" --threads 5 --pages 100 --free 0
refused "share above 100%" "not a percentage" --threads 5 --pages 100 --free 101
refused "share that is not a number" "not a percentage" --threads 5 --pages 100 --free nan
refused "share without a heap" "--free requires --pages or --counters" --threads 5 --free 10
refused "invalid page size" "power of two" --threads 5 --page-bytes 1000
refused "page size too small" "power of two" --threads 5 --page-bytes 128
refused "size of 0" "expects BYTES or BYTES:COUNT" --threads 5 --sizes 64,0:3
refused "count of 0" "expects BYTES or BYTES:COUNT" --threads 5 --sizes 64:0
refused "count that overflows" "expects BYTES or BYTES:COUNT" --threads 5 --sizes 64:99999999999999999999999
refused "size that is not a number" "expects BYTES or BYTES:COUNT" --threads 5 --sizes much
refused "no size" "at least one size" --threads 5 --sizes ""
refused "trailing comma" "missing after the last comma" --threads 5 --sizes 64,
refused "too many sizes" "more than 64" --threads 5 --sizes "$(seq -s, 1 65)"
refused "size too large for pages" "ask a pool" --threads 5 --sizes 300M
refused "heap too large for pages" "use several" --threads 4294967295 --sizes 200M
refused "missing counter file" "cannot read" --threads 5 --counters "$scratch/none"
refused "folder as counter file" "cannot read" --threads 5 --counters "$scratch"
counters() # NAME TEXT LINE... - rejected
{
	counters_name=$1
	counters_text=$2
	shift 2
	for counters_line; do
		printf '%b\n' "$counters_line"
	done > "$scratch/bad"
	refused "$counters_name" "$counters_text" --threads 5 --counters "$scratch/bad"
}
counters "unknown key" "line 2: 'color' is not a field" 'pages\t10' 'color\t3'
counters "duplicate key" "line 2: 'pages' comes a second time" 'pages\t10' 'pages\t10'
counters "not a number" "line 1: '-3' is not a 64-bit number" 'pages\t-3'
counters "number that overflows" "is not a 64-bit number" 'pages\t18446744073709551616'
counters "no tab" "not KEY<TAB>VALUE" 'pages 10'
counters "missing pages" "pages and page_bytes are required" 'free\t3'
counters "more free pages than pages" "free exceeds pages" 'pages\t10' 'free\t11' 'page_bytes\t256'
counters "invalid page size" "not a valid power of two" 'pages\t10' 'free\t1' 'page_bytes\t300'
refused "missing times file" "nowhere.csv" --threads 5 --read "$scratch/nowhere.csv"
grep -v '0.5%' "$scratch/times.csv" > "$scratch/few.csv"
refused "too few times" "has no times of mam's pages" --threads 5 --read "$scratch/few.csv"
finish
