#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_kma.sh - `mam bench kma` without a GPU: what it rejects and lists, what it computes and
# plots from stored results, what it reads from a program that uses OpenCL, and what it runs on an
# idle device. Its kernels are tested on a simulated device, by test_bench_kma.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

suite=kma
. "$MAM_SRCDIR/tests/tools/bench/bench_suite.sh"

# None, unless a part below sets it.
BENCH_OPENCL=$scratch/none
export BENCH_OPENCL

refused "extra argument" 2 "'now' is one word too many; see mam bench kma --help" now
refused "unknown allocator" 2 "no allocator 'mam'; mam bench kma --list" --allocators kma,mam
refused "unknown workload" 2 "no workload 'w1'; mam bench kma --list" --only one,w1
refused "CSV file cannot be written" 2 "--csv" --csv "$scratch/no/where.csv"
refused "stored file does not exist" 2 "nowhere.csv" --read "$scratch/nowhere.csv"
help_has 'as its paper did' '--allocators LIST' '--platform NAME-PART' '--device NAME-PART' 'bench kma --quick' 'mam-bench-kma(1)'
refused_without_driver
refused "missing mam-bench-opencl" 77 "OpenCL was left out: this mam was built without it: there is no mam-bench-opencl" \
	--allocators kma-opencl
# Other suites do not use OpenCL.
device()
{
	"$MAM" bench device "$@" >"$scratch/out" 2>"$scratch/err"
}
refused_by device "option of another suite" 2 "platform" --platform x

# The plan.
suite --list
same "the list: exit status" 0 $?
same "the list: allocators, slow ones last" "kma mam_kmalloc poor kma-opencl poor-opencl cuda" "$(listed allocator)"
same "the list: workloads" "one many arraylist tree setup" "$(listed workload)"
named_in_manual
for cell in "one 10000	quick" "one 100000" "many none 4608	quick" "many high 4608	quick" "many low 1M" "arraylist malloc 4B 16K	quick" \
	"arraylist list 4B 16K	quick" "arraylist list 8B 384" "tree 64K 384	quick" "tree 64K 64K" "tree 16M 256K" "setup 512	quick" "setup 1M"; do
	try "the list: $cell" grep -qxF "cell	$cell" "$scratch/out"
done

# Stored results: tables, targets and plots.
cat >"$scratch/stored.csv" <<'END'
# gpu: made up <1>
# driver: 1.2.3; OpenCL: Some platform, Some device, 7
# cpu: four cores
# date: 2026-02-03T04:05:06Z
kma-one,kma,10000,ns,500
kma-one,kma,10000,wrong,0
kma-one,cuda,10000,ns,1500
kma-one,published,10000,ns,9800
kma-many,kma,none 4608,mpairs,400
kma-many,kma-opencl,none 4608,mpairs,6.5
kma-many,kma-opencl,high 4608,mpairs,4.5
kma-many,cuda,none 4608,mpairs,8
kma-many,cuda,none 4608,none,3
kma-many,cuda,high 384,lost,1
kma-arraylist,kma,malloc 4B 16K,us,120
kma-arraylist,kma,list 4B 16K,us,20
kma-tree,mam_kmalloc,64K 384,us,130
kma-tree,poor,64K 384,us,110
kma-setup,kma,512,make_us,70
kma-setup,kma,512,lone_us,700
kma-ratio,kma,one,times,3
kma-ratio,kma,many none,times,50
kma-ratio,kma,scale,times,20
kma-ratio,kma,arraylist,times,6
kma-ratio,mam_kmalloc,tree,times,1.18
kma-ratio,published,one,times,1.8
kma-device,kma-opencl,Some platform: Some device,processor,1
END
suite --read "$scratch/stored.csv"
same "stored results: exit status" 0 $?
try "OpenCL's device is in the first line" grep -q '^stored run on made up <1>, driver 1.2.3; OpenCL: Some platform, Some device, 7$' \
	"$scratch/out"
same "ratios come first, published values last" "kma-ratio kma-one" "$(sed -n 's/^\(kma-[a-z]*\): .*/\1/p' "$scratch/out" | head -n 2 | tr '\n' ' ' | sed 's/ $//')"
same "a row of ratios" "3.00 - 1.80" "$(line 'kma-ratio' 'one')"
same "a table row" "500 1500 9800" "$(line 'kma-one' '10000')"
same "partial results are marked" "400 6.50 8.00!" "$(line 'kma-many' 'none 4608')"
same "lost results are listed" "- - lost" "$(line 'kma-many' 'high 384')"
same "a heap used by one lane has its own table" "700" "$(line 'kma-setup: the same by one lane' '512')"
try "target met" grep -q "^KMA over CUDA's malloc, one lane *3\.00 times *>= 1\.80 *met *\$" "$scratch/out"
try "target missed" grep -q "^a list over malloc, 16K lanes *6\.00 times *>= 7\.00 *missed" "$scratch/out"
try "cost target" grep -q "^graph: mam_kmalloc's time over poor's *1\.18 times *<= 1\.30 *met" "$scratch/out"
try "best result of OpenCL on processors" grep -q "^pairs of OpenCL on processors *6\.50 M/s *>= 5\.00 *met" "$scratch/out"

suite --read "$scratch/stored.csv" -p
same "plain: met" "3 >=1.8 yes" "$(key one_times) $(key one_times.target) $(key one_times.met)"
same "plain: missed" "20 >=22.5 no" "$(key scale_times) $(key scale_times.target) $(key scale_times.met)"
same "plain: a cost" "1.18 <=1.3 yes" "$(key tree_ratio) $(key tree_ratio.target) $(key tree_ratio.met)"
same "plain: processors" "6.5 >=5 yes" "$(key processor_mpairs) $(key processor_mpairs.target) $(key processor_mpairs.met)"
same "plain: unmeasured values are omitted" "" "$(key many_low_times)"
same "plain: targets met and missed" "5 2" "$(key targets_met) $(key targets_missed)"
keys_in_manual
sed 's/,processor,1/,processor,0/' "$scratch/stored.csv" >"$scratch/gpu.csv"
suite --read "$scratch/gpu.csv" -p
same "plain: no processor target for a GPU" "" "$(key processor_mpairs)"
for metric in wrong lost; do
	sed "s/kma,10000,wrong,0/kma-opencl,10000,$metric,9/" "$scratch/stored.csv" >"$scratch/faulty.csv"
	suite --read "$scratch/faulty.csv"
	same "OpenCL's $metric: exit status" 1 $?
	suite --read "$scratch/faulty.csv" -p
	same "OpenCL's $metric: counted" "9 no" "$(key faults) $(key faults.met)"
done
sed "s/kma,10000,wrong,0/cuda,10000,wrong,9/" "$scratch/stored.csv" >"$scratch/faulty.csv"
suite --read "$scratch/faulty.csv"
same "a fault of CUDA's malloc: exit status" 0 $?

pictures_are "$scratch/stored.csv" "kma-one.svg kma-many.svg kma-arraylist.svg kma-tree.svg"
has kma-one 'KMA, 2014, 10k: 9.8k'
has kma-one 'CUDA malloc, 10k: 1.5k'
has kma-many 'KMA, OpenCL, 4 to 2048 B, 4.5K: 4.5'
has kma-arraylist 'KMA, list, 4 B, 16K: 20'
has kma-tree 'mam_kmalloc, 384: 130'

# The program that uses OpenCL, as mam sees it.
cat >"$scratch/opencl" <<'END'
#!/bin/sh
echo "$*" >"${0%/*}/arguments"
[ -z "$DIES" ] || kill -9 $$
[ -z "$NO_DEVICE" ] || { printf 'X\tno device of OpenCL has "x" in its name\n'; exit 77; }
printf 'D\tA platform\tA device\t1.0\t1\n'
printf 'R\tkma-one\tkma-opencl\t10000\tns\t250\n'
printf 'R\tkma-tree\tkma-opencl\t64K 384\tus\t30\nR\tkma-tree\tpoor-opencl\t64K 384\tus\t20\n'
printf 'N\tkma-many high 1M: kma-opencl: left out\n'
exit ${ENDS:-0}
END
chmod +x "$scratch/opencl"
BENCH_OPENCL=$scratch/opencl
suite --quick --allocators kma-opencl,poor-opencl --only one,tree --platform 'A p' --csv "$scratch/heard.csv"
same "OpenCL alone: exit status" 0 $?
same "OpenCL alone: its arguments" "--only one,tree --effort quick --seconds 25 --platform A p --device " "$(cat "$scratch/arguments")"
try "OpenCL alone: its device" grep -q '^# driver: none; OpenCL: A platform, A device, 1\.0$' "$scratch/heard.csv"
try "OpenCL alone: its device is a row" grep -qxF 'kma-device,kma-opencl,A platform: A device,processor,1' "$scratch/heard.csv"
try "OpenCL alone: its rows" grep -qxF 'kma-one,kma-opencl,10000,ns,250' "$scratch/heard.csv"
try "OpenCL alone: ratio to poor-opencl" grep -qxF 'kma-ratio,kma-opencl,tree,times,1.5' "$scratch/heard.csv"
try "OpenCL alone: its notes" grep -qxF 'note: kma-many high 1M: kma-opencl: left out' "$scratch/out"
same "OpenCL alone: eight header lines" 8 "$(grep -c '^#' "$scratch/heard.csv")"
ENDS=3 suite --quick --allocators kma-opencl
try "OpenCL: another exit status is reported" grep -qxF 'note: mam-bench-opencl ended with status 3' "$scratch/out"
NO_DEVICE=1 refused "OpenCL: no device" 77 'OpenCL was left out: no device of OpenCL has "x" in its name' --allocators kma-opencl
DIES=1 refused "OpenCL: dies" 77 'mam-bench-opencl died of signal 9' --allocators kma-opencl
suite --quick --allocators kma
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	rm "$scratch/arguments"
	suite --quick --allocators kma --only one
	try "OpenCL: not run unless requested" test ! -e "$scratch/arguments"
	suite --quick --only one
	same "OpenCL in place of CUDA: exit status" 0 $?
	try "OpenCL in place of CUDA: note" grep -q '^note: CUDA was left out: ' "$scratch/out"
fi

# The program itself, on any device.
BENCH_OPENCL=
export POCL_CACHE_DIR="$scratch"
if [ ! -x "$MAM_BUILDDIR/mam-bench-opencl" ]; then
	skip "mam-bench-opencl" "mam was built without OpenCL"
elif ! "$MAM_BUILDDIR/mam-bench-opencl" --only none >"$scratch/device" 2>"$scratch/err"; then
	skip "mam-bench-opencl" "$(cut -f 2 "$scratch/device")"
else
	same "the device comes first" D "$(head -n 1 "$scratch/device" | cut -f 1)"
	suite --smoke --seconds 600 --allocators kma-opencl,poor-opencl --csv "$scratch/opencl.csv"
	same "OpenCL's smoke: exit status" 0 $?
	for cell in "one,kma-opencl,10000,ns" "many,kma-opencl,high 4608,mpairs" "arraylist,kma-opencl,malloc 4B 384,us" \
		"tree,kma-opencl,64K 384,us" "tree,poor-opencl,64K 384,us" "setup,kma-opencl,512,make_us"; do
		try "OpenCL's smoke: $cell" grep -q "^kma-$cell," "$scratch/opencl.csv"
	done
	same "OpenCL's smoke: no errors" "" "$(grep -E ',(wrong|none|lost),[^0]' "$scratch/opencl.csv")"
	refused "unknown platform" 77 "none has 'nobody' in its name" --allocators kma-opencl --platform nobody
fi

# The whole command on an idle device: a heap of superblocks has none, and no graph is right.
BENCH_OPENCL=$scratch/opencl
if idle_driver; then
	idle --smoke --verbose
	for kernel in make learn pairs apart together stamped give_apart list clear deal compute build count prune; do
		try "idle: $kernel is launched" grep -q "^$kernel " "$scratch/launched"
	done
	same "idle: CUDA's time of a pair" "us,8 ns,80 mpairs,12.5 " \
		"$(sed -n 's/^kma-one,cuda,10000,\(\(us\|ns\|mpairs\),\)/\1/p' "$scratch/idle.csv" | tr '\n' ' ')"
	same "idle: lists without elements are wrong" 1 "$(rows '^kma-arraylist,cuda,list 4B 16K,wrong,3$')"
	same "idle: lists without elements have no time" 0 "$(rows '^kma-arraylist,cuda,list 4B 16K,us,')"
	same "idle: graphs without links are wrong" 1 "$(rows '^kma-tree,poor,64K 384,wrong,3$')"
	same "idle: OpenCL's results are included" 1 "$(rows '^kma-one,kma-opencl,10000,ns,250$')"
	same "idle: poor runs no pairs" 0 "$(rows '^kma-one,poor,')"
	try "idle: lists grow by blocks of 256" grep -q '^together [0-9]* 256$' "$scratch/launched"
	TOOK_MS=400 idle --only many --allocators cuda --seconds 20
	try "a cell that takes too long is skipped with a note" \
		grep -q '^note: kma-many none 4608: cuda: left out, since each run would take 8 s$' "$scratch/out"
	HANG=learn idle --smoke --allocators kma --only one
	same "kernel hangs: exit status, since it is mam's" 1 $?
	same "kernel hangs: three cells are lost" 3 "$(rows '^kma-one,kma,.*,lost,1')"
fi

# gpu-kma.sh with stubs: a mam, a GPU that is only a name, and an OpenCL driver without an entry.
script=$MAM_SRCDIR/tools/bench/gpu-kma.sh
if [ ! -e "$script" ]; then
	skip "gpu-kma.sh" "it is not here"
	finish
fi
mkdir "$scratch/bin"
cat > "$scratch/bin/nvidia-smi" << 'END'
#!/bin/sh
echo "NVIDIA H100 80GB HBM3"
END
cat > "$scratch/bin/ldconfig" << 'END'
#!/bin/sh
echo "	libnvidia-opencl.so.1 (libc6,x86-64) => /lib/libnvidia-opencl.so.1"
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
cat "$OCL_ICD_VENDORS"/* > "$STAND_IN/drivers" 2> /dev/null
while [ $# -gt 0 ]; do
	[ "$1" = --csv ] && csv=$2
	shift
done
echo "0.1 s: kma-one 10000 kma" >&2
echo "a word" >&2
echo "the tables"
printf '# driver: 1; OpenCL: NVIDIA CUDA, %s, 1\nkma-one,kma,10000,ns,1\n' "${CL_DEVICE:-NVIDIA H100 80GB HBM3}" > "$csv"
exit ${BENCH:-0}
END
chmod +x "$scratch/bin/"*
gpu_kma() # VARIABLE...
{
	rm -f "$scratch/calls" "$scratch/sanitized" "$scratch/drivers"
	env "$@" STAND_IN="$scratch" PATH="$scratch/bin:$PATH" sh "$script" "$scratch/bin/mam" "$scratch/results" \
		> "$scratch/out" 2> "$scratch/err"
}
gpu_kma BUDGET=200 OCL_ICD_VENDORS="$scratch/nothing"
same "gpu-kma.sh: exit status" 0 $?
same "gpu-kma.sh: half of the time is CUDA's, half OpenCL's, on NVIDIA's platform" \
	"bench kma --platform NVIDIA --verbose --seconds 65 --csv $scratch/results/kma-h100.csv" \
	"$(head -n 1 "$scratch/calls" | sed 's/ 64 / 65 /')"
same "gpu-kma.sh: an OpenCL driver without an entry gets one" libnvidia-opencl.so.1 "$(cat "$scratch/drivers")"
same "gpu-kma.sh: results" "kma-one,kma,10000,ns,1" "$(tail -n 1 "$scratch/results/kma-h100.csv")"
same "gpu-kma.sh: plots" "bench plot -o $scratch/results $scratch/results/kma-h100.csv" "$(sed -n 2p "$scratch/calls")"
same "gpu-kma.sh: memcheck runs" memcheck \
	"$(sed 's/^--tool \([a-z]*\) .*/\1/' "$scratch/sanitized" | tr '\n' ' ' | sed 's/ $//')"
try "gpu-kma.sh: tables" grep -q '^the tables$' "$scratch/out"
try "gpu-kma.sh: keys" grep -q '^faults	0$' "$scratch/out"
try "gpu-kma.sh: log of started cells" grep -q '^0.1 s: kma-one 10000 kma$' "$scratch/results/kma-h100.begun"
gpu_kma SANITIZER=9
same "gpu-kma.sh: a sanitizer finding sets the status" 1 $?
gpu_kma BENCH=1 SANITIZE=0
same "gpu-kma.sh: a failed bench sets the status" 1 $?
try "gpu-kma.sh: a failed bench, last message" grep -q 'ended with status 1: a word$' "$scratch/out"
same "gpu-kma.sh: without a sanitizer" "" "$(cat "$scratch/sanitized" 2> /dev/null)"
gpu_kma CL_DEVICE='a processor' SANITIZE=0
same "gpu-kma.sh: an OpenCL device other than the GPU fails" 1 $?
try "gpu-kma.sh: an OpenCL device other than the GPU is named" grep -q "OpenCL's device is not NVIDIA H100.*a processor" "$scratch/out"
gpu_kma PLATFORM= CL_DEVICE='a processor' SANITIZE=0
same "gpu-kma.sh: without OpenCL" "0 bench kma --allocators kma,mam_kmalloc,cuda,poor" \
	"$? $(head -n 1 "$scratch/calls" | sed 's/ --verbose.*//')"
gpu_kma QUICK=1 SANITIZE=0
try "gpu-kma.sh: quick" grep -q '^bench kma --platform NVIDIA --quick ' "$scratch/calls"
gpu_kma BUDGET=soon
same "gpu-kma.sh: invalid number of seconds" 2 $?
sh "$script" > /dev/null 2>&1
same "gpu-kma.sh: without arguments" 2 $?

finish
