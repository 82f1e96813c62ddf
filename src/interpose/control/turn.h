/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turn.h - this process takes turns on the GPU with others (mam share, <mam/control.h>).
 *
 * The gate is closed from the start. The first thread that is held starts a thread that joins: from
 * then on, mam share resumes and suspends the process. A process that never needs the GPU does not
 * join, and neither does a child of a fork until it needs it.
 * If mam share ends first, the process resumes as soon as it can, and continues alone.
 */
#ifndef MAM_INTERPOSE_TURN_H
#define MAM_INTERPOSE_TURN_H

#include <stdbool.h>

/* Whether this process takes turns. */
bool mam_turn_is_taken(void);

/* Called when the process first uses CUDA, and in the child of a fork. */
void mam_turn_start(void);
void mam_turn_restart(void);

#endif
