/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_runtime_api.h - replaces the toolkit's header of this name: see mam_cuda.h.
 */
#ifndef MAM_CO_CUDA_RUNTIME_API_H
#define MAM_CO_CUDA_RUNTIME_API_H

#include "mam_cuda.h"

#endif
