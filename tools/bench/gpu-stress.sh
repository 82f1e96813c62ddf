#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-stress.sh [MAM [FOLDER]] - gpu-stress.cu under each policy of mam run, on a real GPU: is memory handed out while
# a kernel still uses it?
#
#   MAM     the installed command to try; else $MAM, else the one on the path
#   FOLDER  where stress-<gpu>.csv goes; else $OUT, else this folder's results/
#
# Environment: NVCC, SECONDS_EACH (60), THREADS (8), BENCH_COMMIT (where the tree has no .git).
# Exit status: 0, 1 when a kernel saw a foreign pattern or a run failed, 2 for a wrong call, 77 without GPU or nvcc.

here=$(cd "$(dirname "$0")" && pwd)
mam=${1:-${MAM:-$(command -v mam)}}
folder=${2:-${OUT:-$here/results}}
seconds=${SECONDS_EACH:-60}
threads=${THREADS:-8}

stop() # STATUS SENTENCE
{
	echo "gpu-stress: $2" >&2
	exit "$1"
}

[ -x "$mam" ] || stop 2 'the mam command was not found: name it as the first argument'
[ -d "$folder" ] && [ -w "$folder" ] || stop 2 "$folder is no folder that can be written to"
nvcc=${NVCC:-$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc)}
[ -n "$nvcc" ] || stop 77 'nvcc was not found: set NVCC, or add it to PATH'
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2> /dev/null | head -n 1)
[ -n "$gpu" ] || stop 77 'nvidia-smi names no GPU'

work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-stress.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
arch=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -n 1 | tr -d .)
"$nvcc" -O2 -arch="sm_$arch" -o "$work/stress" "$here/gpu-stress.cu" || stop 2 'gpu-stress.cu could not be built'

failed=0
for policy in strict deferred stream; do
	timeout -k 5 $((seconds * 2 + 30)) "$mam" run --stats="$work/stats" --free="$policy" -- "$work/stress" \
		--policy "$policy" --seconds "$seconds" --threads "$threads" > "$work/out" 2> "$work/err"
	status=$?
	[ $status -eq 0 ] || failed=1
	[ -s "$work/out" ] || echo "blocks - gib - kernels - foreign -" > "$work/out"
	reserved=$(sed -n 's/^peak_reserved_bytes	//p' "$work/stats")
	served=$(sed -n 's/^served	//p' "$work/stats")
	while read -r _ blocks _ gib _ kernels _ foreign; do
		echo "$policy,$seconds,$threads,$blocks,$gib,$kernels,$foreign,$served,$reserved,$status"
	done < "$work/out" | tee -a "$work/rows"
	tail -n 2 "$work/err" >&2
done

name=$(echo "$gpu" | tr '[:upper:] ' '[:lower:]-' | sed 's/^nvidia-//; s/-[0-9]*gb.*//; s/[^a-z0-9-]//g')
file=$folder/stress-$name.csv
{
	echo "# gpu: $gpu"
	echo "# driver: $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -n 1)"
	echo "# cuda: $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
	echo "# cpu: $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores"
	echo "# date: $(date -u +%Y-%m-%d)"
	echo "# commit: ${BENCH_COMMIT:-$(git -C "$here" rev-parse --short HEAD)}"
	echo "# command: SECONDS_EACH=$seconds THREADS=$threads tools/bench/gpu-stress.sh"
	echo "# columns: policy of mam run --free; seconds; host threads; blocks allocated; GiB of them; kernels;" \
		"foreign (words a kernel read that it had not written); served (calls by a pool); peak reserved bytes; exit status"
	echo policy,seconds,threads,blocks,gib,kernels,foreign,served,peak_reserved_bytes,status
	cat "$work/rows"
} > "$file.tmp"
mv "$file.tmp" "$file" || stop 2 "$file could not be written"
echo "written to $file"
exit $failed
