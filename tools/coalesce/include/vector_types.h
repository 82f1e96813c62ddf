/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_types.h - what the toolkit says by this name is in mam_cuda.h, as far as the tool needs it.
 */
#ifndef MAM_CO_VECTOR_TYPES_H
#define MAM_CO_VECTOR_TYPES_H

#include "mam_cuda.h"

#endif
