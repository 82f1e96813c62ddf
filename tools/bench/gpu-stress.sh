#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-stress.sh [MAM [FOLDER]] - gpu-stress.cu under each policy of mam run, on a real GPU: is memory handed out
# while a kernel still uses it?
#
#   MAM     the installed command to try; else $MAM, else the one on the path
#   FOLDER  where stress-<gpu>.csv goes; else $OUT, else this folder's results/
#
# Four runs: strict; deferred; stream, with a program that keeps the order which that policy asks for; and a few
# seconds of stream with a program that does not, the control: there foreign patterns must be seen, or the stress
# sees nothing.
#
# Environment: POLICIES (strict deferred stream control), SECONDS_EACH (60), THREADS (8), NVCC,
#   BENCH_COMMIT (where the tree has no .git).
# Exit status: 0, 1 when a kernel saw a foreign pattern, the control saw none, or a run failed, 2 for a wrong
#   call, 77 without GPU or nvcc.

here=$(cd "$(dirname "$0")" && pwd)
script='gpu-stress' # for the sentences of gpu-lib.sh
seconds=${SECONDS_EACH:-60}
threads=${THREADS:-8}
policies=${POLICIES:-strict deferred stream control}

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
for word in "$seconds" "$threads"; do
	case $word in
	'' | *[!0-9]* | 0) stop 2 "SECONDS_EACH and THREADS are whole numbers, not '$word'" ;;
	esac
done

work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-stress.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
if ! "$nvcc" -O2 -arch="sm_$arch" -Xcompiler -pthread -o "$work/stress" "$here/gpu-stress.cu" \
	-L"$cuda_home/lib64/stubs" -lcuda > "$work/build" 2>&1; then
	cat "$work/build" >&2
	stop 2 'gpu-stress.cu could not be built'
fi

failed=0
for policy in $policies; do
	free=$policy
	asked=$seconds
	set --
	case $policy in
	strict | deferred) ;;
	stream) set -- --ordered ;;
	control)
		free=stream
		[ "$asked" -gt 5 ] && asked=5
		;;
	*) stop 2 "POLICIES are strict, deferred, stream and control, not '$policy'" ;;
	esac
	rm -f "$work/stats"
	timeout -k 5 $((asked * 2 + 30)) "$mam" run --stats="$work/stats" --free="$free" -- "$work/stress" \
		--seconds "$asked" --threads "$threads" "$@" > "$work/out" 2> "$work/err"
	status=$?
	case $policy-$status in
	control-1) ;;
	control-0)
		failed=1
		echo 'gpu-stress: the control saw no foreign pattern: the other runs say nothing' >&2
		;;
	*-0) ;;
	*) failed=1 ;;
	esac
	[ -s "$work/out" ] || echo "blocks - gib - kernels - foreign -" > "$work/out"
	reserved=$(sed -n 's/^peak_reserved_bytes	//p' "$work/stats" 2> /dev/null)
	served=$(sed -n 's/^served	//p' "$work/stats" 2> /dev/null)
	while read -r _ blocks _ gib _ kernels _ foreign; do
		echo "$policy,$asked,$threads,$blocks,$gib,$kernels,$foreign,${served:--},${reserved:--},$status"
	done < "$work/out" | tee -a "$work/rows"
	tail -n 2 "$work/err" >&2
done

file=$folder/stress-$gpu_name.csv
{
	print_head "SECONDS_EACH=$seconds THREADS=$threads tools/bench/gpu-stress.sh" "policy of mam run --free (control:\
 stream, with a program that does not keep the order it asks for); seconds; host threads; blocks allocated; GiB of\
 them; kernels; foreign (words a kernel read that it had not written); served (calls by a pool); peak reserved bytes;\
 exit status"
	echo policy,seconds,threads,blocks,gib,kernels,foreign,served,peak_reserved_bytes,status
	cat "$work/rows"
} > "$work/csv"
if ! { cp "$work/csv" "$file.tmp" && mv "$file.tmp" "$file"; }; then
	rm -f "$file.tmp"
	stop 2 "$file could not be written"
fi
echo "written to $file"
exit $failed
