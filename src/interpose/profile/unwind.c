/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unwind.c - see unwind.h.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "interpose/profile/unwind.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "interpose/routes/real.h"

#define LIBRARY "libunwind.so.8"
#define STRIPES 16 /* threads count themselves in different cache lines */

enum state { NEW, LOADING, FAST, SLOW };

static atomic_int state;               /* atomic: an enum state */
static int (*libunwind)(void **, int); /* lock: none, set before the state is FAST */
static __thread unsigned int stripe    /* thread; 0: unset */
	__attribute__((tls_model("initial-exec")));
static atomic_uint stripes; /* atomic; threads that have one */
static struct {
	atomic_uint threads; /* atomic; now in libunwind */
} __attribute__((aligned(64))) inside[STRIPES];

/*
 * libunwind locks a mutex when a thread ends, after ThreadSanitizer's part of the thread has ended: the
 * program would crash there.
 */
static bool has_thread_sanitizer(void)
{
	return mam_real_linker()->dlsym(RTLD_DEFAULT, "__tsan_init") != NULL;
}

static int load(void)
{
	int is = NEW, loaded = SLOW;
	void *library, *found;

	if (!atomic_compare_exchange_strong(&state, &is, LOADING))
		return is;
	library = has_thread_sanitizer() ? NULL : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	found = library == NULL ? NULL : mam_real_linker()->dlsym(library, "unw_backtrace");
	if (found != NULL) {
		memcpy(&libunwind, &found, sizeof(libunwind));
		loaded = FAST;
	}
	is = LOADING;
	return atomic_compare_exchange_strong(&state, &is, loaded) ? loaded : is;
}

size_t mam_unwind(void **frames, size_t max)
{
	int is = atomic_load_explicit(&state, memory_order_acquire), count;
	int room = max < INT_MAX ? (int)max : INT_MAX;
	atomic_uint *threads;

	if (__builtin_expect(is == NEW, 0))
		is = load();
	if (__builtin_expect(is != FAST, 0)) {
		count = backtrace(frames, room);
	} else {
		if (__builtin_expect(stripe == 0, 0))
			stripe = atomic_fetch_add(&stripes, 1) % STRIPES + 1;
		threads = &inside[stripe - 1].threads;
		atomic_fetch_add_explicit(threads, 1, memory_order_relaxed);
		count = libunwind(frames, room);
		atomic_fetch_sub_explicit(threads, 1, memory_order_relaxed);
	}
	return count < 0 ? 0 : (size_t)count;
}

void mam_unwind_distrust(void)
{
	atomic_store(&state, SLOW);
}

void mam_unwind_restart(void)
{
	bool busy = atomic_load(&state) == LOADING;

	for (unsigned int i = 0; i < STRIPES; i++)
		busy = busy || atomic_load(&inside[i].threads) != 0;
	if (busy)
		mam_unwind_distrust();
}
