/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_launch_parameters.h - what the toolkit says by this name is in mam_cuda.h, as far as the tool needs it.
 */
#ifndef MAM_CO_DEVICE_LAUNCH_PARAMETERS_H
#define MAM_CO_DEVICE_LAUNCH_PARAMETERS_H

#include "mam_cuda.h"

#endif
