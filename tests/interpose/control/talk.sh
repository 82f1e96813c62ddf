# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
#
# talk.sh - functions of the tests that start $probe under mam run and talk to it by lines; sourced by them.
# shellcheck disable=SC2034,SC2154 # shared with those

has_lines() # COUNT
{
	[ "$(wc -l < "$scratch/out")" -ge "$1" ]
}

# Starts the probe, on $talk_source if that is set; $process is its ID.
start() # OPTION... - of mam run
{
	rm -f "$scratch/in"
	: > "$scratch/out"
	mkfifo "$scratch/in"
	"$MAM" run ${talk_source:+"--source=$talk_source"} "$@" -- "$probe" < "$scratch/in" > "$scratch/out" 2> "$scratch/err" &
	process=$!
	exec 3> "$scratch/in"
	until_true has_lines 1 || not_ok "the probe starts" "$(lib_tail "$scratch/err")"
}

# Sends a line to the probe, which may be held; $lines is the number of results when it is done.
send() # LINE
{
	lines=$(($(wc -l < "$scratch/out") + 1))
	echo "$1" >&3
}

# Sends a line to the probe and prints its result.
tell() # LINE
{
	send "$1"
	until_true has_lines "$lines"
	tail -n 1 "$scratch/out"
}
