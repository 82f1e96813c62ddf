#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# whole_files.sh - a signal in the middle of a write leaves the old file, and no other file next to
# it: each writer of the command runs under a limit on the size of files, whose signal (SIGXFSZ)
# arrives at the first write. Other signals are in test_whole_file.
. "${MAM_SRCDIR:-.}/tests/lib.sh"

# shellcheck disable=SC2317 # called through limited
limited() # NAME FILE COMMAND... - FILE was written before by the same command, and is the only file in its folder
{
	limited_name=$1
	limited_file=$2
	shift 2
	mkdir -p "$scratch/out"
	if ! "$@" > "$scratch/said" 2>&1 || [ ! -s "$limited_file" ]; then
		not_ok "$limited_name: written" "$(lib_tail "$scratch/said")"
		return
	fi
	cp "$limited_file" "$scratch/before"
	# A pipe is not limited. The subshell reports the status of the command, which the pipe
	# would hide.
	{
		(
			ulimit -c 0
			ulimit -f 0
			"$@" 2>&1
			echo "status $?"
		) | cat > "$scratch/said"
	} 2> /dev/null
	try "$limited_name: the write fails" grep -qE '^status (153|2)$' "$scratch/said"
	try "$limited_name: the old file is unchanged" cmp "$scratch/before" "$limited_file"
	same "$limited_name: no other file is next to it" "$(basename "$limited_file")" "$(ls -A "$scratch/out")"
	rm -rf "$scratch/out"
}

printf 'a 1 4096 0\na 2 8192 0\nf 1\n' > "$scratch/t.trace"
for name in x.html x.svg; do
	limited "replay --map $name" "$scratch/out/$name" "$MAM" replay -q -r 1 --map "$scratch/out/$name" "$scratch/t.trace"
	limited "replay --compare --map $name" "$scratch/out/$name" "$MAM" replay -q -r 1 --compare='source=host;cache=on' \
		--map "$scratch/out/$name" "$scratch/t.trace"
done
for name in x.json x.pickle x.trace x.json.gz x.trace.gz; do
	limited "replay --export $name" "$scratch/out/$name" "$MAM" replay -q -r 1 --export "$scratch/out/$name" \
		"$scratch/t.trace"
done
printf '# gpu: none\n# driver: none\n# cpu: two cores\n# date: 2026-02-03T04:05:06Z\npair,glibc,256B,pair_ns,9\n' \
	> "$scratch/cpu.csv"
if can_plot; then
	limited "bench plot" "$scratch/out/latency.svg" "$MAM" bench plot -o "$scratch/out" "$scratch/cpu.csv"
else
	no_matplotlib
fi
limited "bench host --csv" "$scratch/out/x.csv" "$MAM" bench host --smoke --peers none --sources host --only pair \
	--csv "$scratch/out/x.csv"
if [ -x "$MAM_BUILDDIR/mam-coalesce" ]; then
	COALESCE_INCLUDE=$MAM_SRCDIR/tools/coalesce/headers
	export COALESCE_INCLUDE
	echo '__global__ void fill(int **to) { to[threadIdx.x] = (int *)malloc(64); }' > "$scratch/t.cu"
	limited "coalesce -o" "$scratch/out/x.cu" "$MAM" coalesce -o "$scratch/out/x.cu" "$scratch/t.cu"
else
	skip "coalesce -o" "this mam was built without libclang"
fi
finish
