/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_functions.h - what the toolkit says by this name is in mam_cuda.h, as far as the tool needs it.
 */
#ifndef MAM_CO_DEVICE_FUNCTIONS_H
#define MAM_CO_DEVICE_FUNCTIONS_H

#include "mam_cuda.h"

#endif
