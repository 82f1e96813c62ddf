/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve.h - the thread that serves mam ctl (<mam/control.h>).
 *
 * It starts with the first pool of the process, and sleeps in accept() until a request arrives. A
 * program without CUDA does not have it, and one that has a pool has threads of the driver. It runs
 * mam's functions as a thread of the program would: it holds no lock while it waits for a client,
 * so it can delay neither the other threads nor a fork. The process does not wait for it when it
 * exits.
 *
 * The thread uses the program's descriptors, because the driver's functions need them
 * (unshare(CLONE_FILES) is impossible); socket.h explains what happens if the program closes them.
 */
#ifndef MAM_INTERPOSE_SERVE_H
#define MAM_INTERPOSE_SERVE_H

/* Called when the process creates its first pool. Without a socket or a thread, nothing happens. */
void mam_serve_start(void);

/* Called in the child of a fork, which has no such thread. */
void mam_serve_restart(void);

#endif
