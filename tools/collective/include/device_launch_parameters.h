/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_launch_parameters.h - a name of the toolkit: see mam_cuda.h.
 */
#ifndef MAM_CO_DEVICE_LAUNCH_PARAMETERS_H
#define MAM_CO_DEVICE_LAUNCH_PARAMETERS_H

#include "mam_cuda.h"

#endif
