#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_xmalloc.sh - `mam bench xmalloc` without a GPU: what it rejects and lists, what it computes
# and plots from stored results, and what it runs on an idle device. Its kernels are tested on a
# simulated device, by test_bench_xmalloc.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

suite=xmalloc
. "$MAM_SRCDIR/tests/tools/bench/bench_suite.sh"

refused "extra argument" 2 "'now' is one word too many; see mam bench xmalloc --help" now
refused "unknown allocator" 2 "no allocator 'cuda-malloc'; mam bench xmalloc --list" --allocators mam,cuda-malloc
refused "unknown workload" 2 "no workload 'w1'; mam bench xmalloc --list" --only time,w1
refused "CSV file cannot be written" 2 "--csv" --csv "$scratch/no/where.csv"
refused "stored file does not exist" 2 "nowhere.csv" --read "$scratch/nowhere.csv"
help_has 'as its paper did' '--allocators LIST' 'bench xmalloc --quick' 'mam-bench-xmalloc(1)'
refused_without_driver

# The plan.
suite --list
same "the list: exit status" 0 $?
same "the list: allocators, slow ones last" \
	"mam mam-coalesce mam-xmalloc mam-xmc pages pages-coalesce rw crw corw rw-malloc bump bumpw cuda cuda-coalesce cuda-xmalloc cuda-xmc" \
	"$(listed allocator)"
same "the list: workloads" "time prefilled coalesce buffers hold" \
	"$(listed workload)"
named_in_manual
for cell in "time 1M 32	quick" "time 1M 16" "time 16K 1	quick" "prefilled 1M 32" "coalesce 1M 32	quick" \
	"coalesce 16K 2" "coalesce 32K 1 520B	quick" "buffers 16K 1 16	quick" "buffers 16K 1 0" "buffers 1M 32 32" "hold 128K 32"; do
	try "the list: $cell" grep -qxF "cell	$cell" "$scratch/out"
done

# Stored results: tables, targets and plots.
cat >"$scratch/stored.csv" <<'END'
# gpu: made up <1>
# driver: 1.2.3
# cpu: four cores
# date: 2026-02-03T04:05:06Z
xmalloc-time,mam,1M 32,ns,0.04
xmalloc-time,mam-coalesce,1M 32,ns,0.06
xmalloc-time,mam-xmalloc,1M 32,ns,0.09
xmalloc-time,mam-xmalloc,1M 32,wrong,0
xmalloc-time,mam-xmc,1M 32,ns,0.042
xmalloc-time,pages-coalesce,1M 32,ns,0.5
xmalloc-time,mam,16K 1,ns,2.5
xmalloc-time,cuda,1M 32,ns,420
xmalloc-time,cuda-xmalloc,1M 32,ns,8
xmalloc-time,cuda-xmalloc,16K 1,ns,99
xmalloc-time,cuda-xmalloc,16K 1,none,2
xmalloc-time,cuda,16K 1,lost,1
xmalloc-time,published,1M 32,ns,24
xmalloc-time,published-cuda,1M 32,ns,900
xmalloc-coalesce,cuda,16K 8,ns,512
xmalloc-coalesce,pages,16K 8,ns,13
xmalloc-coalesce,pages-coalesce,16K 8,ns,11
xmalloc-buffers,cuda-xmalloc,1M 32 16,request_ns,77
xmalloc-hold,mam-xmalloc,128K 32,ns,1.5
xmalloc-hold,mam-xmalloc,128K 32,free_ns,3.5
xmalloc-speedup,over-cuda,time,times,52.5
xmalloc-speedup,over-cuda,coalesce,times,13
xmalloc-speedup,over-mam,time,times,0.95
xmalloc-speedup,over-pages,coalesce,times,17
xmalloc-speedup,over-cuda,time_256,times,12
xmalloc-speedup,published,time,times,48
xmalloc-speedup,published,time_256,times,48
xmalloc-speedup,published,prefilled,times,6
xmalloc-speedup,published,coalesce,times,50
END
suite --read "$scratch/stored.csv"
same "stored results: exit status" 0 $?
same "table header: published results come last" \
	"mam mam-coalesce mam-xmalloc mam-xmc pages-coalesce cuda cuda-xmalloc published published-cuda" \
	"$(awk '/^xmalloc-time: malloc/ { getline; $1 = $1; print }' "$scratch/out")"
same "table row: small numbers keep their digits" "0.04 0.06 0.09 0.042 0.50 420 8.00 24.0 900" "$(line 'xmalloc-time' '1M 32')"
same "partial results are marked, lost ones listed" "2.50 - - - - lost 99.0! - -" "$(line 'xmalloc-time' '16K 1')"
same "free has its own table" 3.50 "$(line 'xmalloc-hold: free' '128K 32')"
same "speedups, next to published ones" "52.5 0.95 - 48.0" "$(line 'xmalloc-speedup' 'time')"
same "speedup over pages" "13.0 - 17.0 50.0" "$(line 'xmalloc-speedup' 'coalesce')"
try "the manual names over-pages" grep -qE '^\.(B|BR) over\\-pages( [,.])?$' "$manual"
try "target met" grep -q "^xmcMalloc over CUDA's malloc *52\.5 times *>= 48\.0 *met *\$" "$scratch/out"
try "target missed" grep -q "^coalescing alone over CUDA's malloc *13\.0 times *>= 50\.0 *missed" "$scratch/out"
try "cost target" grep -q "^xmcMalloc's time over mam, .*1\.05 times *<= 1\.10 *met" "$scratch/out"

suite --read "$scratch/stored.csv" -p
same "plain: met" "52.5 >=48 yes" "$(key time_times) $(key time_times.target) $(key time_times.met)"
same "plain: as published" "12 >=48 no" "$(key time_256_times) $(key time_256_times.target) $(key time_256_times.met)"
same "plain: missed" "13 >=50 no" "$(key coalesce_times) $(key coalesce_times.target) $(key coalesce_times.met)"
same "plain: cost of the calls over mam" "1.05 <=1.1 yes" "$(key over_mam) $(key over_mam.target) $(key over_mam.met)"
same "plain: unmeasured values are omitted" "" "$(key prefilled_times)"
same "plain: faults" "0 yes" "$(key faults) $(key faults.met)"
same "plain: targets met and missed" "3 2" "$(key targets_met) $(key targets_missed)"
keys_in_manual
for metric in wrong lost; do
	sed "s/mam-xmalloc,1M 32,wrong,0/cuda-xmalloc,1M 32,$metric,9/" "$scratch/stored.csv" >"$scratch/faulty.csv"
	suite --read "$scratch/faulty.csv"
	same "XMalloc's own $metric: exit status" 1 $?
	suite --read "$scratch/faulty.csv" -p
	same "XMalloc's own $metric: counted" "9 no" "$(key faults) $(key faults.met)"
done
sed "s/mam-xmalloc,1M 32,wrong,0/cuda,1M 32,wrong,9/" "$scratch/stored.csv" >"$scratch/faulty.csv"
suite --read "$scratch/faulty.csv"
same "a fault of CUDA's malloc: exit status" 0 $?

pictures_are "$scratch/stored.csv" "xmalloc-lanes.svg xmalloc-coalesce.svg xmalloc-buffers.svg xmalloc-speedup.svg"
has xmalloc-lanes 'XMalloc, 2011, 1M workers, 32: 24'
has xmalloc-lanes 'CUDA, 2011, 1M workers, 32: 900'
has xmalloc-lanes 'mam, 16K workers, 1: 2.5'
has xmalloc-coalesce 'CUDA malloc, 16K workers, 8: 512'
has xmalloc-coalesce 'pages, 16K workers, 8: 13'
has xmalloc-coalesce 'pages, coalesced, 16K workers, 8: 11'
has xmalloc-buffers 'CUDA, XMalloc, 32 workers per warp, 16: 77'
has xmalloc-speedup 'over CUDA malloc, coalesce: 13'
has xmalloc-speedup 'over pages, coalesce: 17'
has xmalloc-speedup 'published, 2011, coalesce: 50'

# The whole command on an idle device.
if idle_driver; then
	# Without a device libmam creates no heap; allocators over CUDA's malloc need none.
	idle --smoke --verbose
	same "idle: exit status" 0 $?
	same "idle: a time, per object and per warp" "us,8 ns,1.95313 request_ns,62.5 " \
		"$(sed -n 's/^xmalloc-time,cuda-xmalloc,1M 32,\(\(us\|ns\|request_ns\),\)/\1/p' "$scratch/idle.csv" | tr '\n' ' ')"
	for kernel in use get give hold drop fill base_fill base_give layers_learn layers_format layers_drain; do
		try "idle: $kernel is launched" grep -q "^$kernel " "$scratch/launched"
	done
	same "idle: coalescing runs without buffers" 0 "$(rows '^xmalloc-coalesce,.*-xm[a-z]*,')"
same "idle: its requests go to base allocators alone" "1 0" "$(rows '^xmalloc-coalesce,cuda,32K 1 520B,ns,') $(rows '^xmalloc-coalesce,.*-coalesce,32K')"
	same "idle: page allocators skip mixed sizes" 0 "$(rows '^xmalloc-hold,rw,')"
	same "idle: each speedup" 6 "$(rows '^xmalloc-speedup,over-cuda,')"
	same "idle: published results are included" 8 "$(rows '^xmalloc-[a-z]*,published')"
	idle --smoke --only hold
	same "idle: no published results for hold" 0 "$(rows ',published')"
	idle --quick --only time --allocators cuda-xmalloc
	same "idle: 1M single workers are 1M warps" "use 131072 256" "$(grep '^use ' "$scratch/launched" | sort -u | grep 131072)"
	same "idle: a 64th of them is timed first" "use 2048 256" \
		"$(grep '^use ' "$scratch/launched" | sort -u | grep -w 2048)"
	TOOK_MS=50 idle --quick --only time --allocators cuda-coalesce
	try "a cell that takes too long is skipped with a note" \
		grep -q '^note: xmalloc-time 1M 1: cuda-coalesce: left out, since each run would take 3 s$' "$scratch/out"
	same "a cell that takes too long has no time" 0 "$(rows '^xmalloc-time,cuda-coalesce,1M')"
	same "fewer workers have a time, of the paper's four runs" 4 \
		"$(sed -n 's/^xmalloc-time,cuda-coalesce,16K 1,runs,//p' "$scratch/idle.csv")"

	HANG=layers_drain idle --smoke --allocators cuda-xmalloc,bumpw --only time
	same "kernel hangs: exit status, since it is mam's" 1 $?
	same "kernel hangs: three cells are lost" 3 "$(rows '^xmalloc-time,cuda-xmalloc,.*,lost,1')"
	try "kernel hangs: it is named" grep -q '^note: .*: layers_drain of cuda-xmalloc has not ended after 1 second$' "$scratch/out"
	same "kernel hangs: other allocators run" 12 "$(rows '^xmalloc-time,bumpw,.*,us,')"
	TWICE=1 idle --smoke --allocators cuda-coalesce,cuda-xmalloc --only prefilled
	same "overlap: exit status" 1 $?
	same "overlap: no time" "1 0" "$(rows '^xmalloc-prefilled,cuda-coalesce,.*,wrong,1') $(rows '^xmalloc-prefilled,cuda-coalesce,1M 32,us,')"
	same "overlap: other allocators have times" 1 "$(rows '^xmalloc-prefilled,cuda-xmalloc,1M 32,us,')"
fi

finish
