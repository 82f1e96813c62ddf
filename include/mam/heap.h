/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap.h - heaps that kernels allocate from, on ground of a pool.
 *
 * A heap is one block of a pool, the ground; behind what kernels get of it lie its books. The host
 * makes it, looks at it and ends it by the calls below. Kernels take from it and give back by those
 * of heap.cuh. Between the two stands one address, mam_heap_device(), which is passed to kernels as
 * an argument. A heap of objects may grow while kernels run: see `most_bytes`.
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
 * There are two kinds. A heap of objects gives pieces of any size, as malloc() does: mam_kmalloc().
 * A heap of pages gives pages of one size, alone or several in a row: mam_kpage_alloc(). The calls
 * of one kind do nothing on a heap of the other.
 *
 * What kernels get is ordinary memory of its device: it may be copied, and used by several kernels,
 * taken in one and given back in another. There may be any number of heaps, on the same pool or
 * others.
 *
 * Threads and streams. What mam.h says of all calls holds here too, but that a heap must not be
 * used by a call that begins after mam_heap_destroy() of it. Calls that take a `stream` do what
 * they say in its order: after all that was submitted to it before, and before all that follows.
 * It is a stream of the context that the pool's memory belongs to: a CUstream or cudaStream_t;
 * NULL and (cudaStream_t)1 are the legacy default stream, (cudaStream_t)2 is the calling thread's
 * own. No call here ends a stream capture.
 */
#ifndef MAM_HEAP_H
#define MAM_HEAP_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
struct mam_heap;  /* the host's side */
struct mam_kheap; /* the kernels' side, in device memory: heap.cuh */

/* The kinds. */
#define MAM_HEAP_OBJECTS 0u
#define MAM_HEAP_PAGES 1u

#define MAM_HEAP_PAGE_LEAST 256u
#define MAM_HEAP_PAGE_MOST (4u << 20)
#define MAM_HEAP_PAGE_DEFAULT 4096u
#define MAM_HEAP_LOW_DEFAULT 5u
#define MAM_HEAP_BLOCK 65536u /* heaps of objects are made of such blocks */
#define MAM_HEAP_CLASSES 72u  /* sizes of objects that share slabs */

/* How a heap is made. Zero means the default in every field but `size` and `bytes`. */
struct mam_heap_attr {
	size_t size;  /* sizeof(struct mam_heap_attr): it may grow in later versions */
	size_t bytes; /* what kernels may get, rounded up to whole blocks or pages; books on top */
	/*
	 * Of a heap of pages; else 0. Bytes of a page: a power of two, 256 to 4 MiB. Every page
	 * lies at a multiple of its size. 0: 4096, which holds most of what a lane asks for in one
	 * piece, costs one bit in 32,768 for books, and is wasted less than larger ones where a
	 * request is small. What is larger takes several in a row.
	 */
	size_t page_bytes;
	/*
	 * Of a heap of pages; else 0. Which share of free pages, in thousandths, is still to be
	 * found by walking at random, 1 to 1000; 0: 5. A walk that finds nothing for so long that,
	 * with this share free, it would be unlikely, gives way to one exact scan of the whole
	 * heap. Lower: longer walks, fewer scans.
	 */
	unsigned int low_per_mille;
	unsigned int kind; /* MAM_HEAP_OBJECTS or MAM_HEAP_PAGES */

	/* From here on of a heap of objects; else 0. */
	/*
	 * What kernels may get in all, books on top, while the heap grows: a kernel that finds no
	 * room asks the host, which takes a grant from the pool, or, for an object that is large,
	 * a block of its own; both while that kernel runs. 0: it does not grow, and has `bytes` for
	 * good. MAM_HEAP_UNLIMITED: as far as the pool can. What a pool takes from the driver for
	 * it is mapped, from the source cudamalloc as from vmm (then cudaIpcGetMemHandle refuses
	 * it); from pinned and managed there is none, as their calls may wait. A thread of the
	 * library's serves all heaps that grow, and sleeps while none asks. Under ncu,
	 * compute-sanitizer and cuda-gdb heaps do not grow, and the log says so:
	 * MAM_HEAP_GROWTH, mam(7).
	 */
	size_t most_bytes;
	/* The least a grant has, 2 MiB or more. 0: half of what the heap has, 2 MiB to 1 GiB. */
	size_t grow_bytes;
	/* Microseconds a lane waits for the host before it gets NULL, up to 10 s; 0: 100,000. */
	unsigned int wait_us;
	/*
	 * Grants that are taken from the pool before anybody asks, up to 4, so that who does need
	 * not wait for the host. 0: one. MAM_HEAP_AHEAD_NONE: none.
	 */
	unsigned int ahead;
	/*
	 * 1: to find mistakes. Kernels must be compiled with -DMAM_KDEBUG then, and get NULL if they
	 * are not. What was asked for lies between red zones, and is poisoned when it is given back;
	 * mistakes are reported with the address, the block and the thread, and the kernel goes on
	 * (mam_heap_reports()); what is live when the heap ends is logged (MAM_HEAP_LEAKS). Each
	 * object takes 112 bytes more at least; give `bytes` for that. heap.cuh says what is found.
	 */
	unsigned int debug;
	unsigned int reserved; /* 0 */
};

#define MAM_HEAP_UNLIMITED ((size_t)-1)
#define MAM_HEAP_AHEAD_NONE ((unsigned int)-1)
#define MAM_HEAP_ATTR_INIT                                                                      \
	{                                                                                       \
		sizeof(struct mam_heap_attr), 0, 0, 0, MAM_HEAP_OBJECTS, 0, 0, 0, 0, 0, 0       \
	}

/*
 * mam_heap_create - a heap on one block of `pool` (NULL: the current context's default pool), all
 * of it free, ready for kernels in every stream once the call returns.
 *
 * The pool's source must give memory that a device reaches: vmm, cudamalloc, managed, pinned, or a
 * program's own. The block is the heap's until mam_heap_destroy(); to the pool it is one live
 * block. The call waits for its own work, and for all work of the context where the pool frees
 * blocks without a wait (MAM_FREE_STREAM): such a block may still be in use. Errors: INVALID_VALUE
 * (a field out of range, no bytes, more than 2^32 - 64 pages or 2^26 - 1 blocks, no such pool),
 * UNSUPPORTED (the pool's source gives addresses without memory, or memory of no device),
 * OUT_OF_MEMORY (of a heap that grows: or no pinned memory of the host's), OUT_OF_HOST_MEMORY,
 * NO_DEVICE, DRIVER, DESTROYED. What fails takes nothing.
 */
MAM_API enum mam_status mam_heap_create(struct mam_pool *pool, const struct mam_heap_attr *attr,
					struct mam_heap **heap);

/*
 * mam_heap_device - what kernels are given. It stays the same from create to destroy. NULL: for
 * NULL.
 */
MAM_API struct mam_kheap *mam_heap_device(const struct mam_heap *heap);

/*
 * mam_heap_reset - all is free again and all counts zero, in the order of `stream`, whoever held
 * pages or objects, and whatever the host gave back that was not drained. Does not wait. On a
 * stream in capture it becomes part of the graph, which may then run as long as the heap lives.
 * A heap that grows keeps its grants, but large objects go back to the pool: so the call waits for
 * the stream, which must not be in capture, and no kernel may use the heap until it is back. Errors:
 * INVALID_VALUE (a NULL heap, no such stream), WOULD_WAIT (`stream` is the legacy one while a blocking
 * stream is in capture; a heap that grows: or is in capture itself), DESTROYED (the pool was
 * abandoned), OUT_OF_HOST_MEMORY (of a heap that grows), DRIVER. A heap that grows may be half clear
 * after DRIVER, until another reset goes well.
 */
MAM_API enum mam_status mam_heap_reset(struct mam_heap *heap, struct CUstream_st *stream);

/* The objects of one size, of a heap of objects. */
struct mam_heap_class {
	uint64_t bytes;   /* of one object: what requests of this class are rounded up to */
	uint64_t objects; /* live */
	uint64_t slabs;
	uint64_t idle; /* count of those slabs without a live object: any class may take them */
};

/* A heap at one moment of a stream. */
struct mam_heap_info {
	size_t size; /* in: sizeof(struct mam_heap_info) */

	uint64_t ground_bytes; /* taken from the pool: pages and books */
	/* Of a heap of objects a page is a unit of 1 KiB, of which slabs and large objects are. */
	uint64_t page_bytes;   /* of one page */
	uint64_t pages;        /* count */
	uint64_t taken;        /* count of pages; idle slabs' among them */
	uint64_t free;         /* count of pages */
	uint64_t longest_free; /* count: the most free pages in a row */

	/* count of requests that got NULL, since create or the last reset */
	uint64_t full;      /* no room: everything was seen taken in one pass */
	uint64_t no_run;    /* of pages: no run of that many: each place was seen taken in part */
	uint64_t contended; /* things moved during each of many passes, or of attempts at a run */
	uint64_t bad_sizes; /* a run of no pages; more than the whole heap */

	/* count of what was given back and could not be, since then; each changed nothing */
	uint64_t double_frees;  /* free already */
	uint64_t foreign_frees; /* no page or object of this heap, or no page's first byte */

	/* count of calls for objects on a heap of pages, or for pages on one of objects */
	uint64_t wrong_heaps;

	/* From here on a heap of pages has zeros. */
	uint64_t zero_sizes;     /* count of requests for nothing, which got NULL */
	uint64_t interior_frees; /* count: given back, and not the first byte of an object */

	uint64_t objects;       /* count, live */
	uint64_t object_bytes;  /* of those, each rounded up to its class or to units */
	uint64_t large_objects; /* count of those that have units of their own */
	uint64_t large_bytes;   /* of those */
	uint64_t slabs;         /* count */
	uint64_t idle_slabs;    /* count of those without a live object */
	uint64_t moving;        /* count of taken pages that just become a slab, or cease to be */
	uint64_t returned;      /* count: mam_heap_free() took them, and no kernel has yet */

	/* count since create or the last reset */
	uint64_t searches; /* groups of lanes that did not find room at once */
	uint64_t looks;    /* places those looked at */
	uint64_t opened;   /* slabs */
	uint64_t closed;   /* slabs; one that a request was faster than counts, too, in both */
	uint64_t passes;   /* over everything, before NULL was answered */

	struct mam_heap_class classes[MAM_HEAP_CLASSES];

	/*
	 * Of a heap that grows; else 0. What comes before is summed over its own ground and its
	 * grants, those among them that went back since; `longest_free` is the longest of all. An
	 * object that is a block of the pool is one of `objects` and `large_objects`, and in no page.
	 * `ground_bytes` is all that was taken from the pool.
	 */
	uint64_t grants;       /* count of those that kernels use */
	uint64_t grant_bytes;  /* of those, books among them */
	uint64_t spare_grants; /* count of those that are ahead of need */
	uint64_t spare_bytes;  /* of those */
	uint64_t host_objects; /* count of large objects that are blocks of the pool */
	uint64_t host_bytes;   /* of those */
	uint64_t asks;         /* count of asks that the host saw, since create */
	uint64_t refusals;     /* count of those that it refused, since create */
	/* count of requests that got NULL, since create or the last reset, in place of `full` */
	uint64_t at_limit;  /* the heap is as large as it may be */
	uint64_t pool_full; /* the pool had no more */
	uint64_t silent;    /* the host did not answer in time */
	uint64_t no_slot;   /* no more grants, or large objects, can be counted */
	uint64_t refused;   /* the host does not serve any more */
};

/*
 * mam_heap_stats - read the heap's books, in the order of `stream`, and wait for that.
 *
 * The numbers are those of one moment if no kernel in another stream uses the heap meanwhile; else
 * each page and each slab is seen as it was at some moment of the call. Costs the transfer of a bit
 * for each page; of a heap of objects that of a thousandth of its bytes and 8 bytes and more for
 * each slab. Set stats->size first. Errors: INVALID_VALUE (a NULL, no such stream), WOULD_WAIT
 * (`stream` is in capture, or is the legacy one while a blocking stream is), DESTROYED,
 * OUT_OF_HOST_MEMORY, DRIVER.
 */
MAM_API enum mam_status mam_heap_stats(struct mam_heap *heap, struct CUstream_st *stream,
				       struct mam_heap_info *stats);

/*
 * mam_heap_walk - call `visit` for each live object of a heap of objects, until it returns false.
 * `bytes` are what may be used there; an object of which lanes have parts is one, with what it has in
 * front of them. Their order is that of addresses. Of a heap that grows: first
 * what lies in its own ground, then what lies in each grant, one grant after the other, then those
 * that are blocks of the pool; each in the order of addresses.
 *
 * The books are read in the order of `stream`, in pieces of 64 MiB of the heap, and waited for;
 * `visit` is called in between, and may call mam, mam_heap_free() too: what it gives back is not
 * taken in before a kernel does that. It must not reset, trim or destroy the heap. If no kernel uses
 * the heap meanwhile, the objects are those of one moment; else each slab is seen as it was at some
 * moment of the call, and what lies in grants that came later, is not. Errors: INVALID_VALUE
 * (a NULL, no such stream), UNSUPPORTED (a heap of pages), WOULD_WAIT, DESTROYED,
 * OUT_OF_HOST_MEMORY, DRIVER; some objects may have been visited then.
 */
MAM_API enum mam_status mam_heap_walk(struct mam_heap *heap, struct CUstream_st *stream,
				      bool (*visit)(void *argument, void *address, size_t bytes),
				      void *argument);

#define MAM_HEAP_RETURNS 4096u

/*
 * mam_heap_free - the host gives back objects that kernels allocated.
 *
 * It waits for `stream`, as what was submitted there may use the objects, and leaves word to the
 * heap. A part of an object is given back as in a kernel, and what mam_heap_walk() shows as a whole.
 * They are free once a kernel has taken that in: requests do, before they look everywhere for
 * the last room, and mam_kdrain() does. It works while kernels of other streams use the heap. At
 * most MAM_HEAP_RETURNS objects can be on the way: where there is no room for all of them, the
 * first ones are taken, and the answer is WOULD_WAIT; a kernel that calls mam_kdrain() makes room.
 *
 * `taken` (may be NULL) receives how many of them, the first ones, were taken, 0 where anything
 * else failed. What is no object is found by the kernel and counted, as in mam_kfree(); a NULL
 * counts as one and does nothing. Errors: INVALID_VALUE (a NULL, no such stream), UNSUPPORTED (a
 * heap of pages), WOULD_WAIT (too many are on the way; with 0 taken also: `stream` is in capture,
 * or is the legacy one while a blocking stream is), DESTROYED, DRIVER (then none was taken, or, if
 * the last wait failed, perhaps all).
 */
MAM_API enum mam_status mam_heap_free(struct mam_heap *heap, struct CUstream_st *stream,
				      void *const *objects, size_t count, size_t *taken);

/* What kernels find in a heap that is debugged (MAM_KDEBUG, heap.cuh). */
enum mam_heap_mistake {
	MAM_HEAP_OVERRUN,            /* written behind what was asked for; seen when given back */
	MAM_HEAP_UNDERRUN,           /* written in front of it; seen when given back */
	MAM_HEAP_WRITTEN_AFTER_FREE, /* seen when the memory is got again */
	MAM_HEAP_DOUBLE_FREE,
	MAM_HEAP_FOREIGN_FREE,  /* no object of the heap */
	MAM_HEAP_INTERIOR_FREE, /* not the first byte of an object */
	MAM_HEAP_LEAK,          /* live when the heap ends: in the log alone */
	MAM_HEAP_UNTOLD,        /* `bytes` reports had no room, as nobody read them: the last one */
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
	/* The object; or, of what is none, what was given back. Device memory. */
	void *address;
	uint64_t bytes; /* that were asked for; 0: not known */
	/*
	 * From the object to the first byte that is wrong; of MAM_HEAP_INTERIOR_FREE from the object
	 * to `address`; else 0.
	 */
	int64_t offset;
	struct mam_heap_thread finder; /* who gave back, or who got the memory next */
	struct mam_heap_thread holder; /* who got the object */
	struct mam_heap_thread giver;  /* who gave it back first */
};

/*
 * mam_heap_reports - call `visit` for each report that no call has shown yet, in their order, until
 * it returns false. The last one may be MAM_HEAP_UNTOLD: 1,024 have room until they are read here.
 *
 * Waits for nothing, and asks the driver nothing: it works while kernels run, and after one has
 * ended the context by an error. `visit` must not call this for the same heap, nor end it. What
 * nobody has read is logged when the heap ends. Errors: INVALID_VALUE (a NULL), UNSUPPORTED (the
 * heap is not debugged).
 */
MAM_API enum mam_status mam_heap_reports(struct mam_heap *heap,
					 bool (*visit)(void *argument,
						       const struct mam_heap_report *report),
					 void *argument);

/*
 * mam_heap_report_text - a report as a sentence, cut to `bytes`, the final 0 among them. How long the
 * whole of it is, without the 0; 0: no such report.
 */
MAM_API size_t mam_heap_report_text(const struct mam_heap_report *report, char *text, size_t bytes);

/*
 * mam_heap_trim - grants in which nothing is live go back to the pool, and so do those ahead of need.
 *
 * It waits for `stream`. No kernel may use the heap, and no other call look at it, from then until the
 * call is back. What mam_heap_free() was given and no kernel has taken in is live: call mam_kdrain() in
 * a kernel before. `freed` (may be NULL) receives how many bytes went back. A heap that does not grow:
 * MAM_OK, 0 bytes. Errors: INVALID_VALUE (a NULL heap, no such stream), WOULD_WAIT (`stream` is in
 * capture, or is the legacy one while a blocking stream is; a kernel is just fetching a grant),
 * DESTROYED, OUT_OF_HOST_MEMORY, DRIVER.
 */
MAM_API enum mam_status mam_heap_trim(struct mam_heap *heap, struct CUstream_st *stream,
				      size_t *freed);

/*
 * mam_heap_destroy - give the ground back to the pool, whoever holds pages, and free the handle.
 * NULL: MAM_OK, nothing done.
 *
 * The pool's policy says whether the call waits, as mam_free() of the ground would: after
 * MAM_FREE_STRICT kernels that were launched before are done. Otherwise the caller sees to it that
 * none is left. Where the pool was abandoned the ground is gone, and only the handle is freed.
 * Errors: DRIVER (the wait failed): the heap is as it was.
 */
MAM_API enum mam_status mam_heap_destroy(struct mam_heap *heap);

#ifdef __cplusplus
}
#endif
#endif
