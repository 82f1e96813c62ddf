/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - where a pool's chunks come from.
 *
 * A source is a small table of functions with state. mam provides "vmm" (device memory, mapped in
 * pieces), "cudamalloc" (device memory by the driver's cuMemAlloc), "pinned" (host memory that the
 * device can access), "managed" (memory that migrates to the processor that uses it), "host"
 * (addresses only, for replay and tests) and "limit" (a quota around another source). A program may
 * provide its own source: embed struct mam_source as the first member of a struct, fill in the
 * table, and pass it to mam_pool_create_on().
 *
 * Threads: a pool calls grow and shrink of a source from one thread at a time, but quiesce from any
 * number of threads at once. A source that several pools share must do its own locking, as mam's
 * sources do.
 */
#ifndef MAM_SOURCE_H
#define MAM_SOURCE_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A part of struct mam_source, whose size field covers it. */
struct mam_source_properties {
	const char *name;   /* "host"; static or as long-lived as the source */
	size_t granularity; /* chunk sizes are multiples of this, a power of two */
	size_t alignment;   /* chunk addresses are multiples of this, a power of two */
	size_t total_bytes; /* the maximum that it can give at once; 0: unknown */
	int device;         /* CUDA ordinal; -1: not on a device */
	bool survives_fork; /* a child of fork() may continue to use its chunks */
	size_t range_bytes; /* sources that map in pieces: how many addresses to reserve */
};

struct mam_source_ops {
	size_t size; /* sizeof(struct mam_source_ops) */
	/*
	 * grow - allocate a new chunk of exactly `bytes` bytes.
	 * pre:  bytes is a multiple of granularity and not 0.
	 * post: MAM_OK and *base is set, or OUT_OF_MEMORY / DRIVER / NO_DEVICE and nothing was
	 *       allocated.
	 *       Must not leave a CUDA error pending, and must work while a stream of the process is
	 *       in capture.
	 */
	enum mam_status (*grow)(struct mam_source *source, size_t bytes, void **base);
	/*
	 * shrink - return a whole chunk. May wait for the device.
	 * pre:  base and bytes are those of one grow; the chunk has no live block.
	 * post: MAM_OK, or an error and the chunk still belongs to the pool.
	 */
	enum mam_status (*shrink)(struct mam_source *source, void *base, size_t bytes);
	/*
	 * quiesce - wait until work submitted so far can no longer access this source's memory.
	 * Must not invalidate stream captures. NULL: no wait is needed.
	 */
	enum mam_status (*quiesce)(struct mam_source *source);
	/*
	 * destroy - free the source itself. pre: every chunk was returned, or is lost with its
	 * device.
	 */
	void (*destroy)(struct mam_source *source);
	/*
	 * Sources that reserve addresses and map memory separately have these three; all others
	 * leave them NULL. For such a source grow reserves unmapped addresses, and shrink frees
	 * unmapped addresses. Memory is mapped and unmapped in whole pieces, each a multiple of
	 * granularity.
	 *
	 * map    - map a new piece of `bytes` bytes at `base`, usable by the device. OUT_OF_MEMORY,
	 *          DRIVER: nothing changed.
	 * unmap  - return the piece that was mapped at `base` to the driver. The pool ensures that
	 *          no work accesses it any more.
	 * move   - remap the piece at `from` to `to`; its contents are lost. After an error it is
	 *          still at `from`, or (DRIVER, *lost true) it was returned to the driver.
	 */
	enum mam_status (*map)(struct mam_source *source, void *base, size_t bytes);
	enum mam_status (*unmap)(struct mam_source *source, void *base, size_t bytes);
	enum mam_status (*move)(struct mam_source *source, void *from, size_t bytes, void *to,
				bool *lost);
	/*
	 * cost - the total nanoseconds of all calls so far, for sources that compute their cost
	 * instead of waiting; NULL: the pool measures the time.
	 */
	uint64_t (*cost)(struct mam_source *source);
	/*
	 * Sources that can map a piece at several addresses at once have these two; others leave
	 * both NULL. The pool unmaps and moves only pieces with one address.
	 *
	 * alias   - map the piece at `from` at `to` as well. OUT_OF_MEMORY, DRIVER: nothing
	 *           changed. Must not wait for the device.
	 * unalias - unmap one of the addresses of a piece; its memory remains at the others. The
	 *           pool ensures that no work uses the address any more. DRIVER: nothing changed.
	 */
	enum mam_status (*alias)(struct mam_source *source, void *from, size_t bytes, void *to);
	enum mam_status (*unalias)(struct mam_source *source, void *base, size_t bytes);
};

struct mam_source {
	size_t size; /* sizeof(struct mam_source) */
	const struct mam_source_ops *ops;
	struct mam_source_properties properties; /* set once, before the first grow */
};

/*
 * mam_source_create - create one of mam's own sources by name: "vmm", "cudamalloc", "pinned",
 * "managed", "host" or "simulated" (vmm without a driver: only addresses). Errors: INVALID_VALUE
 * (an unknown name), NO_DEVICE.
 *
 * pinned and managed never take all memory, since a machine without spare memory hangs. pinned
 * leaves a quarter of the memory of the host, or of its control group, to other users. managed
 * gives in total at most the free memory of the device, computed as if it had not given any yet.
 * Their chunks are aligned to pages of 4 KiB, so a pool on them accepts granules of up to 4 KiB.
 * For freeing they count as device memory: MAM_FREE_DEFAULT is strict.
 */
MAM_API enum mam_status mam_source_create(const char *name, int device, struct mam_source **source);

/* mam_source_destroy - end a source of mam_source_create() or mam_source_limit(). NULL: a no-op. */
MAM_API void mam_source_destroy(struct mam_source *source);

/*
 * mam_source_host - addresses without memory: an 80 GB pool costs no RAM. total_bytes: the total
 * that it can give (0: 80 GiB). backed true: readable and writable, for tests that access blocks.
 */
MAM_API enum mam_status mam_source_host(size_t total_bytes, bool backed,
					struct mam_source **source);

/* Attributes of a vmm source. Zero means the default in every field except `size` and `device`. */
struct mam_vmm_attr {
	size_t size;        /* sizeof(struct mam_vmm_attr): it may grow in later versions */
	int device;         /* CUDA ordinal, or MAM_DEVICE_CURRENT */
	size_t range_bytes; /* bytes of one address range; 0: four times the device's memory */
	uint64_t peers;     /* bit n: device n may access the memory too; 0: see mam_source_vmm() */
	bool gpudirect;     /* memory that network cards and other devices may read and write */
	bool exportable;    /* handles can be passed to other processes as file descriptors */
	bool simulated;     /* no driver: only addresses, and the costs measured on an H100 */
	size_t total_bytes; /* simulated: the total that it can give; 0: 80 GiB */
	size_t lag; /* simulated streams, for replay: 1 + the number of calls by which work lags */
};

#define MAM_VMM_ATTR_INIT                                                                        \
	{                                                                                        \
		sizeof(struct mam_vmm_attr), MAM_DEVICE_CURRENT, 0, 0, false, false, false, 0, 0 \
	}

/*
 * mam_source_vmm - one large address range, and memory that is mapped into it in pieces. A pool on
 * it grows without moving, releases free memory anywhere in the range, and remaps free memory to
 * the addresses that need it. attr NULL: the defaults. Errors: INVALID_VALUE, NO_DEVICE,
 * UNSUPPORTED (a device or a peer lacks the feature), OUT_OF_HOST_MEMORY.
 *
 * Peers: the devices that can access mapped memory are set when it is mapped;
 * cudaDeviceEnablePeerAccess() does not change that. By default (peers 0) every visible device that
 * can reach the memory gets access, or none with MAM_PEERS=none. A nonzero `peers` restricts access
 * to the devices that it names; the device's own bit alone restricts it to the device itself. Each
 * peer makes mapping slower. If a device cannot reach the memory, or the driver refuses it, mam
 * logs a warning. For a device in `peers` this is an error instead: UNSUPPORTED here, and DRIVER or
 * OUT_OF_MEMORY when a pool grows. Without access, a kernel of that device faults, and
 * cudaMemcpyPeer() may copy wrong bytes and report success.
 *
 * lag: the pool's streams are simulated, also above real memory that no kernel uses. Any handle
 * except NULL, 1 and 2 is a stream. Work that was submitted before a call of mam_malloc_async() or
 * mam_free_async() is done when the lag-th call after that begins, or after a wait; 1: before the
 * call itself. 0 (the default): streams of the driver; a simulated source has none.
 */
MAM_API enum mam_status mam_source_vmm(const struct mam_vmm_attr *attr, struct mam_source **source);

/*
 * mam_source_limit - a quota around `inner`, which it does not own. limit_bytes: the maximum that
 * it gives at once (0: no limit). refuse_at: the n-th grow from now, counted from 1, and all later
 * ones up to refuse_at + refuse_count - 1 return OUT_OF_MEMORY without calling `inner` (0: none).
 * This is for tests of the out-of-memory path.
 */
MAM_API enum mam_status mam_source_limit(struct mam_source *inner, size_t limit_bytes,
					 size_t refuse_at, size_t refuse_count,
					 struct mam_source **source);

#ifdef __cplusplus
}
#endif
#endif
