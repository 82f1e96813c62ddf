/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom.h - what mam tries before a request fails for lack of memory.
 *
 *	struct mam_oom_walk walk = { 0 };
 *
 *	do
 *		status = allocate from the pool;
 *	while (status == MAM_ERROR_OUT_OF_MEMORY && mam_oom_again(&walk, pool, bytes));
 */
#ifndef MAM_API_OOM_H
#define MAM_API_OOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/pools.h>

/* The progress of one request; zeroed at its start. lock: thread, all fields */
struct mam_oom_walk {
	uint64_t spilled;   /* since when the last pool that was spilled waited */
	uint64_t serial;    /* of the last callback called */
	uint64_t until;     /* newest callback at the first call */
	unsigned int tries; /* count: calls of the callback `serial` */
	bool begun;
};

/*
 * mam_oom_again - after the pool returned OUT_OF_MEMORY. True: retry the request; the failure that
 * the pool counted is undone. Calls the program, so no lock may be held.
 */
bool mam_oom_again(struct mam_oom_walk *walk, struct mam_pool *handle, size_t bytes);

/*
 * mam_oom_unpin_others - free the host memory that other pools keep for their next suspend. Returns
 * false if there was none.
 */
bool mam_oom_unpin_others(const struct mam_pool *handle);

/* mam_oom_forget - removes the callbacks of a pool that has ended. */
void mam_oom_forget(const struct mam_pool *handle);

void mam_oom_fork_prepare(void);
void mam_oom_fork_parent(void);
void mam_oom_fork_child(void);

#endif
