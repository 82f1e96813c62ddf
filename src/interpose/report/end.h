/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end.h - what the watchers say when the process ends, whichever way it does. It is made from host
 * memory alone: by then CUDA is gone or going.
 */
#ifndef MAM_INTERPOSE_END_H
#define MAM_INTERPOSE_END_H

/* Once, when CUDA's name is first heard. */
void mam_end_start(void);

/* In the child of a fork, once more. */
void mam_end_restart(void);

#endif
