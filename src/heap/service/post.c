/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post.c - a mailbox backed by a pool (post.h): post_look.h implements the protocol.
 *
 * The post's lock protects every access to the box. A look may hold it during one call of the pool
 * for new memory: a millisecond for 64 MiB. No thread waits for a kernel while it holds the lock.
 *
 * Around a fork nothing is locked here. In the child the service notifies each post that it is a
 * copy: its lock is reinitialized, it sends no replies, and its end frees only the metadata.
 */
#include "heap/service/post.h"

#include <stdlib.h>

#include "api/prompt.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "pool/pool.h"
#include "heap/service/copy.h"
#include "heap/service/post_look.h"
#include "heap/service/post_quiet.h"
#include "heap/service/service.h"
#include "heap/service/shared.h"
#include "heap/service/zero.h"

/* How long another thread may be in the pool's source before memory counts as exhausted. */
#define PATIENCE_NS 10000000u

struct mam_post {
	struct mam_service_client client; /* first */
	/* lock: none, set by mam_post_create() */
	struct mam_pool *pool;
	struct mam_copy reach;    /* to the device to which the mailbox is mapped */
	struct mam_shared shared; /* the mailbox, then zeros */
	bool copied;              /* set in a fork's child */
	struct mam_lock lock;
	struct mam_post_box box; /* lock: post, as `zero` */
	struct mam_zero zero;
};

/* Of the zeros, after the mailbox. */
#define ZEROS_OFFSET ((sizeof(struct mam_mail) + 4095) / 4096 * 4096)

/* A source defined by the program may need the context for new memory. */
static enum mam_status take_new(struct mam_post *post, uint64_t bytes, uint64_t alignment,
				void **block)
{
	struct mam_device_visit visit;
	struct mam_device_answer answer = mam_device_enter(&post->reach.device, &visit);
	enum mam_status status;

	if (answer.result != MAM_DRIVER_SUCCESS)
		return mam_device_status(&post->reach.device, answer);
	status = mam_prompt_alloc(post->pool, bytes, alignment, PATIENCE_NS, block);
	mam_device_leave(&post->reach.device, &visit);
	return status;
}

static enum mam_status take(void *user, uint64_t bytes, uint64_t alignment, bool may_grow,
			    uint64_t *address)
{
	struct mam_post *post = user;
	enum mam_status status;
	void *block = NULL;

	if (bytes > SIZE_MAX)
		return MAM_ERROR_OUT_OF_MEMORY;
	status = may_grow ? take_new(post, bytes, alignment, &block)
			  : mam_prompt_alloc_here(post->pool, bytes, alignment, &block);
	if (status == MAM_OK)
		*address = (uintptr_t)block;
	return status;
}

/* An abandoned pool has nothing to free. */
static void give(void *user, uint64_t address)
{
	struct mam_post *post = user;
	enum mam_status status = mam_prompt_free(post->pool, (void *)(uintptr_t)address);

	if (status != MAM_OK && status != MAM_ERROR_DESTROYED)
		mam_log(MAM_LOG_WARN,
			"cannot free a heap's block at %#llx to its pool: %s; do not "
			"pass kernels' objects to mam_free()",
			(unsigned long long)address, mam_status_name(status));
}

static enum mam_status zero(void *user, uint64_t address, uint64_t bytes)
{
	struct mam_post *post = user;

	return mam_zero_memory(&post->zero, (uintptr_t)address, (size_t)bytes);
}

static bool look(struct mam_service_client *client)
{
	struct mam_post *post = (struct mam_post *)client;
	bool any;

	mam_lock_take(&post->lock);
	any = mam_post_look(&post->box);
	mam_lock_release(&post->lock);
	return any;
}

static bool spare(struct mam_service_client *client)
{
	struct mam_post *post = (struct mam_post *)client;
	bool any;

	mam_lock_take(&post->lock);
	any = mam_post_ahead(&post->box, mam_clock_ns(), true);
	mam_lock_release(&post->lock);
	return any;
}

static void forked(struct mam_service_client *client)
{
	struct mam_post *post = (struct mam_post *)client;

	mam_lock_reinit(&post->lock);
	post->copied = true;
}

/* After this, undo by ending the box, the mailbox and the reach. */
static enum mam_status start(struct mam_post *post, const struct mam_post_config *config)
{
	enum mam_status status;

	mam_post_open(&post->box, post->shared.at, config,
		      (struct mam_post_pool){ take, give, zero, post });
	while (mam_post_ahead(&post->box, mam_clock_ns(), true))
		;
	status = mam_service_add(&post->client);
	if (status != MAM_OK)
		mam_post_close(&post->box);
	return status;
}

enum mam_status mam_post_create(struct mam_pool *pool, const struct mam_post_config *config,
				struct mam_post **post)
{
	struct mam_post *made = calloc(1, sizeof(*made));
	enum mam_status status;

	if (!made)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	made->client =
		(struct mam_service_client){ .look = look, .spare = spare, .forked = forked };
	made->pool = pool;
	mam_lock_init(&made->lock, MAM_RANK_POST, "post");
	status = mam_copy_bind(&made->reach, pool->source);
	if (status != MAM_OK)
		goto no_reach;
	status = mam_shared_map(&made->reach.device, ZEROS_OFFSET + MAM_ZERO_BYTES, &made->shared);
	if (status != MAM_OK)
		goto no_mail;
	status = mam_zero_open(&made->zero, &made->reach,
			       (const char *)made->shared.at + ZEROS_OFFSET);
	if (status != MAM_OK)
		goto no_zero;
	status = start(made, config);
	if (status != MAM_OK)
		goto no_start;
	*post = made;
	return MAM_OK;

no_start:
	mam_zero_close(&made->zero);
no_zero:
	mam_shared_unmap(&made->reach.device, &made->shared);
no_mail:
	mam_copy_unbind(&made->reach);
no_reach:
	mam_lock_fini(&made->lock);
	free(made);
	return status;
}

struct mam_mail *mam_post_mail(const struct mam_post *post)
{
	return post->shared.at;
}

void mam_post_count(struct mam_post *post, struct mam_post_counts *counts)
{
	mam_lock_take(&post->lock);
	*counts = post->box.counts;
	mam_lock_release(&post->lock);
}

uint32_t mam_post_part_tables(struct mam_post *post, uint64_t *at)
{
	uint32_t tables;

	mam_lock_take(&post->lock);
	tables = post->box.part_tables;
	memcpy(at, post->box.part_table, tables * sizeof(*at));
	mam_lock_release(&post->lock);
	return tables;
}

uint32_t mam_post_large_tables(struct mam_post *post, uint64_t *at)
{
	uint32_t tables;

	mam_lock_take(&post->lock);
	tables = post->box.tables;
	for (uint32_t i = 0; i < tables; i++)
		at[i] = post->box.table[i].at;
	mam_lock_release(&post->lock);
	return tables;
}

enum mam_status mam_post_retract(struct mam_post *post, uint64_t taken, uint64_t *bytes)
{
	bool done;

	mam_lock_take(&post->lock);
	done = mam_post_take_back(&post->box, taken, bytes);
	mam_lock_release(&post->lock);
	mam_service_stir();
	return done ? MAM_OK : MAM_ERROR_INVALID_VALUE;
}

enum mam_status mam_post_return(struct mam_post *post, uint64_t space, uint64_t *bytes)
{
	bool done;

	mam_lock_take(&post->lock);
	done = mam_post_give_back(&post->box, space, bytes);
	mam_lock_release(&post->lock);
	return done ? MAM_OK : MAM_ERROR_NOT_OWNED;
}

void mam_post_clear(struct mam_post *post, uint64_t *bytes)
{
	mam_lock_take(&post->lock);
	mam_zero_wait(&post->zero);
	mam_post_forget(&post->box, bytes);
	mam_lock_release(&post->lock);
	mam_service_stir();
}

void mam_post_destroy(struct mam_post *post)
{
	if (!post)
		return;
	mam_service_remove(&post->client);
	if (post->copied) {
		mam_post_leave(&post->box);
	} else {
		mam_zero_close(&post->zero);
		mam_post_close(&post->box);
	}
	mam_shared_unmap(&post->reach.device, &post->shared);
	mam_copy_unbind(&post->reach);
	mam_lock_fini(&post->lock);
	free(post);
}
