/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end.h - the reports of the watchers when the process ends, however it ends. They use host memory
 * alone: by then CUDA is shut down or shutting down.
 */
#ifndef MAM_INTERPOSE_END_H
#define MAM_INTERPOSE_END_H

/* Called once, when the process first uses CUDA. */
void mam_end_start(void);

/* Called in the child of a fork, to report again. */
void mam_end_restart(void);

#endif
