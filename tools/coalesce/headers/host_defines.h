/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_defines.h - replaces the toolkit's header of this name: see mam_cuda.h.
 */
#ifndef MAM_CO_HOST_DEFINES_H
#define MAM_CO_HOST_DEFINES_H

#include "mam_cuda.h"

#endif
