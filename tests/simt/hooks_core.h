/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_core.h - the interface of instrumented builds to the simulator: each plain access.
 */
#ifndef MAM_TESTS_SIMT_HOOKS_CORE_H
#define MAM_TESTS_SIMT_HOOKS_CORE_H

#include <stdbool.h>
#include <stddef.h>

#include "device/port_simt.h"

/* Is a lane or a host thread of a world running? Accesses elsewhere are ignored. */
bool simt_inside(void);
/*
 * A scheduling point, and a race check if the launch enables it. `site` must live as long as the
 * program. Accesses to the caller's own stack are ignored.
 */
void simt_plain(const volatile void *where, size_t bytes, bool write, const char *site);
/* Is a host thread running? */
bool simt_on_host(void);
/*
 * An atomic of a host thread, as C11 defines it: 1, 2, 4 or 8 bytes; `otherwise` is the order of a
 * compare-and-swap that fails. A seq_cst write also executes a fence, as on x86-64 and ARM64; a
 * seq_cst load does not, and may be executed before an earlier write of a weaker order.
 */
uint64_t simt_host_atomic(volatile void *where, unsigned int bytes, enum simt_op op,
			  uint64_t operand, uint64_t expected, enum simt_order order,
			  enum simt_order otherwise, const char *site);
/*
 * Whether `where` is a thread-local variable of a host thread (host.h). If so, and a lane runs, the
 * variable has that lane's value from now on.
 */
bool simt_host_own(const volatile void *where);
/* At the start and the end of a run: these variables have the program's values. */
void simt_host_begin(void);

#endif
