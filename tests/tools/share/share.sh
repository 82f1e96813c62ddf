#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# share.sh - mam share: programs that do not fit on a GPU together take turns. The stand-in driver
# gives each process a whole GPU, so a limit that the processes share takes its place.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_sleep
XDG_RUNTIME_DIR=$scratch/run
MAM_LIMIT=100M
MAM_LIMIT_FILE=$scratch/limit
export XDG_RUNTIME_DIR MAM_LIMIT MAM_LIMIT_FILE
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkdir "$scratch/contents"

share() # ARGUMENT... - messages are in $scratch/err
{
	rm -f "$scratch/limit"
	timeout 120 "$MAM" share "$@" > "$scratch/out" 2> "$scratch/err"
}

# How often the program that made progress changed.
changes()
{
	uniq "$scratch/rounds" | wc -l
}

is_alive() # PROCESS
{
	[ -e "/proc/$1" ] && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status"
}

# 60 MB each, in 20 blocks.
"$MAM" run --source=vmm -- "$probe" 40 3000000 1 > /dev/null 2>&1
same "two programs in one do not fit" 1 $?
for to in "" "--to=$scratch/contents"; do
	: > "$scratch/rounds"
	share -t 1 $to -- "$probe" 20 3000000 100 "$scratch/rounds" -- "$probe" 20 3000000 100 "$scratch/rounds"
	same "two programs $to: no allocation fails, and contents are right" 0 $?
	same "each makes its progress" "100 100" "$(sort "$scratch/rounds" | uniq -c | awk '{ printf "%s%s", s, $1; s = " " }')"
	try "they take turns: $(changes)" test "$(changes)" -gt 2 -a "$(changes)" -lt 60
	try "the message has the number" grep -q '^mam share: note: [1-9][0-9]* switch[es]*; no program had the GPU for [0-9.]* s$' "$scratch/err"
	same "nothing else is reported" 1 "$(wc -l < "$scratch/err")"
done
same "no file remains" "" "$(ls "$scratch/contents")"
same "no socket remains" "" "$(find "$XDG_RUNTIME_DIR" -name 'mam-share-*')"

# A program that starts others, and one that ends early.
: > "$scratch/rounds"
share -t 1 -- sh -c '"$0" "$@" & "$0" "$@"; one=$?; wait $! && exit $one' "$probe" 5 3000000 30 "$scratch/rounds" \
	-- "$probe" 20 3000000 10 "$scratch/rounds" -- "$probe" 20 3000000 20 "$scratch/rounds"
same "three programs, of which one has two processes" 0 $?
same "each makes its progress" "10 20 30 30" "$(sort "$scratch/rounds" | uniq -c | awk '{ print $1 }' | sort -n | tr '\n' ' ' | sed 's/ $//')"

# Memory that is not in pools stays on the device.
: > "$scratch/rounds"
MAM_LIMIT=0 MAM_PASS_ABOVE=1M share -t 1 -- "$probe" 25 3000000 100 -- "$probe" 25 3000000 100
same "programs whose memory stays on the device" 0 $?
try "that is reported once for each" test "$(grep -c 'note: process [0-9]* keeps 100.00 MiB on the device' "$scratch/err")" -eq 2

# The exit status, and a program without CUDA.
share -- true -- sh -c 'exit 3' -- sh -c 'exit 4'
same "the status is that of the first program that failed" 3 $?
share -- sh -c 'kill -9 $$' -- true
same "128 and the signal" 137 $?
share -- "$scratch/none" -- true
same "a program that does not exist" 127 $?

# A program that is killed while it is awake, or suspended, leaves its turn to the other.
for victim in 1 2; do
	: > "$scratch/rounds"
	rm -f "$scratch/limit"
	"$MAM" share -t 1 -- "$probe" 20 3000000 100000 "$scratch/rounds" -- "$probe" 20 3000000 60 "$scratch/last" 2> "$scratch/err" &
	shares=$!
	until_true test -s "$scratch/rounds"
	pid=$(head -n 1 "$scratch/rounds")
	if [ $victim -eq 2 ]; then
		until_true test -s "$scratch/last"
	fi
	kill -9 "$pid"
	wait $shares
	same "a program is killed, case $victim: the status" 137 $?
	same "the other one ends" 60 "$(wc -l < "$scratch/last")"
	rm -f "$scratch/last"
done

# A signal ends all.
: > "$scratch/rounds"
"$MAM" share -t 1 -- "$probe" 20 3000000 100000 "$scratch/rounds" -- "$probe" 20 3000000 100000 "$scratch/rounds" \
	-- sh -c 'trap "" TERM; while :; do sleep 1; done' 2> "$scratch/err" &
shares=$!
until_true eval '[ "$(changes)" -gt 1 ]'
pids=$(sort -u "$scratch/rounds")
kill -TERM $shares
wait $shares
same "a signal ends mam share" 143 $?
alive=0
for pid in $pids; do
	is_alive "$pid" && alive=$((alive + 1))
done
same "and all programs" 0 $alive

# A Ctrl-C, which the programs receive, too. Then 5 seconds pass before SIGTERM, or a second Ctrl-C.
try "the terminal builds" "$CC" -D_GNU_SOURCE -o "$scratch/terminal" "$MAM_SRCDIR/tests/tools/share/terminal.c"
# shellcheck disable=SC2016 # the programs expand it
saves='trap "sleep 0.3; echo saved >> $0; exit 0" INT; echo ready >> $0; while :; do sleep 0.1; done'
# shellcheck disable=SC2016
ignores='trap "echo saved >> $0" INT; echo ready >> $0; while :; do sleep 0.1; done'
for programs in "$saves" "$ignores"; do
	: > "$scratch/lines"
	mkfifo "$scratch/keys"
	"$scratch/terminal" "$MAM" share -- sh -c "$programs" "$scratch/lines" -- sh -c "$programs" "$scratch/lines" \
		< "$scratch/keys" > "$scratch/out" 2>&1 &
	shares=$!
	exec 3<> "$scratch/keys"
	until_true eval '[ "$(grep -c ready "$scratch/lines")" = 2 ]'
	echo c >&3
	until_true eval '[ "$(grep -c saved "$scratch/lines")" = 2 ]'
	echo c >&3
	wait $shares
	same "a Ctrl-C: exit status" 130 $?
	exec 3>&-
	rm "$scratch/keys"
	try "the programs could handle it" test "$(grep -c saved "$scratch/lines")" -ge 2
done

# mam share itself is killed. The programs get a signal; a process of another one resumes.
: > "$scratch/rounds"
rm -f "$scratch/limit"
"$MAM" share -t 1 -- sh -c '"$0" "$@" & wait' "$probe" 20 3000000 400 "$scratch/rounds" -- \
	"$probe" 20 3000000 100000 "$scratch/rounds" 2> "$scratch/err" &
shares=$!
until_true eval '[ "$(changes)" -gt 1 ]'
kill -9 $shares
wait $shares 2> /dev/null
until_true eval '[ "$(sort "$scratch/rounds" | uniq -c | grep -c " 400 ")" = 1 ]'
same "mam share is killed: a process that remains ends its work" 1 "$(sort "$scratch/rounds" | uniq -c | grep -c ' 400 ')"

# A turn begins when its program has resumed, which takes longer than a turn here.
try "the client builds" "$CC" -D_GNU_SOURCE -o "$scratch/turn_client" "$MAM_SRCDIR/tests/tools/share/turn_client.c"
share -t 1 -- "$scratch/turn_client" 1200 -- "$scratch/turn_client" 1200
same "two programs that resume slowly" 0 $?
same "each has a whole turn" 2 "$(awk '$1 >= 900' "$scratch/out" | wc -l)"

# A hangup that mam share was started to ignore (nohup).
: > "$scratch/rounds"
(trap "" HUP; exec "$MAM" share -t 1 -- "$probe" 5 3000000 200 "$scratch/rounds" 2> "$scratch/err") &
shares=$!
until_true test -s "$scratch/rounds"
kill -HUP $shares
wait $shares
same "mam share ignores a hangup under nohup" 0 $?

# Control from outside.
: > "$scratch/rounds"
"$MAM" share -t 1 -- "$probe" 5 3000000 100000 "$scratch/rounds" 2> "$scratch/err" &
shares=$!
until_true test -s "$scratch/rounds"
"$MAM" ctl "$(head -n 1 "$scratch/rounds")" suspend > "$scratch/reply" 2>&1
same "mam ctl suspend: exit status" 1 $?
try "mam ctl suspend: the reason" grep -q 'refused the request: the program takes turns' "$scratch/reply"
kill -INT $shares
wait $shares
same "an interrupt" 130 $?

# Usage.
for arguments in "" "--" "-- true --" "-- -- true" "-t 0 -- true" "-t x -- true" "--to=$scratch/none -- true" "--to=$MAM -- true"; do
	# shellcheck disable=SC2086 # words
	share $arguments
	same "mam share $arguments: exit status" 2 $?
	same "mam share $arguments: one line" 1 "$(wc -l < "$scratch/err")"
done
finish
