/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedicated.h - which requests are the driver's own, for peers without mam to open (--ipc).
 */
#ifndef MAM_INTERPOSE_DEDICATED_H
#define MAM_INTERPOSE_DEDICATED_H

#include <stddef.h>

/* Requests from this size on; SIZE_MAX: none. */
size_t mam_dedicated_from(void);

#endif
