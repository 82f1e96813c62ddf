#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-snapshot.sh [MAM [FOLDER]] - PyTorch's memory snapshots in both directions, on a real GPU.
#
#   MAM     the mam command
#   FOLDER  for snapshot-<gpu>.csv; default: $OUT, or results/<gpu> of this folder
#
# For each program: train with the allocator's history recorded and dump a snapshot (torch_snapshot.py); replay it,
# and compare the peak of requested bytes with PyTorch's own count; write it again with --export; and read that with
# the code of PyTorch's viewer (torch.cuda._memory_viz). Conversely, mam's traces of programs (TRACES, default:
# tests/data) are exported and read by the viewer too.
#
# Environment: LIMIT (120: seconds per run), KEEP (a folder: snapshots stay there), NVCC, PYTHON, BENCH_COMMIT
# Exit status: 0, 1 if a row failed, 2 for invalid usage, 77 without GPU, nvcc or PyTorch.

here=$(cd "$(dirname "$0")" && pwd)
script='gpu-snapshot' # for the messages of gpu-lib.sh
limit=${LIMIT:-120}
# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
python=${PYTHON:-$(command -v python3)}
[ -n "$python" ] || stop 77 'there is no python3'
"$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2> /dev/null ||
	stop 77 'python3 has no torch'
# Run as a separate file, which saves the seconds that importing PyTorch takes each time.
viewer=$("$python" -c 'import importlib.util as u; print(u.find_spec("torch").submodule_search_locations[0])' \
	2> /dev/null)/cuda/_memory_viz.py
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
gpu_work
rows=$work/rows
failures=0
: > "$rows"

row() # PROGRAM NUMBER VALUE
{
	echo "$1,$2,$(printf '%s' "$3" | tr ',\n' '; ')" | tee -a "$rows"
	case $3 in
	no* | failed*) failures=$((failures + 1)) ;;
	esac
}

key() # FILE KEY - the number after it
{
	key_found=$(sed -n "s/^$2[ 	]//p" "$1" | tail -n 1)
	echo "${key_found:--}"
}

ratio() # A B
{
	echo "$1 $2" | awk '$2 + 0 > 0 { printf "%.4f", $1 / $2; exit } { print "-" }'
}

# The viewer's functions on a snapshot; each must produce output.
view() # PROGRAM SNAPSHOT
{
	for what in stats trace trace_plot segment_plot; do
		case $what in
		*_plot) to="-o $work/view" ;;
		*) to= ;;
		esac
		rm -f "$work/view"
		# shellcheck disable=SC2086 # two words or none
		if timeout "$limit" "$python" "$viewer" "$what" "$2" $to > "$work/out" 2> "$work/err" &&
			{ [ -s "$work/out" ] || [ -s "$work/view" ]; }; then
			row "$1" "viewer_$what" yes
		else
			row "$1" "viewer_$what" "failed: $(tail -n 1 "$work/err")"
		fi
	done
}

replay() # PROGRAM FILE - leaves its keys in $work/keys, and those on mapped memory in $work/vmm
{
	if ! timeout "$limit" "$mam" replay -p -r 3 --export "$work/again.pickle" "$2" > "$work/keys" 2> "$work/err" ||
		! timeout "$limit" "$mam" replay -p -r 1 --source vmm --simulate "$2" > "$work/vmm" 2> "$work/err"; then
		row "$1" replay "failed: $(tail -n 1 "$work/err")"
		return 1
	fi
	row "$1" events "$(key "$work/keys" events)"
	row "$1" peak_live_bytes "$(key "$work/keys" peak_live_bytes)"
	row "$1" mam_reserved_ratio "$(key "$work/keys" high_water_ratio)"
	row "$1" mam_vmm_physical_ratio "$(key "$work/vmm" physical_peak_ratio)"
	view "$1" "$work/again.pickle"
}

program() # NAME CONFIG OPTIONS... - of torch_snapshot.py
{
	program_name=$1
	program_config=$2
	shift 2
	echo "# $program_name" >&2
	if ! (cd "$here" && PYTORCH_CUDA_ALLOC_CONF=$program_config timeout "$limit" "$python" torch_snapshot.py \
		--dump "$work/$program_name.pickle" "$@") > "$work/out" 2> "$work/said"; then
		row "$program_name" dump "failed: $(tail -n 1 "$work/said")"
		return
	fi
	[ -z "${KEEP:-}" ] || cp "$work/$program_name.pickle" "$KEEP/"
	asked=$(key "$work/said" peak_requested_bytes)
	row "$program_name" torch_requested_bytes "$asked"
	row "$program_name" torch_reserved_ratio "$(ratio "$(key "$work/said" peak_reserved_bytes)" "$asked")"
	view "$program_name-own" "$work/$program_name.pickle"
	replay "$program_name" "$work/$program_name.pickle" || return
	live=$(key "$work/keys" peak_live_bytes)
	if [ "$live" = "$asked" ]; then
		row "$program_name" same_peak yes
	else
		row "$program_name" same_peak "no: $live and not $asked"
	fi
}

program gnn '' torch_gnn.py --steps 20
program gnn-expandable expandable_segments:True --stacks none torch_gnn.py --steps 20
program gpt2 '' --stacks all torch_gpt2.py --steps 6
program late-oom '' --late --oom torch_loop.py
# several, separated by blanks
for trace in $(find ${TRACES:-"$here/../../tests/data"} -name '*.trace.gz' | sort); do
	replay "$(basename "$trace" .trace.gz)" "$trace"
done

file=$folder/snapshot-$gpu_name.csv
if { print_head tools/bench/gpu-snapshot.sh "program (NAME-own: the viewer on PyTorch's file, else on mam's export of it); number; value" &&
	echo program,number,value && cat "$rows"; } > "$file.tmp" && mv "$file.tmp" "$file"; then
	echo "written to $file; failed: $failures"
else
	rm -f "$file.tmp"
	stop 1 "$file could not be written"
fi
[ "$failures" -eq 0 ]
