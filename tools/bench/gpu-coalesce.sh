#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-coalesce.sh [MAM [FOLDER]] - requests coalesced before they reach an allocator, on a real GPU: correctness and
# speed.
#
#   MAM     the installed command, whose library and headers are tested; default: $MAM, or the one on the path
#   FOLDER  for the files; default: $OUT, or results/<gpu> of this folder
#
# Part by part:
#   forms    tests/clients/kernels/objects.cu: a part of an object for each lane of a warp, a block
#   ways     tests/clients/kernels/xmalloc.cu with a million lanes, each available way, over CUDA's malloc and over a heap
#   layout   gpu-layout.cu: the maximum gain by the layout alone: FOLDER/layout-<gpu>.csv
#   xmalloc  mam bench xmalloc: FOLDER/xmalloc-<gpu>.csv, and figures of it
#   mpi      mam bench mpi: FOLDER/mpi-<gpu>.csv, and figures of it
# Their output, and how each ended: FOLDER/coalesce-<gpu>.log.
#
# Environment: PARTS (all of them), QUICK=1 (the benches' fewer cells), PROGRAMS (a folder with objects, xmalloc,
#     xmalloc-heap, xmalloc-layers and gpu-layout, already built; default: nvcc builds them), NVCC, MAM_PREFIX (with
#     include/mam and lib/libmam.so; default: the folder above that of MAM), BENCH_COMMIT (if the tree has no .git).
# Exit status: 0, 1 if a part failed, 2 for invalid usage, 77 without GPU or nvcc.

here=$(cd "$(dirname "$0")" && pwd)
script='gpu-coalesce' # for the messages of gpu-lib.sh
all='forms ways layout xmalloc mpi'
chosen=${PARTS:-$all}
clients=$here/../../tests/clients

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
gpu_parts "$all" "$chosen"
gpu_install

gpu_work
log=$folder/coalesce-$gpu_name.log
printf '# SPDX-License-Identifier: Apache-2.0\n# gpu: %s\n# commit: %s\n' "$gpu" "$commit" > "$log"
failed=0
LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
BENCH_COMMIT=$commit
export LD_LIBRARY_PATH BENCH_COMMIT

build() # PROGRAM SOURCE OPTION...
{
	program=$1
	source=$2
	shift 2
	if [ -n "${PROGRAMS:-}" ]; then
		cp "$PROGRAMS/$program" "$work/$program" && return
		stop 2 "there is no program $program in $PROGRAMS"
	fi
	"$nvcc" -O2 -lineinfo -arch="sm_$arch" "$@" -I "$prefix/include" -I "$clients/kernels" -o "$work/$program" "$source" \
		-L "$library" -lmam > "$work/said" 2>&1 && return
	cat "$work/said" >&2
	stop 2 "$program could not be built"
}

ended() # NAME STATUS SINCE - prints the result after its output
{
	{
		cat "$work/out"
		if [ "$2" -eq 0 ]; then
			echo "ok - $1"
		else
			echo "not ok - $1: status $2"
		fi
		echo "   $(($(date +%s) - $3)) s"
	} | tee -a "$log"
	[ "$2" -eq 0 ] || failed=1
}

try() # NAME PROGRAM ARGUMENT... - it must print that all is well
{
	name=$1
	shift
	since=$(date +%s)
	echo "== $name" | tee -a "$log"
	timeout -k 5 180 "$@" > "$work/out" 2>&1
	status=$?
	[ $status -ne 0 ] || grep -q '^all is well' "$work/out" || status=1
	ended "$name" $status "$since"
}

bench() # NAME
{
	since=$(date +%s)
	echo "== mam bench $1" | tee -a "$log"
	timeout -k 5 200 "$mam" bench "$1" ${QUICK:+--quick} --csv "$folder/$1-$gpu_name.csv" > "$work/out" 2>&1 &&
		"$mam" bench plot -o "$folder" "$folder/$1-$gpu_name.csv" >> "$work/out" 2>&1
	ended "mam bench $1" $? "$since"
}

for part in $chosen; do
	case $part in
	forms)
		build objects "$clients/kernels/objects.cu"
		try 'parts for lanes, warps and blocks' "$work/objects" --part forms
		;;
	ways)
		build xmalloc "$clients/kernels/xmalloc.cu"
		build xmalloc-heap "$clients/kernels/xmalloc.cu" -DXMC_HEAP
		build xmalloc-layers "$clients/kernels/xmalloc.cu" -DXMC_HEAP -DXMC_LAYERS=1
		try "every way over CUDA's malloc" "$work/xmalloc"
		try 'every way over a heap' "$work/xmalloc-heap"
		try "XMalloc's calls over a heap, with both layers" "$work/xmalloc-layers" --part published
		;;
	layout)
		build gpu-layout "$here/clients/gpu-layout.cu"
		print_head "tools/bench/gpu-coalesce.sh" 'workload,layout,n,metric,value' > "$folder/layout-$gpu_name.csv"
		try 'what a layout can give' "$work/gpu-layout" "$folder/layout-$gpu_name.csv"
		;;
	*) bench "$part" ;;
	esac
done
echo "written to $log"
exit $failed
