#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# leaks.sh - --leaks lists exactly the blocks that were not freed, grouped by call site.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"
on_both_sources

probe=$probes/probe_watched
list=$scratch/leaks

watch() # OPTIONS... - the list of one run
{
	rm -f "$list"*
	"$MAM" run --leaks="$list" "$@" > "$scratch/out" 2> "$scratch/err"
}

watch -- "$probe" leak
same "the sum is right" "mam: memory leak: probe_watched (process $(sed -n '1s/.*process \([0-9]*\).*/\1/p' "$list")) did not free 5 blocks, 4.00 MiB (4195204 bytes)" \
	"$(head -n 1 "$list")"
same "two call sites are listed, the larger first" "2 blocks, 4.00 MiB (4194304 bytes)/3 blocks, 900 B (900 bytes)" \
	"$(grep -o '^[23] blocks, [^)]*)' "$list" | paste -sd /)"
same "no other group is listed" 2 "$(grep -c '^[0-9]* block' "$list")"
same "function, server, age and thread are listed" 2 \
	"$(grep -cE '^[23] blocks, .*, by cudaMalloc, from the pool, [0-9.]+ to [0-9.]+ s old, thread [0-9]+$' "$list")"
same "the stack starts in the program, at the call site" "probe_lose_large probe_lose_small" \
	"$(grep -A 2 '^[23] blocks' "$list" | grep -o 'probe_lose_[a-z]*' | paste -sd ' ')"
same "no function of mam is on the stack" "" "$(grep libmam "$list")"
try "main is on the stack" grep -q '#[0-9]* main+0x' "$list"
if command -v addr2line > /dev/null && readelf -S "$probe" | grep -q debug_info; then
	offset=$(sed -n 's/.* probe_lose_large+0x[0-9a-f]* (.*+\(0x[0-9a-f]*\))$/\1/p' "$list" | head -n 1)
	same "addr2line accepts the offset" probe_lose_large \
		"$(addr2line -i -f -e "$probe" "$offset" | grep -o '^probe_lose.*')"
else
	skip "addr2line accepts the offset" "there is no addr2line, or no debugging information"
fi
watch -- "$probe" tidy
same "no leak: one line" "mam: no memory leaks in probe_watched" "$(sed 's/ (process [0-9]*)//' "$list")"
watch -- "$probe" threads
same "ended threads leave no leak" 1 "$(grep -c '^mam: no memory leaks' "$list")"
watch -- "$probe" reset
same "memory freed by a reset is not a leak" "1 block, 300 B (300 bytes)" "$(grep -o '^1 block, [^)]*)' "$list")"
MAM_PASS_ABOVE=1M watch -- "$probe" leak
same "blocks of the driver count too" "2 blocks, 4.00 MiB (4194304 bytes), by cudaMalloc, from the driver" \
	"$(grep -o '^2 blocks.*driver' "$list")"
for client in client_shared client_dlsym client_driver; do
	watch -- "$clients/$client" --rounds 2 --leak
	same "$client: its leaked block is listed" "1 block, 12 KiB (12345 bytes)" "$(grep -o '^1 block, [^)]*)' "$list")"
	watch -- "$clients/$client" --rounds 2 --check
	same "$client: invalid calls are not leaks" 1 "$(grep -c '^mam: no memory leaks' "$list")"
done
"$MAM" run --leaks -- "$probe" leak > "$scratch/out" 2> "$scratch/err"
try "without a file the list goes to stderr" grep -q '^mam: memory leak: .* did not free 5 blocks' "$scratch/err"
same "stdout belongs to the program" lost "$(cat "$scratch/out")"
for scene in family woken-family; do
	watch -- "$probe" $scene
	same "$scene: a child writes its own list" "2097152 300" \
		"$(cat "$list" "$list".[0-9]* | sed -n 's/^mam: .*(\([0-9]*\) bytes.*/\1/p' | paste -sd ' ')"
done
watch --stats="$scratch/stats" --trace="$scratch/trace" -- sh -c "'$probe' woken; :"
same "a child that only looks up CUDA writes no list, trace or statistics" "" \
	"$(ls "$list".[0-9]* "$scratch/trace"* "$scratch/stats".[0-9]* 2> /dev/null)"
watch --children=no -- "$probe" family
same "--children=no: the child writes no list" "$list" "$(ls "$list"*)"
watch -- "$probe" late-child
same "a child of a process that used CUDA writes no list" "$list" "$(ls "$list"*)"
"$MAM" run --leaks=/dev/full -- "$probe" leak > "$scratch/out" 2> "$scratch/err"
same "full disk: the exit status is the program's" 0 $?
try "full disk: one error line" grep -q "^mam: error: cannot write leak report to '/dev/full': No space" "$scratch/err"
finish
