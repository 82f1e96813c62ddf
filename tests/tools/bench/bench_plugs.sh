#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_plugs.sh - tools/bench/gpu-plugs.sh from its call to its files, with stubs for the GPU and
# for Python: each result of a client becomes its row, missing parts are reported, the documentation's
# examples are found, and the exit status reports failures. Also, tools/bench/frameworks/plug.py declares
# struct mam_stats like <mam/stats.h>.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

bench=$MAM_SRCDIR/tools/bench
mkdir -p "$scratch/bin" "$scratch/prefix/bin" "$scratch/prefix/lib" "$scratch/out"
cat > "$scratch/prefix/bin/mam" << 'END'
#!/bin/sh
# mam run --stats=FILE --free=POLICY --source=SOURCE -- COMMAND...: the peak in the statistics of the process that
# torch_modes.py reports, and the options.
file=$(echo "$2" | sed 's/^--stats=//; s/%p/7/')
printf 'name	x\npeak_live_bytes	1100\n' > "$file"
name=${2##*/}
echo "${name%.%p.stats} $3 $4" >> "$OPTIONS"
shift 5
"$@"
END
: > "$scratch/prefix/lib/libmam.so"
cat > "$scratch/bin/nvidia-smi" << 'END'
#!/bin/sh
case $* in *name*) echo "NVIDIA H100 80GB HBM3" ;; *compute_cap*) echo 9.0 ;; *) echo 1.2.3 ;; esac
END
cat > "$scratch/bin/nvcc" << 'END'
#!/bin/sh
[ "$1" = --version ] && echo "release 13.0," && exit 0
echo "no compiler, here" >&2
exit 1
END
cat > "$scratch/bin/python" << 'END'
#!/bin/sh
case $* in
-c*\'rmm\'*) exit 1 ;;
-c*extension=True*) echo 0.00 ;;
-c*) ;;
*torch_plug.py*--extension) echo "statistics yes"; echo "compiled skipped: without mam: no compiler" ;;
*torch_plug.py*mempool*) echo "mempool yes" ;;
*torch_plug.py*) printf 'graph yes\nrecord_stream no: 3 sums, [1, 2, 3], are wrong\n'; exit 1 ;;
*example-torch.py) grep -q 'mam\.torch\.enable()' "$1" ;;
*example-cupy.py) grep -q 'mam\.cupy\.enable()' "$1" ;;
*example-numba.py) grep -q 'mam\.numba\.enable()' "$1" ;;
*torch_modes.py*)
	folder=$2 mode=$3
	while [ "$1" != -- ]; do shift; done
	case $mode in run*) kind=run ;; *) kind=$mode ;; esac
	while [ $# -gt 1 ]; do
		until [ -e "$folder/$mode.$2.go" ]; do sleep 0.05; done
		[ "$mode.$2" = run-vmm-strict.pairs ] && echo "out of luck" && exit 1
		file=$folder/$mode.$2 extra=0
		echo "loss 1" > "$file.out"
		case $mode.$2 in extension.streams) extra=24 ;; plug.gnn) echo "loss 2" > "$file.out" ;; esac
		case $mode in own) time=10 peak=1900 ;; plug) time=12.5 peak=1600 ;; *) time=9 peak=1500 ;; esac
		{
			printf 'ms_per_round %s\nrequested_peak_bytes 1000\n' $time
			[ $mode = plug ] || printf 'requested_bytes %d\nreserved_bytes 1500\n' $((5000 + extra))
			printf 'device_peak_bytes %d\ndevice_end_bytes 1800\npid 7\n' $peak
			[ "$mode.$2" = expandable.pairs ] && echo "no memory, now" && echo "status 3" || echo "status 0"
		} > "$file.new"
		[ $kind = run ] && sed -i /requested/d "$file.new"
		mv "$file.new" "$file.err"
		shift 2
	done
	;;
*cupy_loop.py*)
	[ -z "$MAM_SOURCE" ] || echo more
	[ "$MAM_SOURCE" != vmm ] || { echo "out of luck" >&2; exit 3; }
	echo sum
	printf 'ms_per_round 1.5\npeak_live_bytes 1000\npeak_reserved_bytes 1500\npeak_physical_bytes 1200\n' >&2
	;;
esac
END
chmod +x "$scratch"/bin/* "$scratch/prefix/bin/mam"

script() # ENVIRONMENT... - writes $scratch/out/plugs-h100.csv and frameworks-h100.csv
{
	rm -f "$scratch"/out/*
	env PATH="$scratch/bin:$PATH" OPTIONS="$scratch/out/options" PYTHON="$scratch/bin/python" NVCC="$scratch/bin/nvcc" BENCH_COMMIT=abc "$@" "$bench/gpu-plugs.sh" \
		"$scratch/prefix/bin/mam" "$scratch/out" > "$scratch/said" 2> "$scratch/err"
}

row() # CLIENT,MODE - the rest of that row
{
	sed -n "s/^$1,//p" "$scratch/out/plugs-h100.csv"
}

script
same "a client fails: exit status" 1 $?
same "the file starts with eight header lines" 8 "$(grep -c '^# [a-z]*: ' "$scratch/out/plugs-h100.csv")"
same "the column names follow" \
	client,mode,unit,time,equal,peak_live_bytes,peak_reserved_bytes,peak_physical_bytes,physical_ratio \
	"$(sed -n 9p "$scratch/out/plugs-h100.csv")"
same "equal output, and peaks" ms_per_round,1.5,yes,1000,1500,1200,1.2000 "$(row cupy,plain)"
same "different output" ms_per_round,1.5,no,1000,1500,1200,1.2000 "$(row cupy,mam-cudamalloc)"
same "run fails" "ms_per_round,-,failed: status 3: out of luck ,-,-,-,-" "$(row cupy,mam-vmm)"
same "check without a time" -,-,yes,-,-,-,- "$(row torch-plug-graph,mam-vmm)"
same "failed check" "-,-,no: 3 sums; [1; 2; 3]; are wrong,-,-,-,-" \
	"$(row torch-plug-record_stream,mam-cudamalloc)"
same "check of the extension" -,-,yes,-,-,-,- "$(row torch-extension-statistics,mam-vmm)"
same "check that cannot be made" "-,-,skipped: without mam: no compiler,-,-,-,-" "$(row torch-extension-compiled,mam-vmm)"
same "check of MemPool" -,-,yes,-,-,-,- "$(row torch-plug-mempool,mam-cudamalloc)"
same "example of PyTorch" -,-,yes,-,-,-,- "$(row readme-torch,mam-vmm)"
same "example of CuPy" -,-,yes,-,-,-,- "$(row readme-cupy,mam-cudamalloc)"
same "example of Numba" -,-,yes,-,-,-,- "$(row readme-numba,mam-vmm)"
same "library is missing" "-,-,skipped: python3 has no rmm,-,-,-,-" "$(row readme-rmm,-)"
same "program cannot be built" "-,-,failed: pinned_loop.cu could not be built: no compiler; here ,-,-,-,-" "$(row pinned,-)"

program() # PROGRAM,MODE - the rest of that row
{
	sed -n "s/^$1,//p" "$scratch/out/frameworks-h100.csv"
}

same "programs: eight header lines" 8 "$(grep -c '^# [a-z]*: ' "$scratch/out/frameworks-h100.csv")"
same "programs: the column names" \
	program,mode,time_ratio,memory_ratio,statistics,equal,ms,device_peak_bytes,requested_peak_bytes,counted_peak_bytes \
	"$(sed -n 9p "$scratch/out/frameworks-h100.csv")"
same "programs: six of them, in nine modes" 54 "$(sed 1,9d "$scratch/out/frameworks-h100.csv" | grep -c .)"
same "PyTorch's own allocator" 1.000,1.600,yes,yes,10,1600,1000,1000 "$(program gpt2,own)"
same "extension" 0.900,1.200,yes,yes,9,1200,1000,1000 "$(program gpt2,extension)"
same "plug-in" 1.250,1.300,yes,yes,12.5,1300,1000,1000 "$(program gpt2,plug)"
same "mam run has its own statistics" "0.900,1.200,no: peak +100,yes,9,1200,1000,1100" "$(program gnn,run-vmm-deferred)"
same "mam run: sources and policies" "run-cudamalloc-deferred --free=deferred --source=cudamalloc
run-cudamalloc-strict --free=strict --source=cudamalloc
run-vmm-deferred --free=deferred --source=vmm
run-vmm-strict --free=strict --source=vmm" "$(LC_ALL=C sort "$scratch/out/options")"
same "statistics differ" "0.900,1.200,no: peak +0 requested_bytes 5024,yes,9,1200,1000,1000" "$(program streams,extension)"
same "output differs" 1.250,1.300,yes,no,12.5,1300,1000,1000 "$(program gnn,plug)"
same "program fails" "failed: status 3: no memory; now " "$(program pairs,expandable | cut -d , -f 4)"
same "process fails" "-,-,-,failed: no result: out of luck ,-,-,1000,-" "$(program pairs,run-vmm-strict)"
same "process failed before" "-,-,-,failed: no result: out of luck ,-,-,1000,-" "$(program loop,run-vmm-strict)"
same "extension: the time of its build" "first again" \
	"$(sed -n 's/^build-extension,\([a-z]*\),s,0.00,yes,-,-,-,-/\1/p' "$scratch/out/plugs-h100.csv" | tr '\n' ' ' | sed 's/ $//')"
same "table: ratios first" "gpt2 extension 0.900 1.200 yes yes 9 1200" \
	"$(grep '^gpt2 *extension' "$scratch/said" | tr -s ' ')"

table()
{
	awk -F, -f "$bench/frameworks.awk" "$scratch/out/frameworks-h100.csv"
}
same "README's table: names" "| a step's time, memory | GPT-2 | graph network | ResNet-50 | four streams |" "$(table | head -n 1)"
same "README's table: one allocator" "| expandable segments | 0.90, 1.200 | 0.90, 1.200 | 0.90, 1.200 | 0.90, 1.200 |" \
	"$(table | grep expandable)"
same "README's table: another output" "| \`mam.torch.enable()\` | 1.25, 1.300 | - | 1.25, 1.300 | 1.25, 1.300 |" \
	"$(table | grep 'enable()')"
same "README's table: an allocator is a line" 11 "$(table | wc -l | tr -d ' ')"

script CLIENTS='cupy readme'
same "only some clients" "cupy readme-cupy readme-numba readme-rmm readme-torch" \
	"$(sed '/^#/d; /^client,/d; s/,.*//' "$scratch/out/plugs-h100.csv" | LC_ALL=C sort -u | tr '\n' ' ' | sed 's/ $//')"
script CLIENTS=programs
same "programs: a failure fails the run" "1 54" "$? $(sed 1,9d "$scratch/out/frameworks-h100.csv" | grep -c .)"
try "programs: nothing else ran" test ! -e "$scratch/out/plugs-h100.csv"
script CLIENTS=programs PROGRAMS='gpt2 5 loop 1' MODES='own plug'
same "programs: only some, in some modes" "0 gpt2,own gpt2,plug loop,own loop,plug" \
	"$? $(sed 1,9d "$scratch/out/frameworks-h100.csv" | cut -d , -f 1,2 | tr '\n' ' ' | sed 's/ $//')"
script CLIENTS='torch-extension readme'
same "all equal: exit status" 0 $?
script BUDGET=0 CLIENTS=cupy
same "no time left" "-,-,skipped: no time was left of 0 s,-,-,-,-" "$(row cupy,-)"

rm "$scratch/prefix/lib/libmam.so"
script
same "no library: exit status" 2 $?
same "no library: one line" 1 "$(wc -l < "$scratch/err" | tr -d ' ')"

sed -n '/^struct mam_stats {/,/^};/p' "$MAM_SRCDIR/include/mam/stats.h" |
	sed -n 's/^	\(size_t\|uint64_t\) \([a-z_]*\);.*/\2/p' > "$scratch/wanted"
sed -n '/^FIELDS/,/split()/p' "$bench/frameworks/plug.py" | sed 's/^FIELDS = //; s/\.split()//' | tr -d '"' | tr -s ' ' '\n' |
	grep . > "$scratch/found"
try "plug.py declares the fields of struct mam_stats" diff "$scratch/wanted" "$scratch/found"
finish
