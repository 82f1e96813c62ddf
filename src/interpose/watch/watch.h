/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - what replacements tell those who only look on: statistics, the trace, leaks, NVTX, and
 * the marks that die with their block.
 *
 * One word says who watches. While nobody does, a report costs one relaxed load.
 *
 * When: mam_watch_alloc() after the block is the program's. mam_watch_free() while it still is: as
 * soon as it is given back another thread may get the same address, and its alloc must come later.
 * mam_watch_call() for calls that moved no block of a pool: forwarded, failed, asked.
 * Threads: any; no lock of mam's may be held, and the guard (mam_init_depth) is up.
 */
#ifndef MAM_INTERPOSE_WATCH_H
#define MAM_INTERPOSE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "interpose/routes/table.h"

enum mam_watch_bit {
	MAM_WATCH_STATS = 1u << 0,
	MAM_WATCH_TRACE = 1u << 1,
	MAM_WATCH_LEAKS = 1u << 2,
	MAM_WATCH_NVTX = 1u << 3,
	MAM_WATCH_MARKS = 1u << 4 /* frees and chunks only */
};

/* atomic; bits are set when their watcher starts, and cleared in the child of a fork */
extern _Atomic unsigned int mam_watch_bits __attribute__((visibility("hidden")));

/* How a call came to us: see table.h. */
enum mam_road { MAM_ROAD_RUNTIME, MAM_ROAD_SYMBOL, MAM_ROAD_LOOKUP, MAM_ROAD_COUNT };

/* What became of it. */
enum mam_fate {
	MAM_FATE_SERVED,    /* a pool did it */
	MAM_FATE_FORWARDED, /* the real function did it: no block of ours, no pool, no ground */
	MAM_FATE_FAILED,    /* the program got an error */
	MAM_FATE_COUNT
};

/* Why a pool did not do it. */
enum mam_why {
	MAM_WHY_NONE,     /* it did, or the call is none for a pool */
	MAM_WHY_ASLEEP,   /* no context, or CUDA is not started */
	MAM_WHY_FOREIGN,  /* a pointer that is no block of a pool's */
	MAM_WHY_CAPTURE,  /* a stream was in capture: the driver judged */
	MAM_WHY_LARGE,    /* above --pass-above */
	MAM_WHY_DEDICATED, /* --ipc=dedicated */
	MAM_WHY_LIMIT,    /* over --limit */
	MAM_WHY_MEMORY,   /* the driver had no more for the pool */
	MAM_WHY_BROKEN,   /* the context has a sticky error: the driver answers */
	MAM_WHY_MISTAKE,  /* freed twice, or not the start of a block */
	MAM_WHY_NO_POOL,  /* none could be made */
	MAM_WHY_KIND,     /* memory that mam leaves to the driver */
	MAM_WHY_COUNT
};

/* One call of the program. */
struct mam_watch_call {
	enum mam_table_id function;
	enum mam_road road;
	enum mam_fate fate;
	enum mam_why why; /* why a pool did not do it; MAM_WHY_NONE where one did */
	int code;         /* what the program gets */
	void *block;      /* NULL: none */
	size_t bytes;     /* what was asked; of a free, of the block, 0 where that is not known */
	void *context;    /* CUcontext of the block's pool, or NULL */
	int device;       /* of mam_watch_alloc(): the block's; -1: not known */
	void *stream;     /* of a stream-ordered call, or NULL */
};

void mam_watch_alloc_slow(const struct mam_watch_call *call);
void mam_watch_free_slow(const struct mam_watch_call *call);
void mam_watch_call_slow(const struct mam_watch_call *call);

static inline unsigned int mam_watch_wants(unsigned int bits)
{
	return atomic_load_explicit(&mam_watch_bits, memory_order_relaxed) & bits;
}

static inline void mam_watch_alloc(const struct mam_watch_call *call)
{
	if (__builtin_expect(mam_watch_wants(~0u) != 0, 0))
		mam_watch_alloc_slow(call);
}

static inline void mam_watch_free(const struct mam_watch_call *call)
{
	if (__builtin_expect(mam_watch_wants(~0u) != 0, 0))
		mam_watch_free_slow(call);
}

static inline void mam_watch_call(const struct mam_watch_call *call)
{
	if (__builtin_expect(mam_watch_wants(~0u) != 0, 0))
		mam_watch_call_slow(call);
}

/* A chunk of a pool came from the driver, or is about to go back. */
void mam_watch_chunk(void *base, size_t bytes, void *context, bool came);

/* A context and all its memory are gone. */
void mam_watch_context_gone(void *context);

/* Somebody who looks on, and what he wants to hear of while his bit is set; NULL: not of that. */
struct mam_watcher {
	unsigned int bit;
	void (*alloc)(const struct mam_watch_call *call);
	void (*free)(const struct mam_watch_call *call);
	void (*call)(const struct mam_watch_call *call);
	void (*chunk)(void *base, size_t bytes, void *context, bool came);
	void (*context_gone)(void *context);
};
/* parts.c; the last has no bit */
extern const struct mam_watcher mam_watchers[] __attribute__((visibility("hidden")));

/* In the child of a fork: nobody watches. */
void mam_watch_restart(void);

void mam_watch_start(unsigned int bits);
void mam_watch_stop(unsigned int bits);

#endif
