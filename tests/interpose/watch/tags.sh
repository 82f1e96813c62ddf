#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tags.sh - blocks have the tags of the thread that allocated them (mam/tag.h): in traces, in the dumps of mam ctl, in heap
# maps and in the out-of-memory report. The program links libmam.so or opens it; mam run has another copy of its code.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

probe=$probes/probe_tags
trace=$scratch/trace

watch() # OPTION... - one run's trace, as text
{
	rm -f "$trace"*
	"$MAM" run --trace="$trace" "$@" > "$scratch/out" 2> "$scratch/err"
	watch_status=$?
	gzip -dcf < "$trace" > "$scratch/lines" 2> /dev/null
	return $watch_status
}

tag() # BYTES - the tags of the blocks of that size, each once; - for none
{
	sed -n "s/^a [0-9]* $1 .*/& tag=-/; s/^a [0-9]* $1 [^=]*=.*[ ]tag=\([^ ]*\) tag=-$/\1/p; s/^a [0-9]* $1 .* tag=-$/-/p" \
		"$scratch/lines" | sort -u | tr '\n' ' ' | sed 's/ $//'
}

watch -- "$probe" nested
same "nested tags" "- training training/kv%20cache training -" "$(tag 1000) $(tag 2000) $(tag 3000) $(tag 4000) $(tag 3001)"
same "the program sees its tags, and that a pop is one too many" \
	"mam_tag_push(\"training\"): 0 mam_tag_push(\"kv cache\"): 0 training/kv%20cache mam_tag_pop(): 0 mam_tag_pop(): 0 mam_tag_pop(): 1" \
	"$(tr '\n' ' ' < "$scratch/out" | sed 's/ $//')"
same "frees have no tags" 0 "$(grep -c '^f .*tag=' "$scratch/lines")"
same_run "without a trace nothing changes" "$probe" nested
same "the trace replays" "5 1" "$("$MAM" replay -p -r 1 "$trace" | sed -n 's/^\(allocs\|frees\)	//p' | tr '\n' ' ' | sed 's/ $//')"
"$MAM" replay --map "$scratch/map.html" "$trace" > "$scratch/out" 2>&1
try "the heap map names its blocks by tags" grep -q '"training/kv cache"' "$scratch/map.html"
watch --who -- "$probe" nested
try "call site and tag" grep -q '^a [0-9]* 3000 .* who=[^ ]* tag=training/kv%20cache$' "$scratch/lines"
"$MAM" replay --export "$scratch/again.trace" "$trace" > "$scratch/out" 2>&1
try "both name the block" grep -q 'who=training/kv%20cache,%20[^ ]*probe_tags' "$scratch/again.trace"

watch -- "$probe" hostile
same "a name of control characters, invalid UTF-8 and HTML" "%01%0A%20%FF%80<%2Fscript>\"%25%2F" "$(tag 1000)"
same "a name of 10,000 bytes is refused, and the tags stay" "%01%0A%20%FF%80<%2Fscript>\"%25%2F" "$(tag 2000)"
same "a name that is NULL is refused" "-" "$(tag 3000)"
same "each push has its pop" "0 3 3 0 0 0 1 0" "$(sed 's/.*: //' "$scratch/out" | tr '\n' ' ' | sed 's/ $//')"
"$MAM" replay --map "$scratch/map.html" "$trace" > "$scratch/out" 2>&1
same "the page has the name as text" "0 1" "$(grep -c '</script>[^<]*%/' "$scratch/map.html") $(grep -c 'u003c/script.u003e.u0022%/' "$scratch/map.html")"

watch -- "$probe" threads
same "threads: tags are those of the thread" "main - $(for i in 0 1 2 3 4 5 6 7; do printf 'thread100%d ' $i; done)" \
	"$(tag 800) $(tag 900) $(for i in 0 1 2 3 4 5 6 7; do printf '%s ' "$(tag 100$i)"; done)"
same "no event is lost" 4508 "$(grep -c '^a ' "$scratch/lines")"

rm -f "$scratch"/fork.*
"$MAM" run --trace="$scratch/fork.%p" -- "$probe" forked > "$scratch/out" 2> "$scratch/err"
for file in "$scratch"/fork.*; do
	gzip -dcf < "$file" | sed -n 's/.* tag=//p'
done | sort > "$scratch/tags"
same "fork: the child keeps the tags" "parent parent/child " "$(tr '\n' ' ' < "$scratch/tags")"

# A program that opens the library, as Python does: its symbols are not global.
cat > "$scratch/opens.c" << 'END'
#include <dlfcn.h>
#include <stddef.h>
int cudaMalloc(void **address, size_t bytes);
int main(int count, char **arguments)
{
	void *library = dlopen(arguments[count - 1], RTLD_NOW | RTLD_LOCAL), *block;
	int (*push)(const char *) = (int (*)(const char *))dlsym(library, "mam_tag_push");
	int (*pop)(void) = (int (*)(void))dlsym(library, "mam_tag_pop");
	return push("opened") || cudaMalloc(&block, 1000) || pop() || cudaMalloc(&block, 2000);
}
END
if $CC -o "$scratch/opens" "$scratch/opens.c" "$fakes/libcudart.so.13" -ldl 2> "$scratch/log"; then
	watch -- "$scratch/opens" "$MAM_BUILDDIR/.libs/libmam.so"
	same "a program that opens the library" "0 opened -" "$? $(tag 1000) $(tag 2000)"
	same "and without mam run" 0 "$("$scratch/opens" "$MAM_BUILDDIR/.libs/libmam.so" > /dev/null 2>&1; echo $?)"
else
	not_ok "a program that opens the library builds" "$(tail -n 1 "$scratch/log")"
fi

# A thread in dlopen() holds the dynamic linker's lock. A constructor that pushes a tag must not wait for another thread
# whose first push waits for that lock.
cat > "$scratch/plugin.c" << 'END'
#include <unistd.h>
int mam_tag_push(const char *name);
__attribute__((constructor)) static void begin(void) { usleep(100000); mam_tag_push("constructor"); }
END
cat > "$scratch/loads.c" << 'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>
int mam_tag_push(const char *name);
static void *load(void *path) { return dlopen(path, RTLD_NOW); }
int main(int count, char **arguments)
{
	void *library = NULL;
	pthread_t thread;
	int error = pthread_create(&thread, NULL, load, arguments[count - 1]) || usleep(30000) || mam_tag_push("main");
	pthread_join(thread, &library);
	return error || library == NULL;
}
END
if $CC -shared -fPIC -o "$scratch/plugin.so" "$scratch/plugin.c" "$MAM_BUILDDIR/.libs/libmam.so" 2> "$scratch/log" &&
	$CC -o "$scratch/loads" "$scratch/loads.c" "$MAM_BUILDDIR/.libs/libmam.so" -ldl -pthread 2>> "$scratch/log"; then
	for runs in "" "$MAM run --"; do
		# shellcheck disable=SC2086 # words
		LD_LIBRARY_PATH=$MAM_BUILDDIR/.libs:$LD_LIBRARY_PATH timeout 20 $runs "$scratch/loads" "$scratch/plugin.so" > "$scratch/out" 2>&1
		same "tags in a constructor do not block${runs:+, under mam run}" 0 $?
	done
else
	not_ok "a program with a constructor builds" "$(tail -n 1 "$scratch/log")"
fi

# The out-of-memory report.
run_out() # SCENE
{
	rm -rf "$scratch/reports"
	FAKE_CUDA_MEMORY=128M "$MAM" run --chunk 96M --oom-report "$scratch/reports" -- "$probe" "$1" > "$scratch/out" 2> "$scratch/err"
	cat "$scratch"/reports/*.txt > "$scratch/report"
}
bytes_per_tag() { sed -n '/^Tags with/,/^$/ { s/$/,/; /in 8/p; }' "$scratch/report" | sort | tr -d '\n'; }
per_tag='    32.0 MiB in 8 blocks serving/kv cache,    32.0 MiB in 8 blocks weights,'

run_out full-child
same "bytes per tag, in the child of a fork" "$per_tag" "$(bytes_per_tag)"
run_out full
same "the program continues" "cuMemAlloc_v2(&block, (size_t)1 << 40): 2" "$(sed 1q "$scratch/out")"
same "bytes per tag" "$per_tag" "$(bytes_per_tag)"
try "the request has a tag" grep -qx '  with the tag serving/kv cache' "$scratch/report"
same "the heap has the tags" "1 8 8" "$(for what in who=live tag=weights tag=serving/kv%20cache; do
	grep -c " $what\$" "$scratch"/reports/*.trace
done | tr '\n' ' ' | sed 's/ $//')"

# A dump of the running program.
XDG_RUNTIME_DIR=$scratch/run
export XDG_RUNTIME_DIR
mkdir -m 700 "$XDG_RUNTIME_DIR"
mkfifo "$scratch/in"
"$MAM" run -- "$probe" waits < "$scratch/in" > "$scratch/out" 2> "$scratch/err" &
process=$!
exec 3> "$scratch/in"
tries=0
until grep -q ready "$scratch/out" || [ $tries -ge 400 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
for request in "dump $scratch/heap.trace" "dump $scratch/heap.html" "trace $scratch/live" "trace off"; do
	# shellcheck disable=SC2086 # words
	"$MAM" ctl "$process" $request
done > "$scratch/reply" 2>&1
exec 3>&-
wait "$process"
same "mam ctl dump: tags" "1000 |2000 training|3001 |4000 training|" \
	"$(sed -n 's/^a [0-9]* \([0-9]*\) [0-9]*\( who=\)*/\1 /p' "$scratch/heap.trace" | sed 's/  */ /' | sort | tr '\n' '|')"
gzip -dcf < "$scratch/live" > "$scratch/lines"
same "mam ctl trace: earlier blocks have their tags" "- training training -" "$(tag 1000) $(tag 2000) $(tag 4000) $(tag 3001)"
try "mam ctl dump: heap map" grep -q '"training"' "$scratch/heap.html"
finish
