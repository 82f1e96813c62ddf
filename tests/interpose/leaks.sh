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

# A thread in dlopen() holds the dynamic linker's lock. A constructor that calls CUDA waits until mam has started in another
# thread, which must not wait for that lock. That thread starts mam slowly: it writes a warning to a full pipe.
cat > "$scratch/plugin.c" << 'END'
#include <unistd.h>
int cuMemFree_v2(unsigned long long block);
__attribute__((constructor)) static void begin(void) { usleep(50000); cuMemFree_v2(0); }
END
cat > "$scratch/loads.c" << 'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>
int cuMemFree_v2(unsigned long long block);
static char room[1 << 20];
static void *call(void *unused) { cuMemFree_v2(0); return unused; }
static void *load(void *path) { return dlopen(path, RTLD_NOW); }
int main(int count, char **arguments)
{
	pthread_t caller, loader;
	void *library = NULL;
	int ends[2];
	if (pipe(ends) != 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0 || fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0)
		return 2;
	while (write(ends[1], room, 4096) > 0)
		;
	while (write(ends[1], room, 1) > 0)
		;
	if (fcntl(ends[1], F_SETFL, 0) != 0 || dup2(ends[1], 2) != 2 || pthread_create(&caller, NULL, call, NULL) != 0)
		return 2;
	usleep(50000); /* it writes a message */
	if (pthread_create(&loader, NULL, load, arguments[count - 1]) != 0)
		return 2;
	usleep(150000); /* it waits for the other */
	while (read(ends[0], room, sizeof(room)) > 0)
		;
	pthread_join(caller, NULL);
	pthread_join(loader, &library);
	return library == NULL;
}
END
if $CC -shared -fPIC -o "$scratch/plugin.so" "$scratch/plugin.c" "$fakes/libcuda.so.1" 2> "$scratch/log" &&
	$CC -o "$scratch/loads" "$scratch/loads.c" "$fakes/libcuda.so.1" -ldl -pthread 2>> "$scratch/log"; then
	for option in "MAM_LEAKS=1" "MAM_TRACE_WHO=1 MAM_TRACE=$scratch/trace"; do
		# shellcheck disable=SC2086 # words
		env LD_PRELOAD="$MAM_BUILDDIR/.libs/libmam-preload.so" MAM_SOURCE=pinned $option timeout 20 "$scratch/loads" "$scratch/plugin.so"
		same "a constructor calls CUDA, ${option%%=*}" 0 $?
	done
else
	not_ok "a program with a constructor builds" "$(tail -n 1 "$scratch/log")"
fi
finish
