#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_pages.sh - `mam bench pages` without a GPU: what it rejects and lists, what it computes and
# plots from stored results, and that gpu-pages.sh continues after a kernel that hangs. Its kernels
# are tested on a simulated device, by test_bench_pages.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

pages()
{
	"$MAM" bench pages "$@" >"$scratch/out" 2>"$scratch/err"
}

refused() # NAME STATUS TEXT ARGUMENT...
{
	refused_by pages "$@"
}

refused "extra argument" 2 "'now' is one word too many" now
refused "unknown allocator" 2 "no allocator 'rww'" --peers rw,rww
refused "mam's own allocator cannot be excluded" 2 "no allocator 'mam-pages'" --peers mam-pages
refused "unknown workload" 2 "no workload 'take'" --only get,take
refused "pages not a multiple" 2 "multiple of 1024" --pages 1000
refused "too many pages" 2 "multiple of 1024" --pages 1073741824
refused "CSV file cannot be written" 2 "--csv" --csv "$scratch/no/where.csv"
refused "plot cannot be written" 2 "--plot" --plot "$scratch/no/where.svg"
refused "stored file does not exist" 2 "nowhere.csv" --read "$scratch/nowhere.csv"
try "--help describes the command" sh -c "'$MAM' bench pages --help | grep -q -e 'page allocator for kernels'"

# No driver; a driver that rejects kernels; a mam without kernels.
if ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	skip "no driver" "there is one here"
else
	refused "no driver" 77 "cannot measure on this machine"
fi
fake=$MAM_BUILDDIR/tests/fake/lib
if [ "$HAVE_BENCH_KERNELS" != yes ]; then
	refused "no kernels" 77 "was built without kernels"
elif [ -e "$fake/libcuda.so.1" ]; then
	LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$MAM" bench pages >"$scratch/out" 2>"$scratch/err"
	same "driver rejects kernels: exit status" 77 $?
	try "driver rejects kernels: message" grep -q 'does not load the kernels' "$scratch/err"
else
	skip "driver rejects kernels" "there is no fake driver in this build"
fi

pages --list
same "the list: exit status" 0 $?
same "the list: allocators" \
	"mam-pages rw rw-bm crw corw rw-malloc queue cuda-malloc bump bumpw" \
	"$(awk -F '\t' '$1 == "allocator" { print $2 }' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
for cell in "get 1M 100% 1M" "get 1M 0.5% 5000" "get 4M 1% 16K" "get 4M 10% 128K" "get 32M 100% 1M" \
	"lanes 32M 100% 1M x1" "malloc 32M 100% 16K 4096B+free" "malloc 32M 100% 128K 4..8192B" "use 1050B"; do
	try "the list: $cell" grep -q "^cell	$cell" "$scratch/out"
done
same "impossible cells are not in the list" 0 "$(grep -c '1M 0.5% 16K' "$scratch/out")"

# Stored results: tables, targets and plots.
cat >"$scratch/stored.csv" <<'END'
# gpu: made up <1>
# driver: 1.2.3
# cpu: four cores
# date: 2026-02-03T04:05:06Z
pages-launch,empty,1K,us,2.5
pages-launch,empty,1M,us,6.25
pages-get,mam-pages,1M 100% 1K,wrong,0
pages-get,mam-pages,1M 100% 1K,none,0
pages-get,mam-pages,1M 100% 1K,us,4
pages-get,mam-pages,1M 100% 1K,mops,256
pages-get,mam-pages,1M 1% 4K,wrong,0
pages-get,mam-pages,1M 1% 4K,us,9
pages-get,mam-pages,1M 1% 4K,mops,455
pages-get,mam-pages,1M 1% 4K,tas,3.5
pages-get,corw,1M 100% 1K,wrong,0
pages-get,corw,1M 100% 1K,us,5
pages-get,corw,1M 100% 1K,mops,205
pages-get,rw-bm,1M 1% 4K,us,6
pages-get,corw,1M 1% 4K,us,5
pages-get,corw,1M 1% 4K,mops,683
pages-get,corw,1M 1% 4K,none,7
pages-get,corw,1M 1% 4K,tas,12.25
pages-get,corw,1M 1% 4K,was,12.25
pages-get,corw-formula,1M 1% 4K,tas,13.5
pages-get,corw-formula,1M 1% 4K,was,13.5
pages-get,rw,1M 100% 1K,wrong,3
pages-get,bump,1M 100% 1K,us,2
pages-get,bump,1M 100% 1K,mops,512
pages-free,mam-pages,1M 100% 1K,us,3
pages-free,mam-pages,1M 100% 1K,mops,341
pages-get,mam-pages,32M 100% 1M,us,40
pages-get,mam-pages,32M 100% 1M,mops,26214
pages-lanes,mam-pages,1M 5% 16K x1,mops,1500
pages-lanes,corw,1M 5% 16K x32,mops,1600
pages-malloc,mam-pages,32M 100% 16K 4..8192B,mops,700
pages-use,mam-pages,1050B,used_ratio,0.81
END
pages --read "$scratch/stored.csv"
same "stored results: exit status" 0 $?
line() # TABLE CELL - its columns, with single blanks between them
{
	awk -v table="$1:" -v cell="$2" '$1 == table { on = 1 } /^$/ { on = 0 }
	on && index($0, cell " ") == 1 { $0 = substr($0, length(cell) + 1); $1 = $1; print }' "$scratch/out"
}
same "table header" "/ceiling /best mam-pages rw rw-bm corw bump" \
	"$(awk '$1 == "pages-get:" { getline; $1 = $1; print }' "$scratch/out")"
same "ratios first, then times; wrong results have none" "2.00 0.80 4.00 wrong - 5.00 2.00" \
	"$(line pages-get '1M 100% 1K')"
same "failed requests are marked, and never best" "- 1.50 9.00 - 6.00 5.00! -" "$(line pages-get '1M 1% 4K')"
same "table with one allocator" "- - 3.00" "$(line pages-free '1M 100% 1K')"
same "utilization" "- - 0.81" "$(line pages-use 1050B)"
try "steps and formula" grep -q '^1M 1% 4K .* 3\.50 .* 12\.2/13\.5$' "$scratch/out"
try "cost of a launch" grep -q 'takes 2\.50 us with 1K threads, 6\.25 us with 1M' "$scratch/out"
try "target met" grep -q '^a million pages of an empty heap *26\.2 G/s *>= 25\.0 *met$' "$scratch/out"
try "target missed" grep -q '^cells slower than the best published *1\.00 *<= 0\.00 *missed$' "$scratch/out"
pages --read "$scratch/stored.csv" -p
same "plain: worst ratio" 1.5 "$(awk -F '\t' '$1 == "worst_ratio" { print $2 }' "$scratch/out")"
same "plain: unknown values are omitted" "" "$(grep lone_gps "$scratch/out")"
same "plain: targets met and missed" "2 2" \
	"$(awk -F '\t' '/^targets/ { printf "%s ", $2 }' "$scratch/out" | sed 's/ $//')"
sed 's/mam-pages,1M 1% 4K,wrong,0/mam-pages,1M 1% 4K,wrong,9/' "$scratch/stored.csv" >"$scratch/faulty.csv"
pages --read "$scratch/faulty.csv"
same "a fault of mam's: exit status" 1 $?
try "a fault of mam's: one message" grep -q "errors of mam's own allocator" "$scratch/err"
same "a fault of mam's has no time" "- - wrong - 6.00 5.00! -" "$(line pages-get '1M 1% 4K')"

has() # PLOT TEXT
{
	try "$1 has $2" grep -qF -- "$2" "$scratch/pictures/$1.svg"
}
if can_plot; then
	mkdir "$scratch/pictures"
	"$MAM" bench plot -o "$scratch/pictures" "$scratch/stored.csv" >"$scratch/out" 2>"$scratch/err"
	same "plots: exit status" 0 $?
	same "plots: their names" \
		"pages-threads.svg pages-frees.svg pages-share.svg pages-tas.svg pages-was.svg pages-lanes.svg pages-malloc.svg" \
		"$(sed 's|.*/||' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
	has pages-threads 'mam, all free, 1M: 26.2k'
	has pages-threads 'counter, all free, 1K: 512'
	has pages-frees 'mam, all free, 1K: 341'
	has pages-share 'CoRW, 4K threads, 1M pages, 1: 683'
	has pages-tas 'CoRW, formula, 1% free, 4K: 13.5'
	# CoRW is red, and its formula is dashed.
	try "pages-was: the formula of CoRW is dashed" sh -c "'$plot_python' '$MAM_SRCDIR/tests/tools/bench/svg_parts.py' \
		'$scratch/pictures/pages-was.svg' | grep -q '^line	#d3421c	dashed'"
	has pages-lanes 'mam, 16K threads, 5% free, 1: 1.5k'
	has pages-malloc 'mam, 16K threads, all free, mix: 700'
	pages --read "$scratch/stored.csv" --plot "$scratch/all.svg"
	same "a single plot: exit status" 0 $?
	try "a single plot: has the last title" grep -q 'Allocation of several contiguous pages' "$scratch/all.svg"
else
	no_matplotlib
fi

# The whole command on an idle device: kernels are launched, and a failed kernel ends the bench.
if [ "$HAVE_BENCH_KERNELS" != yes ]; then
	skip "an idle device" "this mam has no kernels"
elif ! ${CC:-cc} -shared -fPIC -o "$scratch/libcuda.so.1" "$MAM_SRCDIR/tests/tools/bench/pages_driver.c" >"$scratch/cc" 2>&1; then
	not_ok "an idle device" "$(lib_tail "$scratch/cc")"
else
	idle() # ARGUMENT...
	{
		LD_LIBRARY_PATH=$scratch BENCH_GRACE=1 timeout 100 "$MAM" bench pages --smoke --pages 65536 "$@" \
			>"$scratch/out" 2>"$scratch/err"
	}
	rows() # PATTERN - in the CSV file
	{
		grep -c "$1" "$scratch/idle.csv"
	}
	LAUNCHED=$scratch/launched idle --csv "$scratch/idle.csv" --verbose
	same "idle: exit status" 0 $?
	same "idle: mam's time, without a deduction" "pages-get,mam-pages,64K 100% 16K,us,8" \
		"$(grep '^pages-get,mam-pages,64K 100% 16K,us' "$scratch/idle.csv")"
	try "idle: the GPU is named" grep -q '^# gpu: Idle 0$' "$scratch/idle.csv"
	try "idle: devices that were not opened are reported" grep -q '^note: pages-get 64K 50% 16K: rw: .*other pages free' "$scratch/out"
	try "idle: one line per cell" grep -q '^[0-9.]* s: pages-get 64K 100% 16K corw$' "$scratch/err"
	same "idle: 16K requesting lanes, 32 per warp" "get_corw 64 256" "$(grep '^get_corw ' "$scratch/launched" | sort -u)"
	for kernel in steps_mam give_mam stepsrun_mam giverun_mam churnrun_rwmalloc get_cuda check_mark check_compare; do
		try "idle: $kernel is launched" grep -q "^$kernel " "$scratch/launched"
	done
	rm -f "$scratch/launched"
	LAUNCHED=$scratch/launched idle --peers bump --only lanes --csv "$scratch/idle.csv"
	same "idle: --peers and --only" "" "$(grep -v '^check_\|_mam \|_bump \|^spin ' "$scratch/launched" | sort -u)"

	HANG=give_rw idle --csv "$scratch/idle.csv"
	same "kernel hangs: exit status" 1 $?
	try "kernel hangs: it is named" grep -q 'give_rw has not ended after 1 second' "$scratch/err"
	same "kernel hangs: earlier results are kept" 1 "$(rows '^pages-get,mam-pages,64K 100% 16K,us,')"
	same "kernel hangs: it and later cells have no results" 0 "$(rows '^pages-get,rw')"
	try "kernel hangs: the note that gpu-pages.sh searches for" grep -q '^note: the device failed' "$scratch/out"
	REFUSE=get_corw idle --csv "$scratch/idle.csv"
	same "launch fails: exit status" 1 $?
	try "launch fails: its error" grep -q 'kernel get_corw: the driver says error 719' "$scratch/err"
	same "launch fails: earlier results are kept" 1 "$(rows '^pages-get,crw,64K 100% 16K,us,')"
fi

# gpu-pages.sh with stubs: a mam in which one allocator hangs, and a GPU that is only a name.
script=$MAM_SRCDIR/tools/bench/gpu-pages.sh
if [ ! -e "$script" ]; then
	skip "gpu-pages.sh" "it is not here"
	finish
fi
mkdir "$scratch/bin"
cat >"$scratch/bin/nvidia-smi" <<'END'
#!/bin/sh
echo "NVIDIA H100 80GB HBM3"
END
cat >"$scratch/bin/compute-sanitizer" <<'END'
#!/bin/sh
echo "$*" >>"$STAND_IN/sanitized"
echo "========= ERROR SUMMARY: 0 errors"
END
cat >"$scratch/bin/mam" <<'END'
#!/bin/sh
case "$*" in
*--list*) printf 'allocator\tmam-pages\nallocator\trw\nallocator\tqueue\ncell\tget x\n'; exit 0 ;;
*plot*) echo "$*" >>"$STAND_IN/plotted"; exit 0 ;;
esac
echo "$*" >>"$STAND_IN/calls"
while [ $# -gt 0 ]; do
	[ "$1" = --csv ] && csv=$2
	[ "$1" = --peers ] && peers=$2
	shift
done
echo "0.1 s: pages-get x mam-pages" >&2
echo "0.2 s: pages-get x rw" >&2
printf '# gpu: it\n# commit: c\npages-get,mam-pages,x,us,1\n' >"$csv"
case $peers in
*rw*)
	echo 'pages-get,rw,w,us,7' >>"$csv" # measured before
	echo "note: the device failed pages-get x: rw: nothing"
	exit 1
	;;
esac
echo 'pages-get,queue,x,us,5' >>"$csv"
END
chmod +x "$scratch/bin/"*
STAND_IN=$scratch PATH=$scratch/bin:$PATH BENCH_COMMIT=c sh "$script" "$scratch/bin/mam" "$scratch/results" \
	>"$scratch/out" 2>"$scratch/err"
same "gpu-pages.sh: a failure sets the status" 1 $?
same "gpu-pages.sh: a second run without the allocator that hung" "rw,queue queue" \
	"$(sed 's/.*--peers \([a-z,]*\).*/\1/' "$scratch/calls" | tr '\n' ' ' | sed 's/ $//')"
same "gpu-pages.sh: the results of both runs" "# gpu: it|# commit: c|pages-get,mam-pages,x,us,1|pages-get,rw,w,us,7|pages-get,queue,x,us,5" \
	"$(tr '\n' '|' <"$scratch/results/pages-h100.csv" | sed 's/|$//')"
same "gpu-pages.sh: plots" "bench plot -o $scratch/results $scratch/results/pages-h100.csv" "$(cat "$scratch/plotted")"
same "gpu-pages.sh: both sanitizer tools, for mam and for the others" 4 "$(grep -c -- '--tool \(memcheck\|racecheck\)' "$scratch/sanitized")"
sh "$script" >/dev/null 2>&1
same "gpu-pages.sh: without arguments" 2 $?
sh "$script" "$scratch/none" "$scratch/results" >/dev/null 2>"$scratch/err"
same "gpu-pages.sh: missing program" 2 $?
try "gpu-pages.sh: the missing program is named" grep -q 'is not a program' "$scratch/err"

finish
