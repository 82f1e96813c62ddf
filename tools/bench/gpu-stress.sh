#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# gpu-stress.sh [MAM [FOLDER]] - gpu-stress.cu under each policy of mam run, and gpu-stress-async.cu on the library's
# streams, on a real GPU: checks that memory is not handed out while a kernel still uses it.
#
#   MAM     the installed command to test; default: $MAM, or the one on the path
#   FOLDER  for stress-<gpu>.csv; default: $OUT, or results/<gpu> of this folder
#
# Four runs of mam run: strict; deferred; stream, with a program that follows the order which that policy requires;
# and a few seconds of stream with a program that does not, the control: it must detect foreign patterns, otherwise
# the stress test is ineffective. Three of a program that is linked to the library: async-vmm and async-cudamalloc,
# one for each source, with a pool so small that streams reuse each other's memory and pieces of memory are constantly
# moved; and the control of these two, async-control, which frees on wrong streams.
#
# Environment: POLICIES (the names above, all seven), SECONDS_EACH (60), THREADS (8), NVCC,
#     MAM_PREFIX (with include/mam and lib/libmam.so; default: the folder above that of MAM),
#     BENCH_COMMIT (if the tree has no .git).
# Exit status: 0, 1 if a kernel saw a foreign pattern, the control saw none, or a run failed, 2 for invalid usage, 77
# without GPU or nvcc.

here=$(cd "$(dirname "$0")" && pwd)
script='gpu-stress' # for the messages of gpu-lib.sh
seconds=${SECONDS_EACH:-60}
threads=${THREADS:-8}
policies=${POLICIES:-strict deferred stream control async-vmm async-cudamalloc async-control}

# shellcheck source=tools/bench/gpu-lib.sh
. "$here/gpu-lib.sh"
gpu_start "$@"
for word in "$seconds" "$threads"; do
	case $word in
	'' | *[!0-9]* | 0) stop 2 "SECONDS_EACH and THREADS are whole numbers, not '$word'" ;;
	esac
done

gpu_work

build() # PROGRAM OPTION... - from its source next to this script
{
	program=$1
	shift
	"$nvcc" -O2 -arch="sm_$arch" -Xcompiler -pthread -o "$work/$program" "$here/clients/gpu-$program.cu" "$@" \
		> "$work/build" 2>&1 && return
	cat "$work/build" >&2
	stop 2 "gpu-$program.cu could not be built"
}

find_library() # sets prefix and library
{
	prefix=${MAM_PREFIX:-$(dirname "$(dirname "$(readlink -f "$mam")")")}
	for library in "$prefix/lib/libmam.so" "$prefix/lib64/libmam.so"; do
		[ -e "$library" ] && [ -e "$prefix/include/mam/stream.h" ] && return
	done
	stop 2 "there is no libmam below $prefix: set MAM_PREFIX to where mam was installed"
}

field() # NAME FILE - of a line of alternating names and values
{
	awk -v name="$1" '{ for (i = 1; i < NF; i += 2) if ($i == name) { print $(i + 1); exit } }' "$2" 2> /dev/null
}

case " $policies " in
*' async-'*)
	find_library
	build stress-async -I"$prefix/include" "$library" -Xlinker -rpath="$(dirname "$library")"
	;;
esac
case " $policies " in
*' strict '* | *' deferred '* | *' stream '* | *' control '*)
	build stress -L"$cuda_home/lib64/stubs" -lcuda
	;;
esac

failed=0
for policy in $policies; do
	asked=$seconds
	case $policy in
	*control) [ "$asked" -gt 5 ] && asked=5 ;;
	esac
	stats=$work/stats
	rm -f "$stats"
	case $policy in
	strict | deferred) set -- --free="$policy" -- "$work/stress" ;;
	stream) set -- --free=stream -- "$work/stress" --ordered ;;
	control) set -- --free=stream -- "$work/stress" ;;
	async-vmm | async-cudamalloc) set -- "$work/stress-async" --source "${policy#async-}" ;;
	async-control) set -- "$work/stress-async" --source cudamalloc --wrong ;;
	*) stop 2 "POLICIES are strict, deferred, stream, control and async- with vmm, cudamalloc or control, not '$policy'" ;;
	esac
	case $policy in
	async-*) ;;
	*) set -- "$mam" run --stats="$stats" "$@" ;;
	esac
	timeout -k 5 $((asked * 2 + 30)) "$@" --seconds "$asked" --threads "$threads" > "$work/out" 2> "$work/err"
	status=$?
	case $policy-$status in
	*control-1) ;;
	*control-0)
		failed=1
		echo "gpu-stress: $policy saw no foreign pattern: the other runs prove nothing" >&2
		;;
	*-0) ;;
	*) failed=1 ;;
	esac
	[ -s "$work/out" ] || echo 'blocks - gib - kernels - foreign -' > "$work/out"
	served=$(sed -n 's/^served	//p' "$stats" 2> /dev/null)
	reserved=$(sed -n 's/^peak_reserved_bytes	//p' "$stats" 2> /dev/null)
	row=$policy,$asked,$threads
	for name in blocks gib kernels foreign; do
		row=$row,$(field "$name" "$work/out")
	done
	served=${served:-$(field served "$work/out")}
	reserved=${reserved:-$(field reserved "$work/out")}
	echo "$row,${served:--},${reserved:--},$status" | tee -a "$work/rows"
	tail -n 2 "$work/err" >&2
done

file=$folder/stress-$gpu_name.csv
{
	print_head "SECONDS_EACH=$seconds THREADS=$threads tools/bench/gpu-stress.sh" "policy of mam run --free (control:\
 stream, with a program that does not keep the order it asks for), or async- and the source under the library's streams\
 (async-control: frees on wrong streams); seconds; host threads; blocks allocated; GiB of\
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
