#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_plugs.sh - tools/bench/gpu-plugs.sh from its call to its file, with stubs for the GPU and
# for Python: each result of a client becomes its row, missing parts are reported, README's examples
# are found, and the exit status reports failures. Also, tools/bench/frameworks/plug.py declares
# struct mam_stats like <mam/stats.h>.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

bench=$MAM_SRCDIR/tools/bench
mkdir -p "$scratch/bin" "$scratch/prefix/bin" "$scratch/prefix/lib" "$scratch/out"
printf '#!/bin/sh\n' > "$scratch/prefix/bin/mam"
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
-c*) ;;
*torch_plug.py*mempool*) echo "mempool yes" ;;
*torch_plug.py*) printf 'graph yes\nrecord_stream no: 3 sums, [1, 2, 3], are wrong\n'; exit 1 ;;
*example-torch.py) grep -q 'mam\.torch\.enable()' "$1" ;;
*example-cupy.py) grep -q 'mam\.cupy\.enable()' "$1" ;;
*example-numba.py) grep -q 'mam\.numba\.enable()' "$1" ;;
*torch_gnn.py*)
	echo "loss ${MAM_SOURCE:-plain}" | sed 's/vmm/plain/'
	printf 'ms_per_round 12.5\npeak_live_bytes 1000\npeak_reserved_bytes 1500\npeak_physical_bytes 1200\n' >&2
	;;
*torch_gpt2.py*) [ "$MAM_SOURCE" = vmm ] && echo "out of luck" >&2 && exit 3; echo "loss 1" ;;
*cupy_loop.py*) echo sum; echo "ms_per_round 1.5" >&2 ;;
esac
END
chmod +x "$scratch"/bin/* "$scratch/prefix/bin/mam"

script() # ENVIRONMENT... - writes $scratch/out/plugs-h100.csv
{
	rm -f "$scratch/out/plugs-h100.csv"
	env PATH="$scratch/bin:$PATH" PYTHON="$scratch/bin/python" NVCC="$scratch/bin/nvcc" BENCH_COMMIT=abc "$@" "$bench/gpu-plugs.sh" \
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
same "equal output, and peaks" ms_per_round,12.5,yes,1000,1500,1200,1.2000 "$(row torch-gnn,mam-vmm)"
same "different output" ms_per_round,12.5,no,1000,1500,1200,1.2000 "$(row torch-gnn,mam-cudamalloc)"
same "run fails" "ms_per_round,-,failed: status 3: out of luck ,-,-,-,-" "$(row torch-gpt2,mam-vmm)"
same "run without numbers" ms_per_round,-,yes,-,-,-,- "$(row torch-gpt2,mam-cudamalloc)"
same "check without a time" -,-,yes,-,-,-,- "$(row torch-plug-graph,mam-vmm)"
same "failed check" "-,-,no: 3 sums; [1; 2; 3]; are wrong,-,-,-,-" \
	"$(row torch-plug-record_stream,mam-cudamalloc)"
same "check of MemPool" -,-,yes,-,-,-,- "$(row torch-plug-mempool,mam-cudamalloc)"
same "example of PyTorch" -,-,yes,-,-,-,- "$(row readme-torch,mam-vmm)"
same "example of CuPy" -,-,yes,-,-,-,- "$(row readme-cupy,mam-cudamalloc)"
same "example of Numba" -,-,yes,-,-,-,- "$(row readme-numba,mam-vmm)"
same "library is missing" "-,-,skipped: python3 has no rmm,-,-,-,-" "$(row readme-rmm,-)"
same "program cannot be built" "-,-,failed: pinned_loop.cu could not be built: no compiler; here ,-,-,-,-" "$(row pinned,-)"

script CLIENTS='torch-gnn readme'
same "only some clients" "readme-cupy readme-numba readme-rmm readme-torch torch-gnn" \
	"$(sed '/^#/d; /^client,/d; s/,.*//' "$scratch/out/plugs-h100.csv" | LC_ALL=C sort -u | tr '\n' ' ' | sed 's/ $//')"
script CLIENTS='cupy readme'
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
