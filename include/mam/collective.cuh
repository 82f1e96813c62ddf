/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.cuh - malloc and free in kernels, where a whole block or warp may ask at once.
 *
 *	#include <mam/collective.cuh>
 *
 *	__global__ void build(float **rows, int n)
 *	{
 *		float *row = (float *)mam_cmalloc(n * sizeof(*row), MAM_COLLECTIVE_BLOCK);
 *
 *		if (row)
 *			...
 *		mam_cfree(row);
 *	}
 *
 * It is what `mam coalesce` writes into programs in place of malloc() and free(), and may be
 * written by hand. After Blach, Erhart, Memedi, Schäfer, "Coalescing Memory Allocations for GPU
 * MPI", 3.1: whether a request is coalesced is an argument, and who gives memory back need not
 * know.
 *
 * Which allocator. CUDA's own malloc() and free() in kernels. With
 *
 *	#define MAM_COLLECTIVE_HEAP
 *	#include <mam/collective.cuh>
 *
 * it is a heap of objects (heap.h), which mam_collective_use(heap) sets, and the program is linked
 * to libmam. All files of a program that pass memory to each other include it in the same way.
 *
 * Who may call. mam_cfree(): any lane, at any time, of what any of them gave, in any order, also in
 * a later kernel. mam_cmalloc(), by its second argument:
 *
 *	MAM_COLLECTIVE_ALONE    any lane at any time, each with its own size; this is what no
 *	                        argument means
 *	MAM_COLLECTIVE_WARP     lanes of a warp that have not ended, which come together; those that
 *	                        want the same size share a request
 *	MAM_COLLECTIVE_BLOCK    all threads of the block, none of which has ended, with the same
 *	                        size. It has two barriers, as __syncthreads()
 *
 * Each lane gets memory of its own in all three. Either all that share a request have it, or none
 * does: NULL. The memory is free for others when the last part of it is given back.
 *
 * Over a heap each lane's memory is an object of its own: mam_kmalloc() puts lanes that come
 * together into one request by itself, so there is little left to be saved, and what a whole block
 * has is soon a large object, which the host gives. What stays as it is: with MAM_COLLECTIVE_BLOCK
 * all threads have memory or none does, and all meet there.
 *
 * In host code of functions that are __host__ __device__ both are the host's malloc() and free().
 *
 * new and delete. new (MAM_COLLECTIVE_BLOCK) T(...) is mam_cmalloc() with T's constructor, also for
 * arrays; where there is no room it is NULL, and nothing is constructed. For what it gives delete
 * must go by mam_cfree(). With
 *
 *	#define MAM_COLLECTIVE_NEW
 *	#include <mam/collective.cuh>
 *
 * each new and delete in device code of the file does, a new without an argument as
 * MAM_COLLECTIVE_ALONE. Destructors, virtual ones too, and arrays are what they were. A type whose
 * alignment is above 16 keeps the toolkit's new, and cannot have a collective one. This is for
 * nvcc: clang's own operators cannot be replaced. Not together with kmalloc_override.cuh.
 *
 * mam_ckmalloc(heap, bytes, coalesce) is mam_kmalloc(), mam_kmalloc_warp() or mam_kmalloc_block()
 * of heap.cuh, as the argument says, for functions that are told it; each lane has its own `bytes`,
 * and mam_kfree() takes all of it back.
 *
 * What is ordered. As of mam_kmalloc(): what a lane wrote before it gave memory back, happens
 * before what the next holder does. What was written before a call with MAM_COLLECTIVE_BLOCK, all
 * threads of the block see after it. Contents are not cleared.
 *
 * Where it lies: at a multiple of 16. Neighbours' parts follow each other at the next multiple of
 * 16 behind their bytes and 8 more, an odd one from 128 on (src/coalesce/fixed.h).
 *
 * What it costs. One request to CUDA's malloc() for all that share it, with 16 bytes in front and 8
 * to 39 more a part. What is alone has 16 bytes in front. One object that stays keeps the room of
 * all that it came with. Up to 24 bytes of shared memory a kernel. Over a heap what mam_kmalloc()
 * costs, and a barrier for MAM_COLLECTIVE_BLOCK.
 *
 * Mistakes, and what is answered:
 *
 *	0 bytes, or more than 1 TiB in one      NULL
 *	request
 *	NULL given back                         true, nothing done
 *	given back: no multiple of 16, or no    false, nothing done
 *	header in front
 *	given back twice, while nobody wrote    false, nothing done
 *	there since
 *	over a heap, before                     NULL, false
 *	mam_collective_use()
 *	over a heap, given back: what           false, counted by the heap
 *	mam_kfree() does not take
 *
 * Not found: MAM_COLLECTIVE_BLOCK that some threads do not come to, which waits for ever or is
 * undefined, as __syncthreads() is; sizes that differ there, of which one thread's is taken; memory
 * of which the 8 bytes in front cannot be read, which ends the kernel; what somebody wrote in front
 * of its own memory; and what malloc() gave, passed to mam_cfree(), or the other way round: give
 * each back where it came from.
 *
 * nvcc 11.8 and later, and clang as far as it knows the toolkit's headers; C++11 and later; sm_70
 * and later.
 */
#ifndef MAM_COLLECTIVE_CUH
#define MAM_COLLECTIVE_CUH

#include <cstdlib>
#include <new>

#include <mam/heap.cuh>

#include "coalesce/fixed.h"

/* Who comes to a request together. */
enum mam_coalesce { MAM_COLLECTIVE_ALONE = 0, MAM_COLLECTIVE_WARP, MAM_COLLECTIVE_BLOCK };

#ifdef MAM_COLLECTIVE_HEAP
/* As in kmalloc_override.cuh: one for all files that the device's linker brings together. */
inline __device__ struct mam_kheap **mam_collective_setting(void)
{
	static __device__ struct mam_kheap *heap;

	return &heap;
}

static __global__ void mam_collective_set(struct mam_kheap *heap)
{
	*mam_collective_setting() = heap;
}

/*
 * mam_collective_use - from now on kernels on the current device that are linked with this file
 * have memory of `heap`; NULL: none. What they have of another heap cannot be given back after
 * that.
 *
 * It must be a heap of objects on the current device, and stay until they are done. Works on the
 * legacy default stream and waits for that, so not while one is in capture. Errors: DRIVER (no
 * kernel could be launched; cudaGetLastError() has been asked).
 */
static inline enum mam_status mam_collective_use(const struct mam_heap *heap)
{
	mam_collective_set<<<1, 1, 0, cudaStreamLegacy>>>(mam_heap_device(heap));
	if (cudaGetLastError() != cudaSuccess ||
	    cudaStreamSynchronize(cudaStreamLegacy) != cudaSuccess)
		return MAM_ERROR_DRIVER;
	return MAM_OK;
}
#endif

#ifdef MAM_COLLECTIVE_HEAP
MAM_KFN void *mam_collective_get(size_t bytes, enum mam_coalesce coalesce)
{
	struct mam_kheap *heap = *mam_collective_setting();
	void *mine = heap ? mam_kmalloc(heap, bytes) : NULL;

	if (coalesce != MAM_COLLECTIVE_BLOCK || __syncthreads_and(mine != NULL))
		return mine;
	if (mine)
		(void)mam_kfree(heap, mine);
	return NULL;
}

MAM_KFN bool mam_collective_give(void *pointer)
{
	struct mam_kheap *heap = *mam_collective_setting();

	return heap ? mam_kfree(heap, pointer) : !pointer;
}
#else
/* Not inlined, as programs that call malloc() do so in many places. */
MAM_KSLOW void *mam_collective_get(size_t bytes, enum mam_coalesce coalesce)
{
	struct mam_kbase base = mam_base_cuda();

	switch (coalesce) {
	case MAM_COLLECTIVE_BLOCK: return mam_fixed_alloc_block(base, NULL, bytes);
	case MAM_COLLECTIVE_WARP: return mam_fixed_alloc_warp(base, NULL, bytes);
	default: return mam_fixed_alloc_one(base, bytes);
	}
}

MAM_KSLOW bool mam_collective_give(void *pointer)
{
	return mam_fixed_free(mam_base_cuda(), NULL, pointer);
}
#endif

/*
 * mam_cmalloc - `bytes` of memory at a multiple of 16 for each lane that calls. NULL: no room, or a
 * mistake. `coalesce` is the same for all that come together.
 */
MAM_KBOTH void *mam_cmalloc(size_t bytes, enum mam_coalesce coalesce = MAM_COLLECTIVE_ALONE)
{
#ifdef __CUDA_ARCH__
	return mam_collective_get(bytes, coalesce);
#else
	(void)coalesce;
	return malloc(bytes);
#endif
}

/* mam_cfree - true: `pointer` is given back. False: a mistake that was seen. */
MAM_KBOTH bool mam_cfree(void *pointer)
{
#ifdef __CUDA_ARCH__
	return mam_collective_give(pointer);
#else
	free(pointer);
	return true;
#endif
}

/*
 * mam_ckmalloc - as mam_kmalloc(), for each lane that calls. Parts of an object lie side by side,
 * so sizes are rounded up to 16, as mam_kmalloc() does, for parts that begin at a multiple of 16.
 */
MAM_KFN void *mam_ckmalloc(struct mam_kheap *heap, size_t bytes,
			   enum mam_coalesce coalesce = MAM_COLLECTIVE_ALONE)
{
	size_t rounded = (bytes + 15) / 16 * 16;

	switch (coalesce) {
	case MAM_COLLECTIVE_BLOCK: return mam_kmalloc_block(heap, rounded);
	case MAM_COLLECTIVE_WARP: return mam_kmalloc_warp(heap, rounded);
	default: return mam_kmalloc(heap, bytes);
	}
}

/*
 * new (MAM_COLLECTIVE_BLOCK) T and its kin. What says that it does not throw is asked whether it is
 * NULL before anything is constructed. Operators cannot be static.
 */
#define MAM_COLLECTIVE_OPERATOR __forceinline__ __host__ __device__

MAM_COLLECTIVE_OPERATOR void *operator new(size_t bytes, enum mam_coalesce coalesce) noexcept
{
#ifdef __CUDA_ARCH__
	return mam_collective_get(bytes ? bytes : 1, coalesce);
#else
	(void)coalesce;
	return operator new(bytes, std::nothrow_t());
#endif
}

MAM_COLLECTIVE_OPERATOR void *operator new[](size_t bytes, enum mam_coalesce coalesce) noexcept
{
#ifdef __CUDA_ARCH__
	return mam_collective_get(bytes ? bytes : 1, coalesce);
#else
	(void)coalesce;
	return operator new[](bytes, std::nothrow_t());
#endif
}

/* Where a constructor throws, which is on the host. */
MAM_COLLECTIVE_OPERATOR void operator delete(void *object, enum mam_coalesce) noexcept
{
#ifdef __CUDA_ARCH__
	(void)mam_collective_give(object);
#else
	operator delete(object);
#endif
}

MAM_COLLECTIVE_OPERATOR void operator delete[](void *object, enum mam_coalesce) noexcept
{
#ifdef __CUDA_ARCH__
	(void)mam_collective_give(object);
#else
	operator delete[](object);
#endif
}

#ifdef __cpp_aligned_new
/* A type whose alignment is above 16: its memory would lie at a multiple of 16 only. */
void *operator new(size_t bytes, std::align_val_t, enum mam_coalesce) = delete;
void *operator new[](size_t bytes, std::align_val_t, enum mam_coalesce) = delete;
#endif
#undef MAM_COLLECTIVE_OPERATOR

#endif

/* May be asked for by a later #include than the first. */
#if defined(MAM_COLLECTIVE_NEW) && !defined(MAM_COLLECTIVE_NEW_IS_THERE)
#define MAM_COLLECTIVE_NEW_IS_THERE

#if defined(__clang__) && !defined(MAM_COALESCE_READS)
#error "MAM_COLLECTIVE_NEW: clang's own new and delete cannot be replaced; compile it by nvcc"
#endif
#ifdef MAM_KMALLOC_OVERRIDE_CUH
#error "mam/kmalloc_override.cuh has operators new and delete, too: include one of the two"
#endif

/*
 * As in kmalloc_override.cuh: for a device only, and no symbols that other files would find. `mam
 * coalesce`, which reads with clang, does without them.
 */
#if defined(__CUDA_ARCH__) && !defined(MAM_COALESCE_READS)
/* "redeclared, hence treated as __host__ __device__", twice, and "inline is nonstandard" of new. */
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20039
#pragma nv_diag_suppress 20040
#pragma nv_diag_suppress 2620

__forceinline__ __device__ void *operator new(size_t bytes)
{
	return mam_collective_get(bytes ? bytes : 1, MAM_COLLECTIVE_ALONE);
}

__forceinline__ __device__ void *operator new[](size_t bytes)
{
	return mam_collective_get(bytes ? bytes : 1, MAM_COLLECTIVE_ALONE);
}

__forceinline__ __device__ void *operator new(size_t bytes, const std::nothrow_t &) noexcept
{
	return mam_collective_get(bytes ? bytes : 1, MAM_COLLECTIVE_ALONE);
}

__forceinline__ __device__ void *operator new[](size_t bytes, const std::nothrow_t &) noexcept
{
	return mam_collective_get(bytes ? bytes : 1, MAM_COLLECTIVE_ALONE);
}

__forceinline__ __device__ void operator delete(void *object) noexcept
{
	(void)mam_collective_give(object);
}

__forceinline__ __device__ void operator delete[](void *object) noexcept
{
	(void)mam_collective_give(object);
}

__forceinline__ __device__ void operator delete(void *object, size_t) noexcept
{
	(void)mam_collective_give(object);
}

__forceinline__ __device__ void operator delete[](void *object, size_t) noexcept
{
	(void)mam_collective_give(object);
}

#pragma nv_diagnostic pop
#endif
#endif
