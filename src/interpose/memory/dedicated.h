/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedicated.h - which requests the driver serves itself, so that peers without mam can open the
 * memory (--ipc).
 */
#ifndef MAM_INTERPOSE_DEDICATED_H
#define MAM_INTERPOSE_DEDICATED_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the driver serves requests of this size. */
bool mam_dedicated_serves(size_t bytes);

/*
 * Called when the program shares a block in a pool: with --ipc=dedicated, the driver serves requests
 * of its size from now on. Only for the first 64 sizes.
 */
void mam_dedicated_note(size_t bytes);

#endif
