#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-examples.sh [MAM [FOLDER]] - the examples, built against an installed mam and run on a real GPU.
#
#   MAM     the installed command, whose library and headers are tested; default: $MAM, or the one on the path
#   FOLDER  for the files; default: $OUT, or results/<gpu> of this folder
#
# FOLDER/examples-<gpu>.csv has a line for each run and allocator: its size, milliseconds, and millions of edges or of
# lists per second; FOLDER/examples-<gpu>.log has the programs' output.
#
# The structures of mam/ds.cuh are tested first (tests/clients/kernels/structures.cu): one line for each that is correct.
#
# Environment: PARTS (structures edges frontier automaton), QUICK=1 (only the smaller sizes), CUDA=1 (edges over
# CUDA's
#     malloc(), too, up to a million), NVCC, MAM_PREFIX (with include/mam and lib/libmam.so; default: the folder above
#     that of MAM), BENCH_COMMIT (if the tree has no .git).
# Exit status: 0, 1 if a program failed, 2 for invalid usage, 77 without GPU or nvcc.

here=$(cd "$(dirname "$0")" && pwd)
script='gpu-examples' # for the messages of gpu-lib.sh
all='structures edges frontier automaton'
chosen=${PARTS:-$all}
examples=$here/../../examples

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
gpu_parts "$all" "$chosen"
gpu_install

gpu_work
csv=$folder/examples-$gpu_name.csv
log=$folder/examples-$gpu_name.log
print_head 'tools/bench/gpu-examples.sh' 'example,allocator,size,options,milliseconds,millions_a_second' > "$work/csv"
printf '# SPDX-License-Identifier: Apache-2.0\n# gpu: %s\n# commit: %s\n' "$gpu" "$commit" > "$log"
failed=0
LD_LIBRARY_PATH=$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# NAME SIZE OPTIONS with the lines of figures on stdin: "ALLOCATOR... : 1.23 ms, 4.5 M ..."
rows()
{
	awk -v name="$1" -v size="$2" -v options="$3" '
	/^ok - / {
		split(substr($0, 6), words, ": ")
		gsub(/,/, "", words[2])
		printf "%s,%s,%s,%s right,-,-\n", name, words[1], size, words[2]
	}
	/ ms[,;]/ {
		allocator = name == "edges" ? $1 " " $2 : "mam_kmalloc"
		if ($1 == "mam_kmalloc")
			allocator = $1
		time = rate = $0
		sub(/ ms[,;].*/, "", time)
		sub(/.* /, "", time)
		if (!sub(/ M [a-z]*\/s.*/, "", rate))
			rate = "-"
		sub(/.* /, "", rate)
		printf "%s,%s,%s,%s,%s,%s\n", name, allocator, size, options, time, rate
	}'
}

example() # NAME SIZE OPTION... - runs it; its figures go into the file
{
	name=$1
	size=$2
	shift 2
	echo "== $name $*" | tee -a "$log"
	timeout -k 5 180 "$work/$name" "$@" > "$work/out" 2>&1
	status=$?
	[ $status -ne 0 ] || grep -q '^all is well$' "$work/out" || status=1
	tee -a "$log" < "$work/out"
	if [ $status -eq 0 ]; then
		rows "$name" "$size" "$*" < "$work/out" >> "$work/csv"
	else
		echo "not ok - $name $*: status $status" | tee -a "$log"
		failed=1
	fi
}

for part in $chosen; do
	source=$examples/$part.cu
	[ "$part" != structures ] || source=$here/../../tests/clients/kernels/structures.cu
	"$nvcc" -O2 -arch="sm_$arch" -I "$prefix/include" -o "$work/$part" "$source" -L "$library" -lmam \
		> "$work/said" 2>&1 || {
		cat "$work/said" >&2
		stop 2 "$part could not be built"
	}
	case $part in
	structures)
		example structures 262144
		;;
	edges)
		example edges 65536 --edges 65536 --nodes 10000 --cuda "${CUDA:-0}"
		# As in the paper, over the number of lanes.
		for lanes in 32 128 512 1536 4096 16384; do
			example edges 65536 --edges 65536 --nodes 10000 --lanes $lanes --rounds 3
		done
		example edges 1048576 --edges 1048576 --nodes 160000 --cuda "${CUDA:-0}" --rounds 3
		[ -n "${QUICK:-}" ] || example edges 16777216 --edges 16777216 --nodes 2560000 --rounds 3
		;;
	frontier)
		example frontier 1000000 --nodes 1000000
		[ -n "${QUICK:-}" ] || example frontier 16000000 --nodes 16000000 --reach 16000000
		example frontier 1000000 --nodes 1000000 --reach 20000
		;;
	automaton)
		example automaton 20000 --texts 20000
		[ -n "${QUICK:-}" ] || example automaton 200000 --texts 200000 --word 20 --errors 3
		;;
	esac
done
mv "$work/csv" "$csv" || exit 2
echo "written to $csv"
exit $failed
