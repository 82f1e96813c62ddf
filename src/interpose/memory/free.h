/* SPDX-License-Identifier: Apache-2.0 */
/* free.h - frees a block of a pool, for all functions that free memory. */
#ifndef MAM_INTERPOSE_FREE_H
#define MAM_INTERPOSE_FREE_H

#include <stdbool.h>
#include <stddef.h>

#include "interpose/memory/account.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

struct mam_pools_entry;

enum mam_free_outcome {
	MAM_FREE_DONE,    /* the block is free, or `code` is the driver's error */
	MAM_FREE_FORWARD, /* it belongs to no pool: the caller must call the real function */
	MAM_FREE_REFUSE   /* the caller must call the real function for `block`, which it rejects */
};

/* One free in progress. */
struct mam_free_request {
	enum mam_table_id function;
	enum mam_road road;
	void *block;
	void *stream; /* set for a stream-ordered free */
	size_t bytes; /* of the block, once known */
	int device;   /* of the block, once known; -1 before */
	enum mam_why why;
	int code;
	bool is_ordered; /* ordered by `stream`: the free itself does not wait */
	bool is_noted;   /* it was on the account */
};

/*
 * mam_free_strictly - wait until all work of the block's context is done, then free. mam_free_later
 * - free through the quarantine, without a wait. mam_free_at_once - free immediately, without a
 * wait or the quarantine. The guard is up in all three.
 */
enum mam_free_outcome mam_free_strictly(struct mam_free_request *request);
enum mam_free_outcome mam_free_later(struct mam_free_request *request);
enum mam_free_outcome mam_free_at_once(struct mam_free_request *request);

/* Makes the driver reject the free for the reason `why`, if the block belongs to a pool. */
enum mam_free_outcome mam_free_refuse(struct mam_free_request *request, enum mam_why why);

/*
 * Called around the real function: memory of the driver leaves the account unless the free fails.
 */
void mam_free_before(struct mam_free_request *request, struct mam_account_noted *noted);
void mam_free_after(const struct mam_free_request *request, const struct mam_account_noted *noted);

/* Called when the program's answer is known. Most frees of pools need no call. */
void mam_free_report(const struct mam_free_request *request, enum mam_free_outcome outcome);
static inline void mam_free_watch(const struct mam_free_request *request,
				  enum mam_free_outcome outcome)
{
	if (outcome != MAM_FREE_DONE || request->code != MAM_CUDA_SUCCESS)
		mam_free_report(request, outcome);
}

#endif
