/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam.h - pools of GPU memory: create, malloc, free, trim, destroy.
 *
 * A pool reserves large chunks of device memory and allocates blocks from them. Its metadata is in
 * host memory only. So allocating and freeing never access the GPU, never touch the contents of a
 * block, and cost the same for 256 bytes as for a gigabyte.
 *
 * Terms, used everywhere in mam:
 *   source      where chunks come from: the CUDA driver, or plain host addresses
 *   chunk       one contiguous range that a pool obtained from its source
 *   segment     a part of a chunk: either a live block or free
 *   block       what mam_malloc() returns
 *   free block  a free segment with a live block above it in its chunk
 *   granule     the unit that sizes are rounded up to, 512 bytes by default
 *
 * Structs that pass between program and library begin with their own size, so that they can grow. A
 * program that was compiled with an older or newer version of the header works with this library,
 * as long as all fields that this version does not know are zero. A size that no version has is
 * reported as INVALID_VALUE.
 *
 * Sizes are in bytes. Outputs come last and are written only on success. Any thread may make any
 * call at any time unless its comment restricts that. A call that fails changes nothing, with one
 * exception: before a pool returns OUT_OF_MEMORY, it and the other pools of its device empty their
 * thread caches and release entirely free memory to their sources, and those that are lazily suspended
 * (pools.h) release all of theirs.
 *
 * An allocation does not wait for the GPU while its source has memory: a kernel may be waiting for
 * the thread that allocates. It may wait once the source, a limit or a quota has refused memory; a
 * request in stream order (stream.h) first lets its stream wait instead.
 *
 * The pool is based on Can Aknesil and Didem Unat, "MAM: A Memory Allocation Manager for GPUs": two
 * red-black trees over the segments of a chunk, one by address and one by size. mam differs in two
 * ways: a node of the address tree holds several neighbors, and each size class has a list or a
 * tree. paper.h has the paper's five calls.
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

/* Return values. mam_strerror() describes each in a sentence. */
enum mam_status {
	MAM_OK = 0,
	MAM_ERROR_INVALID_VALUE = 1,      /* an argument is outside its documented range */
	MAM_ERROR_OUT_OF_MEMORY = 2,      /* no free block fits and the source gave no more */
	MAM_ERROR_OUT_OF_HOST_MEMORY = 3, /* the pool's metadata could not grow */
	MAM_ERROR_NOT_OWNED = 4,          /* the address is not in a chunk of the pool */
	MAM_ERROR_INTERIOR = 5,           /* the address is inside a block, not at its start */
	MAM_ERROR_DOUBLE_FREE = 6,        /* no live block is at the address: a double free */
	MAM_ERROR_LIVE_BLOCKS = 7,        /* the pool still has live blocks */
	MAM_ERROR_DESTROYED = 8,          /* the pool was destroyed or abandoned */
	MAM_ERROR_NO_DEVICE = 9,          /* no CUDA driver, or no such device */
	MAM_ERROR_WOULD_WAIT = 10,        /* the call must not wait, but would have to */
	MAM_ERROR_DRIVER = 11,            /* the CUDA driver reported another error */
	MAM_ERROR_CORRUPT = 12,           /* mam_pool_check() found an error in the metadata */
	MAM_ERROR_UNSUPPORTED = 13,       /* not supported by this build, source or machine */
	MAM_ERROR_IO = 14,                /* reading or writing a file failed */
	MAM_ERROR_SUSPENDED = 15          /* the pool is suspended: it allocates nothing */
};

/*
 * mam_version - the version of the library in use: "0.1.0". A build of a commit after a release also
 * has the number of commits and the last one: "0.1.0-5-g0123abc".
 */
MAM_API const char *mam_version(void);
MAM_API const char *mam_strerror(enum mam_status status);    /* one sentence; never NULL */
MAM_API const char *mam_status_name(enum mam_status status); /* "MAM_ERROR_INTERIOR"; never NULL */

/* When can a freed block be allocated again? */
enum mam_free_policy {
	/* The source's default: strict for device memory, stream for all other sources. */
	MAM_FREE_DEFAULT = 0,
	/*
	 * mam_free() first waits until all work submitted to the device's context is done, as
	 * cudaFree does. The wait does not affect stream captures, in this thread or another one.
	 * As with cudaFree, it does not cover kernels and copies of other devices that use the
	 * block: synchronize those first, or pass their stream to mam_free_async().
	 */
	MAM_FREE_STRICT = 1,
	/*
	 * Immediately: the caller guarantees that all users of a block are in one stream order, or
	 * are done.
	 */
	MAM_FREE_STREAM = 2,
	/*
	 * mam_free() does not wait, and the block can be allocated again when all work submitted
	 * before the free is done. `mam run --free=deferred` implements this. A pool cannot see
	 * submitted work, so it falls back to STRICT; callers that can see it use
	 * mam_pool_retire().
	 */
	MAM_FREE_DEFERRED = 3
};

/*
 * Does each thread keep the blocks that it frees, to allocate them again without a lock? A cache
 * takes blocks of up to 1 MiB: at most 16 MiB per thread or 1/512 of the live bytes, and at most a
 * quarter of the pool's size. Pools with a granule below 512 bytes have no caches. A cached block
 * may serve a request that is up to an eighth smaller, or up to a third smaller if several threads
 * use the pool. The caches are emptied before the pool grows, is trimmed or runs out of memory, and
 * when their thread ends.
 */
enum mam_cache_mode {
	MAM_CACHE_DEFAULT = 0, /* on */
	MAM_CACHE_ON = 1,
	MAM_CACHE_OFF = 2
};

#define MAM_DEVICE_CURRENT (-1)
#define MAM_CHUNK_LARGEST SIZE_MAX /* the largest that the source gives, by trying falling sizes */
#define MAM_GROWTH_NONE SIZE_MAX   /* the pool never grows: its first chunk must not be 0 */

/* Attributes of a pool. Zero means the default in every field except `size` and `device`. */
struct mam_pool_attr {
	size_t size;         /* sizeof(struct mam_pool_attr): it may grow in later versions */
	const char *source;  /* of mam_source_create(); NULL: "cudamalloc"; not for create_on */
	int device;          /* CUDA ordinal, or MAM_DEVICE_CURRENT */
	size_t chunk_bytes;  /* first chunk, allocated at creation; 0: on first use */
	size_t growth_bytes; /* minimum of later chunks; 0: 64 MiB or 1/8 of the pool; grow.c */
	size_t limit_bytes;  /* maximum size of the pool; 0: no limit; mam_pool_set_limit() */
	size_t granule;      /* unit of block sizes: a power of two, 16 to 2 MiB; 0: 512 */
	enum mam_free_policy free_policy;
	const char *name; /* for reports; copied, cut at 31 characters */
	enum mam_cache_mode cache;
	struct mam_quota *quota; /* pools.h: shared with other pools; NULL: none */
	size_t spare_bytes; /* a free releases memory when twice this is free; 0: only trim does */
	/*
	 * Percent over the live bytes, up to 1000. A request in stream order (stream.h) that would
	 * make the pool larger first uses memory that other streams freed, and the GPU waits for
	 * these streams. 0: only in place of OUT_OF_MEMORY.
	 */
	size_t footprint;
};

#define MAM_POOL_ATTR_INIT                                                          \
	{                                                                           \
		sizeof(struct mam_pool_attr), NULL, MAM_DEVICE_CURRENT, 0, 0, 0, 0, \
			MAM_FREE_DEFAULT, NULL, MAM_CACHE_DEFAULT, NULL, 0, 0       \
	}

/*
 * mam_pool_create - create a pool on a source named in `attr` (NULL: all defaults).
 *
 * The pool owns the source that it creates. Errors: INVALID_VALUE (a field out of range, an unknown
 * source), NO_DEVICE, OUT_OF_MEMORY (the first chunk), OUT_OF_HOST_MEMORY, DRIVER.
 */
MAM_API enum mam_status mam_pool_create(const struct mam_pool_attr *attr, struct mam_pool **pool);

/*
 * mam_pool_create_on - the same on the caller's own source (source.h). The caller keeps the
 * ownership of the source, which must outlive the pool.
 */
MAM_API enum mam_status mam_pool_create_on(struct mam_source *source,
					   const struct mam_pool_attr *attr,
					   struct mam_pool **pool);

/*
 * mam_pool_default - the pool that NULL stands for, of one CUDA context: that of the calling thread
 * if it is on `device`, otherwise the device's primary context. MAM_DEVICE_CURRENT: the device of the
 * thread's context; without one, the first. The first call creates it with the settings of the
 * environment (mam.7), and the source that mam_plug_source() selected (plug.h). With the source
 * "host" there is one for all contexts.
 *
 * It lives until its context or the process ends. cuCtxDestroy and a device reset free its memory:
 * its blocks are gone, mam_free() with NULL returns NOT_OWNED for them, and the next use in a new
 * context creates a new pool. Drivers before CUDA 12.0 do not identify contexts: there, call
 * mam_pool_abandon() after the context has ended. Errors: INVALID_VALUE, NO_DEVICE, OUT_OF_MEMORY,
 * OUT_OF_HOST_MEMORY, DRIVER (also: the thread's context was destroyed).
 */
MAM_API enum mam_status mam_pool_default(int device, struct mam_pool **pool);

/*
 * mam_pool_destroy - return every chunk to the source and end the pool. Waits until all work on
 * freed blocks is done.
 *
 * If the pool has live blocks, the call returns LIVE_BLOCKS and does nothing. Afterwards every call
 * on the pool returns DESTROYED: a handle is never reused. A default pool may be destroyed; the
 * next use creates a new one.
 */
MAM_API enum mam_status mam_pool_destroy(struct mam_pool *pool);

/*
 * mam_pool_abandon - end the pool without calling the source's driver: its memory is already gone
 * (device reset, context destroyed, child of a fork). Live blocks do not prevent it. Afterwards
 * every call on the pool returns DESTROYED.
 */
MAM_API enum mam_status mam_pool_abandon(struct mam_pool *pool);

/*
 * mam_malloc - allocate a block of at least `bytes` bytes from `pool` (NULL: the current context's
 * default pool).
 *
 * The call first searches the calling thread's cache, without a lock. Then it searches all free
 * blocks for the best fit, in O(log n) of the number of segments. The address and the size of the
 * block are multiples of the pool's granule. From 1 MiB up both are multiples of 64 KiB, as
 * dma-buf, GDRCopy and cuFile require, if the source aligns its chunks to that: "cudamalloc", "vmm"
 * and "host" do. Contents are undefined. bytes 0: MAM_OK and a NULL block, as cudaMalloc does.
 * Errors: OUT_OF_MEMORY (also for sizes beyond any memory), OUT_OF_HOST_MEMORY, DRIVER, DESTROYED,
 * INVALID_VALUE (`block` is NULL).
 */
MAM_API enum mam_status mam_malloc(struct mam_pool *pool, size_t bytes, void **block);

/*
 * mam_malloc_aligned - the same at an address that is a multiple of `alignment`, which must be a
 * power of two. INVALID_VALUE: it is not.
 */
MAM_API enum mam_status mam_malloc_aligned(struct mam_pool *pool, size_t bytes, size_t alignment,
					   void **block);

/*
 * mam_pool_alloc_nowait - the same, but only from memory that the pool already has. The call never
 * enters the driver and never grows the pool. It waits for no lock that another thread holds while
 * it calls the driver. So it is safe while a kernel waits for the result. It returns WOULD_WAIT if
 * mam_malloc_aligned() would grow the pool. alignment 0: the granule.
 */
MAM_API enum mam_status mam_pool_alloc_nowait(struct mam_pool *pool, size_t bytes, size_t alignment,
					      void **block);

/*
 * mam_free - free a block. pool NULL: the pool that owns the block. block NULL: MAM_OK, a no-op.
 *
 * O(log n). An error changes nothing: NOT_OWNED, INTERIOR, DOUBLE_FREE, DESTROYED, DRIVER (the wait
 * of MAM_FREE_STRICT failed; the block stays live).
 */
MAM_API enum mam_status mam_free(struct mam_pool *pool, void *block);

/*
 * mam_pool_retire - free a block, but keep it unavailable until mam_pool_reclaim(). For callers
 * that know better than the pool when the work on a block is done.
 *
 * To its caller the block is freed: a second free returns DOUBLE_FREE. The pool does not wait,
 * whatever its policy. `ticket` (may be NULL) receives the position of the block in the order in
 * which blocks of this pool were retired, counted from 1. `bytes` (may be NULL) receives its
 * rounded size. O(1). Errors as mam_free(), without DRIVER; INVALID_VALUE: a NULL pool.
 */
MAM_API enum mam_status mam_pool_retire(struct mam_pool *pool, void *block, uint64_t *ticket,
					size_t *bytes);

/*
 * mam_pool_retire_shared - the same for a program that retires many blocks: blocks of a thread share
 * a ticket, and the thread keeps them to reuse them when they are reclaimed, without a lock.
 *
 * `ticket` receives 0, or a ticket of this block and of all blocks that the thread retired so far.
 * Then `bytes` receives the sum of the rounded sizes of those that had no ticket before. Blocks of
 * over 1 MiB, and those of a pool without caches, always get a ticket. Errors as mam_pool_retire();
 * INVALID_VALUE: NULL.
 *
 * mam_pool_retired - give a ticket to each block that any thread retired so far. `ticket` receives
 * the highest one; 0: no block was ever retired. Errors: INVALID_VALUE, DESTROYED.
 */
MAM_API enum mam_status mam_pool_retire_shared(struct mam_pool *pool, void *block, uint64_t *ticket,
					       size_t *bytes);
MAM_API enum mam_status mam_pool_retired(struct mam_pool *pool, uint64_t *ticket);

/*
 * mam_pool_reclaim - make every block that was retired with this ticket or a lower one available.
 * `reclaimed` (may be NULL) receives their total size in bytes, without those that threads keep.
 * O(log n) per block. Errors: INVALID_VALUE, DESTROYED.
 */
MAM_API enum mam_status mam_pool_reclaim(struct mam_pool *pool, uint64_t ticket, size_t *reclaimed);

/*
 * mam_usable_size - the usable bytes of a block: the requested size, rounded up. Errors as
 * mam_free().
 */
MAM_API enum mam_status mam_usable_size(struct mam_pool *pool, const void *block, size_t *bytes);

/* A segment as mam_owner() and mam_pool_walk() report it. */
struct mam_segment_info {
	size_t size;  /* sizeof(struct mam_segment_info); mam_owner(): in; mam_pool_walk(): out */
	void *base;   /* first address */
	size_t bytes; /* rounded size */
	size_t requested; /* the size that the caller requested; 0 if free */
	bool live;        /* allocated to a caller */
	bool retired;     /* freed, but not available yet */
	void *chunk_base; /* the chunk that contains it */
	size_t chunk_bytes;
};

/*
 * mam_owner - report the pool and the segment that contain an address. Set segment->size first.
 * Either output may be NULL. Errors: NOT_OWNED (the address is not in a pool), INVALID_VALUE (the
 * size).
 */
MAM_API enum mam_status mam_owner(const void *address, struct mam_pool **pool,
				  struct mam_segment_info *segment);

/*
 * mam_pool_walk - call `visit` for each segment in address order, until it returns false. Thread
 * caches are emptied first, so that adjacent free memory is reported as one segment. The pool is
 * locked meanwhile: `visit` must not call mam.
 */
MAM_API enum mam_status
mam_pool_walk(struct mam_pool *pool,
	      bool (*visit)(const struct mam_segment_info *segment, void *user), void *user);

/*
 * mam_pool_trim - return entirely free chunks to the source, as long as the pool keeps at least
 * `keep_bytes`. May wait for the device. Returns an error only if a chunk should have been returned
 * and no chunk could be. `released` (may be NULL) receives the returned bytes.
 */
MAM_API enum mam_status mam_pool_trim(struct mam_pool *pool, size_t keep_bytes, size_t *released);

/*
 * mam_pool_stats - an exact, consistent snapshot of the counters (stats.h). Set stats->size first.
 */
MAM_API enum mam_status mam_pool_stats(struct mam_pool *pool, struct mam_stats *stats);

/*
 * mam_pool_check - check every invariant of the pool's metadata, O(n). CORRUPT: `why` (may be NULL)
 * receives one sentence, cut at why_bytes.
 */
MAM_API enum mam_status mam_pool_check(struct mam_pool *pool, char *why, size_t why_bytes);

/*
 * Locks around fork(). mam registers these with pthread_atfork() itself; call them only around a
 * clone() that bypasses it. prepare takes every lock in order, parent and child release them. The
 * child abandons all pools on device memory: CUDA does not survive a fork.
 */
MAM_API void mam_fork_prepare(void);
MAM_API void mam_fork_parent(void);
MAM_API void mam_fork_child(void);

#ifdef __cplusplus
}
#endif
#endif
