/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opencl.h - malloc() and free() for OpenCL kernels: heaps in buffers, after KMA.
 *
 * The host makes a heap, an ordinary buffer that was made ready on the device, and passes it to kernels;
 * those take from it and give back by the calls of mam.cl, which says what they promise.
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
 * A program with such kernels has `#include <mam/mam.cl>` and is built with -I to where mam's headers are
 * installed; or gets mam_cl_source() as the first of its strings, and needs no -I. Either way with
 * mam_cl_options().
 *
 * Link with -lmam-opencl -lOpenCL (mam-opencl.pc). libmam is not needed.
 *
 * A heap serves one device. Kernels of any queue of that device may use it at the same time, and what
 * one of them took another may give back. What is in it stays where it is, and pointers into it hold
 * from kernel to kernel, as long as the device gives the buffer the same address in each: all that
 * we know do, though OpenCL does not promise it.
 *
 * All calls may be made from any thread at any time; of one heap, none after mam_cl_heap_destroy()
 * began. What fails takes nothing and changes nothing.
 */
#ifndef MAM_OPENCL_H
#define MAM_OPENCL_H

/* As the headers themselves take it to be, who say so at length. */
#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 300
#endif
#include <CL/cl.h>
#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mam_cl_heap;

#define MAM_CL_SUPERBLOCK_LEAST 256u
#define MAM_CL_SUPERBLOCK_MOST 65536u
#define MAM_CL_SUPERBLOCK_DEFAULT 4096u
#define MAM_CL_ENTRIES_MOST 1024u

/* How a heap is made. Zero means the default, but in `size`. */
struct mam_cl_heap_attr {
	size_t size; /* sizeof(struct mam_cl_heap_attr): it may grow in later versions */
	/*
	 * How large, without the heap's books: in bytes, rounded up to whole superblocks, or in
	 * superblocks. One of the two is 0.
	 */
	size_t bytes;
	unsigned int superblocks;
	/*
	 * Bytes of a superblock: a power of two. Default: 4,096, and up to 65,536 where `bytes` make 1,024
	 * of them or more. Blocks up to half of one share superblocks; what is
	 * larger has whole ones, of which more than one side by side are such as were never cut.
	 */
	unsigned int superblock_bytes;
	/*
	 * How many superblocks of a class of sizes serve at the same time, so that many work items are
	 * not all at one: a power of two, MAM_CL_ENTRIES_MOST at most. Default: as many as there is
	 * room for.
	 */
	unsigned int entries_per_class;
	/*
	 * How many superblocks a request looks at before it is NULL, when none is free. Default: all,
	 * so that NULL says that there is no room.
	 */
	unsigned int search;
	unsigned int counted;  /* 1: count what is had and given back, an addition each */
	unsigned int reserved; /* 0 */
};

#define MAM_CL_HEAP_ATTR_INIT                                        \
	{                                                            \
		sizeof(struct mam_cl_heap_attr), 0, 0, 0, 0, 0, 0, 0 \
	}

/*
 * mam_cl_heap_create - a heap for `device`, ready for all kernels once the call returns.
 *
 * `queue` is one of that context and device; the heap is made ready in it, which the call waits for,
 * and so for what is before it in a queue that is in order. Errors: INVALID_VALUE (NULL, a field out
 * of range, a device or a queue that do not belong together), UNSUPPORTED (the device has no 64-bit
 * atomics, no addresses of 64 bits, or no compiler), OUT_OF_MEMORY (of the device's), OUT_OF_HOST_MEMORY,
 * DRIVER (OpenCL refused a call: mam_cl_error() has its code).
 */
MAM_API enum mam_status mam_cl_heap_create(cl_context context, cl_device_id device,
					   cl_command_queue queue,
					   const struct mam_cl_heap_attr *attr,
					   struct mam_cl_heap **heap);

/*
 * mam_cl_heap_destroy - ends it, with all that is in it. What was submitted with its buffer before may
 * still run: OpenCL keeps the memory until then. heap NULL: MAM_OK, nothing done.
 */
MAM_API enum mam_status mam_cl_heap_destroy(struct mam_cl_heap *heap);

/* mam_cl_heap_buffer - what kernels get as `__global void *heap`. It is the heap's; NULL of NULL. */
MAM_API cl_mem mam_cl_heap_buffer(const struct mam_cl_heap *heap);

/*
 * mam_cl_heap_reset - as it was made: all blocks are free, counts are 0. Done in the order of `queue`,
 * of the heap's context and device: behind what was submitted to it before, ahead of what follows;
 * also where the queue is out of order. Kernels in other queues must not use the heap meanwhile.
 */
MAM_API enum mam_status mam_cl_heap_reset(struct mam_cl_heap *heap, cl_command_queue queue);

/* What a heap has and has done. */
struct mam_cl_heap_info {
	size_t size; /* in: sizeof(struct mam_cl_heap_info) */
	uint64_t superblocks, superblock_bytes;
	uint64_t allocs, frees;         /* if attr.counted, else 0 */
	uint64_t too_large;             /* requests for more than the whole heap */
	uint64_t no_superblock, no_run; /* those that found no room; several superblocks */
	uint64_t wrong_frees;           /* what was given back, and had not been taken here */
	uint64_t active, inactive,
		unused;         /* superblocks: serve, are taken or set aside, are free */
	uint64_t runs, in_runs; /* blocks of whole superblocks, and how many of these */
	uint64_t blocks;        /* others, taken and not given back */
	uint64_t bytes;         /* of both, as they were rounded up */
};

/*
 * mam_cl_heap_stats - exact if no kernel uses the heap; else the numbers are of different times. Read on the
 * device in the order of `queue`, which the call waits for. Set stats->size first.
 */
MAM_API enum mam_status mam_cl_heap_stats(struct mam_cl_heap *heap, cl_command_queue queue,
					  struct mam_cl_heap_info *stats);

/*
 * mam_cl_error - of the last call here that failed in this thread: the code that OpenCL gave, or
 * CL_SUCCESS if it was mam that refused. `sentence` (may be NULL) says what failed, where, and what
 * to do; it is the thread's, and holds until the next failure.
 */
MAM_API cl_int mam_cl_error(const char **sentence);

/*
 * mam_cl_options - options to build programs with mam.cl for a device: "-cl-std=CL3.0" where it has the
 * orders and the scope that mam needs, else "-cl-std=CL1.2". Errors: INVALID_VALUE (NULL, or `bytes` are
 * too few), UNSUPPORTED, as mam_cl_heap_create(), DRIVER.
 */
MAM_API enum mam_status mam_cl_options(cl_device_id device, char *options, size_t bytes);

/* mam_cl_source - the text of mam.cl. */
MAM_API const char *mam_cl_source(void);

/*
 * The names of the KMA paper: a heap of so many superblocks of so many bytes, as the buffer that kernels
 * get; NULL: it cannot be had, and mam_cl_error() says why. Kernels have malloc(heap, bytes) and
 * free(heap, block) if the program defines MAM_CL_PUBLISHED_NAMES before it includes mam.cl.
 * clSBMalloc_destroy() of what is no such buffer: CL_INVALID_MEM_OBJECT.
 */
MAM_API cl_mem clSBMalloc_create(cl_context context, cl_device_id device, cl_command_queue queue,
				 cl_uint superblocks, cl_uint superblock_bytes);
MAM_API cl_int clSBMalloc_destroy(cl_mem heap);

#ifdef __cplusplus
}
#endif
#endif
