#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# who.sh - --who adds the call site of each block to a trace: function and library.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

trace=$scratch/trace

watch() # OPTIONS... - one run's trace, as text
{
	rm -f "$trace"*
	"$MAM" run --trace="$trace" "$@" > "$scratch/out" 2> "$scratch/err"
	watch_status=$?
	gzip -dcf < "$trace" > "$scratch/lines" 2> /dev/null
	return $watch_status
}

# A library with two functions that allocate, whose name needs escaping in a trace, and a program.
cat > "$scratch/grab.c" << 'END'
#include <stddef.h>
int cudaMalloc(void **address, size_t bytes);
int grab_weights(void **address);
int grab_scratch(void **address);
int grab_weights(void **address) { return cudaMalloc(address, 4096) + 0 * (address == NULL); }
int grab_scratch(void **address) { return cudaMalloc(address, 512) + 0 * (address == NULL); }
END
cat > "$scratch/main.c" << 'END'
#include <stddef.h>
int cudaMalloc(void **address, size_t bytes);
int cudaFree(void *address);
int grab_weights(void **address);
int grab_scratch(void **address);
int cudaMallocAsync(void **address, size_t bytes, void *stream);
int ordered(void **address);
int ordered(void **address) { return cudaMallocAsync(address, 96, NULL) + 0 * (address == NULL); }
int own(void **address);
int own(void **address) { return cudaMalloc(address, 64) + 0 * (address == NULL); }
int main(void)
{
	void *a, *b, *c;
	int i, error = grab_weights(&a);

	for (i = 0; i < 3; i++)
		error |= grab_scratch(&b) | cudaFree(b);
	return error | own(&c) | ordered(&c);
}
END
mkdir "$scratch/app"
if ! $CC -O0 -g -fPIC -shared -o "$scratch/app/lib a%b.so" "$scratch/grab.c" "$fakes/libcudart.so.13" 2> "$scratch/log" ||
	! $CC -O0 -g -rdynamic -o "$scratch/app/main" "$scratch/main.c" "$scratch/app/lib a%b.so" \
		"$fakes/libcudart.so.13" 2>> "$scratch/log"; then
	not_ok "program and library build" "$(tail -n 1 "$scratch/log")"
	finish
fi
LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$scratch/app

who() # BYTES - the call sites of blocks of that size, each once
{
	sed -n "s/^a [0-9]* $1 .* who=//p" "$scratch/lines" | sort -u
}

watch --who -- "$scratch/app/main"
same "the program runs normally" 0 $?
same "a library function, its file name escaped" "grab_weights@lib%20a%25b.so" "$(who 4096)"
same "a second function, called three times" "grab_scratch@lib%20a%25b.so 3" \
	"$(who 512) $(grep -c '^a [0-9]* 512 .* who=' "$scratch/lines")"
same "a function of the program" "own@main" "$(who 64)"
same "a call through the runtime library names its caller" "ordered@main" "$(who 96)"
same "frees have no call site" 0 "$(grep -c '^f .*who=' "$scratch/lines")"
same "the trace replays" "6 3" "$("$MAM" replay -p -r 1 "$trace" | sed -n 's/^\(allocs\|frees\)	//p' | tr '\n' ' ' | sed 's/ $//')"
watch -- "$scratch/app/main"
same "without the option no call site is recorded" "6 0" \
	"$(grep -c '^a .*thread=' "$scratch/lines") $(grep -c who= "$scratch/lines")"

# A program without symbols gets an offset into its file.
$CC -O0 -o "$scratch/app/bare" "$scratch/main.c" "$scratch/app/lib a%b.so" "$fakes/libcudart.so.13"
watch --who -- "$scratch/app/bare"
case $(who 64) in
bare+0x[0-9a-f]*) ok "a function without a name is an offset" ;;
*) not_ok "a function without a name is an offset" "it is '$(who 64)'" ;;
esac

# Many threads, and a process that is killed: events that are still in the ring have no call site,
# and no event is lost.
watch --who -- "$probes/probe_watched" threads
same "threads: each allocation has a call site" "20000" "$(grep -c '^a .* who=[^ ]*probe_watched' "$scratch/lines")"
watch --who -- "$probes/probe_watched" killed
same "killed: every event is replayed" "20016 20000" \
	"$("$MAM" replay -p -r 1 "$trace" | sed -n 's/^\(allocs\|frees\)	//p' | tr '\n' ' ' | sed 's/ $//')"

"$MAM" run --who -- true > "$scratch/out" 2> "$scratch/err"
same "--who without --trace is refused, one line" "2 1" "$? $(grep -c -e '--who requires --trace FILE' "$scratch/err")"
finish
