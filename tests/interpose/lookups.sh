#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# lookups.sh - dlsym, dlvsym and dlopen return to every program what they return without mam.
# RTLD_NEXT is relative to the calling library at any optimization level, a library's own search
# path is honored, and CUDA is absent where it is not installed. Sanitizers, and libraries that replace
# malloc(), call dlsym() before other functions may be called.
# shellcheck disable=SC2016,SC2317 # the linker expands $ORIGIN; called through try
. "${MAM_SRCDIR:-.}/tests/lib.sh"

preload=$MAM_BUILDDIR/.libs/libmam-preload.so
audit=$MAM_BUILDDIR/.libs/libmam-audit.so
[ -f "$preload" ] || skip_all "lookups" "this build has no $preload"
case "$CFLAGS" in
*-fsanitize=*) skip_all "lookups" "a sanitizer in the preload object needs one in the program" ;;
esac
case $(uname -m) in
aarch64) version=GLIBC_2.17 ;;
*) version=GLIBC_2.2.5 ;;
esac
here=$MAM_SRCDIR/tests/interpose

build() # FOLDER OPTIMIZATION
{
	mkdir -p "$1/beside" &&
	$CC "$2" -fPIC -shared -DVALUE=1 -DVERSION="\"$version\"" -o "$1/libwrapper-outer.so" "$here/programs/wrapper.c" \
		-Wl,-rpath,'$ORIGIN/beside' -Wl,--enable-new-dtags -ldl &&
	$CC "$2" -fPIC -shared -DVALUE=2 -o "$1/libwrapper-inner.so" "$here/programs/wrapper.c" &&
	$CC "$2" -fPIC -shared -DVALUE=3 -o "$1/beside/libwrapper-beside.so" "$here/programs/wrapper.c" &&
	$CC "$2" -rdynamic -o "$1/asker" "$here/programs/asker.c" -L"$1" -Wl,--no-as-needed -lwrapper-outer -lwrapper-inner \
		-Wl,-rpath,'$ORIGIN' -ldl
}

for optimization in -O0 -O2; do
	folder=$scratch/out$optimization
	try "programs compiled with $optimization build" build "$folder" "$optimization"
	"$folder/asker" > "$scratch/plain" 2>&1
	for auditor in '' "$audit"; do
		route="$optimization${auditor:+, audited}"
		MAM_SOURCE=vmm LD_PRELOAD=$preload LD_AUDIT=$auditor "$folder/asker" > "$scratch/caught" 2>&1
		try "$route: a program without CUDA gets the same results" cmp "$scratch/plain" "$scratch/caught"
		same "$route: RTLD_NEXT, dlvsym, RTLD_DEFAULT and RUNPATH resolve for the calling library" \
			"value 1 next 2 version 1 default 1 beside 3" "$(tail -n 1 "$scratch/caught")"
		try "$route: a program finds its own functions, with names like the driver's" \
			grep -q '^functions of the program: 1 1$' "$scratch/caught"
		grep -q 'cudaMalloc: found 0.*undefined symbol' "$scratch/caught" &&
			! grep -q 'cu.*found 1' "$scratch/caught"
		same "$route: CUDA is not found where it is not installed" 0 $?
	done
done

# Programs with CUDA that a sanitizer watches.
cat > "$scratch/watched.c" << 'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static int (*alloc)(unsigned long long *, size_t), (*give)(unsigned long long), (*enter)(void *);
static void *context;
static void *work(void *failed)
{
	unsigned long long block;

	for (int i = 0; i < 100; i++)
		if (enter(context) || alloc(&block, 1000 + (size_t)i) || give(block))
			return failed;
	return NULL;
}
int main(int count, char **arguments)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *failed;
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(library, "cuInit");
	int (*retain)(void **, int) = (int (*)(void **, int))dlsym(library, "cuDevicePrimaryCtxRetain");
	pthread_t threads[2];

	enter = (int (*)(void *))dlsym(library, "cuCtxSetCurrent");
	alloc = (int (*)(unsigned long long *, size_t))dlsym(library, "cuMemAlloc_v2");
	give = (int (*)(unsigned long long))dlsym(library, "cuMemFree_v2");
	if (init(0) || retain(&context, 0))
		return 1;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, work, arguments))
			return 2;
	for (int i = 0; i < 2; i++)
		if (pthread_join(threads[i], &failed) || failed)
			return 3;
	return count + 6;
}
END
export LD_LIBRARY_PATH="$MAM_BUILDDIR/tests/fake/lib" TSAN_OPTIONS=ignore_noninstrumented_modules=1
for sanitizer in thread address undefined memory; do
	name="-fsanitize=$sanitizer"
	$CC -g "$name" -o "$scratch/watched" "$scratch/watched.c" -ldl -lpthread > "$scratch/err" 2>&1 &&
		"$scratch/watched" > "$scratch/err" 2>&1
	if [ $? -ne 7 ]; then
		skip "$name" "$CC has no such sanitizer, or it does not run here"
		continue
	fi
	for option in --route=preload --profile="$scratch/profile"; do
		[ "$sanitizer $option" != "memory --profile=$scratch/profile" ] || continue # it must know all code
		"$MAM" run "$option" --stats="$scratch/stats" -- "$scratch/watched" > "$scratch/err" 2>&1
		same "$name, ${option%%=*}: exit status" 7 $?
		same "$name, ${option%%=*}: nothing is reported" "" "$(cat "$scratch/err")"
		same "$name, ${option%%=*}: the calls are served" 1 "$(grep -c '^served[[:space:]]*400$' "$scratch/stats")"
	done
done

# A library that replaces malloc(), and looks up the original in the first call.
cat > "$scratch/own.c" << 'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
static char early[65536];
static size_t used;
static void *(*original)(size_t);
void *malloc(size_t bytes)
{
	static int looks;

	if (!original && !looks) {
		looks = 1;
		original = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	}
	if (original)
		return original(bytes);
	used += (bytes + 15) & ~(size_t)15;
	return early + used - ((bytes + 15) & ~(size_t)15);
}
END
try "it builds" "$CC" -shared -fPIC -o "$scratch/libown.so" "$scratch/own.c" -ldl
try "a program with CUDA builds" "$CC" -o "$scratch/watched" "$scratch/watched.c" -ldl -lpthread
for route in preload audit; do
	LD_PRELOAD=$scratch/libown.so "$MAM" run --route=$route --stats="$scratch/stats" -- "$scratch/watched"
	same "malloc() is replaced, $route" "7 1" "$? $(grep -c '^served[[:space:]]*400$' "$scratch/stats")"
done
finish
