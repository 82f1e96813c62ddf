/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam_cuda.h - declarations of CUDA for a parser without a toolkit: `mam coalesce` includes it
 * before each source. It is only parsed, never compiled to code: names and types are sufficient.
 *
 * 1. C's headers, whose functions kernels may call, by clang's own pragma.
 * 2. CUDA's keywords, as the attributes that clang knows.
 * 3. The device API: indices, vectors, barriers, votes, shuffles, atomics, mathematics, memory.
 * 4. The host API: launches, and the runtime's functions by name.
 *
 * A missing declaration is an error with its line. Then the toolkit's headers are tried.
 */
#ifndef MAM_CO_CUDA_H
#define MAM_CO_CUDA_H

#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ 12
#define __CUDACC_VER_MINOR__ 0
#define __CUDACC_VER_BUILD__ 0
#define CUDART_VERSION 12000
#define CUDA_VERSION 12000

/* Declared before the host's header declares it, so that kernels may name it. */
namespace std
{
struct nothrow_t;
extern __attribute__((device)) const nothrow_t nothrow;
}
#include <new>
/* C's own headers, not C++'s wrappers: these include templates, which are host functions. */
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <stdlib.h>
#pragma clang force_cuda_host_device begin
#include <assert.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#pragma clang force_cuda_host_device end
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS

/* ---- keywords -------------------------------------------------------------------------------- */

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __managed__ __attribute__((device)) __attribute__((annotate("managed")))
#define __launch_bounds__(...)
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __align__(n) __attribute__((aligned(n)))
/* Libraries also use these words in attributes, so they expand to nothing. */
#define __noinline__
#define __forceinline__ inline
#define __inline_hint__
#define __nv_pure__
#define CUDARTAPI
#define CUDART_CB
#define CUDA_CB

#define MAM_CO_D __attribute__((device))
#define MAM_CO_HD __attribute__((host)) __attribute__((device))

/* ---- vectors and indices --------------------------------------------------------------------- */

#define MAM_CO_VECTOR(name, type)                                                                \
	struct name##1 {                                                                         \
		type x;                                                                          \
	};                                                                                       \
	struct name##2 {                                                                         \
		type x, y;                                                                       \
	};                                                                                       \
	struct name##3 {                                                                         \
		type x, y, z;                                                                    \
	};                                                                                       \
	struct name##4 {                                                                         \
		type x, y, z, w;                                                                 \
	};                                                                                       \
	MAM_CO_HD name##1 make_##name##1(type);                                                  \
	MAM_CO_HD name##2 make_##name##2(type, type);                                            \
	MAM_CO_HD name##3 make_##name##3(type, type, type);                                      \
	MAM_CO_HD name##4 make_##name##4(type, type, type, type)

MAM_CO_VECTOR(char, signed char);
MAM_CO_VECTOR(uchar, unsigned char);
MAM_CO_VECTOR(short, short);
MAM_CO_VECTOR(ushort, unsigned short);
MAM_CO_VECTOR(int, int);
MAM_CO_VECTOR(uint, unsigned int);
MAM_CO_VECTOR(long, long);
MAM_CO_VECTOR(ulong, unsigned long);
MAM_CO_VECTOR(longlong, long long);
MAM_CO_VECTOR(ulonglong, unsigned long long);
MAM_CO_VECTOR(float, float);
MAM_CO_VECTOR(double, double);
#undef MAM_CO_VECTOR

struct dim3 {
	unsigned int x, y, z;
	MAM_CO_HD constexpr dim3(unsigned int x = 1, unsigned int y = 1, unsigned int z = 1)
	    : x(x), y(y), z(z)
	{
	}
	MAM_CO_HD constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z)
	{
	}
	MAM_CO_HD constexpr operator uint3() const
	{
		return uint3{ x, y, z };
	}
};

extern const MAM_CO_D uint3 threadIdx;
extern const MAM_CO_D uint3 blockIdx;
extern const MAM_CO_D dim3 blockDim;
extern const MAM_CO_D dim3 gridDim;
extern const MAM_CO_D int warpSize;

/* ---- barriers, fences, votes, shuffles ------------------------------------------------------- */

MAM_CO_D void __syncthreads();
MAM_CO_D int __syncthreads_count(int);
MAM_CO_D int __syncthreads_and(int);
MAM_CO_D int __syncthreads_or(int);
MAM_CO_D void __syncwarp(unsigned int = 0xffffffffu);
MAM_CO_D void __threadfence();
MAM_CO_D void __threadfence_block();
MAM_CO_D void __threadfence_system();
MAM_CO_D unsigned int __activemask();
MAM_CO_D unsigned int __ballot_sync(unsigned int, int);
MAM_CO_D int __any_sync(unsigned int, int);
MAM_CO_D int __all_sync(unsigned int, int);
MAM_CO_D unsigned int __ballot(int);
MAM_CO_D int __any(int);
MAM_CO_D int __all(int);
MAM_CO_D unsigned int __reduce_add_sync(unsigned int, unsigned int);
MAM_CO_D int __reduce_add_sync(unsigned int, int);
MAM_CO_D unsigned int __reduce_min_sync(unsigned int, unsigned int);
MAM_CO_D int __reduce_min_sync(unsigned int, int);
MAM_CO_D unsigned int __reduce_max_sync(unsigned int, unsigned int);
MAM_CO_D int __reduce_max_sync(unsigned int, int);
MAM_CO_D unsigned int __reduce_and_sync(unsigned int, unsigned int);
MAM_CO_D unsigned int __reduce_or_sync(unsigned int, unsigned int);
MAM_CO_D unsigned int __reduce_xor_sync(unsigned int, unsigned int);
template <class T> MAM_CO_D unsigned int __match_any_sync(unsigned int, T);
template <class T> MAM_CO_D unsigned int __match_all_sync(unsigned int, T, int *);
template <class T> MAM_CO_D T __shfl_sync(unsigned int, T, int, int = 32);
template <class T> MAM_CO_D T __shfl_up_sync(unsigned int, T, unsigned int, int = 32);
template <class T> MAM_CO_D T __shfl_down_sync(unsigned int, T, unsigned int, int = 32);
template <class T> MAM_CO_D T __shfl_xor_sync(unsigned int, T, int, int = 32);
template <class T> MAM_CO_D T __shfl(T, int, int = 32);
template <class T> MAM_CO_D T __shfl_up(T, unsigned int, int = 32);
template <class T> MAM_CO_D T __shfl_down(T, unsigned int, int = 32);
template <class T> MAM_CO_D T __shfl_xor(T, int, int = 32);

/* ---- atomics and loads ----------------------------------------------------------------------- */

/* Any operand that converts to the pointed-to type. */
template <class T> struct mam_co_same {
	typedef T type;
};
#define MAM_CO_ATOMIC(name)                                                                      \
	template <class T> MAM_CO_D T name(T *, typename mam_co_same<T>::type);                  \
	template <class T> MAM_CO_D T name##_block(T *, typename mam_co_same<T>::type);          \
	template <class T> MAM_CO_D T name##_system(T *, typename mam_co_same<T>::type);         \
	template <class T> MAM_CO_D T name(volatile T *, typename mam_co_same<T>::type)

MAM_CO_ATOMIC(atomicAdd);
MAM_CO_ATOMIC(atomicSub);
MAM_CO_ATOMIC(atomicExch);
MAM_CO_ATOMIC(atomicMin);
MAM_CO_ATOMIC(atomicMax);
MAM_CO_ATOMIC(atomicInc);
MAM_CO_ATOMIC(atomicDec);
MAM_CO_ATOMIC(atomicAnd);
MAM_CO_ATOMIC(atomicOr);
MAM_CO_ATOMIC(atomicXor);
#undef MAM_CO_ATOMIC
template <class T>
MAM_CO_D T atomicCAS(T *, typename mam_co_same<T>::type, typename mam_co_same<T>::type);
template <class T>
MAM_CO_D T atomicCAS(volatile T *, typename mam_co_same<T>::type, typename mam_co_same<T>::type);
template <class T>
MAM_CO_D T atomicCAS_block(T *, typename mam_co_same<T>::type, typename mam_co_same<T>::type);
template <class T>
MAM_CO_D T atomicCAS_system(T *, typename mam_co_same<T>::type, typename mam_co_same<T>::type);

template <class T> MAM_CO_D T __ldg(const T *);
template <class T> MAM_CO_D T __ldcg(const T *);
template <class T> MAM_CO_D T __ldca(const T *);
template <class T> MAM_CO_D T __ldcs(const T *);
template <class T> MAM_CO_D T __ldcv(const T *);
template <class T> MAM_CO_D void __stcg(T *, typename mam_co_same<T>::type);
template <class T> MAM_CO_D void __stcs(T *, typename mam_co_same<T>::type);
template <class T> MAM_CO_D void __stwb(T *, typename mam_co_same<T>::type);
template <class T> MAM_CO_D void __stwt(T *, typename mam_co_same<T>::type);
MAM_CO_D unsigned int __isGlobal(const void *);
MAM_CO_D unsigned int __isShared(const void *);
MAM_CO_D unsigned int __isConstant(const void *);
MAM_CO_D unsigned int __isLocal(const void *);
MAM_CO_D size_t __cvta_generic_to_shared(const void *);
MAM_CO_D size_t __cvta_generic_to_global(const void *);

/* ---- time, ends, bits ------------------------------------------------------------------------ */

MAM_CO_D long long clock64();
MAM_CO_D long long wall_clock64();
MAM_CO_D void __nanosleep(unsigned int);
MAM_CO_D unsigned long long __globaltimer();
MAM_CO_D void __trap();
MAM_CO_D void __brkpt();
MAM_CO_D int __popc(unsigned int);
MAM_CO_D int __popcll(unsigned long long);
MAM_CO_D int __ffs(int);
MAM_CO_D int __ffsll(long long);
MAM_CO_D int __clz(int);
MAM_CO_D int __clzll(long long);
MAM_CO_D unsigned int __brev(unsigned int);
MAM_CO_D unsigned long long __brevll(unsigned long long);
MAM_CO_D unsigned int __byte_perm(unsigned int, unsigned int, unsigned int);
MAM_CO_D unsigned int __funnelshift_l(unsigned int, unsigned int, unsigned int);
MAM_CO_D unsigned int __funnelshift_r(unsigned int, unsigned int, unsigned int);
MAM_CO_D int __mul24(int, int);
MAM_CO_D unsigned int __umul24(unsigned int, unsigned int);
MAM_CO_D int __mulhi(int, int);
MAM_CO_D unsigned int __umulhi(unsigned int, unsigned int);
MAM_CO_D long long __mul64hi(long long, long long);
MAM_CO_D unsigned long long __umul64hi(unsigned long long, unsigned long long);
MAM_CO_D int __float_as_int(float);
MAM_CO_D unsigned int __float_as_uint(float);
MAM_CO_D float __int_as_float(int);
MAM_CO_D float __uint_as_float(unsigned int);
MAM_CO_D long long __double_as_longlong(double);
MAM_CO_D double __longlong_as_double(long long);
MAM_CO_D int __double2int_rn(double);
MAM_CO_D int __float2int_rn(float);
MAM_CO_D int __float2int_rd(float);
MAM_CO_D int __float2int_ru(float);
MAM_CO_D int __float2int_rz(float);
MAM_CO_D unsigned int __float2uint_rn(float);
MAM_CO_D float __int2float_rn(int);
MAM_CO_D unsigned int __dp4a(unsigned int, unsigned int, unsigned int);
MAM_CO_D int __dp4a(int, int, int);

/* ---- mathematics that C does not have -------------------------------------------------------- */

/* Some C libraries have functions of these names. */
#define MAM_CO_1(name) MAM_CO_HD float name(float) noexcept
MAM_CO_1(__expf);
MAM_CO_1(__exp10f);
MAM_CO_1(__logf);
MAM_CO_1(__log2f);
MAM_CO_1(__log10f);
MAM_CO_1(__sinf);
MAM_CO_1(__cosf);
MAM_CO_1(__tanf);
MAM_CO_1(__saturatef);
MAM_CO_1(__frcp_rn);
MAM_CO_1(__fsqrt_rn);
MAM_CO_1(__frsqrt_rn);
MAM_CO_1(rsqrtf);
MAM_CO_1(normcdff);
MAM_CO_1(sinpif);
MAM_CO_1(cospif);
#undef MAM_CO_1
MAM_CO_D double rsqrt(double);
MAM_CO_D double normcdf(double);
MAM_CO_D double sinpi(double);
MAM_CO_D double cospi(double);
MAM_CO_HD float __powf(float, float) noexcept;
MAM_CO_D float __fdividef(float, float);
MAM_CO_D float __fadd_rn(float, float);
MAM_CO_D float __fmul_rn(float, float);
MAM_CO_D float __fdiv_rn(float, float);
MAM_CO_D float __fmaf_rn(float, float, float);
MAM_CO_D double __dadd_rn(double, double);
MAM_CO_D double __dmul_rn(double, double);
MAM_CO_D double __fma_rn(double, double, double);
MAM_CO_HD void __sincosf(float, float *, float *) noexcept;

#define MAM_CO_2(type)                                                                           \
	MAM_CO_HD type min(type, type);                                                          \
	MAM_CO_HD type max(type, type)
MAM_CO_2(int);
MAM_CO_2(unsigned int);
MAM_CO_2(long);
MAM_CO_2(unsigned long);
MAM_CO_2(long long);
MAM_CO_2(unsigned long long);
MAM_CO_2(float);
MAM_CO_2(double);
#undef MAM_CO_2
MAM_CO_HD unsigned int min(int, unsigned int);
MAM_CO_HD unsigned int min(unsigned int, int);
MAM_CO_HD unsigned int max(int, unsigned int);
MAM_CO_HD unsigned int max(unsigned int, int);
MAM_CO_HD unsigned long min(int, unsigned long);
MAM_CO_HD unsigned long min(unsigned long, int);
MAM_CO_HD unsigned long max(int, unsigned long);
MAM_CO_HD unsigned long max(unsigned long, int);
MAM_CO_HD double min(float, double);
MAM_CO_HD double min(double, float);
MAM_CO_HD double max(float, double);
MAM_CO_HD double max(double, float);

/* ---- memory: separate from the host's, because a source may define its own ------------------- */

extern "C" {
MAM_CO_D void *malloc(size_t) noexcept;
MAM_CO_D void *calloc(size_t, size_t) noexcept;
MAM_CO_D void *realloc(void *, size_t) noexcept;
MAM_CO_D void free(void *) noexcept;
MAM_CO_D int abs(int) noexcept;
MAM_CO_D long labs(long) noexcept;
MAM_CO_D long long llabs(long long) noexcept;
MAM_CO_D void abort() noexcept __attribute__((noreturn));
}

/* ---- new, if the host's own is not available to kernels -------------------------------------- */

MAM_CO_D void *operator new(size_t, void *) noexcept;
MAM_CO_D void *operator new[](size_t, void *) noexcept;
MAM_CO_D void *operator new(size_t, const std::nothrow_t &) noexcept;
MAM_CO_D void *operator new[](size_t, const std::nothrow_t &) noexcept;
MAM_CO_D void operator delete(void *, void *) noexcept;
MAM_CO_D void operator delete[](void *, void *) noexcept;
MAM_CO_D void operator delete(void *, const std::nothrow_t &) noexcept;
MAM_CO_D void operator delete[](void *, const std::nothrow_t &) noexcept;

#include "mam_cuda_host.h"

/* Last, so that malloc and free of device code are in std, too. */
#include <cstdlib>

#endif
