/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.h - membarrier(2): a full memory fence in all threads of the process, executed by one of
 * them. The others then need none. Older kernels and seccomp filters refuse it.
 */
#ifndef MAM_BASE_BARRIER_H
#define MAM_BASE_BARRIER_H

#include <stdbool.h>

/* mam_barrier_prepare - asks the system for it, once. False: threads must fence for themselves. */
bool mam_barrier_prepare(void);

/* mam_barrier_all - the fence. Does nothing where threads fence for themselves. */
void mam_barrier_all(void);

/* mam_barrier_refuse - for tests: what prepare returns from now on, inverted. */
void mam_barrier_refuse(bool refuse);

#endif
