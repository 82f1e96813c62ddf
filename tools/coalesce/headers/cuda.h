/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - replaces the toolkit's header of this name: see mam_cuda.h.
 */
#ifndef MAM_CO_CUDA_H
#define MAM_CO_CUDA_H

#include "mam_cuda.h"

#endif
