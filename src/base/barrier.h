/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.h - membarrier(2): one thread executes a full memory fence in all threads of the process.
 * The other threads then need no fence. Older kernels and seccomp filters reject the call.
 */
#ifndef MAM_BASE_BARRIER_H
#define MAM_BASE_BARRIER_H

#include <stdbool.h>

/*
 * mam_barrier_prepare - registers with the kernel, once; a process with one thread did when it
 * loaded this code. False: threads must fence themselves.
 */
bool mam_barrier_prepare(void);

/* mam_barrier_all - the fence. Does nothing if threads use their own fences. */
void mam_barrier_all(void);

/* mam_barrier_refuse - for tests: prepare returns !refuse from now on. */
void mam_barrier_refuse(bool refuse);

#endif
