#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-plugs.sh [MAM [FOLDER]] - mam as the allocator of PyTorch and CuPy, and as a pool of pinned memory, on a real GPU.
#
#   MAM     the installed command; libmam.so and mam/*.h are next to it, in ../lib and ../include
#   FOLDER  for plugs-<gpu>.csv and frameworks-<gpu>.csv; default: $OUT, or results/<gpu> of this folder
#
# In turn: pinned and managed memory by CUDA's own functions and from mam (pinned_loop.cu); the examples of
# docs/frameworks.md; PyTorch's requirements on an allocator, of the extension and of the plug-in (torch_plug.py); the
# loop of CuPy with its own allocator and with mam on both sources. A client that is not installed has a row with the
# reason. plugs-<gpu>.csv is rewritten after each client, so that earlier measurements are kept if the machine is lost.
#
# Then programs for PyTorch, with the same seed and the same output: with its own allocator, with expandable segments,
# with mam as plug-in and as extension, and with its cache off under mam run, on both sources. frameworks-<gpu>.csv has
# their time, the memory that the device had less, and whether statistics equal those of PyTorch's own allocator
# (torch_modes.py). It is rewritten after each program, which runs in all modes before the next one starts.
#
# Environment:
#   CLIENTS        prefixes of names: only these (pinned, readme, torch-extension, torch-plug, cupy, build, programs)
#   MODES          of the programs: only these (own, expandable, plug, extension, run-SOURCE-POLICY, plug-footprint)
#   PROGRAMS       only these, with their steps
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
programs='gpt2 24 gnn 36 resnet 40 streams 160 pairs 50 loop 40' rounds=200 pair_ms=300
if [ "$quick" = 1 ]; then
	programs='gpt2 6 gnn 20 resnet 15 streams 90 pairs 30 loop 20' rounds=30 pair_ms=50
fi
programs=${PROGRAMS:-$programs}
modes='own expandable plug extension run-vmm-strict run-vmm-deferred run-cudamalloc-strict run-cudamalloc-deferred'
modes=${MODES:-$modes plug-footprint}

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
TORCH_EXTENSIONS_DIR=${TORCH_EXTENSIONS_DIR:-$work/extensions}
export TORCH_EXTENSIONS_DIR
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

# Lines "PROMISE yes", "PROMISE no: WHY" or "PROMISE skipped: WHY".
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
	if wanted torch-extension && ! hindered torch-extension torch; then
		promises torch-extension vmm --extension
	fi
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

# --- the programs for PyTorch ---------------------------------------------------------------------------------------

value() # FILE KEY - its last number there
{
	sed -n "s/^$2 //p" "$1" 2> /dev/null | tail -n 1
}

# One process per mode: all import PyTorch, then one after the other uses the device.
start_modes()
{
	processes=''
	for mode in $modes; do
		set -- "$python" "$here/frameworks/torch_modes.py" "$work" "$mode" 40
		case $mode in
		expandable)
			set -- env PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True PYTORCH_ALLOC_CONF=expandable_segments:True "$@"
			;;
		extension) set -- env MAM_SOURCE=vmm "$@" --extension ;;
		plug) set -- env MAM_SOURCE=vmm "$@" --plug "$library" ;;
		plug-footprint) set -- env MAM_SOURCE=vmm MAM_FOOTPRINT=2 "$@" --plug "$library" ;;
		run-*)
			start_policy=${mode##*-} start_source=${mode#run-}
			set -- env PYTORCH_NO_CUDA_MEMORY_CACHING=1 "$mam" run --stats="$work/$mode.%p.stats" \
				--free="$start_policy" --source="${start_source%-*}" -- "$@"
			;;
		esac
		# shellcheck disable=SC2086 # words on purpose
		timeout -k 5 "$(($(left) + 20))" "$@" -- $programs > "$work/$mode.log" 2>&1 &
		eval "process_$(echo "$mode" | tr - _)=$!"
		processes="$processes $!"
	done
}

# Lets the process of a mode run its next program, and waits for it.
run_program() # PROGRAM MODE
{
	: > "$work/$2.$1.go"
	run_process='' # set by the next line
	eval "run_process=\$process_$(echo "$2" | tr - _)"
	while kill -0 "$run_process" 2> /dev/null; do
		[ -z "$(value "$work/$2.$1.err" status)" ] || return
		sleep 0.1
	done
}

program_row() # PROGRAM MODE
{
	own=$work/own.$1 now=$work/$2.$1 came='' difference=''
	status=$(value "$now.err" status)
	counted=$(value "$now.err" requested_peak_bytes)
	if [ "${2#run}" != "$2" ]; then
		counted=$(sed -n 's/^peak_live_bytes	//p' "$work/$2.$(value "$now.err" pid).stats" 2> /dev/null)
	fi
	if [ ! -e "$now.go" ]; then
		came="skipped: no time was left of $budget s"
	elif [ "$status" != 0 ]; then
		came="failed: ${status:+status }${status:-no result}: $(cat "$now.err" "$work/$2.log" 2> /dev/null | grep -v '^[a-z_]* [0-9-]*$' |
			tail -n 2 | tr ',\n' '; ' | cut -c 1-200)"
		cat "$now.err" "$work/$2.log" 2> /dev/null | tail -n 12 >&2
	elif cmp -s "$own.out" "$now.out"; then
		came=yes
	else
		came=no
		diff "$own.out" "$now.out" | head -n 4 >&2
	fi
	for key in requested_bytes requests live_bytes; do
		count=$(value "$now.err" $key)
		[ -z "$count" ] || [ "$count" = "$(value "$own.err" $key)" ] || difference="$difference $key $count"
	done
	case $came in
	yes | skipped*) ;;
	*) failures=$((failures + 1)) ;;
	esac
	[ "$2" != extension ] || [ -z "$difference" ] || failures=$((failures + 1))
	awk -v program="$1" -v mode="$2" -v time="$(value "$now.err" ms_per_round)" -v own="$(value "$own.err" ms_per_round)" \
		-v peak="$(value "$now.err" device_peak_bytes)" -v end="$(value "$own.err" device_end_bytes)" \
		-v reserved="$(value "$own.err" reserved_bytes)" -v requested="$(value "$own.err" requested_peak_bytes)" \
		-v counted="$counted" -v difference="$difference" -v came="$came" 'BEGIN {
		true_peak = peak == "" || end == "" ? "-" : sprintf("%.0f", peak - (end - reserved))
		if (counted == "" || requested == "")
			right = "-"
		else if (counted == requested && difference == "")
			right = "yes"
		else
			right = "no: peak " (counted < requested ? "" : "+") sprintf("%.0f", counted - requested) difference
		printf "%s,%s,%s,%s,%s,%s,%s,%s,%s,%s\n", program, mode, own + 0 && time != "" ? sprintf("%.3f", time / own) : "-",
			true_peak != "-" && requested + 0 ? sprintf("%.3f", true_peak / requested) : "-", right, came,
			time == "" ? "-" : time, true_peak, requested == "" ? "-" : requested, counted == "" ? "-" : counted }'
}

compare_programs()
{
	wanted programs || return
	hindered programs torch && return
	start_modes
	compared=$folder/frameworks-$gpu_name.csv
	: > "$work/compared"
	# shellcheck disable=SC2086 # words on purpose
	set -- $programs
	while [ $# -gt 0 ]; do
		for mode in $modes; do
			[ "$(left)" -le 0 ] || run_program "$1" "$mode"
			echo "[$((budget - $(left))) s] $1 $mode" >&2
			program_row "$1" "$mode" >> "$work/compared"
			write_programs
		done
		shift 2
	done
	# shellcheck disable=SC2086 # words on purpose
	kill $processes 2> /dev/null # those that wait for a program for which no time was left
	wait
	echo
	awk -F, '{ printf "%-8s %-23s %10s %12s  %-9s %-6s %9s %s\n", $1, $2, $3, $4, $6, $5, $7, $8 }' "$work/compared"
}

write_programs()
{
	{
		# shellcheck disable=SC2016 # the variables are in double quotes
		print_head "QUICK=$quick BUDGET=$budget ${PROGRAMS:+PROGRAMS='$PROGRAMS' }${MODES:+MODES='$MODES' }tools/bench/gpu-plugs.sh" "program; mode (own: PyTorch's allocator;\
 expandable: with expandable segments; plug, extension: mam, mapped memory; plug-footprint: with MAM_FOOTPRINT=2;\
 run-SOURCE-POLICY: without a cache under mam run); time_ratio (to own); memory_ratio (device_peak_bytes to the peak of\
 requested bytes); statistics (whether PyTorch's, or with plug and run mam's, equal those of own; if not, the difference\
 in bytes); equal (output to that of own); ms per step (pairs: per 1000 allocations and frees); device_peak_bytes (by\
 NVML, without context and kernels of own); requested_peak_bytes (of own); counted_peak_bytes (of this mode)"
		echo program,mode,time_ratio,memory_ratio,statistics,equal,ms,device_peak_bytes,requested_peak_bytes,counted_peak_bytes
		cat "$work/compared"
	} > "$compared.tmp" && mv "$compared.tmp" "$compared"
}

# How long the first enable() of the extension takes, which builds it, and one that finds it built.
build_extension()
{
	wanted build || return
	hindered build-extension torch && return
	for way in first again; do
		run "$python" -c 'import sys, time
import torch, mam
start = time.monotonic()
mam.torch.enable(extension=True)
print("%.2f" % (time.monotonic() - start))'
		build_status=$?
		if [ "$build_status" -eq 0 ]; then
			row build-extension "$way" s "$(cat "$work/out")" yes
		else
			row build-extension "$way" s - "failed: status $build_status: $(last_words)"
		fi
	done
}

pinned
examples
build_extension
torch_promises
cupy
compare_programs
:
