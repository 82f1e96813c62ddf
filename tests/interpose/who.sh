#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# who.sh - what --who adds to a trace: the function and the library that asked for each block.
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

# A library with two functions that allocate, under a name that no word of a trace can have, and a program.
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
	not_ok "a program and a library" "$(tail -n 1 "$scratch/log")"
	finish
fi
LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$scratch/app

who() # BYTES - who asked for blocks of so many, each once
{
	sed -n "s/^a [0-9]* $1 .* who=//p" "$scratch/lines" | sort -u
}

watch --who -- "$scratch/app/main"
same "the program is not disturbed" 0 $?
same "a function of a library, its name as one word" "grab_weights@lib%20a%25b.so" "$(who 4096)"
same "another one, three times" "grab_scratch@lib%20a%25b.so 3" \
	"$(who 512) $(grep -c '^a [0-9]* 512 .* who=' "$scratch/lines")"
same "the program's own" "own@main" "$(who 64)"
same "through the runtime library, which is nobody" "ordered@main" "$(who 96)"
same "frees do not say" 0 "$(grep -c '^f .*who=' "$scratch/lines")"
same "it replays" "6 3" "$("$MAM" replay -p -r 1 "$trace" | sed -n 's/^\(allocs\|frees\)	//p' | tr '\n' ' ' | sed 's/ $//')"
watch -- "$scratch/app/main"
same "without the option nobody is asked" "6 0" \
	"$(grep -c '^a .*thread=' "$scratch/lines") $(grep -c who= "$scratch/lines")"

# Without names in the program there is an offset, which lies in it.
$CC -O0 -o "$scratch/app/bare" "$scratch/main.c" "$scratch/app/lib a%b.so" "$fakes/libcudart.so.13"
watch --who -- "$scratch/app/bare"
case $(who 64) in
bare+0x[0-9a-f]*) ok "a function without a name is an offset" ;;
*) not_ok "a function without a name is an offset" "it is '$(who 64)'" ;;
esac

# Many threads, and a process that is killed: what the ring still has comes without, and no event is lost.
watch --who -- "$probes/probe_watched" threads
same "threads: each allocation says who" "20000" "$(grep -c '^a .* who=[^ ]*probe_watched' "$scratch/lines")"
watch --who -- "$probes/probe_watched" killed
same "killed: every event" "20016 20000" \
	"$("$MAM" replay -p -r 1 "$trace" | sed -n 's/^\(allocs\|frees\)	//p' | tr '\n' ' ' | sed 's/ $//')"

"$MAM" run --who -- true > "$scratch/out" 2> "$scratch/err"
same "--who alone is refused, with one sentence" "2 1" "$? $(grep -c -e '--who requires --trace FILE' "$scratch/err")"
finish
