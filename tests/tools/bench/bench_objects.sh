#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_objects.sh - `mam bench device` without a GPU: what it rejects and lists, what it computes
# and plots from stored results, and that with an idle device it continues after a kernel that
# hangs, a process that dies and a driver that hangs. Its kernels are tested on a simulated device,
# by test_bench_device_*.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

suite=device
. "$MAM_SRCDIR/tests/tools/bench/bench_suite.sh"

refused "extra argument" 2 "'now' is one word too many" now
refused "unknown allocator" 2 "no allocator 'rww'" --allocators mam,rww
refused "unknown workload" 2 "no workload 'w8'" --only w1,w8
refused "adapter does not exist" 2 "nowhere.fatbin" --adapter "$scratch/nowhere.fatbin"
refused "CSV file cannot be written" 2 "--csv" --csv "$scratch/no/where.csv"
refused "plot cannot be written" 2 "--plot" --plot "$scratch/no/where.svg"
refused "stored file does not exist" 2 "nowhere.csv" --read "$scratch/nowhere.csv"
help_has 'malloc and free in kernels' '--allocators LIST' 'gets no time there' 'bench device --quick'

# No driver; a driver that rejects kernels; a mam without kernels.
refused_without_driver
fake=$MAM_BUILDDIR/tests/fake/lib
if [ "$HAVE_BENCH_KERNELS" = yes ] && [ -e "$fake/libcuda.so.1" ]; then
	LD_LIBRARY_PATH=$fake${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$MAM" bench device >"$scratch/out" 2>"$scratch/err"
	same "driver rejects kernels: exit status" 77 $?
	try "driver rejects kernels: message" grep -q 'does not load the kernels' "$scratch/err"
else
	skip "driver rejects kernels" "there is no fake driver in this build"
fi

# The plan.
suite --list
same "the list: exit status" 0 $?
same "the list: allocators, those that may hang last" "mam rw crw corw rw-malloc bump bumpw cuda-malloc" \
	"$(listed allocator)"
same "the list: workloads" "w1 w2 w3 w4 w5 w6 w7 scale fragment registers start graph generate shapes reuse churn exchange small fail" \
	"$(listed workload)"
named_in_manual
for cell in "w1 16B 1M	quick" "w1 8192B 128K	quick" "w1 4096B 1K" "w2 4..8192B 1M	quick" "w2 4..8192B 16K" \
	"w3 64B 1M	quick" "w3 256B 1K" "w4 4B x10 1M	quick" "w5 256B 50% 4K" "w5 256B 1% 16K	quick" \
	"w6 1050B	quick" "w7 64B 32	quick" "scale 64B 1" "scale 64B 512K" \
	"shapes 64B 48x4	quick" "shapes 64B 33x3" "shapes 64B 8x8x4 in 16x16x16" \
	"reuse 25% full then 4096B	quick" "reuse 25% full then 8192B" "reuse 75% freed then 65536B	quick" \
	"reuse 75% by 256 then 4096B" "reuse 75% by 8K then 65536B	quick" "churn 16..4096B 50%	quick" \
	"churn 16..4096B 80%	quick" "exchange 16..512B 35%	quick" "exchange 16..512B 70%	quick" \
	"exchange 16..512B 90%	quick" "small 256B 32	quick" "small 256B 16K	quick" "small 4096B 4K" \
	"fail 16B 128K	quick" "fail 16..512B 128K	quick"; do
	try "the list: $cell" grep -qxF "cell	$cell" "$scratch/out"
done
same "the list: 2^0 to 2^20 threads" 21 "$(grep -c '^cell	scale' "$scratch/out")"

# Stored results: tables, targets and plots.
cat >"$scratch/stored.csv" <<'END'
# gpu: made up <1>
# driver: 1.2.3
# cpu: four cores
# date: 2026-02-03T04:05:06Z
device-launch,empty,1K,us,2.5
device-launch,empty,1M,us,6.25
device-w1,mam,16B 1M,wrong,0
device-w1,mam,16B 1M,none,0
device-w1,mam,16B 1M,us,40
device-w1,mam,16B 1M,mops,26000
device-w1,mam,16B 1M,free_mops,40000
device-w1,rw-malloc,16B 1M,mops,20000
device-w1,bump,16B 1M,mops,32500
device-w1,cuda-malloc,16B 1M,mops,4
device-w1,theirs,16B 1M,mops,13000
device-w1,theirs,16B 1M,none,0
device-w1,mam,64B 1M,mops,24000
device-w1,rw,64B 1M,mops,48000
device-w1,rw,64B 1M,none,3
device-w1,crw,64B 1M,wrong,2
device-w1,crw,64B 1M,mops,99000
device-w1,cuda-malloc,64B 1M,lost,1
device-w1,mam,256B 128K,mops,9500
device-w2,mam,4..8192B 1M,mops,7
device-w2,cuda-malloc,4..8192B 1M,mops,14
device-w4,mam,4B x10 1M,mops,61000
device-w5,mam,256B 10% 16K,us,10
device-w5,mam,256B 10% 16K,failed_percent,0
device-w5,mam,256B 10% 16K,none,0
device-w5,cuda-malloc,256B 10% 16K,us,40
device-w5,cuda-malloc,256B 10% 16K,none,0
device-w5,rw-malloc,256B 10% 16K,us,5
device-w6,mam,1050B,taken_ratio,0.89
device-w6,mam,1050B,none,70
device-w6,mam,16B,taken_ratio,0.97
device-w7,mam,64B 32,malloc_cycles,1001
device-registers,mam,call,registers,32
device-start,mam,64B 128K,first_us,50
device-start,mam,64B 128K,steady_us,20
device-scale,mam,64B 512K,mops,5000
device-shapes,mam,64B 256x1,mops,20000
device-shapes,bump,64B 256x1,mops,40000
device-shapes,mam,64B 48x4,mops,19000
device-shapes,rw,64B 48x4,wrong,82092
device-shapes,mam,64B 16x16 in 64x64,mops,18000
device-reuse,mam,75% freed then 4096B,free_ratio,0.25
device-reuse,mam,75% freed then 4096B,room_ratio,0.5
device-reuse,rw-malloc,75% freed then 4096B,free_ratio,0.125
device-reuse,mam,75% freed then 4096B,us,300
device-exchange,mam,16..512B 90%,mops,150
device-exchange,mam,16..512B 90%,max_us,4000
device-exchange,mam,16..512B 90%,none,17
device-exchange,cuda-malloc,16..512B 90%,mops,15
device-small,mam,256B 32,us,7
device-small,cuda-malloc,256B 32,us,14
device-fail,mam,16B 128K,us,600
device-fail,bump,16B 128K,us,6
device-churn,mam,16..4096B 50%,early_us,2000
device-churn,mam,16..4096B 50%,late_us,4000
device-churn,mam,16..4096B 50%,none,0
device-churn,cuda-malloc,16..4096B 50%,late_us,8000
END
suite --read "$scratch/stored.csv"
same "stored results: exit status" 0 $?
same "table header: other allocators come last" \
	"x any x pages x bump mam rw crw rw-malloc bump cuda-malloc theirs" \
	"$(awk '/^device-w1: malloc/ { getline; $1 = $1; print }' "$scratch/out")"
same "ratios come first: higher is better for rates" "2.00 1.30 0.80 26000 - - 20000 32500 4.00 13000" \
	"$(line 'device-w1: malloc' '16B 1M')"
same "partial, wrong or lost results are marked and never best" "- - - 24000 48000! wrong - - lost -" \
	"$(line 'device-w1: malloc' '64B 1M')"
same "the same for costs" "4.00 0.50 - 10.0 5.00 40.0" "$(line 'device-w5: malloc' '256B 10% 16K')"
same "a full heap must fail" "- - - 0.89" "$(line 'device-w6' '1050B')"
same "fewer served than another" "0.50 - - 7.00 14.0" "$(line 'device-w2: malloc' '4..8192B 1M')"
same "shapes" "- - - 19000 wrong -" "$(line 'device-shapes: malloc' '64B 48x4')"
same "share of free memory: more is better" "- 2.00 - 0.25 0.12" "$(line 'device-reuse: share of the free' '75% freed then 4096B')"
same "share of what fits" "- - - 0.50 -" "$(line 'device-reuse: share of those' '75% freed then 4096B')"
same "exchange: failed requests are marked" "- - - 150! 15.0" "$(line 'device-exchange: malloc' '16..512B 90%')"
same "exchange: failed requests are shown" "- - - 17.0 -" "$(line 'device-exchange: of all' '16..512B 90%')"
same "few threads" "2.00 - - 7.00 14.0" "$(line 'device-small: malloc' '256B 32')"
same "requests to a full heap" "- - 0.01 600 6.00" "$(line 'device-fail' '16B 128K')"
same "churn: late kernels" "2.00 - - 4000 8000" "$(line 'device-churn: the same' '16..4096B 50%')"
same "churn: no failed requests" "- - - 0.00 -" "$(line 'device-churn: of all' '16..4096B 50%')"
try "cost of a launch" grep -q 'takes 2\.50 us with 1K threads, 6\.25 us with 1M' "$scratch/out"
try "target met, with the best other" \
	grep -q '^malloc 16 B, 1M threads *26\.0 G/s *>= 25\.0 *met *13\.0 theirs$' "$scratch/out"
try "target missed" grep -q '^malloc 64 B, 1M threads *24\.0 G/s *>= 25\.0 *missed$' "$scratch/out"
try "cost target met" grep -q '^16K requests, 10% free *10\.0 us *<= 12\.0 *met *40\.0 cuda-malloc$' "$scratch/out"

sed -n '/^\.SH PLAIN OUTPUT/,/^\.SH ADAPTERS/s/\\f[IP]//gp
/^\.SH PLAIN OUTPUT/,/^\.SH ADAPTERS/p' "$manual" >"$scratch/keys"
suite --read "$scratch/stored.csv" -p
same "plain: value" 26 "$(key w1_malloc_16_1m_gps)"
same "plain: target" ">=25" "$(key w1_malloc_16_1m_gps.target)"
same "plain: met" yes "$(key w1_malloc_16_1m_gps.met)"
same "plain: best other" "13 theirs" "$(key w1_malloc_16_1m_gps.best)"
same "plain: not met" "40 no" "$(key w1_free_16_1m_gps) $(key w1_free_16_1m_gps.met)"
same "plain: a separate target for 128K threads" "9.5 >=9 yes" \
	"$(key w1_malloc_256_128k_gps) $(key w1_malloc_256_128k_gps.target) $(key w1_malloc_256_128k_gps.met)"
same "plain: mixed" "0.007 >=12 no" "$(key w2_1m_gps) $(key w2_1m_gps.target) $(key w2_1m_gps.met)"
same "plain: pairs" "61 >=60 yes" "$(key w4_4_gps) $(key w4_4_gps.target) $(key w4_4_gps.met)"
same "plain: nearly full" "10 <=12 yes 0 <=0 yes" "$(key w5_16k_10_us) $(key w5_16k_10_us.target) $(key w5_16k_10_us.met) $(
	key w5_16k_10_failed) $(key w5_16k_10_failed.target) $(key w5_16k_10_failed.met)"
same "plain: utilization" "89 >=90 no 97 >=96 yes" "$(key w6_1050_percent) $(key w6_1050_percent.target) $(
	key w6_1050_percent.met) $(key w6_16_percent) $(key w6_16_percent.target) $(key w6_16_percent.met)"
same "plain: cycles" "1001 <=1000 no" "$(key w7_malloc_cycles) $(key w7_malloc_cycles.target) $(key w7_malloc_cycles.met)"
same "plain: first kernel" "2.5 <=3 yes" "$(key first_over_steady) $(key first_over_steady.target) $(
	key first_over_steady.met)"
same "plain: registers" "32 <=32 yes" "$(key registers) $(key registers.target) $(key registers.met)"
same "plain: faults, and failures despite free memory" "0 yes 0 yes" \
	"$(key faults) $(key faults.met) $(key failed) $(key failed.met)"
for name in $(cut -f 1 "$scratch/out" | sed 's/\.[a-z]*$//' | sort -u | sed 's/_\(16\|64\|256\|1050\)_\(1m\|128k\|percent\)/_SIZE_\2/'); do
	try "the manual explains $name" grep -q "^\(.*, \)\{0,1\}$name\( \|,\|\$\)" "$scratch/keys"
done
same "plain: unknown values are omitted" "" "$(grep w3_ "$scratch/out")"
same "plain: targets met and missed" "10 5" "$(key targets_met) $(key targets_missed)"
for metric in wrong lost; do
	sed "s/mam,16B 1M,none,0/mam,16B 1M,$metric,9/" "$scratch/stored.csv" | grep -v 'mam,16B 1M,wrong,0' >"$scratch/faulty.csv"
	suite --read "$scratch/faulty.csv"
	same "mam's own $metric: exit status" 1 $?
	try "mam's own $metric: one message" grep -q "errors of mam's own malloc, or it lost the device" "$scratch/err"
done
suite --read "$scratch/faulty.csv" -p
same "mam's own faults are counted" "9 no" "$(key faults) $(key faults.met)"
sed 's/device-w1,mam,16B 1M,none,0/device-w1,mam,16B 1M,none,5/' "$scratch/stored.csv" >"$scratch/failed.csv"
suite --read "$scratch/failed.csv" -p
same "failed requests are counted" "5 no" "$(key failed) $(key failed.met)"

pictures_are "$scratch/stored.csv" "device-sizes.svg device-frees.svg device-threads.svg device-mixed.svg device-full.svg device-shapes.svg"
has device-sizes 'mam, 1M threads, 16: 26k'
has device-sizes 'mam, 128K threads, 256: 9.5k'
has device-frees 'mam, 1M threads, 16: 40k'
has device-threads 'mam, 512K: 5k'
has device-mixed 'CUDA malloc, malloc, 1M: 14'
has device-full 'RW_malloc, 16K threads, 10: 5'
has device-shapes 'mam, 48x4: 19k'
if can_plot; then
	suite --read "$scratch/stored.csv" --plot "$scratch/all.svg"
	same "a single plot: exit status" 0 $?
	try "a single plot: has the last title" grep -q 'by shape of the thread block' "$scratch/all.svg"
fi

# The whole command on an idle device.
if idle_driver; then
	idle --smoke --verbose --allocators rw,crw,bump,cuda-malloc
	same "idle: exit status" 0 $?
	same "idle: a time and its rate" "device-w1,rw,64B 1K,us,8 device-w1,rw,64B 1K,mops,128" \
		"$(grep '^device-w1,rw,64B 1K,\(us\|mops\)' "$scratch/idle.csv" | tr '\n' ' ' | sed 's/ $//')"
	try "idle: the GPU is named" grep -q '^# gpu: Idle 0$' "$scratch/idle.csv"
	same "idle: eight header lines before the rows" 8 "$(grep -c '^# [a-z]*: .' "$scratch/idle.csv")"
	same "idle: allocators alternate in each cell" "rw crw bump cuda-malloc rw crw bump cuda-malloc" \
		"$(sed -n 's/^[0-9.]* s: device-w1 \(16\|64\)B 1K //p' "$scratch/err" | tr '\n' ' ' | sed 's/ $//')"
	same "idle: bump allocators free nothing" 0 "$(rows '^device-w[123],bump,.*free')"
	same "idle: page allocators skip mixed sizes" 0 "$(rows '^device-w2,rw,')"
	for kernel in get give share fill check_mark check_write check_read check_span; do
		try "idle: $kernel is launched" grep -q "^$kernel " "$scratch/launched"
	done
	idle --smoke --allocators rw --only w3
	same "idle: 1K single lanes are 1K warps" "get 128 256" "$(grep '^get ' "$scratch/launched" | sort -u)"
	same "idle: --only" "" "$(grep '^device' "$scratch/idle.csv" | grep -v '^device-\(w3\|launch\),')"
	idle --smoke --allocators bump --only w4
	same "idle: churn is reduced" "churn 64 256" "$(grep '^churn ' "$scratch/launched" | sort -u)"
	idle --smoke --allocators rw,bump,cuda-malloc --only reuse,churn,exchange,small,fail
	same "idle: reused memory: exit status" 0 $?
	for kernel in exhaust missed swap exchange exchange_check exchange_fill exchange_write; do
		try "idle: $kernel is launched" grep -q "^$kernel " "$scratch/launched"
	done
	same "idle: kernels of churn and their times" \
		"device-churn,cuda-malloc,16..4096B 50%,late_us,8 device-churn,cuda-malloc,16..4096B 50%,early_us,8" \
		"$(grep '^device-churn.*_us' "$scratch/idle.csv" | tr '\n' ' ' | sed 's/ $//')"
	same "idle: the first kernel of churn fills the heap, 50 follow" 51 "$(grep -c '^swap ' "$scratch/launched")"
	same "idle: pairs of an exchange" "device-exchange,cuda-malloc,16..512B 35%,mops,65536" \
		"$(grep '^device-exchange.*mops' "$scratch/idle.csv")"
	same "idle: bump allocators reuse nothing" 3 "$(rows '^device-reuse,bump,25% full then .*B,free_ratio,0$')"
	same "idle: CUDA's heap is never full" 0 "$(rows '^device-\(reuse\|fail\),cuda-malloc')"
	TWICE=1 idle --smoke --allocators rw,crw --only w1
	same "overlap in another allocator: exit status is 0" 0 $?
	same "overlap: no time" "1 0" "$(rows '^device-w1,rw,16B 1K,wrong,1') $(rows '^device-w1,rw,16B 1K,us')"
	try "overlap: a note" grep -q '^note: device-w1 16B 1K: rw: objects overlap others: 1$' "$scratch/out"
	same "overlap: other allocators have times" 1 "$(rows '^device-w1,crw,16B 1K,us')"

	for kernel in exchange_check exchange_fill; do
		CORRUPT=$kernel idle --smoke --allocators cuda-malloc --only exchange
		same "error in $kernel: no time" "1 0" \
			"$(rows '^device-exchange,.*,wrong,1') $(rows '^device-exchange,.*,mops')"
		try "error in $kernel: a note" \
			grep -q '^note: .*: cuda-malloc: objects in slots were written by others: 1$' "$scratch/out"
	done
	CORRUPT=check_read idle --smoke --allocators cuda-malloc --only churn
	try "error in churn: a note" grep -q '^note: .*: cuda-malloc: objects changed after the check' "$scratch/out"
	HANG=share idle --smoke --allocators rw,bump --only w3,w5,w7
	same "kernel hangs: exit status" 0 $?
	same "kernel hangs: its cells are lost" 3 "$(rows '^device-w5,rw,.*,lost,1')"
	try "kernel hangs: it is named" grep -q '^note: .*: rw: share of rw has not ended after 1 second$' "$scratch/out"
	try "kernel hangs: three times at most" grep -q '^note: rw lost the device 3 times and was not asked again$' "$scratch/out"
	same "kernel hangs: earlier results are kept" 1 "$(rows '^device-w3,rw,64B 1K,us,8')"
	same "kernel hangs: its allocator is dropped" 0 "$(rows '^device-w7,rw')"
	same "kernel hangs: other allocators continue" 1 "$(rows '^device-w7,bump,64B 1,malloc_cycles')"
	HANG=exhaust idle --smoke --allocators rw,bump,cuda-malloc --only reuse,fail,churn
	same "a full heap hangs: its cells are lost" 4 "$(rows '^device-\(reuse,bump\|fail,rw\),.*,lost,1')"
	same "a full heap hangs: other allocators continue" 1 "$(rows '^device-churn,cuda-malloc,.*,late_us,8')"
	CRASH=share idle --smoke --allocators rw,bump --only w5
	try "process dies: a note" grep -q '^note: .*: rw: the process died of signal 9$' "$scratch/out"
	REFUSE=give idle --smoke --allocators rw,bump --only w2,w3
	try "launch fails: a note" grep -q '^note: .*: rw: kernel give of rw: the driver says error 719$' "$scratch/out"
	same "launch fails: other allocators continue" 2 "$(rows '^device-w3,bump,.*,us,')"
	STUCK=give idle --smoke --seconds 4 --allocators rw --only w3
	try "driver hangs: a note" grep -q '^note: .*: rw: the driver did not come back$' "$scratch/out"
	try "driver hangs: the time is up then" grep -q "^note: cells left out: the bench's time was up" "$scratch/out"
	STUCK=give LD_LIBRARY_PATH=$scratch timeout --preserve-status 2 "$MAM" bench device --smoke --only w3,w1 \
		--allocators bump,rw --csv "$scratch/idle.csv" >"$scratch/out" 2>"$scratch/err"
	same "bench terminated: exit status" 1 $?
	try "bench terminated: a note" grep -q '^note: cells left out: the bench was stopped by signal 15' \
		"$scratch/out"
	same "bench terminated: earlier results are kept" 1 "$(rows '^device-launch,empty,1K')"
	HANG=check_nothing idle --smoke --allocators bump --only w1
	same "device returns nothing: no cells" 0 "$(rows '^device-w')"
	try "device returns nothing: a note" \
		grep -q '^note: the device failed: check_nothing has not ended after 1 second$' "$scratch/out"
fi

# gpu-device.sh with stubs: a mam, and a GPU that is only a name.
script=$MAM_SRCDIR/tools/bench/gpu-device.sh
if [ ! -e "$script" ]; then
	skip "gpu-device.sh" "it is not here"
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
exit ${SANITIZER:-0}
END
cat >"$scratch/bin/mam" <<'END'
#!/bin/sh
echo "$*" >>"$STAND_IN/calls"
case "$*" in
*--read*) echo "faults	0"; exit 0 ;;
*plot*) exit 0 ;;
esac
while [ $# -gt 0 ]; do
	[ "$1" = --csv ] && csv=$2
	shift
done
echo "0.1 s: device-w1 x mam" >&2
echo "a word" >&2
echo "the tables"
printf 'device-w1,mam,x,us,1\n' >"$csv"
exit ${BENCH:-0}
END
chmod +x "$scratch/bin/"*
gpu_device() # VARIABLE...
{
	rm -f "$scratch/calls" "$scratch/sanitized"
	env "$@" STAND_IN="$scratch" PATH="$scratch/bin:$PATH" sh "$script" "$scratch/bin/mam" "$scratch/results" \
		>"$scratch/out" 2>"$scratch/err"
}
gpu_device BUDGET=200
same "gpu-device.sh: exit status" 0 $?
same "gpu-device.sh: a quarter of the time goes to the sanitizer" \
	"bench device --verbose --seconds 135 --csv $scratch/results/device-h100.csv" \
	"$(head -n 1 "$scratch/calls" | sed 's/ 13[45] / 135 /')"
same "gpu-device.sh: results" "device-w1,mam,x,us,1" "$(cat "$scratch/results/device-h100.csv")"
same "gpu-device.sh: plots" "bench plot -o $scratch/results $scratch/results/device-h100.csv" \
	"$(sed -n 2p "$scratch/calls")"
same "gpu-device.sh: both sanitizer tools run" "memcheck racecheck" \
	"$(sed 's/^--tool \([a-z]*\) .*/\1/' "$scratch/sanitized" | tr '\n' ' ' | sed 's/ $//')"
try "gpu-device.sh: tables" grep -q '^the tables$' "$scratch/out"
try "gpu-device.sh: keys" grep -q '^faults	0$' "$scratch/out"
try "gpu-device.sh: log of started cells" grep -q '^0.1 s: device-w1 x mam$' "$scratch/results/device-h100.begun"
gpu_device SANITIZER=9
same "gpu-device.sh: a sanitizer finding sets the status" 1 $?
gpu_device BENCH=1 SANITIZE=0
same "gpu-device.sh: a failed bench sets the status" 1 $?
try "gpu-device.sh: a failed bench, last message" grep -q 'ended with status 1: a word$' "$scratch/out"
same "gpu-device.sh: without a sanitizer" "" "$(cat "$scratch/sanitized" 2>/dev/null)"
gpu_device QUICK=1 ADAPTER=a.fatbin
try "gpu-device.sh: quick, with an adapter" grep -q '^bench device --adapter a.fatbin --quick ' "$scratch/calls"
gpu_device BUDGET=soon
same "gpu-device.sh: invalid number of seconds" 2 $?
sh "$script" >/dev/null 2>&1
same "gpu-device.sh: without arguments" 2 $?

finish
