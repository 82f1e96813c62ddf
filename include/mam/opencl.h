/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl.h - malloc() and free() for OpenCL kernels: heaps in buffers, after KMA.
 *
 * The host creates a heap, which is an ordinary buffer that a kernel has formatted, and passes it
 * to kernels. Kernels allocate and free by the calls of mam.cl, which documents them.
 *
 *	struct mam_cl_heap_attr attr = MAM_CL_HEAP_ATTR_INIT;
 *	struct mam_cl_heap *heap;
 *	const char *why;
 *
 *	attr.bytes = (size_t)64 << 20;
 *	if (mam_cl_heap_create(context, device, queue, &attr, &heap) != MAM_OK) {
 *		mam_cl_error(&why);
 *		...
 *	}
 *	cl_mem buffer = mam_cl_heap_buffer(heap);
 *	clSetKernelArg(kernel, 0, sizeof(buffer), &buffer);       __kernel void k(__global void *heap, ...)
 *	...
 *	mam_cl_heap_destroy(heap);
 *
 * A program with such kernels has `#include <mam/mam.cl>` and is built with -I and the directory of
 * mam's installed headers. Alternatively it passes mam_cl_source() as the first of its strings, and
 * needs no -I. Both need the options from mam_cl_options().
 *
 * Link with -lmam-opencl -lOpenCL (mam-opencl.pc). libmam is not needed.
 *
 * A heap serves one device. Kernels of any queue of that device may use it at the same time, and
 * one kernel may free blocks that another one allocated. Blocks do not move, and pointers into the
 * heap stay valid from kernel to kernel, as long as the device gives the buffer the same address in
 * each. All known devices do that, though OpenCL does not guarantee it.
 *
 * Any thread may make any call at any time, except that no call may use a heap after
 * mam_cl_heap_destroy() of it has begun. A call that fails allocates nothing and changes nothing.
 */
#ifndef MAM_OPENCL_H
#define MAM_OPENCL_H

/* The default of OpenCL's own headers, which print a long note about it. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mam_cl_heap;

#define MAM_CL_SUPERBLOCK_MIN 256u
#define MAM_CL_SUPERBLOCK_MAX 65536u
#define MAM_CL_SUPERBLOCK_DEFAULT 4096u
#define MAM_CL_ENTRIES_MAX 1024u

/* Attributes of a heap. Zero means the default, except in `size`. */
struct mam_cl_heap_attr {
	size_t size; /* sizeof(struct mam_cl_heap_attr): it may grow in later versions */
	/*
	 * The size of the heap, without its metadata: in bytes, rounded up to whole superblocks, or
	 * in superblocks. One of the two must be 0.
	 */
	size_t bytes;
	unsigned int superblocks;
	/*
	 * Bytes of a superblock: a power of two. Default: 4,096, and up to 65,536 if `bytes` has
	 * room for 1,024 of them or more. Blocks of up to half a superblock share superblocks. A
	 * larger block takes whole superblocks; if it takes several adjacent ones, these must never
	 * have been divided before.
	 */
	unsigned int superblock_bytes;
	/*
	 * How many superblocks of a size class serve requests at the same time, so that many work
	 * items do not contend for one: a power of two, at most MAM_CL_ENTRIES_MAX. Default: as
	 * many as the heap has room for.
	 */
	unsigned int entries_per_class;
	/*
	 * How many superblocks a request examines before it returns NULL, when none is free.
	 * Default: all, so that NULL means that the heap is full.
	 */
	unsigned int search;
	unsigned int counted;  /* 1: count allocations and frees, an addition each */
	unsigned int reserved; /* 0 */
};

#define MAM_CL_HEAP_ATTR_INIT                                        \
	{                                                            \
		sizeof(struct mam_cl_heap_attr), 0, 0, 0, 0, 0, 0, 0 \
	}

/*
 * mam_cl_heap_create - create a heap for `device`. Kernels may use it once the call returns.
 *
 * `queue` belongs to that context and device. The call formats the heap in it and waits for that;
 * in an in-order queue it thereby waits for all earlier work. Errors: INVALID_VALUE (NULL, a field
 * out of range, a device or a queue that do not belong together), UNSUPPORTED (the device has no
 * 64-bit atomics, no 64-bit addresses, or no compiler), OUT_OF_MEMORY (of the device),
 * OUT_OF_HOST_MEMORY, DRIVER (an OpenCL call failed: mam_cl_error() has its code).
 */
MAM_API enum mam_status mam_cl_heap_create(cl_context context, cl_device_id device,
					   cl_command_queue queue,
					   const struct mam_cl_heap_attr *attr,
					   struct mam_cl_heap **heap);

/*
 * mam_cl_heap_destroy - end a heap and everything in it. Work that was submitted with its buffer
 * before may still run: OpenCL keeps the memory until then. heap NULL: MAM_OK, a no-op.
 */
MAM_API enum mam_status mam_cl_heap_destroy(struct mam_cl_heap *heap);

/*
 * mam_cl_heap_buffer - the kernel argument `__global void *heap`. The heap owns it; NULL for NULL.
 */
MAM_API cl_mem mam_cl_heap_buffer(const struct mam_cl_heap *heap);

/*
 * mam_cl_heap_reset - free all blocks and zero all counts. The reset takes effect in the order of
 * `queue`, which belongs to the heap's context and device: after all work submitted to it before,
 * and before all later work, even if the queue is out of order. Kernels in other queues must not
 * use the heap meanwhile.
 */
MAM_API enum mam_status mam_cl_heap_reset(struct mam_cl_heap *heap, cl_command_queue queue);

/* State and counters of a heap. */
struct mam_cl_heap_info {
	size_t size; /* in: sizeof(struct mam_cl_heap_info) */
	uint64_t superblocks, superblock_bytes;
	uint64_t allocs, frees;         /* if attr.counted, otherwise 0 */
	uint64_t too_large;             /* requests for more than the whole heap */
	uint64_t no_superblock, no_run; /* requests that found no memory; of several superblocks */
	uint64_t wrong_frees;           /* invalid frees: the address was not allocated here */
	uint64_t active, inactive,
		unused;         /* superblocks: in use by an entry, otherwise allocated, free */
	uint64_t runs, in_runs; /* blocks of whole superblocks, and the superblocks in these */
	uint64_t blocks;        /* other live blocks */
	uint64_t bytes;         /* total size of both, rounded up */
};

/*
 * mam_cl_heap_stats - read the counters; they are exact if no kernel uses the heap, otherwise not a
 * consistent snapshot. A kernel reads them in the order of `queue`, which the call waits for. Set
 * stats->size first.
 */
MAM_API enum mam_status mam_cl_heap_stats(struct mam_cl_heap *heap, cl_command_queue queue,
					  struct mam_cl_heap_info *stats);

/*
 * mam_cl_error - describe the last call here that failed in this thread. Returns OpenCL's error
 * code, or CL_SUCCESS if mam itself reported the error. `sentence` (may be NULL) states what
 * failed, where, and what to do. It belongs to the thread and is valid until the next failure.
 */
MAM_API cl_int mam_cl_error(const char **sentence);

/*
 * mam_cl_options - the options to build programs with mam.cl for a device: "-cl-std=CL3.0" if it
 * has the memory orders and the scope that mam needs, otherwise "-cl-std=CL1.2". Errors:
 * INVALID_VALUE (NULL, or `bytes` is too small), UNSUPPORTED, as mam_cl_heap_create(), DRIVER.
 */
MAM_API enum mam_status mam_cl_options(cl_device_id device, char *options, size_t bytes);

/* mam_cl_source - the source text of mam.cl. */
MAM_API const char *mam_cl_source(void);

/*
 * The names of the KMA paper. clSBMalloc_create() creates a heap of `superblocks` superblocks of
 * `superblock_bytes` bytes each, and returns the buffer that kernels get. NULL: it failed, and
 * mam_cl_error() has the reason. Kernels have malloc(heap, bytes) and free(heap, block) if the
 * program defines MAM_CL_PUBLISHED_NAMES before it includes mam.cl. clSBMalloc_destroy() returns
 * CL_INVALID_MEM_OBJECT for any other buffer.
 */
MAM_API cl_mem clSBMalloc_create(cl_context context, cl_device_id device, cl_command_queue queue,
				 cl_uint superblocks, cl_uint superblock_bytes);
MAM_API cl_int clSBMalloc_destroy(cl_mem heap);

#ifdef __cplusplus
}
#endif
#endif
