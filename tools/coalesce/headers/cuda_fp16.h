/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_fp16.h - half precision: declarations only.
 */
#ifndef MAM_CO_CUDA_FP16_H
#define MAM_CO_CUDA_FP16_H

#include "mam_cuda.h"

struct __half {
	unsigned short bits;
	__half() = default;
	MAM_CO_HD __half(float);
	MAM_CO_HD operator float() const;
};
struct __half2 {
	__half x, y;
};
typedef __half half;
typedef __half2 half2;
MAM_CO_HD __half __float2half(float);
MAM_CO_HD float __half2float(__half);
MAM_CO_HD __half2 __floats2half2_rn(float, float);
MAM_CO_D __half __hadd(__half, __half);
MAM_CO_D __half __hmul(__half, __half);
MAM_CO_D __half __hfma(__half, __half, __half);
MAM_CO_D __half2 __hadd2(__half2, __half2);
MAM_CO_D __half2 __hmul2(__half2, __half2);

#endif
