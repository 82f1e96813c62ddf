#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_advise.sh - `mam bench advise`: what it says of heaps that are told by options, by counters and by measured
# times, and what it refuses. What it reckons is tested by test_bench_advise.
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
	same "$refused_text_of: nothing is told" "" "$(cat "$scratch/out")"
}

key() # KEY
{
	awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$scratch/out"
}

# ---- what it says ----

advise --threads 5000 --pages 1000000 --free 1 --page-bytes 256 -p
same "options: exit status" 0 $?
same "options: L, S_L and the heap" "256 5 1076 1000000 256000000" \
	"$(key page_bytes) $(key low_per_mille) $(key patience) $(key heap_pages) $(key heap_bytes)"
same "options: free now" "0.01 0.005" "$(key now_free_before) $(key now_free_after)"
same "options: now is then" "$(key now_steps)" "$(key then_steps)"
same "without times no microseconds" "" "$(key now_us)$(key then_us)$(key step_us)"
advise --threads 1000 --sizes 64:1000,256:50 -p
same "sizes: pages and waste" "256 0.714286 1000" "$(key page_bytes) $(key waste) $(key burst_pages)"
same "sizes alone: nothing of now" "" "$(key now_steps)"
advise --threads 1000 --sizes 64:1000,256:50
same "for people: exit status" 0 $?
try "for people: the page size" grep -q '^  page size  *256 B  *71\.4% of the allocated bytes' "$scratch/out"
try "for people: now is not known" grep -q '^  free after it, %  *-  *[0-9.]*$' "$scratch/out"
try "for people: objects would lose less" grep -q '^note: .*a heap of objects' "$scratch/out"
advise --threads 5000 --lanes 1 --was-most 16 -p
same "a lane a warp: exit status" 0 $?

printf '%s\t%s\n' size 800 pages 1000000 taken 990000 free 10000 page_bytes 256 searches 100 looks 250 full 0 \
	no_run 3 > "$scratch/counters"
advise --threads 5000 --counters "$scratch/counters" -p
same "counters: exit status" 0 $?
same "counters: the same as by options" "256 5 1000000 0.005 2.5" \
	"$(key page_bytes) $(key low_per_mille) $(key heap_pages) $(key now_free_after) $(key counted_looks)"
advise --threads 5000 --counters "$scratch/counters" --free 2 -p
same "options come before counters" 0.015 "$(key now_free_after)"
advise --threads 5000 --counters "$scratch/counters"
try "counters: who got nothing" grep -q '^note: requests that got nothing, as the heap counted: 3$' "$scratch/out"
printf '# of a heap of objects\n%s\t%s\n%s\t%s\n%s\t%s\n%s\t%s\n%s\t%s\n' pages 8192 free 4096 page_bytes 1024 objects 100 \
	object_bytes 204800 > "$scratch/objects"
advise --threads 1000 --counters "$scratch/objects"
same "objects: exit status" 0 $?
try "objects: their mean size is asked for" grep -q '^  page size  *2 KiB' "$scratch/out"
try "objects: no page size to choose" grep -q '^note: the counters are of a heap of objects' "$scratch/out"

# us = 4 + 2 WAS; one of too many threads, one of another allocator
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
same "times: a line" "4 2" "$(key first_us) $(key step_us)"
same "times: the kernel" "$(key now_steps | awk '{ printf "%.4g", 4 + 2 * $1 }')" "$(key now_us | awk '{ printf "%.4g", $1 }')"
if [ -e "$MAM_SRCDIR/tools/bench/results/h100/pages-h100.csv.gz" ]; then
	advise --threads 4096 --read "$MAM_SRCDIR/tools/bench/results/h100/pages-h100.csv.gz" -p
	same "times of an H100: exit status" 0 $?
	try "times of an H100: 1 to 4 us a step" awk -v us="$(key step_us)" 'BEGIN { exit !(us > 1 && us < 4) }'
fi

printf 'model-atomic,rw,x,us,1\n' | gzip -c > "$scratch/whole.csv.gz"
head -c $(($(wc -c < "$scratch/whole.csv.gz") - 4)) "$scratch/whole.csv.gz" > "$scratch/cut.csv.gz"
advise --threads 5 --read "$scratch/cut.csv.gz"
same "a damaged compressed file: exit status" 2 $?
try "a damaged compressed file is reported" grep -q 'cut.csv.gz cannot be read: its gzip data is damaged' "$scratch/err"

# ---- what it refuses ----

refused "no threads" "--threads is missing"
refused "a word too many" "one word too many" --threads 5 now
refused "threads of 0" "threads" --threads 0
refused "threads that overflow" "threads" --threads 99999999999999999999999
refused "more threads than there are" "no more than 4294967295" --threads 5000000000
refused "too many lanes" "a warp has 32" --threads 5 --lanes 33
refused "more threads than free pages" "too small: the burst takes 5001 pages of 256 bytes" --threads 5001 --pages 1000000 \
	--free 0.5 --page-bytes 256
try "more threads than free pages: what it needs" grep -q 'give it [0-9]* pages of 256, [0-9.]* MiB' "$scratch/err"
refused "too many pages" "4294967232 at most" --threads 5 --pages 5000000000
refused "a share of nothing" "not a percentage" --threads 5 --pages 100 --free 0
refused "a share above all" "not a percentage" --threads 5 --pages 100 --free 101
refused "a share that is no number" "not a percentage" --threads 5 --pages 100 --free nan
refused "a share of what" "of how many pages" --threads 5 --free 10
refused "a page that is none" "power of two" --threads 5 --page-bytes 1000
refused "a page too small" "power of two" --threads 5 --page-bytes 128
refused "a size of 0" "not BYTES or BYTES:COUNT" --threads 5 --sizes 64,0:3
refused "a count of 0" "not BYTES or BYTES:COUNT" --threads 5 --sizes 64:0
refused "a count that overflows" "not BYTES or BYTES:COUNT" --threads 5 --sizes 64:99999999999999999999999
refused "a size that is a word" "not BYTES or BYTES:COUNT" --threads 5 --sizes much
refused "no size" "name one size" --threads 5 --sizes ""
refused "a comma at the end" "missing after the last comma" --threads 5 --sizes 64,
refused "too many sizes" "more than 64" --threads 5 --sizes "$(seq -s, 1 65)"
refused "a size beyond all pages" "ask a pool" --threads 5 --sizes 300M
refused "a heap beyond all pages" "use several" --threads 4294967295 --sizes 200M
refused "no such counters" "cannot be read" --threads 5 --counters "$scratch/none"
refused "a folder" "cannot be read" --threads 5 --counters "$scratch"
counters() # NAME TEXT LINE... - refused
{
	counters_name=$1
	counters_text=$2
	shift 2
	for counters_line; do
		printf '%b\n' "$counters_line"
	done > "$scratch/bad"
	refused "$counters_name" "$counters_text" --threads 5 --counters "$scratch/bad"
}
counters "an unknown key" "line 2: 'colour' is not a field" 'pages\t10' 'colour\t3'
counters "a key twice" "line 2: 'pages' comes a second time" 'pages\t10' 'pages\t10'
counters "no number" "line 1: '-3' is not a 64-bit number" 'pages\t-3'
counters "a number that overflows" "is not a 64-bit number" 'pages\t18446744073709551616'
counters "no tab" "not KEY<TAB>VALUE" 'pages 10'
counters "without pages" "pages and page_bytes are wanted" 'free\t3'
counters "more free than there are" "more pages are free" 'pages\t10' 'free\t11' 'page_bytes\t256'
counters "an odd page" "not a valid power of two" 'pages\t10' 'free\t1' 'page_bytes\t300'
refused "times that are not there" "nowhere.csv" --threads 5 --read "$scratch/nowhere.csv"
grep -v '0.5%' "$scratch/times.csv" > "$scratch/few.csv"
refused "too few times" "has no times of mam's pages" --threads 5 --read "$scratch/few.csv"
finish
