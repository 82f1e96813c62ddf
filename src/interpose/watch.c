/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - hands each report on to those who watch.
 */
#include "interpose/watch.h"

#include "interpose/leaks.h"
#include "interpose/marks.h"
#include "interpose/nvtx.h"
#include "interpose/tracer.h"

_Atomic unsigned int mam_watch_bits;

void mam_watch_start(unsigned int bits)
{
	atomic_fetch_or_explicit(&mam_watch_bits, bits, memory_order_release);
}

void mam_watch_stop(unsigned int bits)
{
	atomic_fetch_and_explicit(&mam_watch_bits, ~bits, memory_order_release);
}

void mam_watch_alloc_slow(const struct mam_watch_call *call)
{
	unsigned int bits = atomic_load_explicit(&mam_watch_bits, memory_order_acquire);

	if (bits & MAM_WATCH_STATS)
		mam_count_call(call);
	if (bits & MAM_WATCH_TRACE)
		mam_tracer_alloc(call);
	if (bits & MAM_WATCH_LEAKS)
		mam_leaks_alloc(call);
	if (bits & MAM_WATCH_NVTX)
		mam_nvtx_alloc(call);
}

void mam_watch_free_slow(const struct mam_watch_call *call)
{
	unsigned int bits = atomic_load_explicit(&mam_watch_bits, memory_order_acquire);

	if (bits & MAM_WATCH_STATS)
		mam_count_call(call);
	if (bits & MAM_WATCH_TRACE)
		mam_tracer_free(call);
	if (bits & MAM_WATCH_LEAKS)
		mam_leaks_free(call);
	if (bits & MAM_WATCH_NVTX)
		mam_nvtx_free(call);
	if (bits & MAM_WATCH_MARKS)
		mam_marks_free(call->block);
}

void mam_watch_call_slow(const struct mam_watch_call *call)
{
	if (mam_watch_wants(MAM_WATCH_STATS))
		mam_count_call(call);
}

void mam_watch_chunk(void *base, size_t bytes, void *context, bool came)
{
	unsigned int bits = atomic_load_explicit(&mam_watch_bits, memory_order_acquire);

	if (bits & MAM_WATCH_NVTX)
		mam_nvtx_chunk(base, bytes, context, came);
	if ((bits & MAM_WATCH_MARKS) && !came)
		mam_marks_chunk_gone(base, bytes);
}
