#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-host.sh - mam's host pools compared with CUDA's own allocators, RMM's, PyTorch's, CuPy's and those of host
# memory, on a machine with a GPU.
#
#   usage: gpu-host.sh MAM FOLDER
#
# MAM is an installed or built `mam` command. Seven parts:
#   1. peers: PyTorch's allocator is built as a library that the bench can load, if python3 has torch and there is a C++
#      compiler; RMM's, if RMM_HOME names its installation (include/, lib64/); those in PEERS are used as they are. Each
#      is tried briefly in a process of its own: one that crashes it is left out;
#   2. mam bench host, with all sources and peers that are available;
#   3. the same for PyTorch's backend cudaMallocAsync alone, which a process can use only instead of PyTorch's own;
#   4. CuPy's pool, from Python (peer_cupy.py), and the cost of a block for a Python program (peer_api.py);
#   5. mam replay of TRACES with source vmm: on the GPU, and simulated, for comparison;
#   6. figures of it: FOLDER/*.svg (mam bench plot);
#   7. two tables: mam over the best of its peers, ratios first; and the promises, with the measurement, met or missed.
# All numbers go to FOLDER/host-<gpu>.csv, where <gpu> is short: h100, a100, rtx4090. A peer that fails is reported,
# and the rest continues.
#
# Environment: BUDGET (290: seconds for everything), QUICK=1 (the tables' cells, in a minute), TRACES (files or
# folders; tests/data of the checkout), BENCH_COMMIT (if there is no .git), CXX (c++), RMM_HOME, PEERS (a folder with
# any of peer_rmm.so, peer_torch.so, libjemalloc.so.2, libmimalloc.so.2), BENCH_RMM and BENCH_TORCH (the same, one
# file each).
# Exit status: 0; 1 if a part failed; 2 for invalid usage; 77 without a GPU.
set -u

die() # STATUS SENTENCE
{
	echo "gpu-host.sh: $2" >&2
	exit "$1"
}

here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 2 ] || die 2 "usage: gpu-host.sh MAM FOLDER"
mam=$1
folder=$2
[ -x "$mam" ] || die 2 "$mam is not a program; give the path of the mam command"
mkdir -p "$folder" || die 2 "$folder cannot be made; choose another folder"
budget=${BUDGET:-290}
quick=${QUICK:-0}
[ "$quick" = 1 ] && [ -z "${BUDGET:-}" ] && budget=58
case $budget in
'' | *[!0-9]*) die 2 "BUDGET is a number of seconds, not '$budget'" ;;
esac
CXX=${CXX:-c++}
traces=${TRACES:-$here/../../tests/data}

name=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
[ -n "$name" ] || die 77 "nvidia-smi finds no GPU; run this on a machine that has one"

# "NVIDIA H100 80GB HBM3" -> h100; "NVIDIA GeForce RTX 4090" -> rtx4090
gpu=$(printf '%s\n' "$name" | tr '[:upper:]' '[:lower:]' |
	sed -e 's/nvidia//g; s/geforce//; s/tesla//; s/quadro//; s/\(rtx\|gtx\) */\1/' -e 's/^ *//' \
	    -e 's/[ -].*//' -e 's/[^a-z0-9]//g')
[ -n "$gpu" ] || gpu=gpu
csv=$folder/host-$gpu.csv
log=$folder/host-$gpu.log
begun=$folder/host-$gpu.begun # a line for each run when it starts
: >"$begun"
work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-host.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
start=$(date +%s)
failed=0

left() # seconds of the budget
{
	left_now=$((budget - ($(date +%s) - start)))
	echo $((left_now > 1 ? left_now : 1))
}

# The runtime library, for cudaMalloc as programs call it; without it the driver's functions are timed.
find_cudart()
{
	for place in "${CUDA_HOME:-/usr/local/cuda}/lib64" /usr/local/cuda*/lib64 \
		/usr/local/cuda*/targets/*/lib \
		"$(python3 -c 'import nvidia, os; print(os.path.join(list(nvidia.__path__)[0], "cu13", "lib"))' \
			2>/dev/null)"; do
		ls "$place"/libcudart.so.1[23] >/dev/null 2>&1 && echo "$place" && return
	done
}
cudart=$(find_cudart)
[ -n "$cudart" ] && export LD_LIBRARY_PATH="$cudart${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
echo "GPU $name; libcudart in ${cudart:-no known place}"

# ---- 1. peers ----

cuda_include=${CUDA_HOME:-/usr/local/cuda}/include

without() # PEER WHY
{
	echo "peer $1: $2"
}

build_torch()
{
	# Find its folder without importing it: importing torch takes seconds.
	torch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' \
		2>/dev/null)
	[ -n "$torch" ] || { without torch "python3 has no torch"; return; }
	if timeout 60 "$CXX" -std=c++20 -O2 -shared -fPIC -I"$torch/include" -I"$cuda_include" "$here/host/peer_torch.cc" \
		-o "$work/peer_torch.so" -L"$torch/lib" -lc10_cuda -lc10 -Wl,-rpath,"$torch/lib" >"$work/log" 2>&1; then
		BENCH_TORCH=$work/peer_torch.so
	else
		without torch "could not be built: $(grep -m 1 error "$work/log" | cut -c 1-200)"
	fi
}

build_rmm()
{
	[ -n "${RMM_HOME:-}" ] || { without rmm "RMM_HOME names no RMM"; return; }
	if timeout 60 "$CXX" -std=c++20 -O2 -shared -fPIC -I"$RMM_HOME/include" -I"$RMM_HOME/include/rapids" \
		-I"$cuda_include" "$here/host/peer_rmm.cc" -o "$work/peer_rmm.so" -L"$RMM_HOME/lib64" -lrmm \
		-L"$cuda_include/../lib64" -lcudart_static -ldl -lrt -lpthread -Wl,-rpath,"$RMM_HOME/lib64" \
		>"$work/log" 2>&1; then
		BENCH_RMM=$work/peer_rmm.so
	else
		without rmm "could not be built: $(grep -m 1 error "$work/log" | cut -c 1-200)"
	fi
}

if [ -n "${PEERS:-}" ]; then
	peers=$(cd "$PEERS" && pwd) || die 2 "PEERS: there is no folder $PEERS"
	export LD_LIBRARY_PATH="$peers${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" # for jemalloc's and mimalloc's libraries
	if [ -e "$peers/peer_rmm.so" ]; then BENCH_RMM=${BENCH_RMM:-$peers/peer_rmm.so}; fi
	if [ -e "$peers/peer_torch.so" ]; then
		if ldd "$peers/peer_torch.so" 2>&1 | grep -q 'not found'; then
			echo "peer torch: $peers/peer_torch.so is for another PyTorch, and built anew"
		else
			BENCH_TORCH=${BENCH_TORCH:-$peers/peer_torch.so}
		fi
	fi
fi
[ -n "${BENCH_TORCH:-}" ] || build_torch
[ -n "${BENCH_RMM:-}" ] || build_rmm
export BENCH_RMM="${BENCH_RMM:-}" BENCH_TORCH="${BENCH_TORCH:-}"
# A jemalloc that is loaded late needs the C library's reserve of static TLS; RMM's messages would mix with ours.
GLIBC_TUNABLES=${GLIBC_TUNABLES:+$GLIBC_TUNABLES:}glibc.rtld.optional_static_tls=16384
export GLIBC_TUNABLES RMM_DEBUG_LOG_FILE=/dev/null

bench() # SECONDS CSV ARGUMENT... - its output goes to stdout
{
	bench_seconds=$1
	bench_csv=$2
	shift 2
	[ "$quick" = 1 ] && set -- --quick "$@"
	# It ends by itself, and prints its results even if an allocator does not return.
	timeout -k 5 $((bench_seconds + 60)) "$mam" bench host "$@" --verbose --seconds "$bench_seconds" \
		--csv "$bench_csv" 2>"$work/begun"
	bench_status=$?
	cat "$work/begun" >>"$begun"
	grep -v '^[0-9.]* s: ' "$work/begun"
	return $bench_status
}

# A library that crashes its process, or hangs, would lose all numbers.
works() # PEER PEERS
{
	timeout -k 2 20 "$mam" bench host --smoke --sources none --peers "$2" --only pair --seconds 5 >"$work/log" 2>&1
	works_status=$?
	[ $works_status -eq 0 ] && return
	without "$1" "ended a trial with status $works_status and is left out: $(tail -n 1 "$work/log" | cut -c 1-160)"
	return 1
}

if [ -n "$BENCH_RMM" ] && ! works rmm rmm-pool,rmm-arena,rmm-binning; then BENCH_RMM=; fi
if [ -n "$BENCH_TORCH" ] && ! works torch torch; then BENCH_TORCH=; fi

# ---- 2. the bench ----

# Adds the rows of FILE to the others; a number that exists in both is replaced.
merge() # FILE
{
	awk -F, '
	function key(  k) { k = $0; sub(/,[^,]*$/, "", k); return k }
	/^#/ { if (NR == FNR) head[++heads] = $0; next }
	NF < 5 { next }
	{ k = key(); if (!(k in row)) order[++rows] = k; row[k] = $0 }
	END { for (i = 1; i <= heads; i++) print head[i]
	  for (i = 1; i <= rows; i++) print row[order[i]] }' "$work/host.csv" "$1" >"$work/merged" &&
		mv "$work/merged" "$work/host.csv"
}

# several, separated by blanks
find $traces -name '*.trace.gz' 2>/dev/null | sort | head -n 16 >"$work/traces"
trace_list=$(grep -v , "$work/traces" | tr '\n' ',' | sed 's/,$//')

# Seconds for the later parts; for the second run, CuPy and Python's API.
after=95 async=18 cupy=35 api=14
[ "$quick" = 1 ] && after=24 async=4 cupy=6 api=0
seconds=$(($(left) - after))
[ "$seconds" -gt 5 ] || seconds=5
set --
[ -n "$trace_list" ] && set -- --trace "$trace_list"
bench "$seconds" "$work/host.csv" "$@" >"$log"
status=$?
if [ ! -s "$work/host.csv" ] && [ -n "$BENCH_RMM$BENCH_TORCH" ] && [ "$(left)" -gt $((after + 20)) ]; then
	echo "gpu-host.sh: mam bench host ended with status $status and no numbers; once more without RMM and PyTorch" |
		tee -a "$log" >&2
	tail -n 3 "$log"
	BENCH_RMM='' BENCH_TORCH='' bench $(($(left) - after)) "$work/host.csv" "$@" >>"$log"
	status=$?
	failed=1
fi
cat "$log"
[ "$status" -eq 0 ] || { failed=1; echo "gpu-host.sh: mam bench host ended with status $status" >&2; }
[ -s "$work/host.csv" ] || die 1 "mam bench host wrote no numbers; its words are in $log"

# ---- 3. PyTorch's other backend ----

# Adds the output of a later part: its notes, and how it ended.
join() # PEER STATUS CSV WORDS
{
	cat "$4" >>"$log"
	grep '^note: ' "$4" | cut -c 1-300
	[ -s "$3" ] && merge "$3"
	[ "$2" -eq 0 ] && return
	without "$1" "ended with status $2: $(grep -v '^note: ' "$4" | tail -n 1 | cut -c 1-200)"
}

if [ -n "$BENCH_TORCH" ] && [ "$(left)" -gt "$async" ]; then
	echo "with PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync:"
	PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync bench "$async" "$work/async.csv" --sources none \
		--peers torch-async "$@" >"$work/async.log"
	join torch-async $? "$work/async.csv" "$work/async.log"
fi

# ---- 4. peers in Python ----

python() # SECONDS FILE ARGUMENT... - a script of this folder
{
	python_seconds=$1
	python_script=$2
	shift 2
	timeout -k 2 $((python_seconds + 20)) python3 "$here/host/$python_script" --seconds "$python_seconds" "$@" \
		>"$work/python.csv" 2>"$work/python.log"
	python_status=$?
	python_name=${python_script#peer_}
	join "${python_name%.py}" $python_status "$work/python.csv" "$work/python.log"
}

if [ "$(left)" -gt "$cupy" ]; then
	set --
	"$mam" bench trace >"$work/training.trace" 2>/dev/null && set -- --training "$work/training.trace"
	while read -r trace; do
		set -- "$@" "$trace"
	done <"$work/traces"
	python "$cupy" peer_cupy.py "$@"
fi
if [ "$api" -gt 0 ] && [ "$(left)" -gt "$api" ]; then python "$api" peer_api.py; fi

# ---- 5. replays ----

# One trace, once; its numbers as rows. The keys are those of mam-replay(1).
replay() # ALLOCATOR TRACE OPTION...
{
	replay_as=$1
	replay_trace=$2
	shift 2
	replay_name=$(basename "$replay_trace" .gz | tr ' ",' ___)
	if ! timeout -k 5 "$(left)" "$mam" replay -p -r 3 "$@" "$replay_trace" >"$work/keys" 2>"$work/err"; then
		echo "replay $replay_as ${replay_name%.trace}: $(head -n 1 "$work/err")"
		return
	fi
	awk -F '\t' -v peer="$replay_as" -v trace="${replay_name%.trace}" '
	{ value[$1] = $2 }
	function row(metric, number) { printf "replay,%s,%s,%s,%.6g\n", peer, trace, metric, number }
	END { live = value["peak_live_bytes"]
	  if (live <= 0) exit
	  if ("physical_peak_bytes" in value) row("physical_ratio", value["physical_peak_bytes"] / live)
	  else row("reserved_ratio", value["peak_reserved_bytes"] / live)
	  if ("driver_ms" in value) row("driver_ms", value["driver_ms"])
	  if ("remaps" in value) row("remaps", value["remaps"])
	  row("event_ns", value["ns_per_event"]) }' "$work/keys" >>"$work/replays.csv"
}

: >"$work/replays.csv"
while read -r trace; do
	[ "$(left)" -gt 5 ] || break
	replay mam-vmm "$trace" --source vmm
	replay mam-vmm-simulated "$trace" --source vmm --simulate
	replay mam-cudamalloc "$trace" --source cudamalloc
done <"$work/traces"
merge "$work/replays.csv"
if ! { cp "$work/host.csv" "$csv.part" && mv "$csv.part" "$csv"; }; then
	die 2 "$csv cannot be written; choose another folder"
fi

# ---- 6. the figures ----

set -- "$csv"
traces_csv=$here/results/none/replay-traces.csv
[ -e "$traces_csv" ] && set -- "$traces_csv" "$csv"
"$mam" bench plot -o "$folder" "$@" || failed=1

# ---- 7. the tables ----

echo
awk -F, -f "$here/ratios.awk" "$csv"
echo
awk -F, -f "$here/targets.awk" "$csv"
echo
echo "status $failed after $(($(date +%s) - start)) s; numbers in $csv, all words in $log"
exit $failed
