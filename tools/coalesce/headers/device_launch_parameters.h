/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_launch_parameters.h - replaces the toolkit's header of this name: see mam_cuda.h.
 */
#ifndef MAM_CO_DEVICE_LAUNCH_PARAMETERS_H
#define MAM_CO_DEVICE_LAUNCH_PARAMETERS_H

#include "mam_cuda.h"

#endif
