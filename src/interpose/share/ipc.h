/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.h - blocks of pools shared between processes.
 */
#ifndef MAM_INTERPOSE_IPC_H
#define MAM_INTERPOSE_IPC_H

/* Called when the process ends: removes the notes that peers read. Uses host data only. */
void mam_ipc_finish(void);

#endif
