/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source.h - where a pool's chunks come from.
 *
 * A source is a small table of functions with state behind it. mam brings "vmm" (device memory
 * mapped in pieces), "cudamalloc" (device memory by the driver's cuMemAlloc), "pinned" (host memory
 * that the device reaches), "managed" (memory that moves to who uses it), "host" (addresses only,
 * for replay and tests) and "limit" (a quota around another source). A program may bring its own:
 * embed struct mam_source first in a struct, fill in the table, and pass it to
 * mam_pool_create_on().
 *
 * Threads: a pool calls grow and shrink of one source from one thread at a time, but quiesce from
 * any number at once. A source shared by several pools must lock for itself, as the ones here do.
 */
#ifndef MAM_SOURCE_H
#define MAM_SOURCE_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A part of struct mam_source, whose size covers it. */
struct mam_source_properties {
	const char *name;   /* "host"; static or as long-lived as the source */
	size_t granularity; /* chunk sizes are multiples of this, a power of two */
	size_t alignment;   /* chunk addresses are multiples of this, a power of two */
	size_t total_bytes; /* the most it could give at once; 0: unknown */
	int device;         /* CUDA ordinal; -1: not on a device */
	bool survives_fork; /* a child of fork() may go on using its chunks */
	size_t range_bytes; /* of sources that map in pieces: how many addresses to ask for */
};

struct mam_source_ops {
	size_t size; /* sizeof(struct mam_source_ops) */
	/*
	 * grow - a new chunk of exactly `bytes` bytes.
	 * pre:  bytes is a multiple of granularity and not 0.
	 * post: MAM_OK and *base is set, or OUT_OF_MEMORY / DRIVER / NO_DEVICE and nothing was
	 * taken.
	 *       Must not leave a CUDA error pending, and must work while a stream of the process is
	 *       in capture.
	 */
	enum mam_status (*grow)(struct mam_source *source, size_t bytes, void **base);
	/*
	 * shrink - take a chunk back, whole. May wait for the device.
	 * pre:  base and bytes are what one grow gave; nothing lives in it.
	 * post: MAM_OK, or an error and the chunk is still the pool's.
	 */
	enum mam_status (*shrink)(struct mam_source *source, void *base, size_t bytes);
	/*
	 * quiesce - wait until work submitted so far can no longer touch this source's memory. Must
	 * not invalidate stream captures. NULL: never any.
	 */
	enum mam_status (*quiesce)(struct mam_source *source);
	/*
	 * destroy - free the source itself. pre: every chunk was given back, or is lost with its
	 * device.
	 */
	void (*destroy)(struct mam_source *source);
	/*
	 * Sources that give addresses and memory apart have these three; all others leave them
	 * NULL. For them grow reserves addresses with nothing behind, and shrink gives addresses
	 * back with nothing behind. Memory comes in pieces, each a multiple of granularity, which
	 * are mapped and unmapped whole.
	 *
	 * map    - a new piece of `bytes` bytes at `base`, usable by the device. OUT_OF_MEMORY,
	 *          DRIVER: nothing changed.
	 * unmap  - the piece that was mapped at `base` goes back to the driver. The pool has seen to
	 *          it that no work touches it any more.
	 * move   - the piece at `from` goes to `to`, contents lost. An error: it is where it was, or
	 *          (DRIVER, *lost true) it went back to the driver and is nowhere.
	 */
	enum mam_status (*map)(struct mam_source *source, void *base, size_t bytes);
	enum mam_status (*unmap)(struct mam_source *source, void *base, size_t bytes);
	enum mam_status (*move)(struct mam_source *source, void *from, size_t bytes, void *to,
				bool *lost);
	/*
	 * cost - nanoseconds all calls took so far, for sources that reckon instead of waiting; NULL:
	 * the pool's clock says.
	 */
	uint64_t (*cost)(struct mam_source *source);
};

struct mam_source {
	size_t size; /* sizeof(struct mam_source) */
	const struct mam_source_ops *ops;
	struct mam_source_properties properties; /* set once, before the first grow */
};

/*
 * mam_source_create - one of mam's own by name: "vmm", "cudamalloc", "pinned", "managed", "host" or
 * "simulated" (vmm without a driver: addresses alone). INVALID_VALUE names no source; NO_DEVICE.
 *
 * pinned and managed never ask for all there is, since a machine without memory to spare stops:
 * pinned leaves a quarter of the host's memory, or of its control group's, to others; managed gives
 * in all at most what is free on the device, as if nothing of it were there yet. Their chunks lie
 * on pages of 4 KiB, so a pool on them takes granules of up to that. They are memory of a device
 * as far as freeing is concerned: MAM_FREE_DEFAULT is strict.
 */
MAM_API enum mam_status mam_source_create(const char *name, int device, struct mam_source **source);

/*
 * mam_source_destroy - end a source that mam_source_create() or mam_source_limit() made. NULL:
 * nothing.
 */
MAM_API void mam_source_destroy(struct mam_source *source);

/*
 * mam_source_host - addresses without memory behind them: an 80 GB pool costs no RAM.
 * total_bytes: what it gives in all (0: 80 GiB). backed true: readable and writable, for tests that
 * touch blocks.
 */
MAM_API enum mam_status mam_source_host(size_t total_bytes, bool backed,
					struct mam_source **source);

/* How a vmm source is made. Zero means the default in every field but `size` and `device`. */
struct mam_vmm_attr {
	size_t size;        /* sizeof(struct mam_vmm_attr): it may grow in later versions */
	int device;         /* CUDA ordinal, or MAM_DEVICE_CURRENT */
	size_t range_bytes; /* addresses of one range; 0: four times the device's memory */
	uint64_t peers;     /* bit n: device n may use the memory too; 0: see mam_source_vmm() */
	bool gpudirect;     /* memory that network cards and others may read and write */
	bool exportable;    /* handles that can be passed to another process as file descriptors */
	bool simulated;     /* no driver: addresses alone, and the costs an H100 showed */
	size_t total_bytes; /* simulated: what it gives in all; 0: 80 GiB */
};

#define MAM_VMM_ATTR_INIT                                                                \
	{                                                                                \
		sizeof(struct mam_vmm_attr), MAM_DEVICE_CURRENT, 0, 0, false, false, false, 0 \
	}

/*
 * mam_source_vmm - addresses from one large range, and memory that is mapped to them in pieces: a
 * pool on it grows without moving, gives back what is free in any place, and moves free memory to
 * where it is needed. attr NULL: the defaults. Errors: INVALID_VALUE, NO_DEVICE, UNSUPPORTED (a
 * device, or a peer, that cannot), OUT_OF_HOST_MEMORY.
 *
 * Peers: mapped memory is used by the devices that get access when it is mapped;
 * cudaDeviceEnablePeerAccess() does not change that. By default (peers 0) every visible device that
 * can reach the memory gets access, or none with MAM_PEERS=none. Naming peers restricts it to these,
 * and only the device's own bit to the device itself. Each peer makes a map slower. A device that
 * cannot reach the memory, or that the driver refuses, is reported by a warning; for a peer in
 * `peers` it is an error, UNSUPPORTED here and DRIVER or OUT_OF_MEMORY when a pool grows. Without
 * access a kernel of that device faults, and cudaMemcpyPeer() may copy wrong bytes and report
 * success.
 */
MAM_API enum mam_status mam_source_vmm(const struct mam_vmm_attr *attr, struct mam_source **source);

/*
 * mam_source_limit - a quota around `inner`, which it does not own.
 * limit_bytes: most it lets through at once (0: no limit). refuse_at: the n-th grow from now,
 * counted from 1, and all later ones up to refuse_at + refuse_count - 1 answer OUT_OF_MEMORY
 * without asking (0: none): for tests of the road down.
 */
MAM_API enum mam_status mam_source_limit(struct mam_source *inner, size_t limit_bytes,
					 size_t refuse_at, size_t refuse_count,
					 struct mam_source **source);

#ifdef __cplusplus
}
#endif
#endif
