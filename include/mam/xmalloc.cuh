/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc.cuh - XMalloc's calls, as published: device-side allocation on CUDA's malloc() or a heap.
 *
 *	#include <mam/xmalloc.cuh>
 *
 *	__global__ void build(struct node **lists)
 *	{
 *		struct node *node = (struct node *)xmcMalloc(sizeof(*node));
 *		...
 *		xmcFree(node);
 *	}
 *
 *	xmcInit();
 *	build<<<blocks, threads>>>(lists);
 *	...
 *	xmcFini();
 *
 * After "Scalable SIMD-parallel memory allocation for many-core machines" (Huang, Rodrigues, Jones,
 * Buck, Hwu, J. Supercomputing 64, 2013), figure 1. The requests of converged lanes are combined
 * into one request to the underlying allocator, and freed blocks are kept in buffers for the next
 * request.
 *
 * Which allocator. CUDA's own malloc() and free() in kernels: their capacity is
 * cudaLimitMallocHeapSize. Set it before xmcInit(), whose kernel calls malloc(). With
 *
 *	#define XMC_HEAP
 *	#include <mam/xmalloc.cuh>
 *
 * it is a heap of objects (heap.h), which is passed to xmcInit(heap), and the program is linked to
 * libmam. mam_kmalloc() itself combines the requests of converged lanes, so requests go to it
 * directly. Combining them here first would take twice as long, and lanes that keep small objects
 * would hold more memory. With
 *
 *	#define XMC_HEAP
 *	#define XMC_LAYERS 1
 *
 * requests go through XMalloc's two layers nevertheless, as on CUDA's malloc(). A file uses one of
 * the three variants, selected at its first #include of this header.
 *
 * Order. Call xmcInit() once for each device, then launch kernels, then call xmcFini(). In between,
 * memory persists from kernel to kernel, in any stream. Which files: in a program built with
 * -rdc=true all files that include this header in the same way share one setting. Without -rdc each
 * file has its own setting and calls xmcInit() itself; one file may then free memory that another
 * one allocated.
 *
 * Which threads may call. xmcMalloc() and xmcFree(): any lane at any time, alone or with others of
 * its warp, also in divergent code, each with its own size. Lanes that happen to be converged are
 * served together; to converge lanes after a branch, put __syncwarp() before the call. No lane
 * waits for another, except as the underlying allocator does and, for a bounded time, when memory
 * runs out. xmcInit() and xmcFini(): one host thread, while no kernel uses either.
 *
 * Memory order. As for mam_kmalloc(): the writes of a lane before it frees memory happen before the
 * accesses of the next owner. Contents are not cleared.
 *
 * Memory overhead. On a heap without layers, as mam_kmalloc(). With layers, a lane that is alone,
 * or requests more than MAM_COMPARTMENT_MAX bytes (232), gets a separate block with a header of 16
 * bytes. Other converged lanes share one block: each has a header of 8 bytes, rounded up to 16
 * together with its own bytes. The block is freed when its last part is freed: one live object
 * holds the memory of 32. Buffers keep up to `blocks` blocks of each of 72 sizes until xmcFini(),
 * or until memory runs out elsewhere, even if no lane requests such sizes again. Each call is
 * inlined with all of its code, which is large on a heap: code that calls in many places should
 * wrap the call in a function that is not inlined.
 *
 * Invalid calls, and what they return:
 *
 *	0 bytes, or a size that overflows       NULL
 *	size_t with 16 added
 *	before xmcInit(), after xmcFini()       NULL, false; a no-op
 *	free of NULL                            true, a no-op (false without xmcInit())
 *	free of an address that is not a        false, a no-op
 *	multiple of 16, or has no tag in front
 *	double free of memory that was not      false, a no-op: the tag shows it, unless the
 *	allocated again                         underlying allocator overwrote it
 *
 * On a heap without layers there is no tag: xmcFree() returns what mam_kfree() does. The tag is the
 * 32 bits in front, and xmcFree() checks nothing else. Not detected: an address whose 8 bytes in
 * front cannot be read, which ends the kernel, as any such access does; 32 bits in front that
 * happen to equal a tag; headers overwritten by an out-of-bounds write; two lanes that free the
 * same memory at the same time; a double free of memory that another lane has allocated meanwhile,
 * which loses it. If memory of CUDA's malloc() or mam_kmalloc() is passed to xmcFree(), the result
 * is usually false. Memory of xmcMalloc() must not be passed to free() or mam_kfree().
 *
 * nvcc 11.8 and later, and clang as far as it knows the toolkit's headers; C++11 and later; sm_70
 * and later.
 */
#ifndef MAM_XMALLOC_CUH
#define MAM_XMALLOC_CUH

#include <mam/heap.cuh>

#include "coalesce/xmalloc.h"

/* FIFOs per class of blocks if xmcInit() gets no number: 0, or a power of two up to 32. */
#define XMC_BUFFERS_OVER_CUDA 32u
#define XMC_BUFFERS_OVER_HEAP 0u

#ifndef XMC_HEAP
#undef XMC_LAYERS
#define XMC_LAYERS 1
#define XMC_BUFFERS XMC_BUFFERS_OVER_CUDA
#define XMC_SETTING xmc_setting_over_cuda
#else
#ifndef XMC_LAYERS
#define XMC_LAYERS 0
#endif
#define XMC_BUFFERS XMC_BUFFERS_OVER_HEAP
#if XMC_LAYERS
#define XMC_SETTING xmc_setting_of_layers
#else
#define XMC_SETTING xmc_setting_over_heap
#endif
#endif

/* Buffers exist, perhaps without any FIFO, from xmcInit() to xmcFini(). */
struct xmc_setting {
	struct mam_buffers *buffers;
	struct mam_kheap *heap; /* NULL on CUDA's malloc() */
};

/* As in kmalloc_override.cuh: one setting for all files that the device linker combines. */
inline __device__ struct xmc_setting *XMC_SETTING(void)
{
	static __device__ struct xmc_setting setting;

	return &setting;
}

MAM_KFN struct mam_kbase xmc_base(struct mam_kheap *heap)
{
#ifdef XMC_HEAP
	return mam_base_heap(heap);
#else
	(void)heap;
	return mam_base_cuda();
#endif
}

/* The result of the kernels of xmcInit() and xmcFini(), for the host. */
struct xmc_note {
	struct mam_buffers *buffers; /* the previous setting */
};

/*
 * Buffers keep blocks from a reference up to 64 GiB above it. The start of the heap's memory is
 * unknown, so the reference is set far below the first allocation.
 */
static __global__ void xmc_begin(struct xmc_setting wanted, unsigned int count, unsigned int blocks,
				 struct xmc_note *note)
{
	struct mam_kbase base = xmc_base(wanted.heap);
	uint64_t half = (uint64_t)32 << 30, probe;
	void *block;

	note->buffers = XMC_SETTING()->buffers;
	if (note->buffers)
		return;
	block = mam_base_alloc(base, MAM_BASE_ALIGN);
	probe = (uint64_t)(uintptr_t)block;
	if (block)
		(void)mam_base_free(base, block);
	else
		probe = (uint64_t)(uintptr_t)wanted.heap;
	mam_buffers_format(wanted.buffers, count, blocks, probe > half ? probe - half : 0);
	*XMC_SETTING() = wanted;
}

/* All lanes together free the blocks in the buffers. */
static __global__ void xmc_drain(void)
{
	struct xmc_setting *setting = XMC_SETTING();

	if (setting->buffers)
		(void)mam_buffers_drain(setting->buffers, xmc_base(setting->heap));
}

static __global__ void xmc_end(struct xmc_note *note)
{
	note->buffers = XMC_SETTING()->buffers;
	XMC_SETTING()->buffers = NULL;
	XMC_SETTING()->heap = NULL;
}

/* Waits for the kernels that were launched, and reads their note. */
static inline enum mam_status xmc_read(const struct xmc_note *note, struct xmc_note *copy)
{
	cudaError_t launched = cudaGetLastError();

	if (launched != cudaSuccess ||
	    cudaMemcpyAsync(copy, note, sizeof(*copy), cudaMemcpyDeviceToHost, cudaStreamLegacy) !=
		    cudaSuccess ||
	    cudaStreamSynchronize(cudaStreamLegacy) != cudaSuccess) {
		(void)cudaGetLastError();
		return MAM_ERROR_DRIVER;
	}
	return MAM_OK;
}

static inline enum mam_status xmc_memory(void **memory, size_t bytes)
{
	cudaError_t result = cudaMalloc(memory, bytes);

	if (result == cudaSuccess)
		return MAM_OK;
	(void)cudaGetLastError();
	return result == cudaErrorMemoryAllocation ? MAM_ERROR_OUT_OF_MEMORY : MAM_ERROR_DRIVER;
}

/* Blocks of a class for all warps that can be resident on the current device. */
static inline unsigned int xmc_blocks(void)
{
	int device, sms, threads;

	if (cudaGetDevice(&device) != cudaSuccess ||
	    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
	    cudaDeviceGetAttribute(&threads, cudaDevAttrMaxThreadsPerMultiProcessor, device) !=
		    cudaSuccess) {
		(void)cudaGetLastError();
		return MAM_BUFFERS_BLOCKS;
	}
	return mam_buffers_blocks_for((unsigned int)sms * ((unsigned int)threads / 32));
}

static inline enum mam_status xmc_init(struct mam_kheap *heap, unsigned int buffers,
				       unsigned int blocks)
{
	size_t bytes = (mam_buffers_bytes(buffers, blocks) + 15) / 16 * 16;
	struct xmc_setting wanted;
	struct xmc_note *note, before;
	enum mam_status status;
	void *memory;

	if (mam_buffers_valid(buffers, blocks) != buffers)
		return MAM_ERROR_INVALID_VALUE;
	status = xmc_memory(&memory, bytes + sizeof(*note));
	if (status != MAM_OK)
		return status;
	note = (struct xmc_note *)((char *)memory + bytes);
	wanted.buffers = (struct mam_buffers *)memory;
	wanted.heap = heap;
	xmc_begin<<<1, 1, 0, cudaStreamLegacy>>>(wanted, buffers, blocks, note);
	status = xmc_read(note, &before);
	if (status == MAM_OK && before.buffers)
		status = MAM_ERROR_INVALID_VALUE;
	if (status != MAM_OK)
		(void)cudaFree(memory);
	return status;
}

/*
 * xmcInit - enable xmcMalloc() and xmcFree() for kernels on the current device that are linked with
 * this file.
 *
 * `buffers`: how many FIFOs each class of blocks has, 0, or a power of two up to 32. 0: none, and
 * each request reaches the underlying allocator. `blocks`: how many blocks of a class they hold
 * together, a power of two from 32 to 65,536. 0: the number of warps that can be resident on the
 * device, rounded up to a power of two in that range. The paper uses 16 and 256; these are too
 * small for a large GPU, where most blocks freed at one time find no place. 32 and 16,384, as on an
 * H100, take 10 MB of device memory, 16 and 256 take 433 KiB, by cudaMalloc(). On a heap without
 * layers there are neither. `heap` must be a heap of objects on the current device, and must live
 * until xmcFini(). Works on the legacy default stream and waits for that, so it cannot be called
 * while one is in capture. Errors: INVALID_VALUE (other numbers; a NULL heap; a second call without
 * xmcFini()), OUT_OF_MEMORY, DRIVER (no kernel could be launched). A call that fails changes
 * nothing.
 */
#ifndef XMC_HEAP
static inline enum mam_status xmcInit(unsigned int buffers = XMC_BUFFERS, unsigned int blocks = 0)
{
	return xmc_init(NULL, buffers, blocks ? blocks : xmc_blocks());
}
#elif XMC_LAYERS
static inline enum mam_status xmcInit(const struct mam_heap *heap,
				      unsigned int buffers = XMC_BUFFERS, unsigned int blocks = 0)
{
	return heap ? xmc_init(mam_heap_device(heap), buffers, blocks ? blocks : xmc_blocks())
		    : MAM_ERROR_INVALID_VALUE;
}
#else
static inline enum mam_status xmcInit(const struct mam_heap *heap)
{
	return heap ? xmc_init(mam_heap_device(heap), 0, MAM_BUFFERS_BLOCKS)
		    : MAM_ERROR_INVALID_VALUE;
}
#endif

/*
 * xmcFini - free the blocks in the buffers, and return the buffers' memory to the driver.
 *
 * Live memory of kernels remains valid: it may be used, and freed after another xmcInit() on the
 * same allocator. Without xmcInit(): MAM_OK, a no-op. Works as xmcInit() does, and waits for all
 * work of the device, as cudaFree() does. Errors: OUT_OF_MEMORY, DRIVER.
 */
static inline enum mam_status xmcFini(void)
{
	struct xmc_note *note, before;
	enum mam_status status;
	void *memory;

	status = xmc_memory(&memory, sizeof(*note));
	if (status != MAM_OK)
		return status;
	note = (struct xmc_note *)memory;
	xmc_drain<<<64, 64, 0, cudaStreamLegacy>>>();
	xmc_end<<<1, 1, 0, cudaStreamLegacy>>>(note);
	status = xmc_read(note, &before);
	(void)cudaFree(memory);
	if (status == MAM_OK && before.buffers && cudaFree(before.buffers) != cudaSuccess) {
		(void)cudaGetLastError();
		status = MAM_ERROR_DRIVER;
	}
	return status;
}

/*
 * xmcMalloc - allocate `bytes` bytes at a multiple of 16; each lane has its own `bytes`. NULL: out
 * of memory, or an invalid call.
 */
MAM_KFN void *xmcMalloc(size_t bytes)
{
	struct xmc_setting setting = *XMC_SETTING();

	if (!setting.buffers)
		return NULL;
#if XMC_LAYERS
	return mam_xmalloc_alloc(xmc_base(setting.heap), setting.buffers, bytes);
#else
	return mam_base_alloc(xmc_base(setting.heap), bytes);
#endif
}

/*
 * xmcFree - free `pointer`; any lane of any kernel may call it. True on success. False: an invalid
 * free was detected, on a heap by mam_kfree().
 */
MAM_KFN bool xmcFree(void *pointer)
{
	struct xmc_setting setting = *XMC_SETTING();

	if (!setting.buffers)
		return false;
#if XMC_LAYERS
	return mam_xmalloc_free(xmc_base(setting.heap), setting.buffers, pointer);
#else
	return mam_base_free(xmc_base(setting.heap), pointer);
#endif
}

#endif
