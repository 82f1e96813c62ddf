/* SPDX-License-Identifier: Apache-2.0 */
/*
 * math_constants.h - replaces the toolkit's header of this name: see mam_cuda.h.
 */
#ifndef MAM_CO_MATH_CONSTANTS_H
#define MAM_CO_MATH_CONSTANTS_H

#include "mam_cuda.h"
#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_NAN __builtin_nan("")
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931

#endif
