/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - device-side heaps: kernels allocate from them, on memory of a pool.
 *
 * A heap is one block of a pool. The memory for kernels comes first in it, the heap's metadata
 * last. The host creates, inspects and ends a heap by the calls below. Kernels allocate and free by
 * those of heap.cuh. The host passes one address to kernels as an argument, mam_heap_device(). A
 * heap of objects may grow while kernels run: see `max_bytes`.
 *
 *	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;
 *	struct mam_heap *heap;
 *
 *	attr.bytes = (size_t)1 << 30;
 *	mam_heap_create(pool, &attr, &heap);
 *	build<<<blocks, threads, 0, stream>>>(mam_heap_device(heap), ...);
 *	mam_heap_reset(heap, stream);
 *	...
 *	mam_heap_destroy(heap);
 *
 * There are two kinds. A heap of objects allocates objects of any size, as malloc() does:
 * mam_kmalloc(). A heap of pages allocates pages of one size, alone or several in a row:
 * mam_kpage_alloc(). The calls of one kind do nothing on a heap of the other.
 *
 * Kernels get ordinary device memory: it may be copied, several kernels may use it, and one kernel
 * may free what another one allocated. There may be any number of heaps, on the same pool or
 * others.
 *
 * Threads and streams. The rules of mam.h apply here too, with one exception: no call may begin to
 * use a heap after mam_heap_destroy() of it. Calls with a `stream` take effect in its order: after
 * all work submitted to it before, and before all work submitted later. The stream belongs to the
 * context of the pool's memory. It is a CUstream or cudaStream_t; NULL and (cudaStream_t)1 are the
 * legacy default stream, (cudaStream_t)2 is the per-thread default stream of the calling thread. No
 * call here ends a stream capture.
 */
#ifndef MAM_HEAP_H
#define MAM_HEAP_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
struct mam_heap;  /* host-side handle */
struct mam_kheap; /* device-side handle, in device memory: heap.cuh */

/* The two kinds. */
#define MAM_HEAP_OBJECTS 0u
#define MAM_HEAP_PAGES 1u

#define MAM_HEAP_PAGE_MIN 256u
#define MAM_HEAP_PAGE_MAX (4u << 20)
#define MAM_HEAP_PAGE_DEFAULT 4096u
#define MAM_HEAP_LOW_DEFAULT 5u
#define MAM_HEAP_BLOCK 65536u  /* heaps of objects consist of blocks of this size */
#define MAM_HEAP_CLASSES 72u   /* size classes of objects that share slabs */
#define MAM_HEAP_REACHABLE 11u /* powers of two from 1 KiB to 1 MiB */

/* Attributes of a heap. Zero means the default in every field except `size` and `bytes`. */
struct mam_heap_attr {
	size_t size;  /* sizeof(struct mam_heap_attr): it may grow in later versions */
	size_t bytes; /* capacity, rounded up to whole blocks or pages; metadata is extra */
	/*
	 * Only for a heap of pages; otherwise 0. Bytes of a page: a power of two, 256 to 4 MiB.
	 * Every page is aligned to its size. 0: 4096. That fits most requests of a lane in one
	 * page, needs one bit of metadata per 32,768 bits, and wastes less than larger pages if
	 * requests are small. A larger request takes several pages in a row.
	 */
	size_t page_bytes;
	/*
	 * Only for a heap of pages; otherwise 0. The share of free pages, in thousandths, that the
	 * random search must still find, 1 to 1000; 0: 5. A random search stops when its length
	 * makes success unlikely at this share. One exact scan of the whole heap follows. Lower
	 * values mean longer searches and fewer scans.
	 */
	unsigned int low_per_mille;
	unsigned int kind; /* MAM_HEAP_OBJECTS or MAM_HEAP_PAGES */

	/* The fields from here are for a heap of objects; otherwise 0. */
	/*
	 * Maximum capacity of a heap that grows; metadata is extra. A kernel that finds no free
	 * memory asks the host, which allocates a grant from the pool, or a separate block for a
	 * large object. Both happen while the kernel runs. 0: the heap does not grow beyond
	 * `bytes`. MAM_HEAP_UNLIMITED: as far as the pool can. The pool maps the memory that it
	 * obtains for a growing heap, on source cudamalloc as on vmm (cudaIpcGetMemHandle then
	 * rejects it). On pinned and managed a heap cannot grow, as their calls may wait. One
	 * thread of the library serves all heaps that grow, and sleeps while no kernel asks. Under
	 * ncu, compute-sanitizer and cuda-gdb heaps do not grow, and mam logs that:
	 * MAM_HEAP_GROWTH, mam(7).
	 */
	size_t max_bytes;
	/*
	 * Minimum size of a grant, 2 MiB or more. 0: half of the heap's size, 2 MiB to 1 GiB, and at
	 * least a quarter of it. If the pool has no such piece, a grant is smaller.
	 */
	size_t grow_bytes;
	/*
	 * Microseconds that a lane waits for the host before it gets NULL, up to 10 s; 0: 100,000.
	 */
	unsigned int wait_us;
	/*
	 * Number of spare grants, up to 4, allocated from the pool before a kernel needs them, so
	 * that the kernel does not wait for the host. 0: one. MAM_HEAP_AHEAD_NONE: none.
	 */
	unsigned int ahead;
	/*
	 * 1: detect memory errors. Kernels must then be compiled with -DMAM_KDEBUG; others get
	 * NULL. Red zones surround each object, and freed memory is poisoned. Errors are reported
	 * with the address, the block and the thread, and the kernel continues
	 * (mam_heap_reports()). Objects that are live when the heap ends are logged
	 * (MAM_HEAP_LEAKS). Each object needs at least 112 more bytes, so set `bytes` accordingly.
	 * heap.cuh lists the errors that are detected.
	 */
	unsigned int debug;

	/*
	 * Of both kinds. 1: kernels of several devices use the heap at the same time. They must be
	 * compiled with -DMAM_KPEERS, so that all atomics have the scope of the system. Others get
	 * NULL from a heap of objects; a heap of pages cannot recognize them. The devices need
	 * access to the pool's memory, and atomic operations on it, which mam info prints; without
	 * these, the heap may be corrupted. 0: kernels of one device at a time, which may be
	 * another device than the pool's, if it has access.
	 */
	unsigned int peers;
};

#define MAM_HEAP_UNLIMITED ((size_t)-1)
#define MAM_HEAP_AHEAD_NONE ((unsigned int)-1)
#define MAM_HEAP_ATTR_INIT                                                                \
	{                                                                                 \
		sizeof(struct mam_heap_attr), 0, 0, 0, MAM_HEAP_OBJECTS, 0, 0, 0, 0, 0, 0 \
	}

/*
 * mam_heap_create - create a heap on one block of `pool` (NULL: the current context's default pool).
 * All of it is free, and kernels in every stream may use it once the call returns.
 *
 * The pool's source must provide memory that a device can access: vmm, cudamalloc, managed, pinned,
 * or a program's own source. The heap owns the block until mam_heap_destroy(); the pool counts one
 * live block. The call waits for its own work. If the pool frees blocks without a wait
 * (MAM_FREE_STREAM), it waits for all work of the context, as such a block may still be in use.
 * Errors: INVALID_VALUE (a field out of range, no bytes, more than 2^32 - 64 pages or 2^26 - 1
 * blocks, no such pool), UNSUPPORTED (the pool's source gives addresses without memory, or memory
 * of no device), OUT_OF_MEMORY (a heap that grows: also no pinned host memory), OUT_OF_HOST_MEMORY,
 * NO_DEVICE, DRIVER, DESTROYED. A call that fails allocates nothing.
 */
MAM_API enum mam_status mam_heap_create(struct mam_pool *pool, const struct mam_heap_attr *attr,
					struct mam_heap **heap);

/*
 * mam_heap_device - the kernel argument for a heap. It stays the same from create to destroy. NULL
 * returns NULL.
 */
MAM_API struct mam_kheap *mam_heap_device(const struct mam_heap *heap);

/*
 * mam_heap_reset - free everything and zero all counts, in the order of `stream`: live pages and
 * objects, and objects of mam_heap_free() that were not drained. Does not wait. On a stream in
 * capture it becomes part of the graph, which may then run as long as the heap lives. A heap that
 * grows keeps its grants, but returns large objects to the pool. So its reset waits for the stream,
 * which must not be in capture, and no kernel may use the heap until the call returns. Errors:
 * INVALID_VALUE (a NULL heap, no such stream), WOULD_WAIT (`stream` is the legacy one while a
 * blocking stream is in capture; a heap that grows: or is in capture itself), DESTROYED (the pool
 * was abandoned), OUT_OF_HOST_MEMORY (of a heap that grows), DRIVER. After DRIVER a heap that grows
 * may be partly cleared, until another reset succeeds.
 */
MAM_API enum mam_status mam_heap_reset(struct mam_heap *heap, struct CUstream_st *stream);

/*
 * The objects of one size class of a heap of objects. Slabs hold them: a slab has 1 to 31 units, up
 * to 64 objects, and no object that reaches beyond it. For example 16 objects of 64 bytes have 1
 * unit, and two of 1.5 KiB have 3 units. Each slab is opened and closed by itself.
 */
struct mam_heap_class {
	uint64_t bytes;   /* of one object: requests of this class are rounded up to this size */
	uint64_t objects; /* live, except those that have units of their own */
	uint64_t slabs;
	uint64_t idle; /* count of slabs without a live object: any class may use them */
};

/* State of a heap at one point of a stream. */
struct mam_heap_info {
	size_t size; /* in: sizeof(struct mam_heap_info) */

	uint64_t space_bytes; /* allocated from the pool: pages and metadata */
	/*
	 * In a heap of objects a page is a unit of 1 KiB. Slabs and large objects consist of units.
	 */
	uint64_t page_bytes;   /* of one page */
	uint64_t pages;        /* count */
	uint64_t taken;        /* count of allocated pages, those of idle slabs included */
	uint64_t free;         /* count of pages */
	uint64_t longest_free; /* count: the longest run of free pages */

	/* count of requests that returned NULL, since create or the last reset */
	uint64_t full;      /* no memory: one pass saw everything allocated */
	uint64_t no_run;    /* pages: no run of that length; each candidate was partly taken */
	uint64_t contended; /* memory changed hands in each of many passes or attempts at a run */
	uint64_t bad_sizes; /* a run of 0 pages; more than the whole heap */

	/* count of frees that failed, since then; each changed nothing */
	uint64_t double_frees;  /* the memory was already free */
	uint64_t foreign_frees; /* not a page or object of this heap, or not a page's first byte */

	/* count of object calls on a heap of pages, or page calls on a heap of objects */
	uint64_t wrong_heaps;

	/* A heap of pages reports zeros from here. */
	uint64_t zero_sizes;     /* count of requests for 0 bytes, which returned NULL */
	uint64_t interior_frees; /* count of frees that did not pass the first byte of an object */

	uint64_t objects;      /* count of live objects */
	uint64_t object_bytes; /* total size of those, each rounded up to its class or to units */
	/*
	 * Count of objects that have units of their own: all of more than 8 KiB, and some smaller
	 * ones: where lanes of a warp requested different sizes, or no slab had room.
	 */
	uint64_t large_objects;
	uint64_t large_bytes; /* total size of those */
	uint64_t slabs;       /* count */
	uint64_t idle_slabs;  /* count of slabs without a live object */
	uint64_t moving;      /* count of allocated pages that are becoming or leaving a slab */
	uint64_t returned;    /* count of objects passed to mam_heap_free() and not drained yet */

	/* count since create or the last reset */
	uint64_t searches; /* groups of lanes that did not find memory at the first look */
	uint64_t looks;    /* places that those searched */
	uint64_t opened;   /* slabs opened */
	uint64_t closed;   /* slabs closed; a slab lost to a faster request counts in both */
	uint64_t passes;   /* passes over everything, before NULL was returned */

	struct mam_heap_class classes[MAM_HEAP_CLASSES];

	/*
	 * Only for a heap that grows; otherwise 0. The fields above are sums over the heap's own
	 * memory and its grants, those included that were returned since; `longest_free` is the
	 * maximum. An object that is a block of the pool counts in `objects` and `large_objects`,
	 * and in no page. `space_bytes` is the total allocated from the pool.
	 */
	uint64_t grants;       /* count of grants that kernels use */
	uint64_t grant_bytes;  /* total size of those, metadata included */
	uint64_t spare_grants; /* count of spare grants */
	uint64_t spare_bytes;  /* total size of those */
	uint64_t host_objects; /* count of large objects that are blocks of the pool */
	uint64_t host_bytes;   /* total size of those */
	uint64_t asks;         /* count of requests that the host received, since create */
	uint64_t refusals;     /* count of those that the host refused, since create */
	/*
	 * count of requests that returned NULL, since create or the last reset, in place of `full`
	 */
	uint64_t at_limit;  /* the heap has reached its maximum size */
	uint64_t pool_full; /* the pool had no memory */
	uint64_t silent;    /* the host did not reply in time */
	uint64_t no_slot;   /* too many requests for large objects at once: no slot in time */
	uint64_t refused;   /* the host no longer serves the heap */

	/*
	 * Only for a heap of objects; otherwise 0. Bytes of available memory that objects of 1 KiB
	 * << i can use. Units are available if they are free or belong to an idle slab. An object
	 * of up to 8 KiB needs available units that are aligned to its size, a larger one as many
	 * in a row. So reachable[0] is all available memory, and a value far below it shows that
	 * the memory is fragmented: requests of that size fail earlier than `free` suggests. Free
	 * slots of slabs in use are not included.
	 */
	uint64_t reachable[MAM_HEAP_REACHABLE];
};

/*
 * mam_heap_stats - read the heap's metadata, in the order of `stream`, and wait for that.
 *
 * The values are a consistent snapshot if no kernel in another stream uses the heap meanwhile.
 * Otherwise each page and each slab is shown as it was at some time during the call. The call
 * transfers one bit per page; for a heap of objects two thousandths of its bytes, and up to 4
 * percent where slabs of many classes are mixed. Set stats->size first. Errors: INVALID_VALUE (a
 * NULL, no such stream), WOULD_WAIT (`stream` is in capture, or is the legacy one while a blocking
 * stream is), DESTROYED, OUT_OF_HOST_MEMORY, DRIVER.
 */
MAM_API enum mam_status mam_heap_stats(struct mam_heap *heap, struct CUstream_st *stream,
				       struct mam_heap_info *stats);

/*
 * mam_heap_walk - call `visit` for each live object of a heap of objects, until it returns false.
 * `bytes` is the usable size. An object that lanes share in parts is visited once, with the header
 * in front of the parts. Objects are visited in address order. In a heap that grows, the objects in
 * its own memory come first, then those of each grant, one grant after the other, then those that
 * are blocks of the pool. Each of these is in address order.
 *
 * The call reads the metadata in the order of `stream`, in pieces of 64 MiB of the heap, and waits
 * for it. `visit` runs between the pieces and may call mam, mam_heap_free() included: what it frees
 * is not drained before a kernel does that. It must not reset, trim or destroy the heap. The
 * objects are a consistent snapshot if no kernel uses the heap meanwhile. Otherwise each slab is
 * shown as it was at some time during the call, and objects in grants that were added later are not
 * visited. Errors: INVALID_VALUE (a NULL, no such stream), UNSUPPORTED (a heap of pages),
 * WOULD_WAIT, DESTROYED, OUT_OF_HOST_MEMORY, DRIVER; some objects may have been visited then.
 */
MAM_API enum mam_status mam_heap_walk(struct mam_heap *heap, struct CUstream_st *stream,
				      bool (*visit)(void *argument, void *address, size_t bytes),
				      void *argument);

#define MAM_HEAP_RETURNS 4096u

/*
 * mam_heap_free - free objects from the host that kernels allocated.
 *
 * The call waits for `stream`, as work submitted there may use the objects, and queues them for the
 * heap. A part of an object is freed as in a kernel. An object that mam_heap_walk() reports is
 * freed as a whole. The objects are free once a kernel has drained the queue: requests do that
 * before their last exhaustive search, and so does mam_kdrain(). The call works while kernels of
 * other streams use the heap. The queue holds at most MAM_HEAP_RETURNS objects. If there is not
 * enough room for all, the first ones are queued, and the call returns WOULD_WAIT; a kernel that
 * calls mam_kdrain() makes room.
 *
 * `taken` (may be NULL) receives how many of the objects, the first ones, were queued, 0 after any
 * other error. The kernel detects and counts invalid frees, as in mam_kfree(). A NULL counts as one
 * object and is a no-op. Errors: INVALID_VALUE (a NULL, no such stream), UNSUPPORTED (a heap of
 * pages), WOULD_WAIT (too many are queued; with 0 taken also: `stream` is in capture, or is the
 * legacy one while a blocking stream is), DESTROYED, DRIVER (then none was queued, or, if the last
 * wait failed, perhaps all).
 */
MAM_API enum mam_status mam_heap_free(struct mam_heap *heap, struct CUstream_st *stream,
				      void *const *objects, size_t count, size_t *taken);

/* The errors that kernels detect in a heap in debug mode (MAM_KDEBUG, heap.cuh). */
enum mam_heap_mistake {
	MAM_HEAP_OVERRUN,            /* out-of-bounds write after the object; detected at free */
	MAM_HEAP_UNDERRUN,           /* out-of-bounds write before the object; detected at free */
	MAM_HEAP_WRITTEN_AFTER_FREE, /* detected when the memory is allocated again */
	MAM_HEAP_DOUBLE_FREE,
	MAM_HEAP_FOREIGN_FREE,  /* not an object of the heap */
	MAM_HEAP_INTERIOR_FREE, /* not the first byte of an object */
	MAM_HEAP_LEAK,          /* live when the heap ends: only in the log */
	MAM_HEAP_UNTOLD,        /* the last report: `bytes` reports were lost, as none was read */
	MAM_HEAP_MISTAKES
};

/* A thread of a kernel. */
struct mam_heap_thread {
	bool known; /* false: the rest is 0 */
	uint32_t block[3];
	uint32_t thread[3];
};

struct mam_heap_report {
	size_t size; /* sizeof(struct mam_heap_report) */
	enum mam_heap_mistake kind;
	/* The object, or the invalid address that was freed. Device memory. */
	void *address;
	uint64_t bytes; /* requested size; 0: unknown */
	/*
	 * From the object to the first corrupted byte; MAM_HEAP_INTERIOR_FREE: from the object to
	 * `address`; otherwise 0.
	 */
	int64_t offset;
	struct mam_heap_thread finder; /* detected it: freed the object, or got the memory next */
	struct mam_heap_thread holder; /* allocated the object */
	struct mam_heap_thread giver;  /* freed it first */
};

/*
 * mam_heap_reports - call `visit` for each report that no call has shown yet, in order, until it
 * returns false. The last one may be MAM_HEAP_UNTOLD: the buffer holds 1,024 reports until they are
 * read here.
 *
 * Does not wait and does not call the driver: it works while kernels run, and after an error of a
 * kernel has ended the context. `visit` must not call this for the same heap, nor end the heap.
 * Unread reports are logged when the heap ends. Errors: INVALID_VALUE (a NULL), UNSUPPORTED (the
 * heap is not in debug mode).
 */
MAM_API enum mam_status mam_heap_reports(struct mam_heap *heap,
					 bool (*visit)(void *argument,
						       const struct mam_heap_report *report),
					 void *argument);

/*
 * mam_heap_report_text - format a report as a sentence, cut to `bytes`, the final NUL included.
 * Returns the length of the whole sentence without the NUL; 0: no such report.
 */
MAM_API size_t mam_heap_report_text(const struct mam_heap_report *report, char *text, size_t bytes);

/*
 * mam_heap_trim - return empty grants and spare grants to the pool.
 *
 * The call waits for `stream`. Until it returns, no kernel may use the heap, and no other call may
 * access it. Objects that were passed to mam_heap_free() and not drained yet count as live: call
 * mam_kdrain() in a kernel first. `freed` (may be NULL) receives the number of returned bytes. A
 * heap that does not grow: MAM_OK, 0 bytes. Errors: INVALID_VALUE (a NULL heap, no such stream),
 * WOULD_WAIT (`stream` is in capture, or is the legacy one while a blocking stream is; a kernel is
 * just fetching a grant), DESTROYED, OUT_OF_HOST_MEMORY, DRIVER.
 */
MAM_API enum mam_status mam_heap_trim(struct mam_heap *heap, struct CUstream_st *stream,
				      size_t *freed);

/*
 * mam_heap_destroy - return the heap's memory to the pool, live pages and objects included, and
 * free the handle. NULL: MAM_OK, a no-op.
 *
 * The pool's policy determines whether the call waits, as mam_free() does: with MAM_FREE_STRICT it
 * waits for kernels that were launched before. Otherwise the caller must ensure that no kernel uses
 * the heap. If the pool was abandoned, its memory is already gone, and the call frees only the
 * handle. Errors: DRIVER (the wait failed): the heap is unchanged.
 */
MAM_API enum mam_status mam_heap_destroy(struct mam_heap *heap);

#ifdef __cplusplus
}
#endif
#endif
