/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collective.cuh - malloc and free in kernels, with one request for a whole block or warp.
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
 * `mam coalesce` inserts these calls into programs in place of malloc() and free(); they may also
 * be written by hand. After Blach, Erhart, Memedi, Schäfer, "Coalescing Memory Allocations for GPU
 * MPI", 3.1: an argument specifies whether a request is coalesced, and the code that frees memory
 * need not know.
 *
 * Which allocator. CUDA's own malloc() and free() in kernels. With
 *
 *	#define MAM_COLLECTIVE_HEAP
 *	#include <mam/collective.cuh>
 *
 * it is a heap of objects (heap.h), which mam_collective_use(heap) sets, and the program is linked
 * to libmam. All files of a program that pass memory to each other must include it in the same way.
 *
 * Which threads may call. mam_cfree(): any lane, at any time, in any order, also in a later kernel,
 * for memory from any of these modes. mam_cmalloc(): its second argument selects one of these:
 *
 *	MAM_COLLECTIVE_ALONE    any lane at any time, each with its own size; the default
 *	MAM_COLLECTIVE_WARP     converged lanes of a warp that have not exited; lanes that
 *	                        request the same size share a request
 *	MAM_COLLECTIVE_BLOCK    all threads of the block, none of which has exited, with the same
 *	                        size. It has two barriers, as __syncthreads()
 *
 * Each lane gets its own memory in all three modes. Either all lanes that share a request get
 * memory, or all get NULL. The memory is reusable when its last part is freed.
 *
 * On a heap each lane's memory is a separate object. mam_kmalloc() itself combines the requests of
 * converged lanes, so there is little left to save. One object for a whole block would often be a
 * large object, which the host must provide. As without a heap, with MAM_COLLECTIVE_BLOCK all
 * threads get memory or none does, and the call has a barrier.
 *
 * In the host code of __host__ __device__ functions the two calls are the host's malloc() and
 * free().
 *
 * new and delete. new (MAM_COLLECTIVE_BLOCK) T(...) is mam_cmalloc() with T's constructor, also for
 * arrays. If there is no memory it returns NULL, and nothing is constructed. For such memory delete
 * must use mam_cfree(). With
 *
 *	#define MAM_COLLECTIVE_NEW
 *	#include <mam/collective.cuh>
 *
 * each new and delete in device code of the file does so; a new without an argument is
 * MAM_COLLECTIVE_ALONE. Destructors, virtual ones too, and arrays work as usual. A type whose
 * alignment is above 16 keeps the toolkit's new, and cannot have a collective one. This is for
 * nvcc: clang's own operators cannot be replaced. It excludes kmalloc_override.cuh.
 *
 * mam_ckmalloc(heap, bytes, coalesce) calls mam_kmalloc(), mam_kmalloc_warp() or
 * mam_kmalloc_block() of heap.cuh, as its last argument selects. It is for functions that get the
 * mode as a parameter. Each lane has its own `bytes`, and mam_kfree() frees all of it.
 *
 * Memory order. As for mam_kmalloc(): the writes of a lane before it frees memory happen before the
 * accesses of the next owner. Writes before a call with MAM_COLLECTIVE_BLOCK are visible to all
 * threads of the block after it. Contents are not cleared.
 *
 * Alignment: 16. The part of the next lane is at the next multiple of 16 after this lane's bytes
 * and 8 more, from 128 up an odd multiple (src/coalesce/fixed.h).
 *
 * Cost. One request to CUDA's malloc() for all lanes that share it, with a header of 16 bytes and 8
 * to 39 more bytes per part. A lane that is alone has a header of 16 bytes. One live part holds the
 * memory of all parts of its request. Up to 24 bytes of shared memory per kernel. On a heap: the
 * cost of mam_kmalloc(), and a barrier for MAM_COLLECTIVE_BLOCK.
 *
 * Invalid calls, and what they return:
 *
 *	0 bytes, or more than 1 TiB in one      NULL
 *	request
 *	free of NULL                            true, a no-op
 *	free of an address that is not a        false, a no-op
 *	multiple of 16, or has no header
 *	double free of memory that was not      false, a no-op
 *	written since
 *	on a heap, before                       NULL, false
 *	mam_collective_use()
 *	on a heap: free of an address that      false, counted by the heap
 *	mam_kfree() rejects
 *
 * Not detected: MAM_COLLECTIVE_BLOCK that some threads of the block do not reach, which hangs or is
 * undefined, as with __syncthreads(); different sizes there, of which one thread's is used; an
 * address whose 8 bytes in front cannot be read, which ends the kernel; an out-of-bounds write over
 * a header; and memory of malloc() that is passed to mam_cfree(), or the other way round: free
 * memory with the call that matches its allocation.
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

/* Which lanes share a request. */
enum mam_coalesce { MAM_COLLECTIVE_ALONE = 0, MAM_COLLECTIVE_WARP, MAM_COLLECTIVE_BLOCK };

#ifdef MAM_COLLECTIVE_HEAP
/* As in kmalloc_override.cuh: one setting for all files that the device linker combines. */
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
 * mam_collective_use - make kernels on the current device that are linked with this file allocate
 * from `heap`; NULL: none. They cannot free memory of the previous heap after that.
 *
 * It must be a heap of objects on the current device, and must live until the kernels are done.
 * Works on the legacy default stream and waits for that, so it cannot be called while one is in
 * capture. Errors: DRIVER (no kernel could be launched; the call has consumed cudaGetLastError()).
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
/* Not inlined, as programs call malloc() in many places. */
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
 * mam_cmalloc - allocate `bytes` bytes at a multiple of 16 for each lane that calls. NULL: out of
 * memory, or an invalid call. All converged lanes must pass the same `coalesce`.
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

/* mam_cfree - free `pointer`. True on success. False: an invalid free was detected. */
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
 * mam_ckmalloc - as mam_kmalloc(), for each lane that calls. Parts of an object are adjacent, so
 * sizes are rounded up to 16, as mam_kmalloc() does. So each part begins at a multiple of 16.
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
 * new (MAM_COLLECTIVE_BLOCK) T and related operators. The result of a noexcept operator is checked
 * for NULL before anything is constructed. Operators cannot be static.
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

/* Used if a constructor throws, which happens only on the host. */
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
/* A type whose alignment is above 16: its memory would be aligned to 16 only. */
void *operator new(size_t bytes, std::align_val_t, enum mam_coalesce) = delete;
void *operator new[](size_t bytes, std::align_val_t, enum mam_coalesce) = delete;
#endif
#undef MAM_COLLECTIVE_OPERATOR

#endif

/* A later #include than the first may request this. */
#if defined(MAM_COLLECTIVE_NEW) && !defined(MAM_COLLECTIVE_NEW_IS_THERE)
#define MAM_COLLECTIVE_NEW_IS_THERE

#if defined(__clang__) && !defined(MAM_COALESCE_READS)
#error "MAM_COLLECTIVE_NEW: clang's own new and delete cannot be replaced; compile it by nvcc"
#endif
#ifdef MAM_KMALLOC_OVERRIDE_CUH
#error "mam/kmalloc_override.cuh has operators new and delete, too: include one of the two"
#endif

/*
 * As in kmalloc_override.cuh: only for a device, and without symbols that other files would find.
 * `mam coalesce`, which parses with clang, does without them.
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
