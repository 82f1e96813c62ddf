/* SPDX-License-Identifier: Apache-2.0 */
/*
 * builtin_types.h - replaces the toolkit's header of this name: see mam_cuda.h.
 */
#ifndef MAM_CO_BUILTIN_TYPES_H
#define MAM_CO_BUILTIN_TYPES_H

#include "mam_cuda.h"

#endif
