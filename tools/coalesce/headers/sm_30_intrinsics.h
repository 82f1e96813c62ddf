/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sm_30_intrinsics.h - replaces the toolkit's header of this name: see mam_cuda.h.
 */
#ifndef MAM_CO_SM_30_INTRINSICS_H
#define MAM_CO_SM_30_INTRINSICS_H

#include "mam_cuda.h"

#endif
