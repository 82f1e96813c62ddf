/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_atomic_functions.h - replaces the toolkit's header of this name: see mam_cuda.h.
 */
#ifndef MAM_CO_DEVICE_ATOMIC_FUNCTIONS_H
#define MAM_CO_DEVICE_ATOMIC_FUNCTIONS_H

#include "mam_cuda.h"

#endif
