/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.h - blocks of pools shared between processes.
 */
#ifndef MAM_INTERPOSE_IPC_H
#define MAM_INTERPOSE_IPC_H

/* The process ends: what peers read of it goes. Host data only. */
void mam_ipc_finish(void);

#endif
