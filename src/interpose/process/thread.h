/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - threads of mam in the program. */
#ifndef MAM_INTERPOSE_THREAD_H
#define MAM_INTERPOSE_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Starts a detached thread in which all signals are blocked: the program's handlers run in its own
 * threads. Returns false if the system refuses it.
 */
bool mam_thread_start(size_t stack_bytes, void *(*run)(void *unused));

#endif
