#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-plugs.sh [MAM [FOLDER]] - mam plugged into PyTorch and CuPy, and as a pool of pinned memory, on a real GPU.
#
#   MAM     the installed command; libmam.so and mam/*.h are next to it, in ../lib and ../include
#   FOLDER  for plugs-<gpu>.csv; default: $OUT, or results/<gpu> of this folder
#
# In turn: the examples of docs/frameworks.md; PyTorch's requirements on an allocator (torch_plug.py); pinned and managed memory by
# CUDA's own functions and from mam (pinned_loop.cu); then the loops of CuPy and PyTorch, each with its own allocator
# and with mam on both sources, the same seed and the same output. A client that is not installed has a row with the
# reason. The file is rewritten after each client, so that earlier measurements are kept if the machine is lost.
#
# Environment:
#   CLIENTS        prefixes of names: only these
#   QUICK=1        less work
#   BUDGET (400)   seconds; clients without time left have a row with the reason
#   LIMIT (100)    seconds per run
#   NVCC, PYTHON, BENCH_COMMIT (if the tree has no .git)
# Exit status: 0, 1 if a row failed or an output differed, 2 for invalid usage, 77 without GPU or nvcc.

started=$(date +%s)
here=$(cd "$(dirname "$0")" && pwd)
script='gpu-plugs' # for the messages of gpu-lib.sh
quick=${QUICK:-0}
budget=${BUDGET:-400}
limit=${LIMIT:-100}
gpt2_steps=16 gnn_steps=60 rounds=200 pair_ms=300
if [ "$quick" = 1 ]; then
	gpt2_steps=6 gnn_steps=15 rounds=30 pair_ms=50
fi

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
python=${PYTHON:-$(command -v python3)}
prefix=$(cd "$(dirname "$mam")/.." && pwd)
library=$prefix/lib/libmam.so
[ -e "$library" ] || stop 2 "$library is not there: name the mam command of an installed mam"
file=$folder/plugs-$gpu_name.csv
PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$here:$here/../../python
LD_LIBRARY_PATH=$prefix/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONDONTWRITEBYTECODE PYTHONPATH LD_LIBRARY_PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-plugs.XXXXXX") || exit 2
rows=$work/rows
failures=0
: > "$rows"

left()
{
	echo $((budget - $(date +%s) + started))
}

# --- rows -----------------------------------------------------------------------------------------------------------

write_rows()
{
	{
		print_head "QUICK=$quick BUDGET=$budget tools/bench/gpu-plugs.sh" "client; mode (plain: the allocator it\
 comes with; mam-SOURCE: mam plugged in, on that source); unit of time; time (of PyTorch: the median or mean step\
 after warming up); equal (output to that of plain, or what came of it); peaks of live, reserved and physical bytes\
 as the allocator itself counts them; physical_ratio (peak physical to peak live)"
		echo client,mode,unit,time,equal,peak_live_bytes,peak_reserved_bytes,peak_physical_bytes,physical_ratio
		cat "$rows"
	} > "$file.tmp" && mv "$file.tmp" "$file" && return
	rm -f "$file.tmp"
	echo "gpu-plugs: $file could not be written" >&2
	failures=$((failures + 1))
}

end()
{
	end_status=$?
	trap - EXIT
	if [ -s "$rows" ]; then
		write_rows
		echo
		tr ',' '\t' < "$rows"
		echo "written to $file after $((budget - $(left))) s"
	fi
	rm -rf "$work"
	[ "$end_status" -eq 0 ] && [ "$failures" -gt 0 ] && end_status=1
	exit "$end_status"
}
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

said() # KEY - its number in the last run's stderr
{
	said_found=$(sed -n "s/^$1 //p" "$work/err" | tail -n 1)
	echo "${said_found:--}"
}

row() # CLIENT MODE UNIT TIME EQUAL - with the peaks of the last run
{
	row_live=$(said peak_live_bytes)
	row_physical=$(said peak_physical_bytes)
	row_ratio=$(echo "$row_physical $row_live" | awk '$2 + 0 > 0 && $1 != "-" { printf "%.4f", $1 / $2; exit } { print "-" }')
	row_equal=$(printf '%s' "$5" | tr ',\n' '; ')
	echo "$1,$2,$3,$4,$row_equal,$row_live,$(said peak_reserved_bytes),$row_physical,$row_ratio" | tee -a "$rows"
	case $5 in
	yes | - | skipped*) ;;
	*) failures=$((failures + 1)) ;;
	esac
	write_rows
}

skip() # CLIENT WHY
{
	: > "$work/err"
	row "$1" - - - "skipped: $2"
}

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

# Checks for a reason not to run a client, which becomes its row.
hindered() # NAME [PYTHON-MODULE]
{
	if [ "$(left)" -le 0 ]; then
		skip "$1" "no time was left of $budget s"
	elif [ -n "$2" ] && [ -z "$python" ]; then
		skip "$1" 'there is no python3'
	elif [ -n "$2" ] &&
		! "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$2') is None)" 2> /dev/null; then
		skip "$1" "python3 has no $2"
	else
		echo "[$((budget - $(left))) s] $1" >&2
		return 1
	fi
}

run() # COMMAND... - leaves $work/out and $work/err; no longer than LIMIT, nor much longer than the remaining time
{
	run_left=$(($(left) + 20))
	[ "$run_left" -gt "$limit" ] && run_left=$limit
	timeout -k 5 "$run_left" "$@" > "$work/out" 2> "$work/err"
}

# --- the clients ----------------------------------------------------------------------------------------------------

# The Python programs of docs/frameworks.md, verbatim: fenced blocks, each importing mam and one framework.
examples()
{
	awk -v to="$work/example-" '/^```python/ { inside = 1; text = ""; next }
		/^```/ { if (inside && match(text, /import mam, [a-z]+/))
				printf "%s", text > (to substr(text, RSTART + 12, RLENGTH - 12) ".py")
			inside = 0; next }
		inside { text = text $0 "\n" }' "$here/../../docs/frameworks.md"
	for framework in torch cupy numba rmm; do
		wanted "readme-$framework" || continue
		hindered "readme-$framework" "$framework" && continue
		if [ ! -s "$work/example-$framework.py" ]; then
			: > "$work/err"
			row "readme-$framework" - - - 'failed: docs/frameworks.md has no such example'
			continue
		fi
		for source in vmm cudamalloc; do
			run env MAM_SOURCE="$source" "$python" "$work/example-$framework.py"
			judge_status "readme-$framework" "mam-$source" $?
		done
	done
}

last_words()
{
	tail -n 2 "$work/err" | tr '\n' ' ' | cut -c 1-200
}

judge_status() # CLIENT MODE STATUS
{
	if [ "$3" -eq 0 ]; then
		row "$1" "$2" - - yes
	else
		row "$1" "$2" - - "failed: status $3: $(last_words)"
	fi
}

# Lines "PROMISE yes" or "PROMISE no: WHY".
promises() # CLIENT SOURCE ARGUMENTS...
{
	promises_name=$1
	promises_mode=mam-$2
	promises_source=$2
	shift 2
	run env MAM_SOURCE="$promises_source" "$python" "$here/frameworks/torch_plug.py" "$library" "$@"
	promises_status=$?
	cat "$work/err" >&2
	cp "$work/out" "$work/promises"
	while read -r promise kept; do
		row "$promises_name-$promise" "$promises_mode" - - "$kept"
	done < "$work/promises"
	# A run that ended early has broken its other promises.
	case $promises_status in
	0 | 1) [ -s "$work/promises" ] && return ;;
	esac
	row "$promises_name" "$promises_mode" - - "failed: status $promises_status: $(last_words)"
}

torch_promises()
{
	wanted torch-plug || return
	hindered torch-plug torch && return
	for source in vmm cudamalloc; do
		promises torch-plug "$source"
	done
	promises torch-plug cudamalloc --mempool
}

pinned()
{
	wanted pinned || return
	hindered pinned '' && return
	if ! "$nvcc" -O2 -o "$work/pinned_loop" "$here/clients/pinned_loop.cu" -I "$prefix/include" -L "$prefix/lib" -lmam \
		> "$work/out" 2> "$work/err"; then
		row pinned - - - "failed: pinned_loop.cu could not be built: $(last_words)"
		return
	fi
	run "$work/pinned_loop" "$pair_ms"
	pinned_status=$?
	[ "$pinned_status" -eq 0 ] || row pinned - - - "failed: status $pinned_status: $(last_words)"
	: > "$work/err"
	cp "$work/out" "$work/pairs"
	while read -r kind way bytes time; do
		row "$kind-$bytes" "$way" ns_per_pair "$time" -
	done < "$work/pairs"
}

# One variant of a loop; the first one's output is the reference for the others.
loop() # NAME MODE COMMAND...
{
	loop_name=$1
	loop_mode=$2
	shift 2
	if [ "$(left)" -le 0 ]; then
		: > "$work/err"
		row "$loop_name" "$loop_mode" - - "skipped: no time was left of $budget s"
		return
	fi
	run "$@"
	loop_status=$?
	[ -f "$work/wanted" ] || { [ "$loop_status" -eq 0 ] && cp "$work/out" "$work/wanted"; }
	if [ "$loop_status" -ne 0 ]; then
		cat "$work/err" >&2
		loop_came="failed: status $loop_status: $(last_words)"
	elif cmp -s "$work/wanted" "$work/out"; then
		loop_came=yes
	else
		diff "$work/wanted" "$work/out" | head -n 6 >&2
		loop_came=no
	fi
	row "$loop_name" "$loop_mode" ms_per_round "$(said ms_per_round)" "$loop_came"
}

loop_mam() # NAME COMMAND...
{
	loop_mam_name=$1
	shift
	for source in vmm cudamalloc; do
		loop "$loop_mam_name" "mam-$source" env MAM_SOURCE="$source" "$@" --plug "$library"
	done
}

cupy()
{
	wanted cupy || return
	hindered cupy cupy && return
	rm -f "$work/wanted"
	loop cupy plain "$python" "$here/frameworks/cupy_loop.py" --rounds "$rounds" --pool
	loop cupy pool-off "$python" "$here/frameworks/cupy_loop.py" --rounds "$rounds"
	loop_mam cupy "$python" "$here/frameworks/cupy_loop.py" --rounds "$rounds"
}

torch() # NAME SCRIPT STEPS
{
	wanted "$1" || return
	hindered "$1" torch && return
	rm -f "$work/wanted"
	loop "$1" plain "$python" "$here/frameworks/$2" --steps "$3"
	loop_mam "$1" "$python" "$here/frameworks/$2" --steps "$3"
	loop "$1" expandable env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True "$python" "$here/frameworks/$2" --steps "$3"
}

pinned
examples
torch_promises
cupy
torch torch-gnn torch_gnn.py "$gnn_steps"
torch torch-gpt2 torch_gpt2.py "$gpt2_steps"
:
