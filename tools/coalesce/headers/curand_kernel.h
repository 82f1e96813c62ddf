/* SPDX-License-Identifier: Apache-2.0 */
/*
 * curand_kernel.h - random numbers in kernels: declarations only. The results are divergent.
 */
#ifndef MAM_CO_CURAND_KERNEL_H
#define MAM_CO_CURAND_KERNEL_H

#include "mam_cuda.h"

struct curandStateXORWOW {
	unsigned int d, v[5];
};
struct curandStatePhilox4_32_10 {
	uint4 ctr, output;
	uint2 key;
};
struct curandStateMRG32k3a {
	double s1[3], s2[3];
};
typedef struct curandStateXORWOW curandState;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
typedef struct curandStateMRG32k3a curandStateMRG32k3a_t;

template <class S>
MAM_CO_D void curand_init(unsigned long long, unsigned long long, unsigned long long, S *);
template <class S> MAM_CO_D unsigned int curand(S *);
template <class S> MAM_CO_D float curand_uniform(S *);
template <class S> MAM_CO_D double curand_uniform_double(S *);
template <class S> MAM_CO_D float curand_normal(S *);
template <class S> MAM_CO_D double curand_normal_double(S *);
template <class S> MAM_CO_D float2 curand_normal2(S *);
template <class S> MAM_CO_D float curand_log_normal(S *, float, float);
template <class S> MAM_CO_D unsigned int curand_poisson(S *, double);
template <class S> MAM_CO_D uint4 curand4(S *);
template <class S> MAM_CO_D float4 curand_uniform4(S *);
template <class S> MAM_CO_D void skipahead(unsigned long long, S *);

#endif
