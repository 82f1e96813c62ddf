/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_runtime.h - a name of the toolkit: see mam_cuda.h.
 */
#ifndef MAM_CO_CUDA_RUNTIME_H
#define MAM_CO_CUDA_RUNTIME_H

#include "mam_cuda.h"

#endif
