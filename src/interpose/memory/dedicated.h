/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedicated.h - which requests the driver serves itself, so that peers without mam can open the
 * memory (--ipc).
 */
#ifndef MAM_INTERPOSE_DEDICATED_H
#define MAM_INTERPOSE_DEDICATED_H

#include <stddef.h>

/* Returns the size at which those requests start; SIZE_MAX: the driver serves none of them. */
size_t mam_dedicated_from(void);

#endif
