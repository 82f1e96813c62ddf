/* SPDX-License-Identifier: Apache-2.0 */
/* watch.c - passes each report to the watchers (parts.c). */
#include "interpose/watch/watch.h"

_Atomic unsigned int mam_watch_bits;

void mam_watch_start(unsigned int bits)
{
	atomic_fetch_or_explicit(&mam_watch_bits, bits, memory_order_release);
}

void mam_watch_stop(unsigned int bits)
{
	atomic_fetch_and_explicit(&mam_watch_bits, ~bits, memory_order_release);
}

void mam_watch_restart(void)
{
	mam_watch_stop(~0u);
}

/* Calls `report` of each watcher that defines it and whose bit is set. */
/* clang-format off */
#define REPORT(report, ...)                                                                      \
	do {                                                                                   \
		unsigned int bits = atomic_load_explicit(&mam_watch_bits, memory_order_acquire); \
                                                                                               \
		for (const struct mam_watcher *each = mam_watchers; each->bit != 0; each++)    \
			if ((bits & each->bit) != 0 && each->report != NULL)                   \
				each->report(__VA_ARGS__);                                     \
	} while (0)
/* clang-format on */

void mam_watch_alloc_slow(const struct mam_watch_call *call)
{
	REPORT(alloc, call);
}

void mam_watch_free_slow(const struct mam_watch_call *call)
{
	REPORT(free, call);
}

void mam_watch_call_slow(const struct mam_watch_call *call)
{
	REPORT(call, call);
}

void mam_watch_chunk(void *base, size_t bytes, void *context, bool came)
{
	REPORT(chunk, base, bytes, context, came);
}

void mam_watch_context_gone(void *context)
{
	REPORT(context_gone, context);
}
