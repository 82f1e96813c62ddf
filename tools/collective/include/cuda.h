/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda.h - a name of the toolkit: see mam_cuda.h.
 */
#ifndef MAM_CO_CUDA_H
#define MAM_CO_CUDA_H

#include "mam_cuda.h"

#endif
