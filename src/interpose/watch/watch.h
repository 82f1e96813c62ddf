/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - the reports of replacement functions to the watchers: statistics, the trace, leaks,
 * NVTX, the marks that are removed with their block, tags, and sampled call sites.
 *
 * One word contains a bit per active watcher. If there is none, a report costs one relaxed load.
 *
 * Call mam_watch_alloc() after the program owns the block. Call mam_watch_free() while it still
 * does: as soon as the block is free, another thread may receive the same address, and its
 * allocation must be reported later. Call mam_watch_call() for calls that allocate or free no block
 * of a pool: forwarded calls, failed calls and queries.
 * Threads: any; no lock of mam's may be held, and the guard (mam_init_depth) is up.
 */
#ifndef MAM_INTERPOSE_WATCH_H
#define MAM_INTERPOSE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "interpose/routes/table.h"
#include "interpose/routes/thunk.h"

/* Devices with numbers of their own, in the account and in the statistics. */
#define MAM_WATCH_DEVICES_MAX 64

enum mam_watch_bit {
	MAM_WATCH_STATS = 1u << 0,
	MAM_WATCH_TRACE = 1u << 1,
	MAM_WATCH_LEAKS = 1u << 2,
	MAM_WATCH_NVTX = 1u << 3,
	MAM_WATCH_MARKS = 1u << 4, /* frees and chunks only */
	MAM_WATCH_TAGS = 1u << 5,
	MAM_WATCH_SITES = 1u << 6
};

/* atomic; bits are set when their watcher starts, and cleared in the child of a fork */
extern _Atomic unsigned int mam_watch_bits __attribute__((visibility("hidden")));

/* The interface through which a call arrived: see table.h. */
enum mam_road { MAM_ROAD_RUNTIME, MAM_ROAD_SYMBOL, MAM_ROAD_LOOKUP, MAM_ROAD_COUNT };

/* The interface of a call of a COUNTED driver function. A hook calls it once, first. */
static inline enum mam_road mam_road_taken(void)
{
	return mam_thunk_take() ? MAM_ROAD_LOOKUP : MAM_ROAD_SYMBOL;
}

/* The result of a call. */
enum mam_fate {
	MAM_FATE_SERVED,    /* a pool served it */
	MAM_FATE_FORWARDED, /* the real function did it: no block of a pool, no pool or no memory */
	MAM_FATE_FAILED,    /* the program received an error */
	MAM_FATE_COUNT
};

/* Why a pool did not serve it. */
enum mam_why {
	MAM_WHY_NONE,      /* it did, or the call does not concern pools */
	MAM_WHY_ASLEEP,    /* no context, or CUDA is not initialized */
	MAM_WHY_FOREIGN,   /* a pointer that is not a block of a pool */
	MAM_WHY_CAPTURE,   /* a stream was in capture: the driver decided */
	MAM_WHY_LARGE,     /* above --pass-above */
	MAM_WHY_DEDICATED, /* --ipc=dedicated */
	MAM_WHY_LIMIT,     /* over --limit */
	MAM_WHY_MEMORY,    /* the driver had no more memory for the pool */
	MAM_WHY_BROKEN,    /* the context has a sticky error: the driver returns it */
	MAM_WHY_MISTAKE,   /* double free, or an interior pointer */
	MAM_WHY_NO_POOL,   /* no pool could be created */
	MAM_WHY_KIND,      /* memory that mam leaves to the driver */
	MAM_WHY_COUNT
};

/* One call of the program. */
struct mam_watch_call {
	enum mam_table_id function;
	enum mam_road road;
	enum mam_fate fate;
	enum mam_why why; /* why a pool did not serve it; MAM_WHY_NONE if one did */
	int code;         /* what the program receives */
	void *block;      /* NULL: none */
	size_t bytes;     /* as requested; of a free: of the block, 0 if unknown */
	void *context;    /* CUcontext of the block's pool, or NULL */
	int device;       /* that the call concerns; -1: unknown, or several */
	void *stream;     /* of a stream-ordered call, or NULL */
	bool is_library;  /* library.h; the context is its pool then */
	const char *tags; /* NULL: those of this thread */
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

/* Called after a chunk of a pool was allocated, or before it is freed. */
void mam_watch_chunk(void *base, size_t bytes, void *context, bool came);

/* Called before the program receives out of memory for memory of a device. Defined in parts.c. */
void mam_watch_out_of_memory(const struct mam_watch_call *call);

/* Called when a context and all its memory are gone. */
void mam_watch_context_gone(void *context);

/*
 * A watcher, and the reports that it receives while its bit is set; NULL: it does not receive them.
 */
struct mam_watcher {
	unsigned int bit;
	void (*alloc)(const struct mam_watch_call *call);
	void (*free)(const struct mam_watch_call *call);
	void (*call)(const struct mam_watch_call *call);
	void (*chunk)(void *base, size_t bytes, void *context, bool came);
	void (*context_gone)(void *context);
};
/* parts.c; the last entry has no bit */
extern const struct mam_watcher mam_watchers[] __attribute__((visibility("hidden")));

/* In the child of a fork: no watcher is active. */
void mam_watch_restart(void);

void mam_watch_start(unsigned int bits);
void mam_watch_stop(unsigned int bits);

#endif
