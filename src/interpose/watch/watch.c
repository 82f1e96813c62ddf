/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - passes each report to the watchers (parts.c). */
#include "interpose/watch/watch.h"

#include <pthread.h>

#include "interpose/watch/library.h"

#define OF_LIBRARY (MAM_WATCH_TRACE | MAM_WATCH_LEAKS | MAM_WATCH_TAGS)

_Atomic unsigned int mam_watch_bits;

/* Another thread may start or stop a watcher meanwhile: the last one sees all bits. */
static void listen_to_library(void)
{
	unsigned int bits;

	do {
		bits = atomic_load(&mam_watch_bits);
		mam_library_listen((bits & OF_LIBRARY) != 0);
	} while (atomic_load(&mam_watch_bits) != bits);
}

void mam_watch_start(unsigned int bits)
{
	atomic_fetch_or(&mam_watch_bits, bits);
	listen_to_library();
}

void mam_watch_stop(unsigned int bits)
{
	atomic_fetch_and(&mam_watch_bits, ~bits);
	listen_to_library();
}

void mam_watch_restart(void)
{
	mam_watch_stop(~0u);
}

/* The watchers of what libmam.so allocates see its blocks instead of its chunks. */
static unsigned int bits_of(const struct mam_watch_call *call)
{
	const unsigned int bits = atomic_load_explicit(&mam_watch_bits, memory_order_acquire);

	return call->is_library    ? bits & OF_LIBRARY
	       : mam_library_hides ? bits & ~(unsigned int)OF_LIBRARY
				   : bits;
}

/*
 * Calls `report` of each watcher that defines it and whose bit is set. Watchers take locks and count
 * themselves, and call cancellation points, such as libunwind's msync(): a cancelled thread leaves
 * first.
 */
/* clang-format off */
#define REPORT(bits, report, ...)                                                                \
	do {                                                                                   \
		int cancel_state;                                                              \
                                                                                               \
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);                 \
		for (const struct mam_watcher *each = mam_watchers; each->bit != 0; each++)    \
			if (((bits) & each->bit) != 0 && each->report != NULL)                   \
				each->report(__VA_ARGS__);                                     \
		pthread_setcancelstate(cancel_state, NULL);                                    \
	} while (0)
/* clang-format on */

void mam_watch_alloc_slow(const struct mam_watch_call *call)
{
	const unsigned int bits = bits_of(call);

	REPORT(bits, alloc, call);
}

void mam_watch_free_slow(const struct mam_watch_call *call)
{
	const unsigned int bits = bits_of(call);

	REPORT(bits, free, call);
}

void mam_watch_call_slow(const struct mam_watch_call *call)
{
	const unsigned int bits = bits_of(call);

	REPORT(bits, call, call);
}

void mam_watch_chunk(void *base, size_t bytes, void *context, bool came)
{
	const unsigned int watchers = atomic_load_explicit(&mam_watch_bits, memory_order_acquire);

	REPORT(watchers, chunk, base, bytes, context, came);
}

void mam_watch_context_gone(void *context)
{
	const unsigned int bits = atomic_load_explicit(&mam_watch_bits, memory_order_acquire);

	REPORT(bits, context_gone, context);
}
