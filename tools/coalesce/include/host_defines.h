/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_defines.h - what the toolkit says by this name is in mam_cuda.h, as far as the tool needs it.
 */
#ifndef MAM_CO_HOST_DEFINES_H
#define MAM_CO_HOST_DEFINES_H

#include "mam_cuda.h"

#endif
