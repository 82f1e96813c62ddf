#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-sleep.sh [MAM [FOLDER]] - suspend and resume of pools on a real GPU (clients/gpu-sleep.cu, frameworks/torch_sleep.py).
#
#   MAM     the installed command; libmam.so and mam/*.h are next to it, in ../lib and ../include
#   FOLDER  for sleep-<gpu>.csv; default: $OUT, or results/<gpu> of this folder
#
# In turn: the driver's calls without mam (calls); contents in host memory (host16: 16 GiB, host64: 64 GiB), discarded
# (discard: 64 GiB), and in a file (file: 4 GiB); a model of PyTorch with captured graphs, by mam as extension,
# in regions, and by mam as plug-in (torch); a test under load (stress). Rows are added as they are measured.
#
# Environment:
#   PARTS          some of these: calls host16 discard host64 file torch stress
#   SECONDS_EACH (60)  of stress
#   BUDGET (400)   seconds; stress takes less if less is left
#   SLEEP_FOLDER (/dev/shm)  where the file is made
#   NVCC, PYTHON, MAM_PREFIX, BENCH_COMMIT (if the tree has no .git)
# Exit status: 0, 1 if contents or memory were wrong or a run failed, 2 for invalid usage, 77 without GPU or nvcc.

here=$(cd "$(dirname "$0")" && pwd)
script='gpu-sleep' # for the messages of gpu-lib.sh
all='calls host16 discard host64 file torch stress'
parts=${PARTS:-$all}
seconds=${SECONDS_EACH:-60}
budget=${BUDGET:-400}
start=$(date +%s)

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
gpu_parts "$all" "$parts"
for word in "$seconds" "$budget"; do
	case $word in
	'' | *[!0-9]* | 0) stop 2 "SECONDS_EACH and BUDGET are whole numbers, not '$word'" ;;
	esac
done
gpu_install
python=${PYTHON:-$(command -v python3)}
LD_LIBRARY_PATH=${library:+$library${LD_LIBRARY_PATH:+:}}${LD_LIBRARY_PATH:-}
PYTHONPATH=${MAM_PYTHON:-$here/../../python}${PYTHONPATH:+:$PYTHONPATH}
PYTHONDONTWRITEBYTECODE=1
export LD_LIBRARY_PATH PYTHONPATH PYTHONDONTWRITEBYTECODE
file=$folder/sleep-$gpu_name.csv
gpu_work
: > "$work/rows"
failed=0

write_rows()
{
	{
		print_head "PARTS=\"$parts\" SECONDS_EACH=$seconds tools/bench/gpu-sleep.sh" "workload; parameter (size, and\
 the number of the run); metric (share: of the throughput of cudaMemcpy from or to pinned memory in the same run; ms and\
 calls of the driver's functions: sums, of all threads); value"
		echo workload,parameter,metric,value
		cat "$work/rows"
	} > "$file.tmp" && mv "$file.tmp" "$file" && return
	rm -f "$file.tmp"
	stop 2 "$file could not be written"
}

run() # PART LIMIT COMMAND... - for LIMIT seconds at most, and no longer than the budget
{
	part=$1
	limit=$2
	shift 2
	case " $parts " in
	*" $part "*) ;;
	*) return ;;
	esac
	if [ "$(left)" -lt 5 ]; then
		echo "gpu-sleep: $part: no time was left of $budget s" >&2
		return
	fi
	[ "$limit" -gt "$(left)" ] && limit=$(left)
	echo "[$(($(date +%s) - start)) s] $part: $*" >&2
	timeout -k 5 "$limit" "$@" > "$work/out" 2> "$work/err"
	status=$?
	cat "$work/out" >> "$work/rows"
	tail -n 5 "$work/err" >&2
	if [ "$status" -ne 0 ]; then
		failed=1
		echo "FAIL: $part: status $status: $(tail -n 1 "$work/err")"
	fi
	write_rows
}

"$nvcc" -O2 -std=c++17 -arch="sm_$arch" -Xcompiler -pthread,-rdynamic -I"$prefix/include" -o "$work/sleep" \
	"$here/clients/gpu-sleep.cu" ${library:+-L"$library"} -lmam -L"$cuda_home/lib64/stubs" -lcuda > "$work/build" 2>&1 || {
	cat "$work/build" >&2
	stop 2 'gpu-sleep.cu could not be built'
}
gib=1073741824
run calls 60 "$work/sleep" calls
run host16 60 "$work/sleep" cycle --bytes $((16 * gib)) --repeat 2
run discard 30 "$work/sleep" cycle --bytes $((64 * gib)) --repeat 3 --to discard
run host64 120 "$work/sleep" cycle --bytes $((64 * gib)) --repeat 2
run file 60 "$work/sleep" cycle --bytes $((4 * gib)) --repeat 2 --to "${SLEEP_FOLDER:-/dev/shm}"
if [ -n "$python" ] && "$python" -c 'import torch' 2> /dev/null; then
	run torch 90 "$python" "$here/frameworks/torch_sleep.py" extension
	run torch 60 "$python" "$here/frameworks/torch_sleep.py" regions
	run torch 60 "$python" "$here/frameworks/torch_sleep.py" plug-in --cycles 20
else
	echo 'gpu-sleep: torch: python3 has no torch' >&2
fi
[ "$seconds" -gt $(($(left) - 10)) ] && seconds=$(($(left) - 10))
[ "$seconds" -gt 0 ] && run stress $((seconds + 30)) "$work/sleep" stress --bytes $((2 * gib)) --seconds "$seconds"

awk -F, '$3 ~ /share|wrong|different|control/ || $3 ~ /^(suspend|resume)_ms$/ || $3 ~ /^suspended_/' "$work/rows"
echo "written to $file after $(($(date +%s) - start)) s"
exit $failed
