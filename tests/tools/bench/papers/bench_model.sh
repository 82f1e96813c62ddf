#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_model.sh - `mam bench model` without a GPU: what it rejects and lists, what it computes from
# stored results, the whole command on an idle device, and gpu-model.sh with stubs. Its kernels are
# tested on a simulated device, by test_bench_model.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

model()
{
	"$MAM" bench model "$@" > "$scratch/out" 2> "$scratch/err"
}

refused() # NAME STATUS TEXT ARGUMENT...
{
	refused_by model "$@"
}

refused "extra argument" 2 "'now' is one word too many" now
refused "unknown allocator" 2 "no allocator 'rww'" --peers rw,rww
refused "allocator without an equation" 2 "no allocator 'bump'" --peers bump
refused "unknown workload" 2 "no workload 'take'" --only get,take
refused "pages not a multiple" 2 "multiple of 64" --pages 6401
refused "too few pages" 2 "multiple of 64" --pages 640
refused "too many pages" 2 "multiple of 64" --pages 1073741824
refused "CSV file cannot be written" 2 "--csv" --csv "$scratch/no/where.csv"
refused "plot cannot be written" 2 "--plot" --plot "$scratch/no/where.svg"
refused "stored file does not exist" 2 "nowhere.csv" --read "$scratch/nowhere.csv"
try "--help describes the command" sh -c "'$MAM' bench model --help | grep -q -e 'equations expect'"
try "mam bench lists it" sh -c "'$MAM' bench fly 2>&1 | grep -q ' model,'"

if ldconfig -p 2> /dev/null | grep -q 'libcuda\.so\.1'; then
	skip "no driver" "there is one here"
else
	refused "no driver" 77 "cannot measure on this machine"
fi

model --list
same "the list: exit status" 0 $?
same "the list: allocators" "mam-pages rw rw-bm crw corw rw-malloc queue cuda-malloc" \
	"$(awk -F '\t' '$1 == "allocator" { print $2 }' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
same "the list: workloads" "get lanes malloc use atomic found again give" \
	"$(awk -F '\t' '$1 == "workload" { print $2 }' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
for cell in "get 1000000 0.7% 3000" "get 1000000 0.5% 5000" "get 32M 10% 1M" "lanes 1000000 0.8% 3120 x20" \
	"malloc 4M 100% 16K 4100B" "malloc 4M 50% 16K 4..8192B" "use 1050B" "found 5%" "give 50% 125K" "again 0.5% /100 1000"; do
	try "the list: $cell" grep -q "^cell	$cell" "$scratch/out"
done
same "impossible cells are not in the list" 0 "$(grep -c '1000000 0.5% 6000' "$scratch/out")"

# Stored results: tables and targets.
cat > "$scratch/stored.csv" << 'END'
# gpu: made up <1>
# driver: 1.2.3
# cpu: four cores
# date: 2026-02-03T04:05:06Z
model-atomic,atomic,1K,clocks,900
model-atomic,atomic,1K,ns,500
model-get,mam-pages,1000000 50% 500,wrong,0
model-get,mam-pages,1000000 50% 500,us,4.25
model-get,rw,1000000 50% 500,us,9
model-get,rw,1000000 50% 500,tas,2.02
model-get,rw,1000000 50% 500,was,6.5
model-get,rw-formula,1000000 50% 500,tas,2
model-get,rw-formula,1000000 50% 500,was,6.25
model-get,rw-simulated,1000000 50% 500,tas,2.25
model-get,rw-bm,1000000 1% 5000,tas,5.5
model-get,rw-bm-formula,1000000 1% 5000,tas,5
model-get,queue,32M 10% 1M,us,800
model-get,corw,32M 10% 1M,us,50
model-free,rw,1000000 50% 500,us,3
model-give,queue,50% 500,clocks,1500
model-ratio,measured,1000000 1% 5000,times,3.5
model-ratio,formula,1000000 1% 5000,times,4.5
model-correlation,all,time,cells,100
model-correlation,all,time,tas,0.85
model-correlation,all,time,was,0.97
model-correlation,all,time,low,0.05
model-correlation,all,time,high,0.2
END
model --read "$scratch/stored.csv"
same "stored results: exit status" 0 $?
try "clocks of an atomic" grep -q '^1K  *900  500$' "$scratch/out"
try "measured, equation, host's simulation" grep -q '^1000000 50% 500 .*  rw 2\.02/2\.00/2\.25' "$scratch/out"
try "unknown values are dashes" grep -q '  rw-bm 5\.50/5\.00/-' "$scratch/out"
try "correlations" grep -q '^correlation with time, all, 100 cells: TAS 0\.850, WAS 0\.970; .* 0\.050 to 0\.200$' "$scratch/out"
try "target met" grep -q '^TAS of RW, off (3) at most *1 % *<= 5 *met$' "$scratch/out"
try "target missed" grep -q '^TAS of RW-BM, off (5) at most *10 % *<= 5 *missed$' "$scratch/out"
model --read "$scratch/stored.csv" -p
key() # KEY
{
	awk -F '\t' -v key="$1" '$1 == key { print $2 }' "$scratch/out"
}
same "plain: error in percent" 10 "$(key tas_rw_bm_error)"
same "plain: cells above a bound" 1 "$(key was_rw_above)"
same "plain: speed" 16 "$(key corw_over_queue)"
same "plain: correlations" "0.85 0.97" "$(key corr_tas) $(key corr_was)"
same "plain: unknown values are omitted" "" "$(key mam_over_queue)"
same "plain: targets met and missed" "4 3" "$(key targets_met) $(key targets_missed)"
has() # PLOT TEXT
{
	try "$1 has $2" grep -qF -- "$2" "$scratch/pictures/$1.svg"
}
if can_plot; then
	mkdir "$scratch/pictures"
	"$MAM" bench plot -o "$scratch/pictures" "$scratch/stored.csv" > "$scratch/out" 2> "$scratch/err"
	same "plots: exit status" 0 $?
	same "plots: their names" "model-tas.svg model-was.svg model-time.svg model-large.svg model-ratio.svg model-give.svg" \
		"$(sed 's|.*/||' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
	has model-tas 'RW, (3), (4), 50% free, 500: 2'
	# RW is orange, and its equations are dashed.
	same "model-tas: lines of RW" "dashed solid" "$("$plot_python" "$MAM_SRCDIR/tests/tools/bench/svg_parts.py" "$scratch/pictures/model-tas.svg" |
		awk -F '\t' '$1 == "line" && $2 == "#e08f00" { print $3 }' | sort -u | tr '\n' ' ' | sed 's/ $//')"
	has model-large 'queue, 10% free, 1M: 800'
	has model-give 'queue, 50% free, 500: 1.5k'
	has model-ratio 'equations, 1: 4.5'
else
	no_matplotlib
fi
sed 's/50% 500,wrong,0/50% 500,wrong,9/' "$scratch/stored.csv" > "$scratch/faulty.csv"
model --read "$scratch/faulty.csv"
same "a fault of mam's: exit status" 1 $?
try "a fault of mam's: one message" grep -q "errors of mam's own allocator" "$scratch/err"

# The whole command on an idle device: kernels are launched, and a failed kernel ends the bench.
if [ "$HAVE_BENCH_KERNELS" != yes ]; then
	skip "an idle device" "this mam has no kernels"
elif ! ${CC:-cc} -shared -fPIC -o "$scratch/libcuda.so.1" "$MAM_SRCDIR/tests/tools/bench/pages_driver.c" > "$scratch/cc" 2>&1; then
	not_ok "an idle device" "$(lib_tail "$scratch/cc")"
else
	idle() # ARGUMENT...
	{
		LD_LIBRARY_PATH=$scratch BENCH_GRACE=1 timeout 100 "$MAM" bench model --smoke --pages 6400 "$@" \
			> "$scratch/out" 2> "$scratch/err"
	}
	LAUNCHED=$scratch/launched idle --csv "$scratch/idle.csv" --verbose
	same "idle: exit status" 0 $?
	for kernel in model_atomic open_rwbm open_crw getrun_mam stepsrun_rwmalloc giverun_rwmalloc get_cuda check_mark; do
		try "idle: $kernel is launched" grep -q "^$kernel " "$scratch/launched"
	done
	same "idle: bare counters have no results" 0 "$(grep -c '_bumpw\? ' "$scratch/launched")"
	try "idle: one line per cell" grep -q '^model-atomic 32 atomic$' "$scratch/err"
	try "idle: devices that were not opened are reported" grep -q '^note: model-get 6400 50% 6: rw: .*other pages free' "$scratch/out"
	rm -f "$scratch/launched"
	LAUNCHED=$scratch/launched idle --only atomic
	same "idle: --only" "model_atomic" "$(sed 's/ .*//' "$scratch/launched" | sort -u | grep -v spin)"
	HANG=model_atomic idle
	same "kernel hangs: exit status" 1 $?
	try "kernel hangs: it is named" grep -q 'model_atomic has not ended after 1 second' "$scratch/err"
	REFUSE=getrun_rwmalloc idle --only malloc,get
	same "launch fails: exit status" 1 $?
	try "launch fails: its error" grep -q 'kernel getrun_rwmalloc: the driver says error 719' "$scratch/err"
fi

# gpu-model.sh with stubs: a mam that prints its arguments, and a GPU that is only a name.
script=$MAM_SRCDIR/tools/bench/gpu-model.sh
if [ ! -e "$script" ]; then
	skip "gpu-model.sh" "it is not here"
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
END
cat > "$scratch/bin/mam" << 'END'
#!/bin/sh
echo "$*" >> "$STAND_IN/calls"
case "$*" in
*--read*) printf 'corr_was\t0.97\n'; exit 0 ;;
*plot*) exit 0 ;;
esac
while [ $# -gt 0 ]; do
	[ "$1" = --csv ] && csv=$2
	shift
done
printf '# gpu: it\nmodel-get,rw,x,us,1\n' > "$csv"
echo "note: nothing much"
exit "${ENDS:-0}"
END
chmod +x "$scratch/bin/"*
run_script() # ARGUMENT...
{
	STAND_IN=$scratch PATH=$scratch/bin:$PATH BENCH_COMMIT=c sh "$script" "$@" > "$scratch/out" 2> "$scratch/err"
}
PEERS=rw run_script "$scratch/bin/mam" "$scratch/results"
same "gpu-model.sh: exit status" 0 $?
try "gpu-model.sh: results" grep -q '^model-get,rw,x,us,1$' "$scratch/results/model-h100.csv"
try "gpu-model.sh: the allocators" grep -q '^bench model --peers rw --verbose --seconds 1[0-9]* --csv ' "$scratch/calls"
try "gpu-model.sh: plots" grep -q "^bench plot -o $scratch/results $scratch/results/model-h100.csv" "$scratch/calls"
try "gpu-model.sh: the sanitizer" grep -q 'memcheck .* bench model --smoke --pages 6400 --peers rw,rw-bm,crw,corw,rw-malloc,queue -p' "$scratch/sanitized"
try "gpu-model.sh: keys" grep -q '^corr_was	0.97$' "$scratch/out"
ENDS=1 run_script "$scratch/bin/mam" "$scratch/results"
same "gpu-model.sh: a failure sets the status" 1 $?
run_script
same "gpu-model.sh: without arguments" 2 $?
run_script "$scratch/none" "$scratch/results"
same "gpu-model.sh: missing program" 2 $?
finish
