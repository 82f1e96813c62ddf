/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kmalloc_override.cuh - malloc, free, calloc, realloc, new and delete in kernels, from a heap.
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
 * What it does. In the compiler's passes for a device it defines those functions, which otherwise
 * are the toolkit's; in its pass for the host it defines none of them. So code of kernels and what
 * they call, also through std:: and from headers, gets memory of the heap, and host code in the
 * same file, also of functions that are __host__ __device__, keeps its own malloc and new. There
 * are no macros: members and functions of other namespaces that are called free or malloc are what
 * they were, and so is placement new. It may stand before or after other headers.
 *
 * Which files. Each that includes it. In a program built with -rdc=true all of them share one
 * setting, so mam_kmalloc_use() is called once for each device; include it in all files then: of
 * the others it is not defined which allocator they get. Without -rdc each file has a setting of
 * its own, and calls mam_kmalloc_use() itself.
 *
 * Answers. As of mam_kmalloc() and its kin (heap.cuh): malloc(0) is NULL; free() of what is no
 * object of the heap, the toolkit's for one, does nothing and is counted. Without a heap, malloc(),
 * calloc() and realloc() give NULL and free() does nothing. Where there is no room new gives NULL
 * too; but a constructor then writes there, as C++ has no check behind a new that may throw: write
 * new (std::nothrow_t{}) T, which checks. A type of larger alignment than 16 may have up to 8 KiB
 * of it; objects above 8 KiB up to 1 KiB of it; what cannot be had is NULL.
 *
 * nvcc 11.8 and later, and clang as far as it knows the toolkit's headers; C++11 and later.
 */
#ifndef MAM_KMALLOC_OVERRIDE_CUH
#define MAM_KMALLOC_OVERRIDE_CUH

/* They declare what is defined below. */
#include <cstdlib>
#include <new>

#include <mam/heap.cuh>

/*
 * Where the setting is: one word of the device. In an inline function it is one for all files that
 * the device's linker brings together; a variable of that kind would need C++17.
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
 * mam_kmalloc_use - from now on kernels on the current device that are linked with this file get
 * memory of `heap`; NULL: none. Kernels that are running may see either.
 *
 * It must be a heap of objects, on the current device, and stay until they are done. What they got
 * from another heap before cannot be given back after the change. Works on the legacy default
 * stream and waits for that, so not while one is in capture. Errors: DRIVER (no kernel could be
 * launched; cudaGetLastError() has been asked).
 */
static inline enum mam_status mam_kmalloc_use(const struct mam_heap *heap)
{
	mam_kmalloc_set<<<1, 1, 0, cudaStreamLegacy>>>(mam_heap_device(heap));
	if (cudaGetLastError() != cudaSuccess ||
	    cudaStreamSynchronize(cudaStreamLegacy) != cudaSuccess)
		return MAM_ERROR_DRIVER;
	return MAM_OK;
}

/* The heap that is set, for mam_kusable() and other calls of heap.cuh; NULL: none. */
MAM_KFN struct mam_kheap *mam_kmalloc_heap(void)
{
	return *mam_kmalloc_setting();
}

/* Not inlined, as programs that call malloc() do so in many places. */
MAM_KSLOW void *mam_kmalloc_get(size_t bytes)
{
	return mam_kmalloc(mam_kmalloc_heap(), bytes);
}

MAM_KSLOW void mam_kmalloc_give(void *object)
{
	(void)mam_kfree(mam_kmalloc_heap(), object);
}

/*
 * What `bytes` at a multiple of `alignment`, a power of two, are asked for as: more, or 0 if no
 * such object can be had. An object of a power of two up to 8 KiB lies at a multiple of its size.
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
 * The toolkit declares them for both sides, so they are defined where there is no host. clang has
 * functions of one name for either side, and wants both in either pass. Always inlined, they are no
 * symbols that files without this header would find.
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
