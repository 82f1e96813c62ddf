/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_grow_turns.c - consecutive fetches of grants, by lanes that may be one or two fetches late
 * with any step: each part's metadata is zeroed once, by the lanes that took a piece of it, and
 * published once, when all of it is zero, whatever the sizes of the grants before and after.
 *
 * There is no search: each lane is a warp of its own that always requests one more part. A lane
 * that finds a new part writes a mark into its metadata with a plain access, which late zeroing
 * would erase.
 */
#define MAM_RETURNS 8u
#define MAM_PARTS_FIRST 4u
#define PARTS 20u
#define MAM_MAIL_SLOTS 64u
/* The metadata of these grants consists of one to three pieces. */
#define MAM_GROW_PIECE 12288u

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "heap/growth/grow.h"
#include "heap/growth/records.h"
#include "simt/explore.h"
#include "simt/suite.h"

/* Only builds with access hooks observe plain accesses. */
#ifdef SIMT_HOOKS
#define RACE true
#define SEEDS(n) ((n) / 30 + 1)
#else
#define RACE false
#define SEEDS(n) (n)
#endif

#define LANES 5u
#define COLUMNS_LIMIT 16u
#define STEP ((size_t)2 << MAM_BLOCK_SHIFT) /* distance between parts */
#define FOREVER (UINT64_C(1) << 40)

struct plan {
	uint64_t wait_ns;
	uint32_t parts;    /* that each lane waits for */
	uint32_t ahead;    /* grants posted ahead */
	uint32_t refuses;  /* percentage of requests */
	uint32_t patience; /* maximum number of steps before the host answers */
};

static struct mam_growth growth;
static struct mam_mail mail;
static struct records records;
static const struct plan *plan;
static unsigned char *arena;
static uint64_t left; /* lanes that have left; atomic */
static uint64_t posted;
static uint64_t all_parts, all_refused, all_silent;

static uint64_t space_at(uint64_t number)
{
	return (uintptr_t)arena + number * STEP;
}

/* ---- the host -------------------------------------------------------------------------------- */

static void post(void)
{
	uint64_t *entry = (uint64_t *)&mail.grant[posted % MAM_MAIL_GRANTS];
	uint64_t columns = (uint64_t)2 << simt_random() % 4;

	mam_atomic_store64(&entry[0], space_at(posted), MAM_RELAXED, MAM_AT_SYSTEM);
	mam_atomic_store64(&entry[1], 1 | columns << 32, MAM_RELAXED, MAM_AT_SYSTEM);
	posted++;
	mam_atomic_store64(&mail.posted, posted, MAM_RELEASE, MAM_AT_SYSTEM);
}

static void serve(uint64_t asked)
{
	uint64_t wanted = (uint32_t)asked;

	for (uint64_t i = plan->patience ? simt_random() % plan->patience : 0; i; i--)
		simt_host_yield("host is slow");
	if (posted < wanted && (posted >= PARTS || simt_random() % 100 < plan->refuses)) {
		mam_atomic_store64(&mail.refused, asked >> 32 << 8 | MAM_MAIL_LIMIT, MAM_RELEASE,
				   MAM_AT_SYSTEM);
		return;
	}
	while (posted < wanted + plan->ahead && posted < PARTS)
		post();
}

static void host(void *argument)
{
	uint64_t seen = 0, asked;

	(void)argument;
	while (mam_atomic_load64(&left, MAM_RELAXED, MAM_AT_SYSTEM) < LANES) {
		mam_atomic_store64(&mail.beat, mail.beat + 1, MAM_RELEASE, MAM_AT_SYSTEM);
		asked = mam_atomic_load64(&mail.asked, MAM_ACQUIRE, MAM_AT_SYSTEM);
		if (asked != seen)
			serve(asked);
		seen = asked;
	}
}

/* ---- lanes ----------------------------------------------------------------------------------- */

/* The head of a part. */
static struct mam_kheap head_of(struct mam_kpart part)
{
	struct mam_kheap head;

	mam_metadata_head(&head, (unsigned char *)(uintptr_t)part.space,
			  (unsigned char *)mam_parts_at(part), (uint32_t)part.shape,
			  (uint32_t)(part.shape >> 32));
	return head;
}

/* Where lane `lane` writes its mark: in memory that is zero after a part is created. */
static uint64_t *mark_of(struct mam_kpart part, uint32_t lane)
{
	struct mam_kheap head = head_of(part);

	return &head.handles[((part.shape >> 32) * MAM_CLASSES - 1) / LANES * lane];
}

static void mark(uint64_t number)
{
	struct mam_kpart part = mam_parts_get(&growth, (uint32_t)number);
	uint64_t *at = mark_of(part, simt_thread());

	MAM_KASSERT(part.space == space_at(number - 1));
	MAM_KASSERT(mam_parts_at(part)->blocks == 1);
	MAM_KASSERT(*at == 0);
	*at = number;
}

/* Waits as a warp of one lane does. */
static uint64_t wait_for(uint64_t seen)
{
	struct mam_kgrow mine;
	uint64_t task;

	mam_grow_begin(&growth, seen, mam_lane() % 2 ? 1 : 32, &mine);
	for (;;) {
		task = mam_grow_step(&growth, &mine);
		if ((task & 255) == MAM_GROW_GROWN || (task & 255) == MAM_GROW_REFUSED)
			return task;
		if ((task & 255) != MAM_GROW_ZERO)
			continue;
		mam_grow_zero(&growth, task, 0, 1);
		mam_grow_zeroed(&growth, task);
	}
}

MAM_KERNEL(grow)
{
	uint64_t seen = 0, parts = 0, task, tries;

	(void)argument;
	for (tries = 0; seen < plan->parts && tries < 3 * plan->parts; tries++) {
		task = wait_for(parts);
		if ((task & 255) == MAM_GROW_REFUSED) {
			MAM_KASSERT(task >> 8 == MAM_MAIL_LIMIT || task >> 8 == MAM_GROWTH_SILENT);
			(void)mam_atomic_add64(task >> 8 == MAM_GROWTH_SILENT ? &all_silent
									      : &all_refused,
					       1, MAM_RELAXED, MAM_AT_DEVICE);
		}
		parts = mam_atomic_load64(&growth.parts.value, MAM_ACQUIRE, MAM_AT_DEVICE);
		while (seen < parts)
			mark(++seen);
	}
	(void)mam_atomic_add64(&left, 1, MAM_RELEASE, MAM_AT_SYSTEM);
}

/* ---- around a run ---------------------------------------------------------------------------- */

static void begin(void *argument)
{
	(void)argument;
	memset(&growth, 0, sizeof(growth));
	memset(&mail, 0, sizeof(mail));
	records_begin(&records, growth.large, &mail);
	left = posted = 0;
	growth.mail = &mail;
	growth.wait_ns = plan->wait_ns;
	for (uint32_t i = 0; i < PARTS; i++)
		memset(arena + i * STEP + STEP / 2, 0xa5,
		       mam_metadata_plan_of(1, COLUMNS_LIMIT).end + MAM_PAGES_LINE);
}

/* The metadata of a part is as new, except for the marks. */
static const char *check_part(struct mam_kpart part)
{
	uint64_t bytes = mam_grow_metadata(part);
	struct mam_kheap *metadata = mam_parts_at(part), *fresh = calloc(1, bytes);
	const char *wrong = NULL;
	uint64_t *at;

	if (!fresh)
		return "no memory";
	mam_metadata_format(fresh, (unsigned char *)(uintptr_t)part.space, 1,
			    (uint32_t)(part.shape >> 32));
	/* Addresses in it refer to where it was created. */
	memcpy(fresh, metadata, sizeof(*fresh));
	for (uint32_t lane = 0; lane < LANES; lane++) {
		at = (uint64_t *)((unsigned char *)fresh + ((unsigned char *)mark_of(part, lane) -
							    (unsigned char *)metadata));
		*at = *mark_of(part, lane);
	}
	if (memcmp(metadata, fresh, bytes) != 0)
		wrong = "the metadata of a part is not as new";
	if (((unsigned char *)metadata)[bytes] != 0xa5)
		wrong = "more than the metadata was zeroed";
	free(fresh);
	return wrong;
}

static const char *check(void *argument)
{
	const char *wrong = NULL;
	struct mam_kpart part;
	uint64_t parts = growth.parts.value;

	(void)argument;
	all_parts += parts;
	if (parts != growth.taken || parts > posted)
		return "the number of parts differs from the number of used grants";
	if ((growth.stage.value & 255) != MAM_STAGE_IDLE)
		return "a fetch is still in progress";
	for (uint32_t number = 1; number <= parts && !wrong; number++) {
		part = mam_parts_get(&growth, number);
		wrong = check_part(part);
		/* A lane that has ended may not have seen the last ones. */
		for (uint32_t lane = 0; lane < LANES && number <= plan->parts; lane++)
			if (!plan->refuses && plan->wait_ns == FOREVER &&
			    *mark_of(part, lane) != number)
				wrong = "a mark in a part was erased";
	}
	return wrong;
}

static bool build(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, grow, 1, LANES, argument) &&
	       simt_world_host(world, host, argument);
}

static void explore(const char *name, const struct plan *with, uint32_t seeds)
{
	/* clang-format off */
	struct simt_case test = { .name = name, .build = build, .begin = begin, .check = check,
				  .seeds = SEEDS(seeds),
				  .config = { .race = RACE, .steps_max = 3000000 } };
	/* clang-format on */

	if (!arena)
		arena = aligned_alloc((size_t)1 << MAM_BLOCK_SHIFT, PARTS * STEP);
	ck_assert_ptr_nonnull(arena);
	plan = with;
	all_parts = all_refused = all_silent = 0;
	simt_must_pass(&test);
	ck_assert_uint_gt(all_parts, 0);
}

START_TEST(consecutive_fetches_publish_each_part_once)
{
	static const struct plan with = { .wait_ns = FOREVER, .parts = 16, .ahead = 2 };

	explore("consecutive fetches", &with, 900);
	ck_assert_uint_eq(all_refused + all_silent, 0);
}
END_TEST

START_TEST(grants_on_request_publish_each_part_once)
{
	static const struct plan with = { .wait_ns = FOREVER, .parts = 12, .patience = 50 };

	explore("grants on request", &with, 200);
	ck_assert_uint_eq(all_refused + all_silent, 0);
}
END_TEST

START_TEST(refused_fetch_does_not_disturb_others)
{
	static const struct plan with = {
		.wait_ns = FOREVER, .parts = 12, .refuses = 30, .patience = 50
	};

	explore("some fetches are refused", &with, 200);
	ck_assert_uint_gt(all_refused, 0);
	ck_assert_uint_eq(all_silent, 0);
}
END_TEST

START_TEST(late_grant_is_used_by_next_fetch)
{
	static const struct plan with = { .wait_ns = 300, .parts = 12, .patience = 600 };

	explore("some grants are late", &with, 200);
	ck_assert_uint_gt(all_silent, 0);
}
END_TEST

/* More parts than the first tables have room for; then the host refuses. */
START_TEST(parts_are_in_several_tables)
{
	static const struct plan with = { .wait_ns = FOREVER, .parts = PARTS + 1, .ahead = 3 };

	explore("several tables", &with, 30);
	ck_assert_uint_gt(all_refused, 0);
	ck_assert_uint_eq(all_silent, 0);
}
END_TEST

SIMT_SUITE("heap/grow_turns", consecutive_fetches_publish_each_part_once,
	   grants_on_request_publish_each_part_once, refused_fetch_does_not_disturb_others,
	   late_grant_is_used_by_next_fetch, parts_are_in_several_tables)
