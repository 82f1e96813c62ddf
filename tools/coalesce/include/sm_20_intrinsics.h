/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sm_20_intrinsics.h - what the toolkit says by this name is in mam_cuda.h, as far as the tool needs it.
 */
#ifndef MAM_CO_SM_20_INTRINSICS_H
#define MAM_CO_SM_20_INTRINSICS_H

#include "mam_cuda.h"

#endif
