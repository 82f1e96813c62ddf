#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-host.sh - mam's host pools beside CUDA's own allocators, RMM's and PyTorch's, on a machine with a GPU.
#
#	usage: gpu-host.sh MAM FOLDER
#
# MAM is an installed or built `mam` command. Four parts:
#   1. PyTorch's allocator becomes a library that the bench can load, where python3 has torch and there is a C++
#      compiler; RMM's, where RMM_HOME names its installation (include/, lib64/); what is in PEERS is taken as it is;
#   2. mam bench host, all sources and peers that are here;
#   3. mam replay of TRACES with source vmm: on the GPU, and simulated, beside each other;
#   4. pictures of it: FOLDER/latency.svg, threads.svg, footprint.svg (mam bench plot);
#   5. a table: what was promised, what was measured, met or missed.
# Numbers go to FOLDER/host-<gpu>.csv, <gpu> being short: h100, a100, rtx4090.
#
# Environment: BUDGET (240: seconds for everything), QUICK=1 (what the table shows, in a minute), TRACES (files or
# folders; tests/data of the checkout), BENCH_COMMIT (where there is no .git), CXX (c++), RMM_HOME, PEERS (a folder with
# peer_rmm.so or peer_torch.so), BENCH_RMM and BENCH_TORCH (the same, file by file).
# Exit status: 0; 1 when a part failed; 2 for a wrong call; 77 without a GPU.
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
budget=${BUDGET:-240}
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

# ---- 1. peers that are C++ ----

cuda_include=${CUDA_HOME:-/usr/local/cuda}/include

build_torch()
{
	# Its place, without waking it: importing torch takes seconds.
	torch=$(python3 -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' \
		2>/dev/null)
	[ -n "$torch" ] || { echo "peer torch: python3 has no torch"; return; }
	if timeout 60 "$CXX" -std=c++20 -O2 -shared -fPIC -I"$torch/include" -I"$cuda_include" "$here/peer_torch.cc" \
		-o "$work/peer_torch.so" -L"$torch/lib" -lc10_cuda -lc10 -Wl,-rpath,"$torch/lib" >"$work/log" 2>&1; then
		BENCH_TORCH=$work/peer_torch.so
	else
		echo "peer torch: could not be built: $(grep -m 1 error "$work/log" | cut -c 1-200)"
	fi
}

build_rmm()
{
	[ -n "${RMM_HOME:-}" ] || { echo "peer rmm-pool: RMM_HOME names no RMM"; return; }
	if timeout 60 "$CXX" -std=c++20 -O2 -shared -fPIC -I"$RMM_HOME/include" -I"$RMM_HOME/include/rapids" \
		-I"$cuda_include" "$here/peer_rmm.cc" -o "$work/peer_rmm.so" -L"$RMM_HOME/lib64" -lrmm \
		-L"$cuda_include/../lib64" -lcudart_static -ldl -lrt -lpthread -Wl,-rpath,"$RMM_HOME/lib64" \
		>"$work/log" 2>&1; then
		BENCH_RMM=$work/peer_rmm.so
	else
		echo "peer rmm-pool: could not be built: $(grep -m 1 error "$work/log" | cut -c 1-200)"
	fi
}

for peer in rmm torch; do
	file=${PEERS:-/nowhere}/peer_$peer.so
	[ -e "$file" ] || continue
	file=$(cd "$PEERS" && pwd)/peer_$peer.so
	case $peer in
	rmm) BENCH_RMM=${BENCH_RMM:-$file} ;;
	torch) BENCH_TORCH=${BENCH_TORCH:-$file} ;;
	esac
done
[ -n "${BENCH_TORCH:-}" ] || build_torch
[ -n "${BENCH_RMM:-}" ] || build_rmm
[ -n "${BENCH_TORCH:-}" ] && export BENCH_TORCH
[ -n "${BENCH_RMM:-}" ] && export BENCH_RMM

# ---- 2. the bench ----

set --
keep=35 # seconds for what comes after
[ "$quick" = 1 ] && set -- --quick && keep=12
seconds=$(($(left) - keep))
[ "$seconds" -gt 5 ] || seconds=5
# It ends by itself, after what it has begun; a kill would lose all its numbers.
timeout -k 5 $((seconds + 120)) "$mam" bench host "$@" --seconds "$seconds" --csv "$work/host.csv" >"$log" 2>&1
status=$?
cat "$log"
[ "$status" -eq 0 ] || { failed=1; echo "gpu-host.sh: mam bench host ended with status $status" >&2; }
[ -s "$work/host.csv" ] || die 1 "mam bench host wrote no numbers; its words are in $log"

# ---- 3. replays ----

# One trace, once; its numbers as rows. The keys are those of mam-replay(1).
replay() # ALLOCATOR TRACE OPTION...
{
	replay_as=$1
	replay_trace=$2
	shift 2
	replay_name=$(basename "$replay_trace" .gz)
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
	  row("event_ns", value["ns_per_event"]) }' "$work/keys" >>"$work/host.csv"
}

# shellcheck disable=SC2086 # several, with blanks between
find $traces -name '*.trace.gz' 2>/dev/null | sort >"$work/traces"
while read -r trace; do
	[ "$(left)" -gt 5 ] || break
	replay mam-vmm "$trace" --source vmm
	replay mam-vmm-simulated "$trace" --source vmm --simulate
	replay mam-cudamalloc "$trace" --source cudamalloc
done <"$work/traces"
if ! { cp "$work/host.csv" "$csv.part" && mv "$csv.part" "$csv"; }; then
	die 2 "$csv cannot be written; choose another folder"
fi

# ---- 4. the pictures ----

set -- "$csv"
[ -e "$here/results/replay-traces.csv" ] && set -- "$here/results/replay-traces.csv" "$csv"
"$mam" bench plot -o "$folder" "$@" || failed=1

# ---- 5. the table ----

echo
awk -F, '
# A parameter with a comma stands in quotes, and comes apart here.
/^#/ { next }
{ peer = $2; metric = $(NF - 1); parameter = $3
  for (i = 4; i < NF - 1; i++) parameter = parameter "," $i
  gsub(/"/, "", parameter)
  key = $1 SUBSEP peer SUBSEP parameter SUBSEP metric
  value[key] = $NF
  if ($1 == "random" && metric == "op_ns" && $NF > worst[peer]) worst[peer] = $NF
  if ($1 == "replay" && metric == "physical_ratio") { traces[parameter] = 1 } }
function get(workload, peer, parameter, metric,  key) {
	key = workload SUBSEP peer SUBSEP parameter SUBSEP metric
	return key in value ? value[key] : "-" }
function line(what, target, bound, number, least, unit) {
	printf "%-58s %-14s %10s %-5s %s\n", what, target, number == "-" ? "-" : sprintf("%.4g", number),
		unit, number == "-" ? "not measured" : (least ? number >= bound : number <= bound) ? "met" : "MISSED" }
function seen(peer) { return peer in worst ? worst[peer] : "-" }
END { printf "%-58s %-14s %10s\n", "what", "target", "measured"
  n = split("mam-host-cache mam-cudamalloc-cache mam-vmm-cache", pools, " ")
  for (i = 1; i <= n; i++) { p = pools[i]
	line("pair of 256 B, " p, "<= 25 ns", 25, get("pair", p, "256B", "pair_ns"), 0, "ns")
	line("16 threads, own frees, " p, ">= 80 M/s", 80, get("threads", p, "16", "mops"), 1, "M/s")
	line("16 threads, foreign frees, " p, ">= 20 M/s", 20, get("foreign", p, "16", "mops"), 1, "M/s")
	line("random_allocations, worst point, " p, "<= 120 ns", 120, seen(p), 0, "ns") }
  line("training, an event, mam-host-cache", "<= 60 ns", 60,
	get("training", "mam-host-cache", "growing", "event_ns"), 0, "ns")
  line("training, reserved over live, mam-host-cache, chunk", "<= 1.01", 1.01,
	get("training", "mam-host-cache", "chunk", "reserved_ratio"), 0, "")
  line("training, physical over live, mam-vmm-cache", "<= 1.01", 1.01,
	get("training", "mam-vmm-cache", "growing", "physical_ratio"), 0, "")
  for (i = 2; i <= n; i++) { p = pools[i]
	line("free, kernel in flight, same stream, " p, "<= 100 ns", 100,
		get("stream", p, "same,4KiB", "free_ns"), 0, "ns")
	line("free, kernel in flight, leaves its stream, " p, "<= 400 ns", 400,
		get("stream", p, "other,4KiB", "free_ns"), 0, "ns")
	line("kept after all is freed and trimmed, " p, "<= 4 MiB", 4,
		(k = get("footprint", p, "trimmed", "kept_bytes")) == "-" ? k : k / 1048576, 0, "MiB") }
  for (t in traces) { real = get("replay", "mam-vmm", t, "physical_ratio")
	made = get("replay", "mam-vmm-simulated", t, "physical_ratio")
	line("replay " t ", physical over live", "<= 1.02", 1.02, real, 0, "")
	line("replay " t ", simulated over real", "within 1%", 0.01,
		real == "-" || made == "-" ? "-" : made > real ? made / real - 1 : real / made - 1, 0, "") }
}' "$csv"
echo
echo "status $failed after $(($(date +%s) - start)) s; numbers in $csv, all words in $log"
exit $failed
