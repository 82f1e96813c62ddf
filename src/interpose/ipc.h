/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.h - blocks of pools shared between processes.
 */
#ifndef MAM_INTERPOSE_IPC_H
#define MAM_INTERPOSE_IPC_H

#include <stddef.h>

/* Requests from this size on get memory of the driver's own (--ipc=dedicated); SIZE_MAX: none. */
size_t mam_ipc_dedicated_from(void);

/* The process ends: the table that peers read goes. Host data only. */
void mam_ipc_finish(void);

#endif
