/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_core.h - the interface of instrumented builds to the simulator: each plain access.
 */
#ifndef MAM_TESTS_SIMT_HOOKS_CORE_H
#define MAM_TESTS_SIMT_HOOKS_CORE_H

#include <stdbool.h>
#include <stddef.h>

/* Is a lane or a host thread of a world running? Accesses elsewhere are ignored. */
bool simt_inside(void);
/*
 * A scheduling point, and a race check if the launch enables it. `site` must live as long as the
 * program. Accesses to the caller's own stack are ignored.
 */
void simt_plain(const volatile void *where, size_t bytes, bool write, const char *site);

#endif
