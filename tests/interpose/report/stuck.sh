#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# stuck.sh - while a thread is in dlopen(), whose constructor waits for another thread, that thread
# runs out of memory, or ends the process: its report names call sites and does not wait.
. "${MAM_SRCDIR:-.}/tests/lib.sh"
. "$MAM_SRCDIR/tests/interpose/interpose.sh"

cat > "$scratch/library.c" << 'END'
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>
extern atomic_int entered, done;
__attribute__((constructor)) static void wait_for_program(void)
{
	entered = 1;
	for (int i = 0; i < 1000 && !done; i++)
		usleep(10000);
	if (!done) {
		fprintf(stderr, "the constructor gave up\n");
		_exit(7);
	}
}
END
cat > "$scratch/stuck.c" << 'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int cuInit(unsigned int flags);
int cuDevicePrimaryCtxRetain(void **context, int device);
int cuCtxSetCurrent(void *context);
int cuMemAlloc_v2(unsigned long long *block, size_t bytes);
atomic_int entered, done;
static const char *path;
void fill(void);
void fill(void)
{
	unsigned long long block;

	for (volatile int i = 0; i < 16; i++)
		if (cuMemAlloc_v2(&block, 4 << 20) != 0)
			exit(3);
}
static void *load(void *unused)
{
	if (dlopen(path, RTLD_NOW) == NULL)
		fprintf(stderr, "%s\n", dlerror());
	return unused;
}
int main(int count, char **arguments)
{
	unsigned long long block;
	pthread_t thread;
	void *context;

	path = arguments[1];
	cuInit(0);
	cuDevicePrimaryCtxRetain(&context, 0);
	cuCtxSetCurrent(context);
	fill();
	pthread_create(&thread, NULL, load, NULL);
	while (!entered)
		usleep(1000);
	if (count > 2)
		quick_exit(0);
	printf("%d\n", cuMemAlloc_v2(&block, (size_t)1 << 30));
	done = 1;
	pthread_join(thread, NULL);
	return 0;
}
END
# shellcheck disable=SC2086 # words
if ! $CC -O1 -g -fPIC -shared -o "$scratch/library.so" "$scratch/library.c" 2> "$scratch/log" ||
	! $CC -O1 -g -rdynamic -pthread -o "$scratch/stuck" "$scratch/stuck.c" "$fakes/libcuda.so.1" -ldl 2>> "$scratch/log"; then
	skip_all "$0" "cannot build the program: $(lib_tail "$scratch/log")"
fi
export FAKE_CUDA_MEMORY=128M

"$MAM" run --leaks="$scratch/leaks" --oom-report "$scratch/reports" -- "$scratch/stuck" "$scratch/library.so" \
	> "$scratch/out" 2> "$scratch/err"
same "out of memory: exit status and error" "0 2" "$? $(cat "$scratch/out")"
try "the report names the call site" grep -q 'in 16 blocks fill@stuck$' "$scratch"/reports/*.txt
same "the constructor waited for nothing" 0 "$(grep -c 'gave up' "$scratch/err")"
try "the leaks have names, too" grep -q "#0 fill+0x[0-9a-f]* ($scratch/stuck+0x" "$scratch/leaks"

"$MAM" run --leaks="$scratch/leaks" -- "$scratch/stuck" "$scratch/library.so" leave > "$scratch/out" 2> "$scratch/err"
same "quick_exit: exit status" 0 $?
try "the report names the call site" grep -q "#0 fill+0x" "$scratch/leaks"
finish
