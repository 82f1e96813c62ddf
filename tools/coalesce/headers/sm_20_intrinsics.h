/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sm_20_intrinsics.h - replaces the toolkit's header of this name: see mam_cuda.h.
 */
#ifndef MAM_CO_SM_20_INTRINSICS_H
#define MAM_CO_SM_20_INTRINSICS_H

#include "mam_cuda.h"

#endif
