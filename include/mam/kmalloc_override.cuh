/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmalloc_override.cuh - malloc, free, calloc, realloc, new and delete in kernels, on a heap.
 *
 *	#include <mam/kmalloc_override.cuh>
 *
 *	__global__ void build(struct node **lists)
 *	{
 *		struct node *node = (struct node *)malloc(sizeof(*node));
 *		...
 *		free(node);
 *	}
 *
 *	mam_heap_create(pool, &attr, &heap);
 *	mam_kmalloc_use(heap);
 *	build<<<blocks, threads>>>(lists);
 *
 * Effect. In the compiler's device passes it defines those functions, which the toolkit provides
 * otherwise; in the host pass it defines none of them. So kernels and the functions that they call,
 * also through std:: and from headers, allocate from the heap. Host code in the same file, also of
 * __host__ __device__ functions, keeps its own malloc and new. There are no macros: members and
 * functions of other namespaces that are called free or malloc are unchanged, and so is placement
 * new. It may be included before or after other headers.
 *
 * Which files. Each file that includes it. In a program built with -rdc=true all of them share one
 * setting, so call mam_kmalloc_use() once for each device. Include the header in all files then: it
 * is undefined which allocator the other files use. Without -rdc each file has its own setting, and
 * calls mam_kmalloc_use() itself.
 *
 * Return values. As of mam_kmalloc() and related calls (heap.cuh): malloc(0) is NULL. free() of an
 * address that is not an object of the heap, for example one of the toolkit's malloc, is a no-op
 * and is counted. Without a heap, malloc(), calloc() and realloc() return NULL and free() is a
 * no-op. new also returns NULL if there is no memory. Its constructor then writes to NULL, as C++
 * does not check the result of a new that may throw: write new (std::nothrow_t{}) T, which checks.
 * A type with an alignment above 16 may have an alignment of up to 8 KiB, and of up to 1 KiB if the
 * object is larger than 8 KiB. new returns NULL for a larger alignment.
 *
 * nvcc 11.8 and later, and clang as far as it knows the toolkit's headers; C++11 and later.
 */
#ifndef MAM_KMALLOC_OVERRIDE_CUH
#define MAM_KMALLOC_OVERRIDE_CUH

/* They declare the functions that are defined below. */
#include <cstdlib>
#include <new>

#include <mam/heap.cuh>

/*
 * The address of the setting, which is one word on the device. In an inline function it is one
 * variable for all files that the device linker combines; an inline variable would need C++17.
 */
inline __device__ struct mam_kheap **mam_kmalloc_setting(void)
{
	static __device__ struct mam_kheap *heap;

	return &heap;
}

static __global__ void mam_kmalloc_set(struct mam_kheap *heap)
{
	*mam_kmalloc_setting() = heap;
}

/*
 * mam_kmalloc_use - make kernels on the current device that are linked with this file allocate from
 * `heap`; NULL: none. Kernels that are running may see the old or the new setting.
 *
 * It must be a heap of objects on the current device, and must live until the kernels are done.
 * They cannot free memory of the previous heap after that. Works on the legacy default stream and
 * waits for that, so it cannot be called while one is in capture. Errors: DRIVER (no kernel could
 * be launched; the call has consumed cudaGetLastError()).
 */
static inline enum mam_status mam_kmalloc_use(const struct mam_heap *heap)
{
	mam_kmalloc_set<<<1, 1, 0, cudaStreamLegacy>>>(mam_heap_device(heap));
	if (cudaGetLastError() != cudaSuccess ||
	    cudaStreamSynchronize(cudaStreamLegacy) != cudaSuccess)
		return MAM_ERROR_DRIVER;
	return MAM_OK;
}

/* The heap in use, for mam_kusable() and other calls of heap.cuh; NULL: none. */
MAM_KFN struct mam_kheap *mam_kmalloc_heap(void)
{
	return *mam_kmalloc_setting();
}

/* Not inlined, as programs call malloc() in many places. */
MAM_KSLOW void *mam_kmalloc_get(size_t bytes)
{
	return mam_kmalloc(mam_kmalloc_heap(), bytes);
}

MAM_KSLOW void mam_kmalloc_give(void *object)
{
	(void)mam_kfree(mam_kmalloc_heap(), object);
}

/*
 * The size to request for `bytes` at a multiple of `alignment`, a power of two, or 0 if no such
 * object is possible. An object of a power of two up to 8 KiB is aligned to its size.
 */
MAM_KFN size_t mam_kmalloc_aligned(size_t bytes, size_t alignment)
{
	size_t rounded = alignment;

	if (alignment <= (1u << MAM_GRAIN_SHIFT))
		return bytes;
	if (bytes > MAM_CLASS_BYTES_MAX)
		return alignment <= (1u << MAM_UNIT_SHIFT) ? bytes : 0;
	while (rounded < bytes)
		rounded *= 2;
	return rounded <= MAM_CLASS_BYTES_MAX ? rounded : 0;
}

/*
 * The toolkit declares them for host and device, so they are defined where there is no host pass.
 * clang has separate functions of one name for host and device, and needs both in each pass. As
 * they are always inlined, they are not symbols that files without this header would find.
 */
#if defined(__CUDA_ARCH__) || defined(__clang__)

#ifdef __clang__
#define MAM_OVERRIDE __forceinline__ __device__
#else
#define MAM_OVERRIDE __forceinline__ __host__ __device__
/* "redeclared, hence treated as __host__ __device__", twice, and "inline is nonstandard" of new. */
#pragma nv_diagnostic push
#pragma nv_diag_suppress 20039
#pragma nv_diag_suppress 20040
#pragma nv_diag_suppress 2620
#endif

extern "C" {

MAM_OVERRIDE void *malloc(size_t bytes) __THROW
{
	return mam_kmalloc_get(bytes);
}

MAM_OVERRIDE void free(void *object) __THROW
{
	mam_kmalloc_give(object);
}

MAM_OVERRIDE void *calloc(size_t n, size_t bytes) __THROW
{
	return mam_kcalloc(mam_kmalloc_heap(), n, bytes);
}

MAM_OVERRIDE void *realloc(void *object, size_t bytes) __THROW
{
	return mam_krealloc(mam_kmalloc_heap(), object, bytes);
}

} /* extern "C" */

/* clang's operators call malloc() and free(). */
#ifndef __clang__
#undef MAM_OVERRIDE
#define MAM_OVERRIDE __forceinline__ __device__

MAM_OVERRIDE void *operator new(size_t bytes)
{
	return mam_kmalloc_get(bytes ? bytes : 1);
}

MAM_OVERRIDE void *operator new[](size_t bytes)
{
	return mam_kmalloc_get(bytes ? bytes : 1);
}

MAM_OVERRIDE void *operator new(size_t bytes, const std::nothrow_t &) noexcept
{
	return mam_kmalloc_get(bytes ? bytes : 1);
}

MAM_OVERRIDE void *operator new[](size_t bytes, const std::nothrow_t &) noexcept
{
	return mam_kmalloc_get(bytes ? bytes : 1);
}

MAM_OVERRIDE void operator delete(void *object) noexcept
{
	mam_kmalloc_give(object);
}

MAM_OVERRIDE void operator delete[](void *object) noexcept
{
	mam_kmalloc_give(object);
}

MAM_OVERRIDE void operator delete(void *object, size_t) noexcept
{
	mam_kmalloc_give(object);
}

MAM_OVERRIDE void operator delete[](void *object, size_t) noexcept
{
	mam_kmalloc_give(object);
}

#ifdef __cpp_aligned_new
MAM_OVERRIDE void *operator new(size_t bytes, std::align_val_t alignment)
{
	return mam_kmalloc_get(mam_kmalloc_aligned(bytes, (size_t)alignment));
}

MAM_OVERRIDE void *operator new[](size_t bytes, std::align_val_t alignment)
{
	return mam_kmalloc_get(mam_kmalloc_aligned(bytes, (size_t)alignment));
}

MAM_OVERRIDE void operator delete(void *object, std::align_val_t) noexcept
{
	mam_kmalloc_give(object);
}

MAM_OVERRIDE void operator delete[](void *object, std::align_val_t) noexcept
{
	mam_kmalloc_give(object);
}

MAM_OVERRIDE void operator delete(void *object, size_t, std::align_val_t) noexcept
{
	mam_kmalloc_give(object);
}

MAM_OVERRIDE void operator delete[](void *object, size_t, std::align_val_t) noexcept
{
	mam_kmalloc_give(object);
}
#endif
#pragma nv_diagnostic pop
#endif
#undef MAM_OVERRIDE

#endif
#endif
