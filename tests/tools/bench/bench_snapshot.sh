#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# bench_snapshot.sh - tools/bench/gpu-snapshot.sh from its call to its file, with stubs for the GPU,
# for Python and for mam: each result becomes its row, and the exit status reports failures.

. "${MAM_SRCDIR:-.}/tests/lib.sh"

mkdir -p "$scratch/bin" "$scratch/out" "$scratch/traces" "$scratch/kept"
: > "$scratch/traces/small.trace.gz"
cat > "$scratch/bin/nvidia-smi" << 'END'
#!/bin/sh
case $* in *name*) echo "NVIDIA H100 80GB HBM3" ;; *compute_cap*) echo 9.0 ;; *) echo 1.2.3 ;; esac
END
cat > "$scratch/bin/nvcc" << 'END'
#!/bin/sh
echo "release 13.0,"
END
cat > "$scratch/bin/python" << 'END'
#!/bin/sh
case $* in
-c*) exit "${NO_TORCH:-0}" ;;
*_memory_viz*_plot*)
	case $BAD_VIEW$* in 1*segment_plot*) echo "too old, sorry" >&2; exit 1 ;; esac
	while [ "$1" != -o ]; do shift; done; echo page > "$2" ;;
*_memory_viz*) [ -s "$3" ] && echo table ;;
*torch_snapshot.py*)
	case $BAD_DUMP$* in 1*torch_gpt2.py*) echo "no memory" >&2; exit 1 ;; esac
	while [ "$1" != --dump ]; do shift; done
	echo snapshot > "$2"
	printf 'peak_requested_bytes 1000\npeak_allocated_bytes 1024\npeak_reserved_bytes 1500\n' >&2
	;;
esac
END
cat > "$scratch/bin/mam" << 'END'
#!/bin/sh
for file in "$@"; do :; done
[ -e "$file" ] || exit 2
case $* in *--export*) while [ "$1" != --export ]; do shift; done; echo again > "$2" ;; esac
printf 'events\t40\npeak_live_bytes\t%s\nhigh_water_ratio\t1.1\nphysical_peak_ratio\t1.01\n' "${LIVE:-1000}"
END
chmod +x "$scratch"/bin/*
file=$scratch/out/snapshot-h100.csv

script() # ENVIRONMENT... - its exit status; the file is $file
{
	rm -f "$file"
	env PATH="$scratch/bin:$PATH" PYTHON="$scratch/bin/python" NVCC="$scratch/bin/nvcc" BENCH_COMMIT=abc \
		TRACES="$scratch/traces" "$@" "$MAM_SRCDIR/tools/bench/gpu-snapshot.sh" "$scratch/bin/mam" \
		"$scratch/out" > "$scratch/said" 2> "$scratch/err"
}

row() # PROGRAM NUMBER - its value
{
	sed -n "s/^$1,$2,//p" "$file"
}

script KEEP="$scratch/kept"
same "success: exit status" 0 $?
same "eight lines, then the names of the columns" "8 program,number,value" \
	"$(grep -c '^# [a-z]*: ' "$file") $(sed -n 9p "$file")"
same "requested bytes" 1000 "$(row gnn torch_requested_bytes)"
same "same peak" yes "$(row late-oom same_peak)"
same "reserved by PyTorch" 1.5000 "$(row gnn torch_reserved_ratio)"
same "reserved by mam" "1.1 1.01" "$(row gpt2 mam_reserved_ratio) $(row gpt2 mam_vmm_physical_ratio)"
same "the viewer reads both exports" "yes yes" "$(row gnn-own viewer_trace) $(row gnn viewer_trace_plot)"
same "a trace is exported too" "40 yes" "$(row small events) $(row small viewer_stats)"
same "snapshots are kept" 4 "$(find "$scratch/kept" -name '*.pickle' | wc -l)"

script LIVE=999
same "different peak: exit status" 1 $?
same "different peak" "no: 999 and not 1000" "$(row gnn same_peak)"
script BAD_VIEW=1
same "viewer fails: exit status" 1 $?
same "viewer fails: its message, without commas" "failed: too old; sorry" "$(row gnn viewer_segment_plot)"
script BAD_DUMP=1
same "program fails" "failed: no memory" "$(row gpt2 dump)"
same "program fails: others continue" yes "$(row late-oom same_peak)"
script NO_TORCH=1
same "no PyTorch: exit status" 77 $?
finish
