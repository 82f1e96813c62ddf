#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-clients.sh [MAM [FOLDER]] - what programs gain and whether their results stay equal, on a real GPU.
#
#   MAM     the installed command to try; else $MAM, else the one on the path
#   FOLDER  where clients-<gpu>.csv goes; else $OUT, else this folder's results/
#
# It builds the clients of tests/clients with nvcc, with the static and with the shared runtime, and runs
# each plain and under `mam run` with each policy of --free, in turns, REPEATS (3) times. The same for
# Python programs, where their libraries are installed. A row that fails says so and the others go on; nothing runs longer than LIMIT (120) seconds.
#
# Environment: NVCC, PYTHON, ROUNDS (100), REPEATS, TORCH_REPEATS (1), LIMIT, CLIENTS (beginnings of
# names: only these), BENCH_COMMIT (where the tree has no .git).
# Exit status: 0, 1 when a row failed or a result differed, 2 for a wrong call, 77 without GPU or nvcc.

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
mam=${1:-${MAM:-$(command -v mam)}}
folder=${2:-${OUT:-$here/results}}
rounds=${ROUNDS:-100}
repeats=${REPEATS:-3}
torch_repeats=${TORCH_REPEATS:-1}
how=
limit=${LIMIT:-120}
modes='plain strict deferred stream'

stop() # STATUS SENTENCE
{
	echo "gpu-clients: $2" >&2
	exit "$1"
}

case $mam in
'') stop 2 'the mam command was not found: name it as the first argument' ;;
/*) ;;
*) mam=$(pwd)/$mam ;;
esac
[ -x "$mam" ] || stop 2 "$mam cannot be run: name the installed mam command as the first argument"
if [ ! -d "$folder" ] || [ ! -w "$folder" ]; then
	stop 2 "$folder is no folder that can be written to"
fi
nvcc=${NVCC:-$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc)}
[ -n "$nvcc" ] || stop 77 'nvcc was not found: set NVCC, or add it to PATH'
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null | head -n 1)
[ -n "$gpu" ] || stop 77 'nvidia-smi names no GPU'
python=${PYTHON:-$(command -v python3)}

work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-clients.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
rows=$work/rows
failures=0
: > "$rows"

# With CLIENTS only those whose names begin with one of its words.
wanted() # NAME
{
	[ -n "${CLIENTS:-}" ] || return 0
	for word in $CLIENTS; do
		case $1 in
		"$word"*) return 0 ;;
		esac
	done
	return 1
}

first_line() # COMMAND... - or "unknown"
{
	first=$("$@" 2> /dev/null | head -n 1)
	echo "${first:-unknown}"
}

# --- building -------------------------------------------------------------------------------------------

arch=$(first_line nvidia-smi --query-gpu=compute_cap --format=csv,noheader | tr -d .)
case $arch in
*[!0-9]*) arch=90 ;;
esac
cuda_home=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
clients=$top/tests/clients
common="$clients/workload.c $clients/check.c"

build() # NAME NVCC-ARGUMENTS...
{
	built=$work/$1
	shift
	if ! "$nvcc" -O2 -arch="sm_$arch" -Xcompiler -pthread -o "$built" "$@" > "$work/build" 2>&1; then
		echo "gpu-clients: $(basename "$built") could not be built: $(grep -m 1 error "$work/build")" >&2
		failures=$((failures + 1))
		return 1
	fi
}

# shellcheck disable=SC2086
for runtime in static shared; do
	build "demo-$runtime" -cudart "$runtime" "$clients/demo.cu"
	build "alloc_loop-$runtime" -cudart "$runtime" "$clients/alloc_loop.c"
	build "graph_loop-$runtime" -cudart "$runtime" "$clients/graph_loop.cu"
	build "pdl_loop-$runtime" -cudart "$runtime" "$clients/pdl_loop.cu"
	build "ipc_pair-$runtime" -cudart "$runtime" "$clients/ipc_pair.cu"
	build "plugin-$runtime.so" -cudart "$runtime" -shared -Xcompiler -fPIC "$clients/deepbind_plugin.cu"
	build "client-$runtime" -cudart "$runtime" "$clients/client_shared.c" $common
done
# shellcheck disable=SC2086
build client-driver "$clients/client_driver.c" $common -L"$cuda_home/lib64/stubs" -lcuda
# shellcheck disable=SC2086
build client-dlsym "$clients/client_dlsym.c" $common -ldl
build alloc_loop-driver -DALLOC_LOOP_DRIVER "$clients/alloc_loop.c" -L"$cuda_home/lib64/stubs" -lcuda
build two_contexts "$clients/two_contexts.c" -L"$cuda_home/lib64/stubs" -lcuda -ldl
build deepbind_host "$clients/deepbind_host.c" -ldl
build oob "$clients/oob.cu"
have_libraries=no
if ls "$cuda_home"/lib64/libcublas.so > /dev/null 2>&1 && ls "$cuda_home"/lib64/libcufft.so > /dev/null 2>&1; then
	build library_loop "$clients/library_loop.cu" -lcublas -lcufft && have_libraries=yes
fi
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$cuda_home/lib64
export LD_LIBRARY_PATH

# --- running --------------------------------------------------------------------------------------------

run_once() # MODE COMMAND... - leaves $work/$mode.out, .err, .stats; the command's status
{
	mode=$1
	shift
	case $mode in
	plain) set -- "$@" ;;
	*) set -- "$mam" run --stats="$work/$mode.stats" --free="$mode" ${how:+--route=$how} -- "$@" ;;
	esac
	timeout -k 5 "$limit" "$@" > "$work/$mode.out" 2> "$work/$mode.err"
}

caught() # MODE - calls that mam saw in the last run
{
	[ "$1" = plain ] && echo - && return
	awk '$1 == "calls_caught" { n = $2 } END { print n == "" ? 0 : n }' "$work/$1.stats" 2> /dev/null ||
		echo 0
}

median() # FILE
{
	sort -n "$1" 2> /dev/null | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "-" }'
}

route() # MODE - the road by which most calls of the last run came
{
	[ "$1" = plain ] && echo - && return
	awk '$1 == "calls_runtime" { n["symbol"] = $2 } $1 == "calls_driver" { n["driver"] = $2 }
		$1 == "calls_lookup" { n["lookup"] = $2 }
		END { best = "-"; for (r in n) if (n[r] > most) { most = n[r]; best = r } print best }' \
		"$work/$1.stats" 2> /dev/null || echo -
}

ratio() # MODE - peak reserved to peak live of the last run
{
	[ "$1" = plain ] && echo - && return
	awk '$1 == "reserved_ratio" { r = $2 } END { print r == "" ? "-" : r }' "$work/$1.stats" 2> /dev/null ||
		echo -
}

row() # CLIENT MODE UNIT TIME CAUGHT EQUAL
{
	echo "$1,$2,$3,$4,$5,$6,$(route "$2"),$(ratio "$2")" | tee -a "$rows"
	case $6 in
	yes | -) ;;
	*) failures=$((failures + 1)) ;;
	esac
}

# A client prints results on stdout, equal in every run, and "ms_per_round T" on stderr.
client() # NAME COMMAND...
{
	wanted "$1" || return
	client_name=$1
	shift
	rm -f "$work"/*.times "$work"/*.equal "$work"/*.stats "$work/wanted"
	for repeat in $(seq "$repeats"); do
		for mode in $modes; do
			run_once "$mode" "$@"
			client_status=$?
			[ -f "$work/wanted" ] || cp "$work/plain.out" "$work/wanted"
			if [ "$client_status" -ne 0 ]; then
				echo "failed: status $client_status" > "$work/$mode.equal"
				echo "gpu-clients: $client_name, $mode, run $repeat: status $client_status:" \
					"$(tail -n 2 "$work/$mode.err" | tr '\n' ' ')" >&2
			elif ! cmp -s "$work/wanted" "$work/$mode.out"; then
				echo no > "$work/$mode.equal"
				diff "$work/wanted" "$work/$mode.out" | head -n 6 >&2
			fi
			awk '$1 == "ms_per_round" { print $2 }' "$work/$mode.err" >> "$work/$mode.times"
		done
	done
	for mode in $modes; do
		equal=yes
		[ -f "$work/$mode.equal" ] && equal=$(cat "$work/$mode.equal")
		row "$client_name" "$mode" ms_per_round "$(median "$work/$mode.times")" "$(caught "$mode")" "$equal"
	done
}

# alloc_loop prints "BYTES NANOSECONDS", one line a size; the time is the result. The run that is timed
# counts nothing: that would be part of so short a time.
pairs() # NAME COMMAND...
{
	wanted "$1" || return
	pairs_name=$1
	shift
	for mode in $modes; do
		rm -f "$work/$mode.stats"
		case $mode in
		plain) timeout -k 5 "$limit" "$@" > "$work/$mode.out" 2> "$work/$mode.err" ;;
		*)
			run_once "$mode" "$@" --pairs 200
			timeout -k 5 "$limit" "$mam" run --free="$mode" -- "$@" > "$work/$mode.out" 2> "$work/$mode.err"
			;;
		esac
		if [ ! -s "$work/$mode.out" ] || grep -q refused "$work/$mode.out"; then
			row "$pairs_name" "$mode" ns_per_pair - "$(caught "$mode")" failed
			continue
		fi
		while read -r bytes nanoseconds; do
			row "$pairs_name-$bytes" "$mode" ns_per_pair "$nanoseconds" "$(caught "$mode")" -
		done < "$work/$mode.out"
	done
}

# A program with an error that compute-sanitizer should find, plain and under mam.
sanitizer() # NAME COMMAND...
{
	wanted "$1" || return
	sanitizer_name=$1
	shift
	for mode in $modes; do
		case $mode in
		plain) compute-sanitizer "$@" > "$work/$mode.out" 2> "$work/$mode.err" ;;
		*)
			timeout -k 5 "$limit" compute-sanitizer --target-processes all "$mam" run \
				--stats="$work/$mode.stats" --free="$mode" -- "$@" > "$work/$mode.out" \
				2> "$work/$mode.err"
			;;
		esac
		if grep -q 'Invalid __global__ write' "$work/$mode.out"; then found=yes; else found='not found'; fi
		row "$sanitizer_name" "$mode" - - "$(caught "$mode")" "$found"
	done
}

missing() # NAME WHY
{
	echo "$1: skipped, $2"
}

for runtime in static shared; do
	pairs "alloc_loop-$runtime" "$work/alloc_loop-$runtime"
	pairs "alloc_loop-$runtime" "$work/alloc_loop-$runtime" --in-flight
	client "demo-$runtime" "$work/demo-$runtime"
	client "client-$runtime" "$work/client-$runtime" --rounds "$rounds" --bytes 65536
	client "client-$runtime-check" "$work/client-$runtime" --rounds 5 --check
	client "client-$runtime-threads" "$work/client-$runtime" --rounds "$rounds" --bytes 65536 --threads 4
	client "graph-$runtime" "$work/graph_loop-$runtime"
	# Kernels of one stream overlap here, so what --free=stream asks of a program is not kept.
	modes='plain strict deferred'
	client "pdl-$runtime" "$work/pdl_loop-$runtime"
	modes='plain strict deferred stream'
	client "ipc-$runtime" "$work/ipc_pair-$runtime"
	how=audit
	client "deepbind-$runtime" "$work/deepbind_host" "$work/plugin-$runtime.so"
	how=
done
pairs alloc_loop-driver "$work/alloc_loop-driver"
pairs alloc_loop-driver "$work/alloc_loop-driver" --in-flight
client client-driver "$work/client-driver" --rounds "$rounds" --bytes 65536
client client-driver-check "$work/client-driver" --rounds 5 --check
client client-driver-own-context "$work/client-driver" --rounds "$rounds" --bytes 65536 --own-context
client client-dlsym "$work/client-dlsym" --rounds "$rounds" --bytes 65536
client client-dlsym-check "$work/client-dlsym" --rounds 5 --check
client two-contexts "$work/two_contexts"
if [ "$have_libraries" = yes ]; then
	client cublas "$work/library_loop" cublas
	client cufft "$work/library_loop" cufft
else
	missing 'cublas and cufft' "they are not in $cuda_home/lib64"
fi
if command -v compute-sanitizer > /dev/null; then
	sanitizer sanitizer-oob "$work/oob"
else
	missing sanitizer-oob 'there is no compute-sanitizer'
fi
if [ -n "$python" ]; then
	client client-python "$python" "$clients/client_python.py" --rounds 10 --bytes 65536
else
	missing client-python 'there is no python3'
fi

has() # TEST-IN-PYTHON
{
	[ -n "$python" ] && "$python" -c "$1" > /dev/null 2>&1
}

if has 'import cupy; cupy.cuda.Device(0).compute_capability'; then
	client cupy-pool-off "$python" "$here/cupy_loop.py"
else
	missing cupy 'python3 has no cupy that sees the GPU'
fi
if [ -n "$python" ] && timeout -k 5 "$limit" "$python" "$here/numba_loop.py" > /dev/null 2>&1; then
	client numba "$python" "$here/numba_loop.py"
else
	missing numba 'it does not run here, without mam either'
fi
if has 'import jax; assert jax.devices()[0].platform == "gpu"'; then
	client jax "$python" "$here/jax_loop.py"
else
	missing jax 'python3 has no jax that sees the GPU'
fi
if has 'import torch; assert torch.cuda.is_available()'; then
	repeats=$torch_repeats
	client torch-ipc "$python" "$here/torch_ipc.py"
	client torch-gpt2-cache "$python" "$here/torch_gpt2.py" --steps 12
	client torch-gnn-cache "$python" "$here/torch_gnn.py" --steps 40
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
	export PYTORCH_CUDA_ALLOC_CONF
	client torch-gpt2-expandable "$python" "$here/torch_gpt2.py" --steps 12
	unset PYTORCH_CUDA_ALLOC_CONF
	PYTORCH_NO_CUDA_MEMORY_CACHING=1
	export PYTORCH_NO_CUDA_MEMORY_CACHING
	client torch-small-no-cache "$python" "$here/torch_loop.py"
	client torch-gpt2-no-cache "$python" "$here/torch_gpt2.py" --steps 12
	client torch-gnn-no-cache "$python" "$here/torch_gnn.py" --steps 40
	unset PYTORCH_NO_CUDA_MEMORY_CACHING
else
	missing pytorch 'python3 has no torch that sees the GPU'
fi

# --- writing --------------------------------------------------------------------------------------------

name=$(echo "$gpu" | tr '[:upper:] ' '[:lower:]-' | sed 's/^nvidia-//; s/-[0-9]*gb.*//; s/[^a-z0-9-]//g')
file=$folder/clients-$name.csv
commit=${BENCH_COMMIT:-$(first_line git -C "$top" rev-parse --short HEAD)}
{
	echo "# gpu: $gpu"
	echo "# driver: $(first_line nvidia-smi --query-gpu=driver_version --format=csv,noheader)"
	echo "# cuda: $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
	echo "# cpu: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
	echo "# date: $(date -u +%Y-%m-%d)"
	echo "# commit: $commit"
	echo "# command: ROUNDS=$rounds REPEATS=$repeats tools/bench/gpu-clients.sh"
	echo "# columns: client; mode (plain, or the policy of mam run --free); unit of time;" \
		"time (median of the repeats); calls_caught by mam in one run; equal (output to that of plain);" \
		"route (most calls came by); reserved_ratio (peak reserved to peak live)"
	echo client,mode,unit,time,calls_caught,equal,route,reserved_ratio
	cat "$rows"
} > "$file.tmp"
mv "$file.tmp" "$file" || stop 2 "$file could not be written"

echo
awk -F, '
	function show(n, m) { return (n, m) in value ? value[n, m] : "-" }
	{ if (!($1 in seen)) { seen[$1] = 1; names[++count] = $1; unit[$1] = $3 }
	  value[$1, $2] = $4; calls[$1, $2] = $5
	  if ($7 != "-") route[$1] = $7
	  if ($6 != "yes" && $6 != "-") verdict[$1] = verdict[$1] " " $2 ":" $6 }
	END { printf "%-28s %-12s %11s %11s %11s %11s %9s %6s  %s\n", "client", "unit", "plain", "strict",
		"deferred", "stream", "caught", "route", "results"
	  for (i = 1; i <= count; i++) { n = names[i]
		printf "%-28s %-12s %11s %11s %11s %11s %9s %6s  %s\n", n, unit[n], show(n, "plain"),
			show(n, "strict"), show(n, "deferred"), show(n, "stream"), calls[n, "strict"],
			route[n], n in verdict ? verdict[n] : "equal" } }
' "$rows"
echo "written to $file"
[ "$failures" -eq 0 ]
