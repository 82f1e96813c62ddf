/* SPDX-License-Identifier: Apache-2.0 */
/*
 * post_kit.h - fixture of the mailbox tests: the test is the device, and the pool fails or returns
 * wrong addresses on request. The pool knows every block that it allocated, and ends the program
 * if a block is freed that it did not allocate.
 */
#ifndef MAM_TESTS_HEAP_POST_KIT_H
#define MAM_TESTS_HEAP_POST_KIT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "heap/service/post_look.h"
#include "heap/service/post_quiet.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)
#define KIT_BLOCKS 4096u
#define KIT_NEVER (~0u)

/* An allocated block of the pool. */
struct kit_block {
	uint64_t address, bytes;
};

struct kit_pool {
	struct kit_block block[KIT_BLOCKS];
	unsigned int blocks;
	uint64_t next;                   /* address of the next block */
	uint64_t mapped;                 /* bytes available without new memory */
	uint64_t max;                    /* larger requests fail; 0: no limit */
	unsigned int fails;              /* calls until one fails; KIT_NEVER */
	unsigned int takes, news, gives; /* counts */
	uint64_t lies;                   /* added to the returned address */
	unsigned int slow;               /* calls of `zero` until memory is zero */
	unsigned int zeros;              /* count of those calls */
	bool unzeroable, no_tables, gone;
};

static inline enum mam_status kit_take(void *user, uint64_t bytes, uint64_t alignment,
				       bool may_grow, uint64_t *address)
{
	struct kit_pool *pool = user;

	pool->takes++;
	pool->news += may_grow;
	if (pool->gone)
		return MAM_ERROR_DESTROYED;
	if (pool->no_tables && alignment == MAM_PAGES_LINE)
		return may_grow ? MAM_ERROR_OUT_OF_MEMORY : MAM_ERROR_WOULD_WAIT;
	if (pool->fails != KIT_NEVER && pool->fails-- == 0) {
		pool->fails = KIT_NEVER;
		return may_grow ? MAM_ERROR_DRIVER : MAM_ERROR_WOULD_WAIT;
	}
	if (!may_grow && bytes > pool->mapped)
		return MAM_ERROR_WOULD_WAIT;
	if ((pool->max != 0 && bytes > pool->max) || pool->blocks == KIT_BLOCKS)
		return MAM_ERROR_OUT_OF_MEMORY;
	pool->mapped -= pool->mapped >= bytes ? bytes : 0;
	pool->next = (pool->next + alignment - 1) / alignment * alignment;
	pool->block[pool->blocks++] = (struct kit_block){ pool->next + pool->lies, bytes };
	*address = pool->next + pool->lies;
	pool->next += bytes;
	return MAM_OK;
}

static inline void kit_give(void *user, uint64_t address)
{
	struct kit_pool *pool = user;

	pool->gives++;
	for (unsigned int i = 0; i < pool->blocks; i++)
		if (pool->block[i].address == address) {
			pool->block[i] = pool->block[--pool->blocks];
			return;
		}
	ck_abort_msg("%#llx was freed, but never allocated", (unsigned long long)address);
}

/* Only for memory of the pool. */
static inline enum mam_status kit_zero(void *user, uint64_t address, uint64_t bytes)
{
	struct kit_pool *pool = user;
	unsigned int i;

	for (i = 0; i < pool->blocks; i++)
		if (address >= pool->block[i].address &&
		    address + bytes <= pool->block[i].address + pool->block[i].bytes)
			break;
	ck_assert_uint_lt(i, pool->blocks);
	if (pool->unzeroable)
		return MAM_ERROR_DRIVER;
	return pool->zeros++ < pool->slow ? MAM_ERROR_WOULD_WAIT : MAM_OK;
}

struct kit {
	struct mam_mail mail;
	struct mam_post_box box;
	struct kit_pool pool;
	uint64_t asks, taken; /* of the device */
	uint64_t generation[MAM_MAIL_SLOTS];
};

static inline struct kit *kit_new(const struct mam_post_config *config)
{
	struct mam_post_config with_table = *config;
	struct kit *kit = calloc(1, sizeof(*kit));

	ck_assert_ptr_nonnull(kit);
	with_table.large = MIB;
	kit->pool.next = GIB;
	kit->pool.fails = KIT_NEVER;
	kit->pool.mapped = 1024 * GIB;
	mam_post_open(&kit->box, &kit->mail, &with_table,
		      (struct mam_post_pool){ kit_take, kit_give, kit_zero, &kit->pool });
	return kit;
}

/* Closes the mailbox and checks that everything was freed. */
static inline void kit_end(struct kit *kit)
{
	mam_post_close(&kit->box);
	ck_assert_uint_eq(kit->pool.blocks, 0);
	ck_assert_uint_eq(kit->box.held, kit->box.config.root_bytes);
	ck_assert_uint_eq(kit->box.counts.posted + kit->box.counts.large, 0);
	ck_assert_uint_eq(kit->box.counts.posted_bytes + kit->box.counts.large_bytes +
				  kit->box.counts.table_bytes,
			  0);
	free(kit);
}

/* ---- the device's side ---- */

static inline void kit_ask(struct kit *kit)
{
	kit->mail.asked = ++kit->asks << 32 | (uint32_t)(kit->taken + 1);
}

/* The next grant, which must have been posted. */
static inline struct mam_grant kit_grant(struct kit *kit)
{
	ck_assert_uint_gt(kit->mail.posted, kit->taken);
	return kit->mail.grant[kit->taken++ % MAM_MAIL_GRANTS];
}

/* The cause of the last refusal; GIVEN if the last request was not refused. */
static inline enum mam_mail_cause kit_refused(const struct kit *kit)
{
	return kit->mail.refused >> 8 == kit->asks ? (enum mam_mail_cause)(kit->mail.refused & 255)
						   : MAM_MAIL_GIVEN;
}

static inline void kit_send(struct kit *kit, uint32_t slot, enum mam_mail_kind kind,
			    uint64_t detail)
{
	kit->mail.ask[slot].detail = detail;
	kit->mail.ask[slot].stamp = ++kit->generation[slot] << 8 | kind;
	kit->mail.knock++;
}

static inline bool kit_answered(const struct kit *kit, uint32_t slot)
{
	return kit->mail.answer[slot].stamp >> 8 == kit->generation[slot];
}

/* The answer, which must have been given. */
static inline enum mam_mail_cause kit_answer(const struct kit *kit, uint32_t slot)
{
	ck_assert_uint_eq(kit->mail.answer[slot].stamp >> 8, kit->generation[slot]);
	return (enum mam_mail_cause)(kit->mail.answer[slot].stamp & 255);
}

/* Looks until nothing is left to do; returns how often. */
static inline unsigned int kit_look(struct kit *kit)
{
	unsigned int looks = 0;

	while (mam_post_look(&kit->box))
		ck_assert_uint_lt(++looks, 10000);
	return looks;
}

#endif
