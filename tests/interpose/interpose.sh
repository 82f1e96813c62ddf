# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# interpose.sh - functions shared by the tests of mam run; sourced after lib.sh.
# shellcheck disable=SC2034,SC2154 # shared with those

fakes=$MAM_BUILDDIR/tests/fake/lib
clients=$MAM_BUILDDIR/tests/clients
probes=$MAM_BUILDDIR/tests/interpose/programs

[ -f "$MAM_BUILDDIR/.libs/libmam-preload.so" ] || skip_all "$0" "this build has no libmam-preload.so"
case "$CFLAGS" in
*-fsanitize=*) skip_all "$0" "a sanitizer in the preload object needs one in the program" ;;
esac
for library in libcuda.so.1 libcudart.so.13; do
	[ -f "$fakes/$library" ] || skip_all "$0" "this build has no $fakes/$library"
done
LD_LIBRARY_PATH=$fakes${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# Runs this test once for each source of the pools (--source), with MAM_SOURCE set, and ends it. In
# these runs, pool_call is the driver's function by which a pool grows.
on_both_sources()
{
	pool_call=cuMemAlloc
	[ "${MAM_SOURCE-}" != vmm ] || pool_call=cuMemCreate
	[ -z "${MAM_SOURCE-}" ] || return 0
	both_status=0
	for both_source in cudamalloc vmm; do
		MAM_SOURCE=$both_source sh "$0" > "$scratch/both" 2>&1 || both_status=1
		sed "s/^\(ok\|not ok\|skip\) - /&$both_source: /" "$scratch/both"
	done
	lib_finished=yes
	exit $both_status
}

# Prints the value of one key of the last run's statistics.
stat_of() # KEY
{
	sed -n "s/^$1	//p" "$scratch/stats"
}

# Runs a command plain and under mam run: output and exit status must be equal, and calls must have
# been intercepted. $run holds options of mam run, $set variables for both runs, and $set_mam
# variables for the second run.
same_run() # NAME COMMAND...
{
	same_name=$1
	shift
	rm -f "$scratch/stats"
	# shellcheck disable=SC2086 # options are words
	env $set "$@" > "$scratch/plain" 2> "$scratch/plain.err"
	same_plain=$?
	# shellcheck disable=SC2086
	env ${set_mam-$set} "$MAM" run --stats="$scratch/stats" $run -- "$@" > "$scratch/caught" \
		2> "$scratch/caught.err"
	same_caught=$?
	if [ $same_plain -ne $same_caught ]; then
		not_ok "$same_name" "exit status $same_plain, under mam $same_caught: $(lib_tail "$scratch/caught.err")"
	elif ! cmp -s "$scratch/plain" "$scratch/caught"; then
		not_ok "$same_name" "$(diff "$scratch/plain" "$scratch/caught" | tr '\n' ' ' | cut -c 1-300)"
	elif [ ! -s "$scratch/plain" ]; then
		not_ok "$same_name" "the plain run printed nothing: $(lib_tail "$scratch/plain.err")"
	elif [ "${caught-some}" = some ] && ! [ "$(stat_of calls_caught)" -gt 0 ]; then
		not_ok "$same_name" "no call was intercepted"
	else
		ok "$same_name"
	fi
}

# Runs a command under mam and prints the notes of shared blocks that it did not remove. Only notes
# that contain its own process ID count (ipc_note.h: after eight bytes of magic and four of
# version), because other tests share blocks at the same time.
notes_left_by() # COMMAND...
{
	sh -c 'echo $$ > "$1"; shift; exec "$@"' sh "$scratch/process" "$MAM" run -- "$@" > /dev/null 2>&1
	find /dev/shm -maxdepth 1 -name "mam-ipc-$(id -u)-*" 2> /dev/null | while read -r notes_path; do
		notes_owner=$(od -An -tu4 -j12 -N4 "$notes_path" 2> /dev/null | tr -d ' ')
		[ "$notes_owner" != "$(cat "$scratch/process")" ] || echo "$notes_path"
	done
}
set=
run=
