/* SPDX-License-Identifier: Apache-2.0 */
/*
 * xmalloc.cuh - XMalloc's calls, as published: memory in kernels, over CUDA's malloc() or a heap.
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
 * Buck, Hwu, J. Supercomputing 64, 2013), figure 1. What lanes of a warp ask for together is one
 * request to the allocator below, and blocks that come back wait in buffers for the next request.
 *
 * Which allocator. CUDA's own malloc() and free() in kernels: the room is cudaLimitMallocHeapSize,
 * which is set before xmcInit(), whose kernel calls malloc(). With
 *
 *	#define XMC_HEAP
 *	#include <mam/xmalloc.cuh>
 *
 * it is a heap of objects (heap.h), which xmcInit(heap) is given, and the program is linked to
 * libmam. mam_kmalloc() serves what a warp's lanes ask for together at once by itself, so requests
 * go to it as they are: put together here first they would take twice as long, and lanes that keep
 * little would keep more. With
 *
 *	#define XMC_HEAP
 *	#define XMC_LAYERS 1
 *
 * they have XMalloc's two layers all the same, as over CUDA's malloc(). A file has one of the three,
 * the one at its first #include of this header.
 *
 * Order. xmcInit() once for each device, then kernels, then xmcFini(). Between them memory persists
 * from kernel to kernel, in any stream. Which files: in a program built with -rdc=true all files
 * that include this header in the same way share one setting. Without -rdc each file has its own,
 * and calls xmcInit() itself; what one got another may then give back, too.
 *
 * Who may call. xmcMalloc() and xmcFree(): any lane at any time, alone or with others of its warp,
 * also in divergent code, each with its own size; lanes that happen to come together are served
 * together. Put __syncwarp() before a call where code has branched and lanes should come together.
 * No lane waits for another but as the allocator below does, and, for a bounded time, where there
 * is no room. xmcInit() and xmcFini(): one thread of the host, while no kernel uses either.
 *
 * What is ordered. As of mam_kmalloc(): what a lane wrote before it gave memory back, happens
 * before what the next holder does. Contents are not cleared.
 *
 * What memory costs. Over a heap without layers, as mam_kmalloc(). With layers, a lane that is alone,
 * or asks for more than MAM_COMPARTMENT_MOST bytes (232), has a block for itself, with 16 bytes in front. Of others that come together each has 8 in front,
 * rounded up to 16 together with its own, in one block. That is given back when the last of them
 * is: one object that stays keeps the room of 32. Buffers keep up to `blocks` blocks of each of 72
 * sizes, also those that nobody asks for again, until xmcFini(), or until there is no room
 * elsewhere. And each call stands in the program with all of its code, over a heap with much: what
 * calls in many places does so by a function of its own that is not inlined.
 *
 * Mistakes, and what is answered:
 *
 *	0 bytes, or more than a size_t holds    NULL
 *	with 16 added
 *	before xmcInit(), after xmcFini()       NULL, false; nothing done
 *	NULL given back                         true, nothing done (false without xmcInit())
 *	given back: no multiple of 16, or       false, nothing done
 *	there is no tag of ours in front
 *	given back twice, while nobody has      false, nothing done: the tag says so; but where the
 *	got the memory again                    allocator below writes to free memory it may not
 *
 * Over a heap without layers there is no tag: xmcFree() answers what mam_kfree() does. With one,
 * the tag is the 32 bits in front, and all that is looked at. Not found: memory of which the 8
 * bytes in front cannot be read ends the kernel, as any such access does; 32 bits in front that
 * happen to be a tag; headers that were written over, by who wrote in front of its own or behind
 * another's memory; two lanes that give back the same at the same time; what was given back and got
 * again by somebody, who loses it; what CUDA's malloc() or mam_kmalloc() gave, passed to xmcFree(),
 * is mostly answered false, and what xmcMalloc() gave must not be passed to free() or mam_kfree().
 *
 * nvcc 11.8 and later, and clang as far as it knows the toolkit's headers; C++11 and later; sm_70
 * and later.
 */
#ifndef MAM_XMALLOC_CUH
#define MAM_XMALLOC_CUH

#include <mam/heap.cuh>

#include "coalesce/xmalloc.h"

/* FIFOs a class of blocks, where xmcInit() is told no number: 0, or a power of two up to 32. */
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

/* Buffers are there, perhaps without any FIFO, from xmcInit() to xmcFini(). */
struct xmc_setting {
	struct mam_buffers *buffers;
	struct mam_kheap *heap; /* NULL over CUDA's malloc() */
};

/* As in kmalloc_override.cuh: one for all files that the device's linker brings together. */
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

/* What kernels of xmcInit() and xmcFini() tell the host. */
struct xmc_note {
	struct mam_buffers *buffers; /* that were set before */
};

/*
 * Buffers keep what lies up to 64 GiB behind a reference. Nobody says where the ground begins, so
 * it is far before what was got first.
 */
static __global__ void xmc_begin(struct xmc_setting wanted, unsigned int count,
				 unsigned int blocks, struct xmc_note *note)
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

/* All lanes together give back what buffers hold. */
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

/* Waits for what was launched, and reads the note it left. */
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

/* Blocks of a class for the warps that the current device runs at once. */
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
 * xmcInit - from now on kernels on the current device that are linked with this file may call
 * xmcMalloc() and xmcFree().
 *
 * `buffers`: how many FIFOs each class of blocks has, 0, or a power of two up to 32. 0: there are
 * none, and each request reaches the allocator below. `blocks`: how many blocks of a class they
 * hold together, a power of two from 32 to 65,536; 0: as many as the device runs warps at once,
 * rounded up to such a number. The paper has 16 and 256; with so few, most of what a large GPU gives
 * back at a time finds no room. 32 and 16,384, as on an H100, take 10 MB of device memory, 16 and 256
 * 433 KiB, by cudaMalloc(). Over a heap without layers there are neither. `heap` must be a heap of
 * objects on the current device, and stay until xmcFini(). Works on the legacy default stream and
 * waits for that, so not while one is in capture. Errors: INVALID_VALUE (other numbers; a NULL heap;
 * it was called before, and xmcFini() was not), OUT_OF_MEMORY, DRIVER (no kernel could be
 * launched). What fails changes nothing.
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
	return heap ? xmc_init(mam_heap_device(heap), buffers, blocks ? blocks : xmc_blocks()) :
		      MAM_ERROR_INVALID_VALUE;
}
#else
static inline enum mam_status xmcInit(const struct mam_heap *heap)
{
	return heap ? xmc_init(mam_heap_device(heap), 0, MAM_BUFFERS_BLOCKS) :
		      MAM_ERROR_INVALID_VALUE;
}
#endif

/*
 * xmcFini - buffers give back what they hold, and their memory goes to the driver.
 *
 * What kernels still have stays theirs: it may be used, and given back after another xmcInit() over
 * the same allocator. Without xmcInit(): MAM_OK, nothing done. Works as xmcInit() does, and waits
 * for all work of the device, as cudaFree() does. Errors: OUT_OF_MEMORY, DRIVER.
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
 * xmcMalloc - `bytes` of memory at a multiple of 16, each lane its own number of them. NULL: no
 * room, or a mistake.
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
 * xmcFree - true: `pointer` is given back, by any lane of any kernel. False: a mistake that was
 * seen, or, over a heap, one that mam_kfree() saw.
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
