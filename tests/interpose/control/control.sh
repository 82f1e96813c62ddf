#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# control.sh - mam ctl controls a program that runs: probe_control.c, which executes the lines of a
# pipe. Clients that are stopped, killed, hostile or numerous do not disturb the program, and the
# program may fork, close its descriptors and exit at any time.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
. "$MAM_SRCDIR/tests/interpose/control/talk.sh"
on_both_sources

probe=$probes/probe_control
client=$probes/ctl_client
XDG_RUNTIME_DIR=$scratch/run
export XDG_RUNTIME_DIR
mkdir -m 700 "$XDG_RUNTIME_DIR"
pages=$XDG_RUNTIME_DIR/mam

# Ends the probe. Its exit status is 0 even if a request is in progress.
stop() # NAME
{
	exec 3>&-
	wait "$process"
	same "$1: exit status" 0 $?
}

ctl() # ARGUMENT... - one request; the output is in $scratch/reply
{
	"$MAM" ctl "$@" > "$scratch/reply" 2>&1
}

sockets_of() # PROCESS - how many descriptors are sockets
{
	find "/proc/$1/fd" -type l -exec readlink {} + | grep -c '^socket:'
}

socket_of() # PROCESS - the path of its socket
{
	find "$pages" -name "$1-*.ctl"
}

threads_of() # PROCESS
{
	find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l
}

is_stopped() # PROCESS - all of its threads are
{
	! sed -n 's/^State:[[:space:]]*//p' "/proc/$1/task"/*/status | grep -qv '^T'
}

# The life of the socket.
start
same "without a pool there is no thread" 1 "$(threads_of "$process")"
try "the program allocates" [ "$(tell "alloc 10 1000000")" = 0 ]
same "with a pool there is one more" 2 "$(threads_of "$process")"
same "only its owner can use the socket" srw------- "$(find "$pages" -name "$process-*.ctl" -printf %M)"
same "the program has one more descriptor" 1 "$(sockets_of "$process")"

# trim and limit.
ctl "$process" trim
same "trim releases no memory in use" "released 0 B" "$(sed 's/;.*//' "$scratch/reply")"
held=$(sed 's/.*have //' "$scratch/reply")
try "the program frees" [ "$(tell free)" = 0 ]
ctl probe_control trim
same "trim releases the memory of freed blocks" "released $held; the pools have 0 B" "$(cat "$scratch/reply")"
ctl "$process" limit 8M
same "limit is accepted" "limit 8.00 MiB per device; in use: 0 B" "$(cat "$scratch/reply")"
same "an allocation above the limit fails" 2 "$(tell "alloc 1 9000000")"
same "one below it succeeds" 0 "$(tell "alloc 1 3000000")"
ctl "$process" limit 1M
try "a limit below the use is reported" grep -q 'so nothing can be allocated' "$scratch/reply"
same "no allocation that grows the pool succeeds" 2 "$(tell "alloc 1 9000000")"
ctl "$process" limit none
try "limit none is accepted" grep -q '^no limit; in use: ' "$scratch/reply"
same "the allocation succeeds" 0 "$(tell "alloc 1 9000000")"
tell free > /dev/null

# dump: exact while nothing changes.
tell "alloc 10 1000" > /dev/null
tell "alloc 3 2000000" > /dev/null
for suffix in html svg pickle trace trace.gz; do
	ctl "$process" dump "$scratch/heap.$suffix"
	same "dump $suffix" "$scratch/heap.$suffix: 13 blocks, 5.73 MiB" "$(cat "$scratch/reply")"
done
same "the trace has each block" "10 1000,3 2000000," \
	"$(sed -n 's/^a [0-9]* \([0-9]*\) .*/\1/p' "$scratch/heap.trace" | sort -n | uniq -c | awk '{ printf "%s %s,", $1, $2 }')"
"$MAM" replay --plain --map "$scratch/again.html" "$scratch/heap.pickle" > "$scratch/replayed" 2>&1
same "mam replay reads the snapshot" "13 6010000" \
	"$(sed -n 's/^\(allocs\|live_end_bytes\)	//p' "$scratch/replayed" | tr '\n' ' ' | sed 's/ $//')"
try "and draws it" test -s "$scratch/again.html"
ctl "$process" dump "$scratch/heap.txt"
same "a dump in another format is refused" 2 $?

# While 16 threads allocate.
tell "threads 16" > /dev/null
good=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	ctl "$process" dump "$scratch/busy.$i.trace" && "$MAM" replay "$scratch/busy.$i.trace" > /dev/null 2>&1 &&
		good=$((good + 1))
done
same "10 dumps while 16 threads allocate are complete" 10 $good
clients=
socket=$(socket_of "$process")
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 40 \
	41 42 43 44 45 46 47 48 49 50; do
	"$client" "$socket" "limit 0
" > "$scratch/client.$i" &
	clients="$clients $!"
done
# shellcheck disable=SC2086 # words
wait $clients
same "50 clients at once get a reply each" 50 "$(cat "$scratch"/client.* | grep -c '^done [0-9]')"
for delay in 0 0.001 0.002 0.003 0.005 0.01; do
	"$MAM" ctl "$process" dump "$scratch/killed.trace" > /dev/null 2>&1 &
	killed=$!
	sleep $delay
	kill -9 $killed 2> /dev/null
	wait $killed 2> /dev/null
done
ctl "$process" trim
same "killed clients do not disturb the next one" 0 $?

# A trace. The program allocates 13 blocks before, some of which its threads would not free.
same "a trace of blocks that threads change starts" 0 "$("$MAM" ctl "$process" trace "$scratch/busy.trace" > /dev/null; echo $?)"
ctl "$process" trace "$scratch/second.trace"
try "a second trace is refused" grep -q 'refused the request: the program already has a trace' "$scratch/reply"
try "it has no file" test ! -e "$scratch/second.trace"
good=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	ctl "$process" trace off
	"$MAM" replay --plain "$scratch/busy.trace" > "$scratch/replayed" 2>&1 &&
		[ "$(sed -n 's/^allocs	//p' "$scratch/replayed")" -ge 13 ] && good=$((good + 1))
	[ "$i" -eq 10 ] || "$MAM" ctl "$process" trace "$scratch/busy.trace" > /dev/null
done
same "10 traces of 16 threads can be replayed" 10 $good
ctl "$process" trace off
try "there is none that could end" grep -q 'refused the request: the program has no trace' "$scratch/reply"
ctl "$process" trace "$scratch/none/a.trace"
same "a folder that does not exist: exit status" 2 $?
ctl "$process" trace /proc/a.trace
try "a file that cannot be created" grep -q 'refused the request: cannot write the trace: ' "$scratch/reply"

# Statistics.
ctl "$process" stats
try "without --stats there are none" grep -q 'refused the request: the program was started without --stats' "$scratch/reply"

# Hostile clients.
same "an unknown request" "working error the request is unknown to the program's version of mam" \
	"$("$client" "$socket" "exec /bin/sh
" | tr '\n' ' ' | sed 's/ $//')"
same "a request that is too long" "working error the request is too long" \
	"$("$client" "$socket" "$(printf %05000d 0)" | tr '\n' ' ' | sed 's/ $//')"
same "a request that is cut off" "working error the request is incomplete" \
	"$("$client" "$socket" trim | tr '\n' ' ' | sed 's/ $//')"
same "no request" "" "$("$client" "$socket")"
if [ "$(id -u)" -eq 0 ] && command -v setpriv > /dev/null; then
	chmod 711 "$scratch" "$XDG_RUNTIME_DIR" "$pages"
	chmod 666 "$socket"
	cp "$client" "$scratch/client" && chmod 755 "$scratch/client"
	same "another user is refused even if it can reach the socket" "0 " \
		"$(setpriv --reuid 65534 --clear-groups "$scratch/client" "$socket" "trim
"; echo "$? ")"
	chmod 700 "$XDG_RUNTIME_DIR" "$pages"
else
	skip "another user" "requires root and setpriv"
fi

# A stopped program. Until its last thread has stopped, it may still respond.
kill -STOP "$process"
until_true is_stopped "$process"
before=$(date +%s)
ctl "$process" limit 1M
same "a stopped program: exit status" 1 $?
try "it does not respond" grep -q "^mam ctl: error: process $process (probe_control) does not respond: " "$scratch/reply"
try "the error needs about a second" [ $(($(date +%s) - before)) -le 5 ]
kill -CONT "$process"
ctl "$process" trim
same "it responds once it continues" 0 $?
same "the request that was given up has no effect" 0 "$(tell "alloc 1 9000000")"

# A fork.
child=$(tell fork)
same "the child of a fork has none of the sockets" 0 "$(sockets_of "$child")"
same "and no thread" 1 "$(threads_of "$child")"
ctl "$child" trim
try "it cannot be controlled" grep -q "there is no process $child of this user that uses mam" "$scratch/reply"
ctl "$process" trim
same "its parent can" 0 $?

# A program that closes all descriptors.
files=$(tell files)
tell close > /dev/null
ctl "$process" trim
ctl "$process" trim
same "a program that closed its descriptors: exit status" 1 $?
try "it cannot be controlled anymore" grep -q 'cannot be controlled' "$scratch/reply"
until_true eval '[ "$(tell files)" -eq 3 ]' # that of the last connection may still be open
same "no descriptor was opened again" 3 "$(tell files)"
try "before there were more" [ "$files" -gt 3 ]
stop "a program whose descriptors are closed"
kill "$child"
same "the socket is removed" "" "$(ls "$pages")"

# A trace of a program whose blocks are known.
start
tell "alloc 10 1000" > /dev/null
tell "alloc 3 2000000" > /dev/null
(cd "$scratch" && "$MAM" ctl "$process" trace "known %p.trace") > "$scratch/reply" 2>&1
same "trace reports the blocks from before" "trace known %p.trace started, with 13 blocks" "$(cat "$scratch/reply")"
tell "alloc 2 5000" > /dev/null
tell free > /dev/null
ctl "$process" trace off
same "trace off reports the events" "the trace has ended, with 30 events" "$(cat "$scratch/reply")"
tell "alloc 1 700" > /dev/null
"$MAM" replay --plain "$scratch/known %p.trace" > "$scratch/replayed" 2>&1
same "the trace has them and no others" "15 15 6020000 0" \
	"$(for key in allocs frees peak_live_bytes live_end_bytes; do sed -n "s/^$key	//p" "$scratch/replayed"; done | tr '\n' ' ' | sed 's/ $//')"
ctl "$process" trace "$scratch/left.trace"
tell "alloc 1 800" > /dev/null
stop "a program with a trace"
"$MAM" replay --plain "$scratch/left.trace" > "$scratch/replayed" 2>&1
same "a trace that was not ended is complete after exit" "2 1500" \
	"$(sed -n 's/^\(allocs\|live_end_bytes\)	//p' "$scratch/replayed" | tr '\n' ' ' | sed 's/ $//')"
try "its ring is removed" test ! -e "$scratch/left.trace.ring"
start --trace "$scratch/own.trace"
tell "alloc 1 700" > /dev/null
ctl "$process" trace "$scratch/second.trace"
try "a program that writes a trace is refused another" grep -q 'already has a trace' "$scratch/reply"
ctl "$process" trace off
same "its own can end" "the trace has ended, with 1 event" "$(cat "$scratch/reply")"
tell "alloc 1 700" > /dev/null
ctl "$process" trace "$scratch/second.trace"
same "then another can start" "trace $scratch/second.trace started, with 2 blocks" "$(cat "$scratch/reply")"
stop "a program with two traces"

# The call sites of a dump.
start --leaks="$scratch/leaks"
tell "alloc 3 700" > /dev/null
ctl "$process" dump "$scratch/sites.trace"
same "with --leaks, a dump has call sites" 3 "$(grep -c '^a [0-9]* 700 0 who=[a-z]*[@+0-9a-fx]*probe_control' "$scratch/sites.trace")"
tell free > /dev/null
stop "a program with call sites"

# Exit during a request.
bad=0
for i in 1 2 3 4 5; do
	start --stats="$scratch/stats"
	tell "alloc 20000 600" > /dev/null
	"$client" "$(socket_of "$process")" &
	"$MAM" ctl "$process" dump "$scratch/exit.trace" > "$scratch/exit" 2>&1 &
	[ "$i" -ne 1 ] || ctl "$process" stats "$scratch/now"
	echo exit >&3
	exec 3>&-
	wait "$process" || bad=$((bad + 1))
done
same "5 programs exit during requests" 0 $bad
wait
same "stats FILE has the keys of --stats" "20000 20000" \
	"$(sed -n 's/^served	//p' "$scratch/now") $(stat_of served)"

# Two programs with one name, and one that was killed.
start
tell "alloc 1 1000" > /dev/null
first=$process
exec 4>&3
mv "$scratch/in" "$scratch/in.first"
start
tell "alloc 1 1000" > /dev/null
ctl probe_control trim
same "two programs with one name" "mam ctl: error: several processes are named 'probe_control'; specify one by its ID:" \
	"$(sed 's/: [0-9]*, [0-9]*$/:/' "$scratch/reply")"
kill -9 "$first"
wait "$first" 2> /dev/null
exec 4>&-
try "the socket of a killed process stays" test -e "$(socket_of "$first")"
ctl "$first" trim
try "it is not a running process" grep -q "there is no process $first" "$scratch/reply"
ctl probe_control trim
same "the other one is found by its name" 0 $?
stop "the other one"
start
tell "alloc 1 1000" > /dev/null
same "the next process removes it" "$process" "$(socket_of "*" | sed "s,$pages/,,; s/-.*//")"
stop "the next process"

# Usage.
for arguments in "" "1" "1 boil" "1 limit" "1 limit x" "1 limit 0" "1 trim now" "1 dump" "1 dump a.txt" "1 dump a,b.html" "1 trace" "1 trace a/"; do
	# shellcheck disable=SC2086 # words
	ctl $arguments
	same "mam ctl $arguments: exit status" 2 $?
	same "mam ctl $arguments: one line" 1 "$(grep -c '^mam ctl: error: ' "$scratch/reply")"
done
finish
