/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sites.h - the watcher that keeps the call sites with most live memory on the statistics page,
 * while mam ctl or mam top asks for them.
 *
 *   1. A request starts the watcher for some time, and a later one prolongs it. Without requests it
 *      is not active, and costs nothing.
 *   2. Allocations that pools serve are sampled by size (sample.h). The call site of a sampled block
 *      is found (stacks.h), and its block enters a ledger and the table (site_table.h).
 *   3. A free looks in the ledger. If the block was sampled, it is subtracted.
 *   4. The first sampled allocation after the end stops the watcher. So no thread has to wake up.
 *   5. The thread of mam ctl loads the unwinder before the watcher starts: a thread of the program may
 *      hold locks in which it must not load a library.
 *
 * Blocks of libmam's pools in the program are not sampled: their chunks are, as the heap of mam run
 * has them. A block that a call frees which mam does not intercept counts until its address is used
 * again.
 * Bound: 48 bytes per sampled live block, and MAM_STACKS_SITES names.
 */
#ifndef MAM_INTERPOSE_SITES_H
#define MAM_INTERPOSE_SITES_H

#include <stdint.h>

struct mam_watch_call;

/*
 * Samples for that many seconds or, if it already does, for at least so many; 0: no longer. Returns
 * NULL, or the reason for which it cannot. One thread calls it.
 */
const char *mam_sites_sample(uint64_t seconds);

void mam_sites_alloc(const struct mam_watch_call *call);
void mam_sites_free(const struct mam_watch_call *call);

/* Called when a context and all its memory are gone. */
void mam_sites_context_gone(void *context);

/* Called in the child of a fork, which does not sample. */
void mam_sites_restart(void);

#endif
