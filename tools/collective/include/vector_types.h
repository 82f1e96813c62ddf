/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vector_types.h - a name of the toolkit: see mam_cuda.h.
 */
#ifndef MAM_CO_VECTOR_TYPES_H
#define MAM_CO_VECTOR_TYPES_H

#include "mam_cuda.h"

#endif
