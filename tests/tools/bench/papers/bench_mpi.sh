#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_mpi.sh - `mam bench mpi` without a GPU: what it rejects and lists, what it computes and
# plots from stored results, and what it runs on an idle device. Its kernels are tested on a
# simulated device, by test_bench_mpi, and lane by lane by tests/coalesce/test_mpi.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

suite=mpi
. "$MAM_SRCDIR/tests/tools/bench/bench_suite.sh"

refused "extra argument" 2 "'now' is one word too many; see mam bench mpi --help" now
refused "unknown allocator" 2 "no allocator 'cuda-malloc'; mam bench mpi --list" --allocators mam,cuda-malloc
refused "unknown workload" 2 "no workload 'cubic'; mam bench mpi --list" --only linear,cubic
refused "stored file does not exist" 2 "nowhere.csv" --read "$scratch/nowhere.csv"
help_has 'coalescing mallocs' '--allocators LIST' 'bench mpi --quick' 'mam-bench-mpi(1)'
refused_without_driver

# The plan.
suite --list
same "the list: exit status" 0 $?
same "the list: allocators, slow ones last" \
	"cuda-HB cuda-NB cuda-HW cuda-NW cuda-dynamic cuda-xmalloc mam mam-HB mam-NB mam-HW mam-NW mam-dynamic mam-xmalloc mam-kwarp mam-kblock cuda" \
	"$(listed allocator)"
same "the list: workloads" "linear quadratic operations" \
	"$(listed workload)"
named_in_manual
for cell in "linear 100	quick" "linear 25" "linear 400 together" "linear 400 full" "quadratic 400	quick" "quadratic 200 full" \
	"operations all-to-all	quick" "operations reduce	quick" "operations broadcast	quick"; do
	try "the list: $cell" grep -qxF "cell	$cell" "$scratch/out"
done
same "the list: 25 to 400 floats" 16 "$(grep -c '^cell	quadratic [0-9]*\(	quick\)\{0,1\}$' "$scratch/out")"

# Stored results: tables, targets and plots.
cat >"$scratch/stored.csv" <<'END_OF_ROWS'
# gpu: made up <1>
# driver: 1.2.3
# cpu: four cores
# date: 2026-02-03T04:05:06Z
mpi-linear,cuda,100,work_cycles,8000
mpi-linear,cuda,100,gflops,20
mpi-linear,cuda,100,malloc_ms,10
mpi-linear,cuda-NW,100,work_cycles,2000
mpi-linear,cuda-NW,100,gflops,80
mpi-linear,cuda-NW,100,speedup,4
mpi-linear,cuda-HW,100,speedup,2
mpi-linear,cuda-NW,200,speedup,3.5
mpi-linear,cuda-dynamic,200,speedup,3.75
mpi-linear,mam-kwarp,100,speedup_cuda,5
mpi-linear,mam-kwarp,200,speedup_cuda,4.5
mpi-linear,cuda-HB,100,wrong,3
mpi-linear,mam,100,none,2
mpi-linear,mam,100,malloc_ms,0.5
mpi-linear,published-HW,100,speedup,2.44
mpi-linear,published,100,malloc_ms,10.37
mpi-quadratic,cuda-NB,100,speedup,2
mpi-quadratic,cuda-NW,100,speedup,1.5
mpi-operations,cuda,all-to-all,median_ms,60
mpi-operations,cuda-NW,all-to-all,median_ms,12
mpi-operations,cuda-NW,all-to-all,speedup,5
mpi-operations,published,all-to-all,median_ms,18316.86
mpi-speedup,cuda-NW,linear 100,times,4
mpi-speedup,published-HW,linear 100,times,2.44
END_OF_ROWS
sed 's/cuda-HB,100,wrong,3/cuda,200,lost,1/' "$scratch/stored.csv" >"$scratch/good.csv"
suite --read "$scratch/good.csv"
same "stored results: exit status" 0 $?
same "table: mam's results" "4.00 3.50 - -" "$(line 'mpi-linear: work against' cuda-NW)"
same "table: published results" "2.44 - - -" "$(line 'mpi-linear: work against' published-HW)"
same "table: lost results" "10.0 lost - -" "$(line 'mpi-linear: malloc' cuda)"
same "table: failed requests are marked" "0.50! - - -" "$(line 'mpi-linear: malloc' mam)"
same "table: one operation" "- - 18317" "$(line 'mpi-operations: an operation' published)"
try "target met in its worst cell" \
	grep -q "^Linear, a warp's mallocs put together *3\.75 times *>= 3\.40 *met *4\.50 mam-kwarp\$" "$scratch/out"
try "target missed" grep -q "^Quadratic, without headers *2\.00 times *>= 2\.20 *missed" "$scratch/out"

suite --read "$scratch/good.csv" -p
same "plain: met" "3.75 >=3.4 yes" "$(key linear_times) $(key linear_times.target) $(key linear_times.met)"
same "plain: missed" "2 >=2.2 no" "$(key quadratic_times) $(key quadratic_times.target) $(key quadratic_times.met)"
same "plain: targets met and missed" "2 1" "$(key targets_met) $(key targets_missed)"
keys_in_manual
suite --read "$scratch/stored.csv"
same "a fault of mam's: exit status" 1 $?
try "a fault of mam's: counted" grep -q '^faults found, and cells lost *3\.00 .*missed' "$scratch/out"
same "a fault of mam's: replaces its results" "wrong - - -" "$(line 'mpi-linear: work against' cuda-HB)"

pictures_are "$scratch/stored.csv" "mpi-linear.svg mpi-quadratic.svg mpi-speedup.svg mpi-operations.svg"
has mpi-linear 'CUDA, warp, Gflop/s, 100: 80'
has mpi-linear 'published, w., headers, speedup, 100: 2.44'
has mpi-speedup 'CUDA, warp, linear, 100: 4'
has mpi-operations 'published, base, all-to-all: 18.3k'

# The whole command on an idle device.
if idle_driver; then
	# Without a device libmam creates no heap; CUDA's own allocator needs none.
	idle --smoke --verbose
	same "idle: exit status" 0 $?
	same "idle: 12 blocks of 1024 threads" "unit_nw 12 1024" "$(grep '^unit_nw ' "$scratch/launched" | sort -u)"
	same "idle: 8 blocks of 32 ranks" "alltoall_nw 8 32" "$(grep '^alltoall_nw ' "$scratch/launched" | sort -u)"
	same "idle: 30 blocks of 512 ranks" "tree_dynamic 30 512" "$(grep '^tree_dynamic ' "$scratch/launched" | sort -u)"
	for kernel in metadata drain unit_base unit_hb tree_xmalloc alltoall_hw; do
		try "idle: $kernel is launched" grep -q "^$kernel " "$scratch/launched"
	done
	same "idle: the time of the whole kernel" 1 "$(rows '^mpi-linear,cuda-NB,400,kernel_us,8$')"
	same "idle: published results are included" 33 "$(rows '^mpi-operations,published.*\(_ms\|speedup\),')"
	idle --quick --only operations --allocators cuda-HB
	same "idle: 20 runs" 1 "$(rows '^mpi-operations,cuda-HB,reduce,runs,20$')"
	RESIDENT=1024 idle --smoke --only operations --allocators cuda-HB
	try "too many ranks at once: rejected" grep -q \
		'^note: mpi-operations reduce: cuda-HB: of its 30 blocks of 512 threads only 8 run at once' "$scratch/out"
	same "too many ranks at once: no time, while fewer ranks have one" "0 1" \
		"$(rows '^mpi-operations,cuda-HB,reduce,') $(rows '^mpi-operations,cuda-HB,all-to-all,median_ms')"
	HANG=alltoall_nb idle --smoke --allocators cuda-NB,cuda-NW --only operations
	same "kernel hangs: exit status, since it is mam's" 1 $?
	same "kernel hangs: its cell is lost" 1 "$(rows '^mpi-operations,cuda-NB,all-to-all,lost,1')"
	same "kernel hangs: other cells run" 3 \
		"$(rows '^mpi-operations,cuda-N[BW],\(reduce,runs\|all-to-all,runs\)')"
fi

finish
