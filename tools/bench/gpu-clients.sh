#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-clients.sh [MAM [FOLDER]] - what programs gain and whether their results stay equal, on a real GPU.
#
#   MAM     the installed command to test; default: $MAM, or the one on the path
#   FOLDER  for clients-<gpu>.csv; default: $OUT, or results/<gpu> of this folder
#
# It builds the programs of tests/clients with nvcc, all at once, with the static and with the shared runtime, and
# runs each one without mam and under `mam run` with each policy of --free, in turn; then the programs in Python, if
# their libraries are installed. Fast ones come first. A client that fails does not stop the others; one that cannot
# be built or is missing has a row with the reason. The file is rewritten after each client, so that earlier
# measurements are kept if the machine is lost.
#
# Environment:
#   CLIENTS        prefixes of names: only these
#   QUICK=1        each once, with less work
#   BUDGET (540)   seconds; clients without time left have a row with the reason
#   LIMIT (90)     seconds per run
#   REPEATS (2)    of programs whose time matters; the median counts. TORCH_REPEATS (1)
#   KEEP           the file of an earlier run of the same commit and GPU: its rows of other clients are kept
#   ROUNDS (100), NVCC, PYTHON, BENCH_COMMIT (if the tree has no .git)
# Exit status: 0, 1 if a row failed or a result differed, 2 for invalid usage, 77 without GPU or nvcc.

started=$(date +%s)
here=$(cd "$(dirname "$0")" && pwd)
script='gpu-clients' # for the messages of gpu-lib.sh
top=$(cd "$here/../.." && pwd)
quick=${QUICK:-0}
budget=${BUDGET:-540}
limit=${LIMIT:-90}
rounds=${ROUNDS:-100}
many=${REPEATS:-2}
torch_repeats=${TORCH_REPEATS:-1}
pair_count=2000
torch_steps=12
gnn_steps=40
if [ "$quick" = 1 ]; then
	rounds=20 many=1 torch_repeats=1 pair_count=200 torch_steps=6 gnn_steps=15
fi
every='plain strict deferred stream'
modes=$every
repeats=1
how=

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
python=${PYTHON:-$(command -v python3)}
file=$folder/clients-$gpu_name.csv

# Rows of another commit or GPU are not comparable.
if [ -n "${KEEP:-}" ]; then
	kept=$(sed -n 's/^# gpu: //p; s/^# commit: //p' "$KEEP" 2> /dev/null | tr '\n' '|')
	[ "$kept" = "$gpu|$commit|" ] || stop 2 "$KEEP has no rows of $gpu and commit $commit to keep"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-clients.XXXXXX") || exit 2
rows=$work/rows
failures=0
: > "$rows"
[ -z "${KEEP:-}" ] || grep -v '^#\|^client,' "$KEEP" > "$work/kept"

elapsed()
{
	echo $(($(date +%s) - started))
}

# --- rows, and their computation ------------------------------------------------------------------------------------

write_rows()
{
	{
		print_head "ROUNDS=$rounds REPEATS=$many QUICK=$quick tools/bench/gpu-clients.sh" "client; mode (plain,\
 or the policy of mam run --free); unit of time; time (median of the repeats); calls_caught by mam in one run;\
 equal (output to that of plain, or what came of it); route (most calls came by); reserved_ratio (peak reserved\
 to peak live; plain: as PyTorch's own cache says)"
		echo client,mode,unit,time,calls_caught,equal,route,reserved_ratio
		# New rows replace the kept ones.
		if [ -f "$work/kept" ]; then
			awk -F, 'NR == FNR { now[$1] = 1; next } !($1 in now)' "$rows" "$work/kept"
		fi
		cat "$rows"
	} > "$work/csv"
	cp "$work/csv" "$file.tmp" && mv "$file.tmp" "$file" && return
	rm -f "$file.tmp"
	echo "gpu-clients: $file could not be written" >&2
	failures=$((failures + 1))
}

end()
{
	end_status=$?
	trap - EXIT
	if [ -s "$rows" ]; then
		write_rows
		echo
		print_clients "$work/csv"
		echo "written to $file after $(elapsed) s"
	fi
	rm -rf "$work"
	[ "$end_status" -eq 0 ] && [ "$failures" -gt 0 ] && end_status=1
	exit "$end_status"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

stat_of() # MODE KEY - of the last run, or nothing
{
	[ -f "$work/$1.stats" ] && sed -n "s/^$2	//p" "$work/$1.stats"
}

caught() # MODE - calls that mam saw in the last run
{
	caught_calls=$(stat_of "$1" calls_caught)
	case $1 in
	plain | -) echo - ;;
	*) echo "${caught_calls:-0}" ;;
	esac
}

route() # MODE - the interface by which most calls of the last run were intercepted
{
	{
		echo "runtime $(stat_of "$1" calls_runtime)"
		echo "driver $(stat_of "$1" calls_driver)"
		echo "lookup $(stat_of "$1" calls_lookup)"
	} | awk '$2 > most { most = $2; best = $1 } END { print best == "" ? "-" : best }'
}

ratio() # MODE - peak reserved to peak live of the last run
{
	ratio_found=$(stat_of "$1" reserved_ratio)
	[ "$1" = plain ] && [ -f "$work/plain.err" ] &&
		ratio_found=$(sed -n 's/^torch_reserved_ratio //p' "$work/plain.err")
	echo "${ratio_found:--}"
}

row() # CLIENT MODE UNIT TIME EQUAL
{
	row_equal=$(printf '%s' "$5" | tr ',\n' '; ')
	echo "$1,$2,$3,$4,$(caught "$2"),$row_equal,$(route "$2"),$(ratio "$2")" | tee -a "$rows"
	case $5 in
	yes | - | found | documented | skipped*) ;;
	*) failures=$((failures + 1)) ;;
	esac
}

skip() # CLIENT WHY
{
	rm -f "$work"/*.stats "$work"/*.err
	row "$1" - - - "skipped: $2"
	write_rows
}

# --- building -------------------------------------------------------------------------------------------------------

clients=$top/tests/clients
driver="-L$cuda_home/lib64/stubs -lcuda"
cores=$(nproc)
building=0

build() # NAME NVCC-ARGUMENTS...
{
	built=$1
	shift
	timeout -k 5 "$limit" "$nvcc" -O2 -arch="sm_$arch" -Xcompiler -pthread -o "$work/$built" "$@" \
		> "$work/$built.build" 2>&1 || rm -f "$work/$built" &
	building=$((building + 1))
	[ $((building % cores)) -eq 0 ] && wait
}

# shellcheck disable=SC2086 # arguments are words
build_all()
{
	common="$clients/workload.c $clients/check.c"
	for runtime in static shared; do
		build "demo-$runtime" -cudart "$runtime" "$clients/kernels/demo.cu"
		build "alloc_loop-$runtime" -cudart "$runtime" "$clients/alloc_loop.c"
		build "graph_loop-$runtime" -cudart "$runtime" "$clients/kernels/graph_loop.cu"
		build "pdl_loop-$runtime" -cudart "$runtime" "$clients/kernels/pdl_loop.cu"
		build "ipc_pair-$runtime" -cudart "$runtime" "$clients/ipc_pair.c"
		build "refused-$runtime" -cudart "$runtime" "$clients/refused.c"
		build "plugin-$runtime.so" -cudart "$runtime" -shared -Xcompiler -fPIC "$clients/kernels/deepbind_plugin.cu"
		build "client-$runtime" -cudart "$runtime" "$clients/client_shared.c" $common
	done
	build client-driver "$clients/client_driver.c" $common $driver
	build client-dlsym "$clients/client_dlsym.c" $common -ldl
	build alloc_loop-driver -DALLOC_LOOP_DRIVER "$clients/alloc_loop.c" $driver
	build ipc_pair-driver -DIPC_PAIR_DRIVER "$clients/ipc_pair.c" $driver
	build two_contexts "$clients/two_contexts.c" $driver -ldl
	build captures "$clients/captures.c" $driver
	build deepbind_host "$clients/deepbind_host.c" -ldl
	build oob "$clients/kernels/oob.cu"
	build cublas -DLIBRARY_LOOP_CUBLAS "$clients/kernels/library_loop.cu" -lcublas
	build cufft -DLIBRARY_LOOP_CUFFT "$clients/kernels/library_loop.cu" -lcufft
	wait
	LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$cuda_home/lib64
	export LD_LIBRARY_PATH
}

# --- running --------------------------------------------------------------------------------------------------------

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

# Prints why a client cannot run now: a part of it was not built, or there is no time.
hindered() # NAME COMMAND...
{
	hindered_name=$1
	shift
	for part in "$@"; do
		case $part in
		"$work"/*)
			[ -e "$part" ] && continue
			failures=$((failures + 1))
			skip "$hindered_name" "$(basename "$part") could not be built: $(grep -m 1 -i 'error\|cannot' \
				"$part.build" 2> /dev/null | cut -c 1-200)"
			return 0
			;;
		esac
	done
	if [ "$(elapsed)" -ge "$budget" ]; then
		skip "$hindered_name" "no time was left of $budget s"
		return 0
	fi
	echo "[$(elapsed) s] $hindered_name" >&2
	return 1
}

limited() # COMMAND... - no longer than LIMIT, nor much longer than the remaining time
{
	left=$((budget + 20 - $(elapsed)))
	[ "$left" -gt "$limit" ] && left=$limit
	[ "$left" -gt 5 ] || left=5
	timeout -k 5 "$left" "$@"
}

run_once() # MODE COMMAND... - leaves $work/$mode.out, .err, .stats; the command's status
{
	mode=$1
	shift
	case $mode in
	plain) ;;
	*) set -- "$mam" run --stats="$work/$mode.stats" --free="$mode" ${how:+--route=$how} -- "$@" ;;
	esac
	limited "$@" > "$work/$mode.out" 2> "$work/$mode.err"
}

median() # FILE
{
	sort -n "$1" 2> /dev/null | awk '{ v[NR] = $1 } END { print NR ? v[int((NR + 1) / 2)] : "-" }'
}

last_words() # MODE
{
	tail -n 2 "$work/$1.err" | tr '\n' ' ' | cut -c 1-200
}

# The verdict on one run of a client, compared with the first plain one. Programs may differ by themselves.
judge() # MODE STATUS COMMAND...
{
	judge_mode=$1
	judge_status=$2
	shift 2
	if [ "$judge_status" -ne 0 ]; then
		echo "failed: status $judge_status: $(last_words "$judge_mode")"
	elif cmp -s "$work/wanted" "$work/$judge_mode.out"; then
		echo yes
	elif [ "$verdict" = documented ]; then
		echo documented
	else
		diff "$work/wanted" "$work/$judge_mode.out" | head -n 6 >&2
		run_once plain "$@"
		if cmp -s "$work/wanted" "$work/plain.out"; then
			echo no
		else
			echo 'no: nor are two plain runs'
		fi
	fi
}

# A client prints results on stdout, equal in every run, and "ms_per_round T" on stderr.
# $verdict is "documented" if mam's documented result differs, and the client reports success by its status.
verdict=
client() # NAME COMMAND...
{
	wanted "$1" || return
	hindered "$@" && return
	client_name=$1
	shift
	rm -f "$work"/*.times "$work"/*.equal "$work"/*.stats "$work"/*.err "$work/wanted"
	for repeat in $(seq "$repeats"); do
		for mode in $modes; do
			if [ "$repeat" -gt 1 ] && [ "$(elapsed)" -ge "$budget" ]; then
				break 2
			fi
			run_once "$mode" "$@"
			client_status=$?
			if [ ! -f "$work/wanted" ]; then
				if [ "$client_status" -ne 0 ] || [ ! -s "$work/plain.out" ]; then
					case $1 in
					"$work"/*) failures=$((failures + 1)) ;;
					esac
					skip "$client_name" "it fails without mam too: status $client_status: $(
						last_words plain)"
					return
				fi
				cp "$work/plain.out" "$work/wanted"
			fi
			awk '$1 == "ms_per_round" { print $2 }' "$work/$mode.err" >> "$work/$mode.times"
			case $(cat "$work/$mode.equal" 2> /dev/null) in
			'' | yes) judge "$mode" "$client_status" "$@" > "$work/$mode.equal" ;;
			esac
		done
	done
	for mode in $modes; do
		row "$client_name" "$mode" ms_per_round "$(median "$work/$mode.times")" "$(cat "$work/$mode.equal")"
	done
	write_rows
}

# alloc_loop prints "BYTES NANOSECONDS", one line per size; the time is the result. The timed run does not count
# calls, which would be part of such short times.
pairs() # NAME UNIT COMMAND...
{
	wanted "$1" || return
	pairs_name=$1
	unit=$2
	shift 2
	hindered "$pairs_name" "$@" && return
	rm -f "$work"/*.stats "$work"/*.err
	for mode in $modes; do
		case $mode in
		plain) limited "$@" --pairs "$pair_count" > "$work/$mode.out" 2> "$work/$mode.err" ;;
		*)
			run_once "$mode" "$@" --pairs 200
			limited "$mam" run --free="$mode" -- "$@" --pairs "$pair_count" > "$work/$mode.out" \
				2> "$work/$mode.err"
			;;
		esac
		pairs_status=$?
		if [ "$pairs_status" -ne 0 ] || grep -q refused "$work/$mode.out" || [ ! -s "$work/$mode.out" ]; then
			row "$pairs_name" "$mode" "$unit" - "failed: status $pairs_status: $(
				head -n 1 "$work/$mode.out") $(last_words "$mode")"
			continue
		fi
		while read -r bytes nanoseconds; do
			row "$pairs_name-$bytes" "$mode" "$unit" "$nanoseconds" -
		done < "$work/$mode.out"
	done
	write_rows
}

nvtx=
# A program under compute-sanitizer: with an error that it should find, or with none.
sanitizer() # NAME error|clean COMMAND...
{
	wanted "$1" || return
	if ! command -v compute-sanitizer > /dev/null; then
		skip "$1" 'there is no compute-sanitizer'
		return
	fi
	sanitizer_name=$1
	sanitizer_kind=$2
	shift 2
	hindered "$sanitizer_name" "$@" && return
	compute-sanitizer --help 2>&1 | grep -q -e --nvtx && nvtx='--nvtx yes'
	rm -f "$work"/*.stats "$work"/*.err
	limited "$@" > "$work/wanted" 2> "$work/plain.err"
	for mode in $modes; do
		case $mode in
		plain) set -- "$@" ;;
		*) set -- "$mam" run --stats="$work/$mode.stats" --free="$mode" -- "$@" ;;
		esac
		# shellcheck disable=SC2086 # an option and its value
		limited compute-sanitizer $nvtx --report-api-errors no --target-processes all "$@" \
			> "$work/all" 2> "$work/$mode.err"
		sanitizer_status=$?
		[ "$mode" = plain ] || shift 5
		grep -v '^=========' "$work/all" > "$work/$mode.out"
		if [ "$sanitizer_kind" = error ]; then
			sanitizer_came=missed
			grep -q 'Invalid __global__ write' "$work/all" && sanitizer_came=found
		elif ! grep -q 'ERROR SUMMARY: 0 errors' "$work/all"; then
			sanitizer_came="failed: status $sanitizer_status: $(grep -m 2 '^========= [EIPU]' "$work/all" |
				cut -c 11- | tr '\n' ' ')"
		elif cmp -s "$work/wanted" "$work/$mode.out"; then
			sanitizer_came=yes
		else
			sanitizer_came=no
		fi
		row "$sanitizer_name" "$mode" ms_per_round "$(awk '$1 == "ms_per_round" { t = $2 }
			END { print t == "" ? "-" : t }' "$work/$mode.err")" "$sanitizer_came"
	done
	write_rows
}

# Programs in Python: skipped if a library is missing.
python_client() # NAME LIBRARY COMMAND...
{
	wanted "$1" || return
	python_name=$1
	library=$2
	shift 2
	if [ -z "$python" ]; then
		skip "$python_name" 'there is no python3'
	elif ! "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$library') is None)" 2> /dev/null; then
		skip "$python_name" "python3 has no $library"
	else
		client "$python_name" "$python" "$@"
	fi
}

# --- the clients ----------------------------------------------------------------------------------------------------

runtime_clients() # static|shared
{
	repeats=$many
	client "demo-$1" "$work/demo-$1"
	client "client-$1" "$work/client-$1" --rounds "$rounds" --bytes 65536
	client "graph-$1" "$work/graph_loop-$1"
	# Kernels of one stream overlap here, so the program violates the requirement of --free=stream.
	modes='plain strict deferred'
	client "pdl-$1" "$work/pdl_loop-$1"
	modes=$every
	repeats=1
	client "client-$1-check" "$work/client-$1" --rounds 5 --check
	client "client-$1-threads" "$work/client-$1" --rounds "$rounds" --bytes 65536 --threads 4
	client "ipc-$1" "$work/ipc_pair-$1"
	client "refused-$1" "$work/refused-$1"
	# Only the second route catches such a plugin's calls.
	client "deepbind-$1" "$work/deepbind_host" "$work/plugin-$1.so"
	how=audit
	client "deepbind-$1-audit" "$work/deepbind_host" "$work/plugin-$1.so"
	how=
}

driver_clients()
{
	repeats=$many
	client client-driver "$work/client-driver" --rounds "$rounds" --bytes 65536
	client client-driver-own-context "$work/client-driver" --rounds "$rounds" --bytes 65536 --own-context
	client client-dlsym "$work/client-dlsym" --rounds "$rounds" --bytes 65536
	client two-contexts "$work/two_contexts"
	repeats=1
	client client-driver-check "$work/client-driver" --rounds 5 --check
	client client-dlsym-check "$work/client-dlsym" --rounds 5 --check
	client ipc-driver "$work/ipc_pair-driver"
	for part in modes threads joined ends destroy detach; do
		client "captures-$part" "$work/captures" "$part"
	done
	verdict=documented
	client ipc-peer-plain "$work/ipc_pair-shared" --peer-plain
	verdict=
}

library_clients()
{
	for library in cublas cufft; do
		if ls "$cuda_home"/lib64/lib$library.so > /dev/null 2>&1; then
			client $library "$work/$library"
		elif wanted $library; then
			skip $library "there is no lib$library.so in $cuda_home/lib64"
		fi
	done
}

torch_clients()
{
	repeats=$torch_repeats
	# Their own cache rarely allocates: one policy is as informative as three.
	modes='plain strict'
	python_client torch-gnn-cache torch "$here/frameworks/torch_gnn.py" --steps "$gnn_steps"
	python_client torch-gpt2-cache torch "$here/frameworks/torch_gpt2.py" --steps "$torch_steps"
	modes=$every
	PYTORCH_NO_CUDA_MEMORY_CACHING=1
	export PYTORCH_NO_CUDA_MEMORY_CACHING
	python_client torch-gnn-no-cache torch "$here/frameworks/torch_gnn.py" --steps "$gnn_steps"
	python_client torch-gpt2-no-cache torch "$here/frameworks/torch_gpt2.py" --steps "$torch_steps"
	python_client torch-small-no-cache torch "$here/frameworks/torch_loop.py"
	unset PYTORCH_NO_CUDA_MEMORY_CACHING
	modes='plain strict'
	PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
	export PYTORCH_CUDA_ALLOC_CONF
	python_client torch-gpt2-expandable torch "$here/frameworks/torch_gpt2.py" --steps "$torch_steps"
	unset PYTORCH_CUDA_ALLOC_CONF
	modes='plain strict deferred'
	python_client torch-ipc torch "$here/frameworks/torch_ipc.py"
	modes=$every
}

build_all
echo "[$(elapsed) s] built" >&2
for runtime in static shared driver; do
	pairs "alloc_loop-$runtime" ns_per_pair "$work/alloc_loop-$runtime"
	pairs "free_in_flight-$runtime" ns_per_free "$work/alloc_loop-$runtime" --in-flight
done
runtime_clients static
runtime_clients shared
driver_clients
library_clients
sanitizer sanitizer-oob error "$work/oob"
modes=strict
sanitizer sanitizer-demo clean "$work/demo-shared" 100
sanitizer sanitizer-client-static clean "$work/client-static" --rounds 5 --bytes 65536
sanitizer sanitizer-client-driver clean "$work/client-driver" --rounds 5 --bytes 65536
sanitizer sanitizer-graph clean "$work/graph_loop-static"
sanitizer sanitizer-contexts clean "$work/two_contexts"
modes=$every
python_client client-python ctypes "$clients/client_python.py" --rounds 10 --bytes 65536
python_client cupy-pool-off cupy "$here/frameworks/cupy_loop.py"
python_client numba numba "$here/frameworks/numba_loop.py"
torch_clients
modes='plain strict deferred'
python_client jax jax "$here/frameworks/jax_loop.py"
:
