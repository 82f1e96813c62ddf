#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# stats.sh - --stats reports the known calls of programs by function and route, and by result and
# reason, in a file and in a table. Each process writes its own file.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

stats=$scratch/stats

watch() # OPTIONS... - the statistics of one run go to $stats, its output and errors to out and err
{
	rm -f "$stats"*
	"$MAM" run --stats="$stats" "$@" > "$scratch/out" 2> "$scratch/err"
}

stats_of() # KEY... - their values, "-" for missing ones
{
	stats_line=
	for stats_key in "$@"; do
		stats_value=$(stat_of "$stats_key")
		stats_line="$stats_line ${stats_value:--}"
	done
	echo "${stats_line# }"
}

# 48 blocks per round, through the one interface of each client.
for row in "client_shared cudaMalloc cudaFree runtime" "client_dlsym cuMemAlloc_v2 cuMemFree_v2 lookup" \
	"client_driver cuMemAlloc_v2 cuMemFree_v2 driver"; do
	# shellcheck disable=SC2086 # words
	set -- $row
	watch -- "$clients/$1" --rounds 3 --threads 2
	same "$1: $2 and $3 by $4" "288 288 288 288" "$(stats_of "call.$2.$4" "call.$2.$4.served" "call.$3.$4" \
		"call.$3.$4.served")"
	same "$1: no call by another route" 2 "$(grep -c '^call\.[A-Za-z0-9_]*\.[a-z]*	' "$stats")"
	same "$1: requested bytes match the client's own count" \
		"$(sed -n 's/.* bytes \([0-9]*\) .*/\1/p' "$scratch/out")" "$(stat_of bytes_asked)"
	same "$1: no reason is counted" 0 "$(grep -c '^why' "$stats")"
	same "$1: the sums are right" "576 576 0 0 288 288 0 0" \
		"$(stats_of calls_caught served forwarded failed allocs frees live_blocks live_bytes)"
done

probe=$probes/probe_watched

# A killed process writes no file. Its statistics page has the same figures as a file would have.
mkdir "$scratch/pages"
killed() # SCENE OPTIONS... - sets $killed_pid
{
	rm -f "$stats"*
	killed_scene=$1
	shift
	XDG_RUNTIME_DIR=$scratch/pages "$MAM" run "$@" -- "$probe" "$killed_scene" > /dev/null 2>&1 &
	killed_pid=$!
	wait $killed_pid
}

page_of() # KEY... - the values of the first row
{
	page_line=
	XDG_RUNTIME_DIR=$scratch/pages "$MAM" info --stats --plain "$killed_pid" > "$scratch/page" 2> "$scratch/page.err"
	for page_key in "$@"; do
		page_line="$page_line $(sed -n "s/^row\.0\.$page_key	//p" "$scratch/page")"
	done
	echo "${page_line# }"
}
for row in "killed 137" "crashed 139" "interrupted 130" "leaves-unseen 3"; do
	scene=${row% *}
	killed "$scene" --stats="$stats" --leaks="$stats.leaks"
	same "$scene: no files" "${row#* } " "$? $(ls "$stats"* 2> /dev/null)"
	same "$scene: its page has every call" "$killed_pid 40016 16" "$(page_of pid calls_caught live_blocks)"
done
killed killed
same "killed without --stats: the same of its pools" "$killed_pid 40016 16" "$(page_of pid calls_caught live_blocks)"
XDG_RUNTIME_DIR=$scratch/pages watch -- "$probe" tidy
same "a process that exits removes its page" 5 "$(find "$scratch/pages/mam" -type f | wc -l)"
XDG_RUNTIME_DIR=/nonexistent "$MAM" run --stats="$stats" -- "$probe" leak > "$scratch/out" 2> "$scratch/err"
same "no folder for pages: no message, and the statistics are complete" "0 5 0" \
	"$? $(stat_of live_blocks) $(wc -c < "$scratch/err")"
watch -- "$probe" threads
same "calls of ended threads are counted" "20000 20000" "$(stats_of call.cudaMalloc.runtime call.cudaFree.runtime)"
watch -- "$probe" leak
same "blocks never freed are counted" "5 4195204 4195204 4295204" \
	"$(stats_of live_blocks live_bytes peak_live_bytes bytes_asked)"
same "the ratio is that of the peaks" "$(awk "BEGIN { printf \"%.4f\", $(stat_of peak_reserved_bytes) / 4195204 }")" \
	"$(stat_of reserved_ratio)"

# Reasons why a pool did not serve a call.
MAM_PASS_ABOVE=1M watch -- "$probe" leak
same "above --pass-above: forwarded" "103 2 2" \
	"$(stats_of call.cudaMalloc.runtime.served call.cudaMalloc.runtime.forwarded why.large)"
watch -- "$clients/client_driver" --rounds 1 --check
same "double frees and interior pointers are counted" 2 "$(stat_of why.mistake)"
same "a foreign pointer is counted" 1 "$(stat_of why.foreign)"
same "failed calls are the clients' invalid calls" "$(($(stat_of calls_caught) - $(stat_of served) - \
	$(stat_of forwarded)))" "$(stat_of failed)"
same "cuMemGetInfo has a line" "1 1" "$(stats_of call.cuMemGetInfo_v2.driver call.cuMemGetInfo_v2.driver.served)"

# What the pools cost and saved: chunks of 1 MiB take many driver calls; one chunk is too few for an
# estimate.
watch --chunk 1M --growth 1M -- "$probe" leak
grows=$(stat_of driver_grows)
try "driver calls are counted and timed" test "$grows" -ge 3 -a "$(stat_of driver_grow_ns)" -gt 0
saved=$(stat_of saved_ns)
calls=$(($(stat_of allocs) + $(stat_of frees)))
if awk "BEGIN { want = ($calls - $grows) * $(stat_of driver_grow_ns) / $grows; exit !(want > 0 && $saved >= want * 0.99 && $saved <= want * 1.01) }"; then
	ok "time saved: calls times the driver's mean, minus the time in the pools"
else
	not_ok "time saved: calls times the driver's mean, minus the time in the pools" \
		"$saved for $calls calls, $(stat_of driver_grow_ns) ns in $grows"
fi
watch -- "$probe" tidy
same "one driver call is too few to estimate the time saved" "1 0" "$(stats_of driver_grows saved_ns)"

# The table.
"$MAM" run --chunk 1M --growth 1M --stats -- "$probe" leak > "$scratch/out" 2> "$scratch/err"
try "table: by function" grep -q '^  cudaMalloc  *105  *105  *0  *0$' "$scratch/err"
try "table: by route" grep -q '^  runtime symbol  *205  *205  *0  *0$' "$scratch/err"
try "table: memory" grep -q 'requested 4.10 MiB in total; peak live 4.00 MiB, peak reserved .* 5 blocks never freed' "$scratch/err"
"$MAM" run --stats -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
what=chunk
[ "$MAM_SOURCE" != vmm ] || what=piece
try "table: 1 $what" grep -q "the pools allocated 1 $what from the driver in " "$scratch/err"
"$MAM" run --chunk 1M --growth 1M --stats -- "$probe" leak > "$scratch/out" 2> "$scratch/err"
try "table: several ${what}s" grep -q "the pools allocated [1-9][0-9]* ${what}s from the driver in " "$scratch/err"
try "table: time saved is approximate" grep -q 'time saved: about [0-9]' "$scratch/err"
MAM_PASS_ABOVE=1M "$MAM" run --stats -- "$probe" leak > "$scratch/out" 2> "$scratch/err"
try "table: the reason in words" grep -q 'not served by a pool: 2, too large for a pool' "$scratch/err"

# Files: their names, and names that are refused.
for scene in family woken-family; do
	watch -- "$probe" $scene
	same "$scene: a child writes its own file" "2097152 300" \
		"$(sed -n 's/^live_bytes	//p' "$stats" "$stats".[0-9]* | paste -sd ' ')"
	same "$scene: a child counts its own calls" "1 2" \
		"$(sed -n 's/^call.cudaMalloc.runtime	//p' "$stats" "$stats".[0-9]* | paste -sd ' ')"
done
watch --children=no -- "$probe" family
same "--children=no: the child writes no file" "" "$(ls "$stats".[0-9]* 2> /dev/null)"
same "--children=no: the program writes its file" 2097152 "$(stat_of live_bytes)"
rm -f "$stats"*
"$MAM" run --stats="$scratch/of-%p-%h-100%%" -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
set -- "$scratch"/of-*
same "%p, %h and %% are expanded" "$scratch/of-$(sed -n 's/^pid	//p' "$1")-$(uname -n)-100%" "$1"
same "only its owner can read the file" 600 "$(stat -c %a "$1")"
echo mine > "$scratch/mine"
ln -s "$scratch/mine" "$scratch/link"
MAM_STATS=yes MAM_STATS_FILE=$scratch/link "$MAM" run "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "symbolic link as file: the exit status is the program's" 0 $?
try "symbolic link as file: one error line" grep -q "^mam: error: cannot write statistics to '.*': .*symbolic links" "$scratch/err"
same "symbolic link as file: its target is unchanged" mine "$(cat "$scratch/mine")"
"$MAM" run --stats=/dev/full -- "$probe" tidy > "$scratch/out" 2> "$scratch/err"
same "full disk: the exit status is the program's" 0 $?
try "full disk: one error line" grep -q "^mam: error: cannot write statistics to '/dev/full': No space" "$scratch/err"
same "file size limit: the program gets no signal" "joined 0" "$({
	"$MAM" run --stats="$stats" -- "$probe" no-files 2>&1
	echo $?
} | tee "$scratch/err" | grep -E '^(joined|[0-9]*)$' | paste -sd ' ')"
try "file size limit: one error line" grep -q "^mam: error: cannot write statistics to '.*': .*too large" "$scratch/err"
same "file size limit: no file remains" "" "$(ls "$stats"* 2> /dev/null)"
finish
