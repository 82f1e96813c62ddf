#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# exporter.sh - mam exporter with real processes: the text, the file and how it is replaced, the
# server on an address and on a path, pages of other users, and errors. test_serve.c has the hostile
# clients.
# shellcheck disable=SC2016 # scripts of sed

. "${MAM_SRCDIR:-.}/tests/lib.sh"

here=$MAM_SRCDIR/tests/tools/exporter
library=$MAM_BUILDDIR/.libs
pids=

[ -e "$library/libmam.so.0" ] || skip_all "exporter" "there is no shared library in this build"
# shellcheck disable=SC2086 # CFLAGS are words
if ! { $CC ${CFLAGS:-} -I "$MAM_SRCDIR/include" "$here/exporter_hold.c" -o "$scratch/hold" "$library/libmam.so.0" &&
	$CC ${CFLAGS:-} "$here/exporter_get.c" -o "$scratch/get"; } > "$scratch/out" 2>&1; then
	not_ok "the programs build" "$(lib_tail "$scratch/out")"
	finish
fi

# An empty folder: no other process of this machine has its page there.
mkdir "$scratch/pages"
XDG_RUNTIME_DIR=$scratch/pages
export XDG_RUNTIME_DIR

wait_for() # COMMAND... - up to a minute
{
	wait_count=0
	until "$@"; do
		wait_count=$((wait_count + 1))
		[ "$wait_count" -lt 600 ] || return 1
		sleep 0.1
	done
}

stop_all()
{
	# shellcheck disable=SC2086 # process IDs are words
	[ -z "$pids" ] || kill $pids 2> /dev/null
	pids=
}
trap 'ended=$?; stop_all; (exit "$ended"); lib_exit' EXIT

hold() # PROGRAM POOL - starts a process that keeps blocks; sets $held
{
	cp "$scratch/hold" "$scratch/$1"
	mkfifo "$scratch/in.$$"
	LD_LIBRARY_PATH=$library "$scratch/$1" "$2" < "$scratch/in.$$" > "$scratch/ready" &
	held=$!
	pids="$pids $held"
	exec 9> "$scratch/in.$$" # it waits until the last writer ends
	rm "$scratch/in.$$"
	wait_for grep -q ready "$scratch/ready" || not_ok "$1 starts" "no output"
}

exporter() # ARGUMENT... - sets $status
{
	timeout 60 "$MAM" exporter "$@" > "$scratch/out" 2> "$scratch/err"
	status=$?
	return "$status"
}

errors_of() # FILE
{
	LC_ALL=C awk -f "$here/openmetrics.awk" "$1" | head -n 3
}

value_of() # METRIC PID - in $scratch/out
{
	sed -n "s/^$1{.*pid=\"$2\",.*} //p" "$scratch/out"
}

# The checker rejects each of these.
exporter
same "no process: the text is valid" "0 " "$status $(errors_of "$scratch/out")"
same "no process: counts" "mam_pages 0 mam_omitted 0" "$(grep '^[^#]' "$scratch/out" | paste -sd ' ')"
cp "$scratch/out" "$scratch/good"
for script in '$d' '$p' '1d' '/^mam_pages/p' '/UNIT/s/bytes$/seconds/' 's/^mam_pages 0/mam_page 0/' 's/^mam_pages 0/mam_pages x/' \
	's/^mam_pages/&{a="b",a="c"}/' 's/^mam_pages/&{a="\\b"}/' 's/^mam_pages/&{a="b"/' 's/^mam_pages/&{1="b"}/' 's/gauge/&s/' \
	's/^# TYPE mam_frees/&_total/' 's/HELP mam_frees/HELP mam_free/' 's/^mam_pages/& /' 's/HELP mam_frees/&\r/'; do
	sed "$script" "$scratch/good" > "$scratch/bad"
	try "the checker rejects '$script'" test -n "$(errors_of "$scratch/bad")"
done

# The dashboard and the page use only metrics that exist.
sed -n 's/^# TYPE //p' "$scratch/good" | sed 's/ counter$/_total/; s/ gauge$//' | sort > "$scratch/names"
unknown_in() # FILE
{
	grep -Eo 'mam_[a-z_]*(bytes|blocks|total|pages|omitted)' "$1" | sort -u | comm -23 - "$scratch/names"
}
for file in docs/grafana.json docs/exporter.md tools/mam-exporter.1; do
	same "metrics in $file" "" "$(unknown_in "$MAM_SRCDIR/$file")"
done
same "the dashboard shows each kind of metric" 6 "$(grep -Eo 'mam_(live_bytes|peak_[a-z]*_bytes|allocations_total|failures_total|driver_seconds_total)' \
	"$MAM_SRCDIR/docs/grafana.json" | sort -u | wc -l)"
echo 'sum(mam_old_bytes)' > "$scratch/bad"
same "unknown metric is detected" mam_old_bytes "$(unknown_in "$scratch/bad")"

hold 'a"b\c' 'x"} 1
y'
first=$held
hold second two
exporter
same "two processes: the text is valid" "0 " "$status $(errors_of "$scratch/out")"
same "two processes: pages" 2 "$(sed -n 's/^mam_pages //p' "$scratch/out")"
same "each metric has a sample per process" "13 2" "$(grep -c '^# HELP.*' "$scratch/out" | awk '{ print $1 - 2 }') \
$(grep '^mam_.*{' "$scratch/out" | sed 's/{.*//' | sort | uniq -c | awk '{ print $1 }' | uniq)"
same "figures of a process" "8 44000 55000 10 2 1" "$(value_of mam_live_blocks $held) $(value_of mam_live_bytes $held) \
$(value_of mam_peak_live_bytes $held) $(value_of mam_allocations_total $held) $(value_of mam_frees_total $held) \
$(value_of mam_failures_total $held)"
same "labels of a process" "{uid=\"$(id -u)\",pid=\"$held\",program=\"second\",device=\"none\",pool=\"two\",source=\"host\",id=\"64\"}" \
	"$(sed -n "s/^mam_live_bytes\({.*\"$held\".*}\) .*/\1/p" "$scratch/out")"
same "hostile names are escaped" 1 "$(grep -cF "mam_live_bytes{uid=\"$(id -u)\",pid=\"$first\",program=\"a\\\"b\\\\c\",\
device=\"none\",pool=\"x\\\"} 1\\ny\",source=\"host\",id=\"64\"} 44000" "$scratch/out")"
kill -9 "$first"
wait "$first" 2> /dev/null
exporter
same "a killed process has no metrics" "1  8" "$(sed -n 's/^mam_pages //p' "$scratch/out") $(value_of mam_live_blocks "$first") \
$(value_of mam_live_blocks $held)"

# The file. A reader that has opened it keeps the old one.
umask 022
echo old > "$scratch/mam.prom"
exec 8< "$scratch/mam.prom"
exporter --textfile "$scratch/mam.prom"
same "--textfile: status and no output" "0 0 0" "$status $(wc -c < "$scratch/out") $(wc -c < "$scratch/err")"
same "--textfile: an open file keeps its text" old "$(cat <&8)"
same "--textfile: the file is valid" "" "$(errors_of "$scratch/mam.prom")"
same "--textfile: others can read it" "-rw-r--r--" "$(find "$scratch/mam.prom" -exec ls -l {} + | cut -c 1-10)"
"$MAM" exporter --textfile "$scratch/mam.prom" --interval 1 2> "$scratch/err" &
repeating=$!
pids="$pids $repeating"
cp "$scratch/mam.prom" "$scratch/before"
kill -9 "$held"
wait_for grep -qx 'mam_pages 0' "$scratch/mam.prom"
same "--interval: the file is replaced again" 0 $?
count=0
while [ "$count" -lt 200 ]; do
	count=$((count + 1))
	[ "$(tail -n 1 "$scratch/mam.prom")" = "# EOF" ] || break
done
same "--interval: the file is always complete" 200 $count
kill "$repeating"
wait "$repeating" 2> /dev/null
same "--interval: no other file remains" mam.prom "$(cd "$scratch" && find . -name '*mam.prom*' | sed 's,^./,,')"

# The server.
serve() # WHERE - sets $server and $port
{
	: > "$scratch/serve.err"
	"$MAM" exporter --listen "$1" > "$scratch/serve.out" 2> "$scratch/serve.err" &
	server=$!
	pids="$pids $server"
	wait_for test -s "$scratch/serve.err"
	port=$(sed -n 's/.*serving http:.*:\([0-9]*\).metrics$/\1/p' "$scratch/serve.err")
}

end_server() # sets $status
{
	kill "$server"
	wait "$server"
	status=$?
}

get() # PATH | ADDRESS PORT - leaves the body in $scratch/out
{
	printf 'GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n' | "$scratch/get" "$@" > "$scratch/response" || return
	sed '1,/^\r*$/d' "$scratch/response" > "$scratch/out"
}

hold third three
for where in 0 :0 127.0.0.1:0 localhost:0; do
	serve $where
	same "--listen $where is of this machine only" "mam exporter: note: serving http://127.0.0.1:$port/metrics" \
		"$(cat "$scratch/serve.err")"
	get 127.0.0.1 "$port"
	same "--listen $where: response" "0 HTTP/1.1 200 OK 44000 " "$? $(head -n 1 "$scratch/response" | tr -d '\r') \
$(value_of mam_live_bytes $held) $(errors_of "$scratch/out")"
	end_server
	same "--listen $where ends on request" 0 $status
done
same "type of the response" "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8" \
	"$(grep Type "$scratch/response" | tr -d '\r')"

serve "unix:$scratch/socket"
get "$scratch/socket"
same "--listen unix: response" "0 44000 " "$? $(value_of mam_live_bytes $held) $(errors_of "$scratch/out")"
refused_by exporter "--listen unix: a path in use" 2 "error: cannot listen on 'unix:$scratch/socket': Address already in use" \
	--listen "unix:$scratch/socket"
get "$scratch/socket"
same "the first server still responds" 0 $?
end_server
same "its path is removed" "0 no" "$status $([ -e "$scratch/socket" ] && echo yes || echo no)"
serve "unix:$scratch/socket"
kill -9 "$server"
wait "$server" 2> /dev/null
serve "unix:$scratch/socket"
get "$scratch/socket"
same "a path that a killed server left is used again" 0 $?
end_server
echo text > "$scratch/file"
refused_by exporter "--listen unix: a file" 2 "cannot listen on 'unix:$scratch/file': Address already in use" --listen "unix:$scratch/file"
same "the file remains" text "$(cat "$scratch/file")"

# Pages of other users.
if [ "$(id -u)" -eq 0 ] && [ -d /dev/shm ] && [ -w /dev/shm ]; then
	user=$((2000000000 + $$))
	others=/dev/shm/mam-$user
	trap 'ended=$?; stop_all; rm -rf "$others"; (exit "$ended"); lib_exit' EXIT
	page=$(find "$scratch/pages/mam" -name "$held-*")
	mkdir -m 700 "$others"
	cp "$page" "$others"
	all() # sets $status; the pools of that user are in $scratch/out
	{
		env -u XDG_RUNTIME_DIR "$MAM" exporter > "$scratch/all" 2> "$scratch/err"
		status=$?
		grep "^mam_live_bytes{uid=\"$user\"" "$scratch/all" > "$scratch/out"
	}
	all
	same "root: the folder is not of its user" "0 0" "$status $(wc -l < "$scratch/out")"
	chown -R "$user" "$others"
	all
	same "root: a page of another user" "0 44000 " "$status $(value_of mam_live_bytes $held) $(errors_of "$scratch/all")"
	chown 0 "$others/"*
	all
	same "root: the page is not of its user" "0 0" "$status $(wc -l < "$scratch/out")"
	rm "$others/"*
	ln -s "$page" "$others/${page##*/}"
	chown -h "$user" "$others/"*
	all
	same "root: a page that is a link" "0 0" "$status $(wc -l < "$scratch/out")"
	rm -r "$others"
	ln -s "$scratch/pages/mam" "$others"
	chown -h "$user" "$others"
	all
	same "root: a folder that is a link" "0 0" "$status $(wc -l < "$scratch/out")"
	rm "$others"
else
	skip "pages of other users" "not root"
fi

# Errors.
for where in '' : x 1:2:3 ::1:5 '[::1:5' '[]:5' 65x 65536 123456 -1 unix: unix; do
	exporter --listen "$where"
	same "--listen '$where' is refused" "2 1" "$status $(wc -l < "$scratch/err")"
done
exporter --listen "unix:$(printf '%0120d' 0)"
same "a long path" "2 1" "$status $(grep -c 'a path has 1 to 107 bytes$' "$scratch/err")"
exporter --listen "unix:$scratch/none/socket"
same "a path in no folder" "2 1" "$status $(grep -c 'No such file or directory$' "$scratch/err")"
exporter --textfile "$scratch/none/mam.prom"
same "a file in no folder" "2 1" "$status $(grep -c 'No such file or directory$' "$scratch/err")"
exporter --textfile /dev/null
same "a device" "2 1" "$status $(grep -c 'not a regular file$' "$scratch/err")"
refused_by exporter "two outputs" 2 "--textfile and --listen exclude each other" --textfile x --listen 1
refused_by exporter "an interval without a file" 2 "--interval requires --textfile" --interval 1
refused_by exporter "an operand" 2 "unexpected argument 'x'" x
exporter --help
explained_in "$MAM_SRCDIR/tools/mam-exporter.1"
finish
