/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.h - what may still be done for a request that found no memory.
 *
 *	struct mam_oom_walk walk = { 0 };
 *
 *	do
 *		status = ask the pool;
 *	while (status == MAM_ERROR_OUT_OF_MEMORY && mam_oom_again(&walk, pool, bytes));
 */
#ifndef MAM_API_OOM_H
#define MAM_API_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/pools.h>

/* How far one request has got; zeroed at its start. lock: thread, all fields */
struct mam_oom_walk {
	uint64_t serial;     /* of the callback asked last */
	uint64_t until;      /* newest callback there was when the first was asked */
	unsigned int tries;  /* count: how often that one was asked */
	bool begun;
};

/*
 * mam_oom_again - the pool answered OUT_OF_MEMORY: does something else help? True: ask the pool
 * once more; the failure it counted is taken back. Calls the program, so no lock may be held.
 */
bool mam_oom_again(struct mam_oom_walk *walk, struct mam_pool *handle, size_t bytes);

/* mam_oom_forget - the pool has ended: its callbacks go. */
void mam_oom_forget(const struct mam_pool *handle);

void mam_oom_fork_prepare(void);
void mam_oom_fork_parent(void);
void mam_oom_fork_child(void);

#endif
