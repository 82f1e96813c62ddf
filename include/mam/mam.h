/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam.h - pools of GPU memory: create, malloc, free, trim, destroy.
 *
 * A pool holds large chunks of device memory and hands out blocks of them. Its
 * books are kept in host memory alone, so allocating and freeing never talk to
 * the GPU, never touch the block's contents, and cost the same for 256 bytes as
 * for a gigabyte.
 *
 * Words, used everywhere in mam:
 *   source   where chunks come from: the CUDA driver, or plain host addresses
 *   chunk    one piece of memory a pool got from its source
 *   segment  a piece of a chunk: either a block that a caller holds, or free
 *   block    what mam_malloc() hands out
 *   hole     a free segment with a block above it in its chunk
 *   granule  the unit sizes are rounded up to, 512 bytes unless asked otherwise
 *
 * Structs that pass between program and library begin with their own size, so that they can grow: a
 * program compiled with an older or newer version of the header works with this library, as long as
 * what this version does not know is zero. INVALID_VALUE: a size that no version has.
 *
 * Sizes are in bytes. Outputs come last and are written only on success. Every
 * call may be made from any thread at any time unless its comment says more.
 * No call leaves a pool half changed: what fails changes nothing, but that a pool, and the other
 * pools of its device, empty their threads' caches and give wholly free memory back to their
 * sources before it answers OUT_OF_MEMORY.
 *
 * An allocation does not wait for the GPU while its source has memory: a kernel may be waiting for
 * the thread that allocates. It may wait once the source, a limit or a quota has refused memory.
 *
 * The pool grew from Can Aknesil and Didem Unat, "MAM: A Memory Allocation Manager for GPUs": two
 * red-black trees over the segments of a chunk, one by address and one by size. We differ in nodes
 * by address that hold several neighbours, and in a list or a tree for each class of sizes. paper.h
 * has their five calls.
 */
#ifndef MAM_MAM_H
#define MAM_MAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAM_VERSION_MAJOR 0
#define MAM_VERSION_MINOR 1
#define MAM_VERSION_PATCH 0
#define MAM_VERSION "0.1.0"

#define MAM_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

struct mam_pool;
struct mam_quota;
struct mam_source;
struct mam_stats;

/* What a call answers. mam_strerror() turns one into a sentence. */
enum mam_status {
	MAM_OK = 0,
	MAM_ERROR_INVALID_VALUE = 1,      /* an argument is outside what its comment allows */
	MAM_ERROR_OUT_OF_MEMORY = 2,      /* no hole fits and the source gave no more */
	MAM_ERROR_OUT_OF_HOST_MEMORY = 3, /* the pool's own books could not grow */
	MAM_ERROR_NOT_OWNED = 4,          /* the address is in no chunk of the pool */
	MAM_ERROR_INTERIOR = 5,           /* the address is inside a block, not its start */
	MAM_ERROR_DOUBLE_FREE = 6,        /* nothing is allocated at the address now */
	MAM_ERROR_LIVE_BLOCKS = 7,        /* the pool still has blocks that callers hold */
	MAM_ERROR_DESTROYED = 8,          /* the pool was destroyed or abandoned */
	MAM_ERROR_NO_DEVICE = 9,          /* no CUDA driver, or no such device */
	MAM_ERROR_WOULD_WAIT = 10,        /* the call may not wait, and would have had to */
	MAM_ERROR_DRIVER = 11,            /* the CUDA driver refused for a reason of its own */
	MAM_ERROR_CORRUPT = 12,           /* mam_pool_check() found a fault in the books */
	MAM_ERROR_UNSUPPORTED = 13,       /* this build, source or machine cannot do it */
	MAM_ERROR_IO = 14                 /* reading or writing failed (traces) */
};

MAM_API const char *mam_version(void);                       /* of the library in use: "0.1.0" */
MAM_API const char *mam_strerror(enum mam_status status);    /* one sentence; never NULL */
MAM_API const char *mam_status_name(enum mam_status status); /* "MAM_ERROR_INTERIOR"; never NULL */

/* When may a freed block be handed out again? */
enum mam_free_policy {
	/* The source's default: strict for device memory, stream for the rest. */
	MAM_FREE_DEFAULT = 0,
	/*
	 * mam_free() first waits until all work submitted to the device's context is done, as
	 * cudaFree does. The wait has no effect on stream captures, in this thread or another one.
	 */
	MAM_FREE_STRICT = 1,
	/*
	 * At once: the caller promises that all users of one block are in one stream order, or are
	 * done.
	 */
	MAM_FREE_STREAM = 2,
	/*
	 * Without a wait, and handed out again when all work submitted before the free is done: what
	 * `mam run --free=deferred` does. A pool by itself knows no work, and waits as STRICT does;
	 * mam_pool_retire() is for those who know.
	 */
	MAM_FREE_DEFERRED = 3
};

/*
 * Do threads keep freed blocks for themselves, to hand out again without a lock? Blocks of up to 1
 * MiB, at most 16 MiB a thread or a 512th of what is live, and a quarter of what the pool holds; not
 * of pools whose granule is under 512 bytes. A cached block may serve a request that is up to an
 * eighth smaller, and where several threads use the pool up to a third. Growth, trim and lack of
 * memory empty the caches first, and so does the end of their thread.
 */
enum mam_cache_mode {
	MAM_CACHE_DEFAULT = 0, /* on */
	MAM_CACHE_ON = 1,
	MAM_CACHE_OFF = 2
};

#define MAM_DEVICE_CURRENT (-1)
#define MAM_CHUNK_LARGEST SIZE_MAX /* as much as the source gives, found by falling sizes */
#define MAM_GROWTH_NONE SIZE_MAX   /* the first chunk is all there is: it must not be 0 */

/* How a pool is made. Zero means the default in every field but `size` and `device`. */
struct mam_pool_attr {
	size_t size;         /* sizeof(struct mam_pool_attr): it may grow in later versions */
	const char *source;  /* a name of mam_source_create(); NULL: "cudamalloc"; not for create_on */
	int device;          /* CUDA ordinal, or MAM_DEVICE_CURRENT */
	size_t chunk_bytes;  /* first chunk, taken at creation; 0: when first needed */
	size_t growth_bytes; /* least of later chunks; 0: 64 MiB or an eighth of the pool; grow.c */
	size_t limit_bytes;  /* most the pool may hold; 0: no limit; mam_pool_set_limit() */
	size_t granule;      /* unit of blocks: a power of two, 16 to 2 MiB; 0: 512 */
	enum mam_free_policy free_policy;
	const char *name; /* for reports; copied, cut at 31 characters */
	enum mam_cache_mode cache;
	struct mam_quota *quota; /* pools.h: shared with other pools; NULL: none */
	size_t spare_bytes; /* once twice that lies free, frees give memory back; 0: only trim */
};

#define MAM_POOL_ATTR_INIT                                                          \
	{                                                                           \
		sizeof(struct mam_pool_attr), NULL, MAM_DEVICE_CURRENT, 0, 0, 0, 0, \
			MAM_FREE_DEFAULT, NULL, MAM_CACHE_DEFAULT, NULL, 0          \
	}

/*
 * mam_pool_create - make a pool on a source named in `attr` (NULL: all defaults).
 *
 * The pool owns the source it makes. Errors: INVALID_VALUE (a field out of range, an unknown
 * source), NO_DEVICE, OUT_OF_MEMORY (the first chunk), OUT_OF_HOST_MEMORY, DRIVER.
 */
MAM_API enum mam_status mam_pool_create(const struct mam_pool_attr *attr, struct mam_pool **pool);

/*
 * mam_pool_create_on - the same on a source of the caller's (source.h), which must outlive the pool
 * and stays the caller's.
 */
MAM_API enum mam_status mam_pool_create_on(struct mam_source *source,
					   const struct mam_pool_attr *attr,
					   struct mam_pool **pool);

/*
 * mam_pool_default - the pool that NULL stands for, of one CUDA context: the calling thread's if that
 * is on `device`, otherwise the device's primary context. MAM_DEVICE_CURRENT: the device of the
 * thread's context; without one, the first. Made when first asked for, with the settings of the
 * environment (mam.7). With the source "host" there is one for all.
 *
 * It lives until its context or the process ends. cuCtxDestroy and a device reset free its memory:
 * its blocks are gone, mam_free() with NULL returns NOT_OWNED for them, and the next use in a new
 * context makes a new pool. Drivers before CUDA 12.0 do not identify contexts: there, call
 * mam_pool_abandon() after the context has ended. Errors: INVALID_VALUE, NO_DEVICE, OUT_OF_MEMORY,
 * OUT_OF_HOST_MEMORY, DRIVER (also: the thread's context was destroyed).
 */
MAM_API enum mam_status mam_pool_default(int device, struct mam_pool **pool);

/*
 * mam_pool_destroy - give every chunk back to the source and end the pool. Waits until all work on
 * freed blocks is done.
 *
 * With live blocks it answers LIVE_BLOCKS and does nothing. Afterwards every call on the pool
 * answers DESTROYED: the handle itself is never reused. A default pool may be destroyed; the next
 * use makes a new one.
 */
MAM_API enum mam_status mam_pool_destroy(struct mam_pool *pool);

/*
 * mam_pool_abandon - end the pool without one call to the source's driver: its memory is gone
 * already (device reset, context destroyed, child of a fork). Live blocks do not matter. Afterwards
 * as after destroy.
 */
MAM_API enum mam_status mam_pool_abandon(struct mam_pool *pool);

/*
 * mam_malloc - a block of at least `bytes` bytes from `pool` (NULL: the current context's default
 * pool).
 *
 * The thread's own freed blocks first, without a lock; then best fit over all holes, O(log n) in
 * segments. The block's address is a multiple of the pool's granule, and its size is rounded up to
 * one. From 1 MiB up both are multiples of 64 KiB, as dma-buf, GDRCopy and cuFile require, if the
 * source's chunks are aligned to as much: "cudamalloc", "vmm" and "host". Contents are undefined.
 * bytes 0: MAM_OK and a NULL block, as cudaMalloc does. Errors: OUT_OF_MEMORY (also for sizes no
 * memory could have), OUT_OF_HOST_MEMORY, DRIVER, DESTROYED, INVALID_VALUE (`block` is NULL).
 */
MAM_API enum mam_status mam_malloc(struct mam_pool *pool, size_t bytes, void **block);

/*
 * mam_malloc_aligned - the same at an address that is a multiple of `alignment`, a power of two
 * (else INVALID_VALUE).
 */
MAM_API enum mam_status mam_malloc_aligned(struct mam_pool *pool, size_t bytes, size_t alignment,
					   void **block);

/*
 * mam_pool_alloc_nowait - the same from ground the pool holds already. It never calls the driver,
 * never grows the pool and waits for no lock under which anybody does: safe while a kernel waits
 * for the answer. It answers WOULD_WAIT where mam_malloc_aligned() would have grown the pool.
 * alignment 0: the granule.
 */
MAM_API enum mam_status mam_pool_alloc_nowait(struct mam_pool *pool, size_t bytes, size_t alignment,
					      void **block);

/*
 * mam_free - give a block back. pool NULL: whichever pool owns it. block NULL: MAM_OK, nothing
 * done.
 *
 * O(log n). Errors, none of which changes anything: NOT_OWNED, INTERIOR, DOUBLE_FREE, DESTROYED,
 * DRIVER (the wait that MAM_FREE_STRICT makes failed; the block stays live).
 */
MAM_API enum mam_status mam_free(struct mam_pool *pool, void *block);

/*
 * mam_pool_retire - take a block from its caller, and give it to nobody until
 * mam_pool_reclaim(): for callers who know better than the pool when the work on a block is done.
 *
 * From now on the block is freed as far as callers can see: a second free answers DOUBLE_FREE. The
 * pool does not wait, whatever its policy. `ticket` (may be NULL) receives the block's place in the
 * order in which blocks of this pool were retired, counted from 1, and `bytes` (may be NULL) its
 * rounded size. O(1). Errors as mam_free(), without DRIVER; INVALID_VALUE: a NULL pool.
 */
MAM_API enum mam_status mam_pool_retire(struct mam_pool *pool, void *block, uint64_t *ticket,
					size_t *bytes);

/*
 * mam_pool_reclaim - every block that was retired with this ticket or a lower one is free ground
 * from now on. `reclaimed` (may be NULL) receives how many bytes that were. O(log n) a block.
 * Errors: INVALID_VALUE, DESTROYED.
 */
MAM_API enum mam_status mam_pool_reclaim(struct mam_pool *pool, uint64_t ticket,
					 size_t *reclaimed);

/*
 * mam_usable_size - the bytes a caller may use of a block: what was asked, rounded up. Errors as
 * mam_free().
 */
MAM_API enum mam_status mam_usable_size(struct mam_pool *pool, const void *block, size_t *bytes);

/* A segment as mam_owner() and mam_pool_walk() show it. */
struct mam_segment_info {
	size_t size;      /* sizeof(struct mam_segment_info); mam_owner(): in, mam_pool_walk(): out */
	void *base;       /* first address */
	size_t bytes;     /* rounded size */
	size_t requested; /* what the caller asked for; 0 where free */
	bool live;        /* a caller holds it */
	bool retired;     /* nobody holds it, and nobody may get it yet */
	void *chunk_base; /* the chunk it lies in */
	size_t chunk_bytes;
};

/*
 * mam_owner - which pool and which segment an address lies in; set segment->size first. Either output
 * may be NULL. Errors: NOT_OWNED (no pool has it), INVALID_VALUE (the size).
 */
MAM_API enum mam_status mam_owner(const void *address, struct mam_pool **pool,
				  struct mam_segment_info *segment);

/*
 * mam_pool_walk - call `visit` for each segment in address order, until it returns false. Threads'
 * caches are emptied first, so that what is free is shown joined.
 * The pool is locked meanwhile: `visit` must not call mam.
 */
MAM_API enum mam_status
mam_pool_walk(struct mam_pool *pool,
	      bool (*visit)(const struct mam_segment_info *segment, void *user), void *user);

/*
 * mam_pool_trim - give wholly free chunks back to the source, as long as the pool keeps at least
 * `keep_bytes`. May wait for the device. An error only where nothing could be given back that
 * should have been. `released` may be NULL.
 */
MAM_API enum mam_status mam_pool_trim(struct mam_pool *pool, size_t keep_bytes, size_t *released);

/* mam_pool_stats - exact numbers of one moment (stats.h); set stats->size first. */
MAM_API enum mam_status mam_pool_stats(struct mam_pool *pool, struct mam_stats *stats);

/*
 * mam_pool_check - prove every invariant of the pool's books, O(n). CORRUPT puts one sentence into
 * `why` (may be NULL), cut at why_bytes.
 */
MAM_API enum mam_status mam_pool_check(struct mam_pool *pool, char *why, size_t why_bytes);

/*
 * Around fork(). mam registers these with pthread_atfork() itself; call them only around a clone()
 * that bypasses it. prepare takes every lock in order, parent and child release them. In the child,
 * pools on device memory are abandoned: CUDA does not survive a fork.
 */
MAM_API void mam_fork_prepare(void);
MAM_API void mam_fork_parent(void);
MAM_API void mam_fork_child(void);

#ifdef __cplusplus
}
#endif
#endif
