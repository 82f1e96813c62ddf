/* SPDX-License-Identifier: Apache-2.0 */
/*
 * free.h - giving a block back, for those who free under other names.
 */
#ifndef MAM_INTERPOSE_FREE_H
#define MAM_INTERPOSE_FREE_H

#include <stdbool.h>
#include <stddef.h>

#include "interpose/memory/account.h"
#include "interpose/routes/table.h"
#include "interpose/watch/watch.h"

struct mam_pools_entry;

enum mam_free_outcome {
	MAM_FREE_DONE,    /* the block is free, or `code` is the driver's answer */
	MAM_FREE_FORWARD, /* no pool's: the real function is to be asked */
	MAM_FREE_REFUSE   /* the real function is to be asked for `block`, which it refuses */
};

/* One free on its way. */
struct mam_free_request {
	enum mam_table_id function;
	enum mam_road road;
	void *block;
	void *stream; /* of a stream-ordered free */
	size_t bytes; /* of the block, once it is known */
	enum mam_why why;
	int code;
	bool is_ordered; /* in the order of `stream`: the free itself waits for nothing */
	bool is_noted;   /* it was on the account */
};

/*
 * mam_free_strictly - wait until all work of the block's context is done, then free.
 * mam_free_later - without a wait, by quarantine. mam_free_at_once - without either. The guard is up
 * in all.
 */
enum mam_free_outcome mam_free_strictly(struct mam_free_request *request);
enum mam_free_outcome mam_free_later(struct mam_free_request *request);
enum mam_free_outcome mam_free_at_once(struct mam_free_request *request);

/* The driver is to refuse the free for the reason `why`, if the block belongs to a pool. */
enum mam_free_outcome mam_free_refuse(struct mam_free_request *request, enum mam_why why);

/* Around the real function: memory of the driver's goes off the account, unless it refuses. */
void mam_free_before(struct mam_free_request *request, struct mam_account_noted *noted);
void mam_free_after(const struct mam_free_request *request,
		    const struct mam_account_noted *noted);

/* After a call that a pool answered, or the real function refused. */
void mam_free_watch(const struct mam_free_request *request, enum mam_free_outcome outcome,
		    int answer);

#endif
