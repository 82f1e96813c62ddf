/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dedicated.h - which requests the driver serves itself, so that peers without mam can open the
 * memory (--ipc).
 */
#ifndef MAM_INTERPOSE_DEDICATED_H
#define MAM_INTERPOSE_DEDICATED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the driver serves requests of this size. */
bool mam_dedicated_serves_slow(size_t bytes);

/* atomic; smallest such size; 0: the option was not read yet; SIZE_MAX: no size at all */
extern _Atomic size_t mam_dedicated_from __attribute__((visibility("hidden")));

static inline bool mam_dedicated_serves(size_t bytes)
{
	return atomic_load_explicit(&mam_dedicated_from, memory_order_relaxed) != SIZE_MAX &&
	       mam_dedicated_serves_slow(bytes);
}

/*
 * Called when the program shares a block in a pool: with --ipc=dedicated, the driver serves requests
 * of its size from now on. Only for the first 64 sizes.
 */
void mam_dedicated_note(size_t bytes);

#endif
