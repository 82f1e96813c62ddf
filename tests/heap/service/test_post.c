/* SPDX-License-Identifier: Apache-2.0 */
/* Grants through a mailbox: their size, their order, and the causes of refusals. */
#include "post_kit.h"

static const struct mam_post_config plain = { .max_bytes = UINT64_MAX, .root_bytes = 64 * MIB };

static struct kit *kit_of(uint64_t max, uint64_t root, uint64_t grow, unsigned int ahead)
{
	const struct mam_post_config config = {
		.max_bytes = max, .root_bytes = root, .grow_bytes = grow, .ahead = ahead
	};

	return kit_new(&config);
}

static uint64_t space_bytes(struct mam_grant grant)
{
	return (uint64_t)grant.blocks << MAM_BLOCK_SHIFT;
}

START_TEST(request_gets_next_grant)
{
	struct kit *kit = kit_new(&plain);
	struct mam_grant grant;
	uint64_t beat = kit->mail.beat;

	ck_assert(!mam_post_look(&kit->box));
	ck_assert_uint_ne(kit->mail.beat, beat); /* a sign of life without a request */
	ck_assert_uint_eq(kit->mail.posted, 0);
	kit_ask(kit);
	ck_assert(mam_post_look(&kit->box));
	ck_assert_uint_eq(kit->mail.posted, 1);
	grant = kit_grant(kit);
	ck_assert_uint_eq(grant.space % 65536, 0);
	ck_assert_uint_eq(grant.columns, mam_metadata_columns(grant.blocks));
	/* Memory and metadata are the block that the pool allocated. */
	ck_assert_uint_eq(kit->pool.block[0].address, grant.space);
	ck_assert_uint_eq(kit->pool.block[0].bytes,
			  space_bytes(grant) +
				  mam_metadata_plan_of(grant.blocks, grant.columns).end);
	ck_assert(!mam_post_look(&kit->box)); /* nothing more, and not twice */
	ck_assert_uint_eq(kit->mail.posted, 1);
	ck_assert_uint_eq(kit->box.counts.asks, 1);
	ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_GIVEN);
	kit_end(kit);
}
END_TEST

START_TEST(grant_size_follows_policy)
{
	static const struct {
		uint64_t max, root, grow, min, highest; /* MiB of memory of the first grant */
	} rows[] = {
		{ 1 << 20, 64, 0, 28, 32 }, /* half of the reserved bytes, including metadata */
		{ 1 << 20, 1, 0, 2, 2 },    /* the minimum */
		{ 1 << 20, 8192, 0, 2048, 2048 }, /* a quarter of the reserved bytes */
		{ 1 << 20, 131072, 0, 32768, 32768 },
		{ 1 << 20, 64, 16, 16, 16 }, /* as configured */
		{ 1 << 20, 16, 1, 2, 2 },
		{ 66, 64, 0, 2, 2 }, /* the rest up to the limit */
		{ 70, 64, 0, 6, 6 },
		{ 6400, 64, 2, 4, 4 }, /* a sixteenth of the reserved bytes */
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t max = rows[i].max == 1 << 20 ? UINT64_MAX : rows[i].max * MIB;
		struct kit *kit = kit_of(max, rows[i].root * MIB, rows[i].grow * MIB, 0);
		uint64_t bytes;

		kit_ask(kit);
		kit_look(kit);
		bytes = space_bytes(kit_grant(kit));
		ck_assert_msg(bytes >= rows[i].min * MIB && bytes <= rows[i].highest * MIB,
			      "row %zu: %llu", i, (unsigned long long)bytes);
		kit_end(kit);
	}
}
END_TEST

/* Automatic sizes with their metadata are whole pieces, except for one block. */
START_TEST(automatic_size_includes_metadata)
{
	for (uint64_t root = 8; root <= 4096; root *= 2) {
		struct kit *kit = kit_of(UINT64_MAX, root * MIB, 0, 0);

		kit_ask(kit);
		kit_look(kit);
		ck_assert_uint_le(kit->pool.block[0].bytes,
				  root * MIB / 2 < 3 * MIB ? 3 * MIB : root * MIB / 2);
		ck_assert_uint_gt(kit->pool.block[0].bytes + 2 * 65536 + 4096 * 64,
				  root * MIB / 2 > GIB ? GIB : root * MIB / 2);
		kit_end(kit);
	}
}
END_TEST

START_TEST(grants_stay_within_limit)
{
	struct kit *kit = kit_of(80 * MIB, 64 * MIB, 6 * MIB, 0);
	uint64_t bytes = 64 * MIB;

	for (unsigned int i = 0; i < 3; i++) {
		kit_ask(kit);
		kit_look(kit);
		bytes += space_bytes(kit_grant(kit));
	}
	ck_assert_uint_eq(bytes, 80 * MIB); /* 6, 6 and the remaining 4 */
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_LIMIT);
	ck_assert_uint_eq(kit->mail.posted, 3);
	ck_assert_uint_eq(kit->box.counts.refusals, 1);
	kit_end(kit);
}
END_TEST

/* There are tables for as many grants as are posted, before they are posted. */
START_TEST(grants_have_tables)
{
	struct kit *kit = kit_of(UINT64_MAX, MIB, 2 * MIB, 4);

	kit->pool.slow = 3;
	for (unsigned int i = 0; i < 200; i++) {
		kit_ask(kit);
		kit_look(kit);
		while (mam_post_ahead(&kit->box, 0, true))
			;
		(void)kit_grant(kit);
		ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_GIVEN);
		for (uint32_t n = 1; n < 4; n++)
			ck_assert(kit->box.grants <= mam_parts_before(n) ||
				  kit->mail.part_table[n - 1] != 0);
		ck_assert_uint_eq(kit->pool.blocks,
				  kit->box.grants + kit->box.part_tables - 1 +
					  (kit->box.part_table[kit->box.part_tables] != 0));
	}
	ck_assert_uint_ge(kit->mail.posted, 200);
	ck_assert_uint_eq(kit->box.part_tables, 3);
	kit_end(kit);
}
END_TEST

/* A pool in small pieces is used up, with few tries of sizes that it does not have. */
START_TEST(small_pieces_are_used)
{
	struct kit *kit = kit_of(UINT64_MAX, GIB, 0, 0);

	kit->pool.mapped = 0;
	kit->pool.max = 3 * MIB;
	for (unsigned int i = 0; i < 150; i++) {
		kit_ask(kit);
		kit_look(kit);
		ck_assert_uint_ge(space_bytes(kit_grant(kit)), 2 * MIB - 65536);
	}
	ck_assert_uint_le(kit->pool.news, 2 * 150 + 10);
	kit->pool.max = MIB;
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_FULL);
	/* When there is more again, grants double. */
	kit->pool.max = 0;
	for (unsigned int i = 0; i < 8; i++) {
		kit_ask(kit);
		kit_look(kit);
		ck_assert_uint_le(space_bytes(kit_grant(kit)), 8 * MIB << i);
	}
	ck_assert_uint_ge((uint64_t)kit->box.grant[kit->box.grants - 1].blocks << 16, 256 * MIB);
	kit_end(kit);
}
END_TEST

START_TEST(new_memory_is_used_only_if_needed)
{
	struct kit *kit = kit_new(&plain);

	kit->pool.mapped = 0;
	kit_ask(kit);
	kit_look(kit);
	(void)kit_grant(kit);
	ck_assert_uint_eq(kit->pool.news, 1);
	kit->pool.mapped = GIB;
	kit_ask(kit);
	kit_look(kit);
	(void)kit_grant(kit);
	ck_assert_uint_eq(kit->pool.news, 1); /* none while there is some */
	kit_end(kit);
}
END_TEST

START_TEST(small_pool_gets_smaller_grant)
{
	struct kit *kit = kit_new(&plain);
	uint64_t bytes = 0;

	kit->pool.mapped = 0;
	kit->pool.max = 9 * MIB;
	kit_ask(kit);
	/* One attempt at new memory per look: 32, 16 and 8 MiB. */
	ck_assert_uint_eq(kit_look(kit), 3);
	ck_assert_uint_eq(kit->pool.news, 3);
	ck_assert_uint_gt(space_bytes(kit_grant(kit)), 7 * MIB);
	kit->pool.max = MIB;
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_FULL);
	/* The next request starts with twice the last size, or after a trim with the full size. */
	kit->pool.max = 0;
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_gt(space_bytes(kit_grant(kit)), 14 * MIB);
	ck_assert_uint_lt(kit->box.held, (64 + 8 + 17) * MIB);
	ck_assert(mam_post_take_back(&kit->box, kit->taken, &bytes));
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_gt(space_bytes(kit_grant(kit)), 28 * MIB);
	kit_end(kit);
}
END_TEST

START_TEST(refused_request_is_not_served_later)
{
	struct kit *kit = kit_new(&plain);
	unsigned int takes;

	kit->pool.mapped = 0;
	kit->pool.max = MIB;
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_FULL);
	kit->pool.max = 0;
	takes = kit->pool.takes;
	for (unsigned int i = 0; i < 100; i++)
		ck_assert(!mam_post_look(&kit->box));
	ck_assert_uint_eq(kit->pool.takes, takes);
	ck_assert_uint_eq(kit->mail.posted, 0);
	kit_end(kit);
}
END_TEST

START_TEST(grants_are_posted_ahead)
{
	struct kit *kit = kit_of(UINT64_MAX, 64 * MIB, 2 * MIB, 3);

	while (mam_post_ahead(&kit->box, 0, true))
		;
	ck_assert_uint_eq(kit->mail.posted, 3);
	for (unsigned int i = 0; i < 20; i++) {
		kit_ask(kit);
		kit_look(kit);
		(void)kit_grant(kit); /* it was posted before */
		ck_assert_uint_eq(kit->mail.posted, i + 3);
		while (mam_post_ahead(&kit->box, 0, true))
			;
		ck_assert_uint_eq(kit->mail.posted, i + 4);
		/* A grant is never overwritten before the device has read it. */
		ck_assert_uint_le(kit->mail.posted - kit->taken, MAM_MAIL_GRANTS);
	}
	kit_end(kit);
}
END_TEST

START_TEST(grants_ahead_are_capped)
{
	struct kit *kit = kit_of(UINT64_MAX, 64 * MIB, 2 * MIB, 1000);

	while (mam_post_ahead(&kit->box, 0, true))
		;
	ck_assert_uint_eq(kit->mail.posted, MAM_POST_AHEAD_MAX);
	kit_end(kit);
}
END_TEST

START_TEST(failed_grant_ahead_is_retried_later)
{
	struct kit *kit = kit_of(UINT64_MAX, 16 * MIB, 2 * MIB, 1);
	unsigned int takes;

	kit->pool.mapped = 0;
	kit->pool.max = MIB;
	ck_assert(!mam_post_ahead(&kit->box, 1000, true));
	takes = kit->pool.takes;
	ck_assert(!mam_post_ahead(&kit->box, 1000 + MAM_POST_RETRY_NS - 1, true));
	ck_assert_uint_eq(kit->pool.takes, takes); /* not each time */
	ck_assert_uint_eq(kit->mail.refused, 0);   /* the device is not notified */
	ck_assert_uint_eq(kit->box.counts.refusals, 0);
	kit->pool.max = 0;
	ck_assert(mam_post_ahead(&kit->box, 1000 + MAM_POST_RETRY_NS, true));
	ck_assert_uint_eq(kit->mail.posted, 1);
	/* Or with the next request. */
	kit->pool.max = MIB;
	kit_ask(kit);
	kit_look(kit);
	(void)kit_grant(kit);
	ck_assert(!mam_post_ahead(&kit->box, 0, true));
	kit->pool.max = 0;
	kit_ask(kit);
	kit_look(kit);
	(void)kit_grant(kit);
	ck_assert(mam_post_ahead(&kit->box, 0, true));
	kit_end(kit);
}
END_TEST

START_TEST(grant_ahead_takes_no_new_memory_if_forbidden)
{
	struct kit *kit = kit_of(UINT64_MAX, 64 * MIB, 2 * MIB, 1);

	kit->pool.mapped = 0;
	ck_assert(!mam_post_ahead(&kit->box, 0, false));
	ck_assert_uint_eq(kit->pool.news, 0);
	ck_assert(mam_post_ahead(&kit->box, 0, true));
	kit_end(kit);
}
END_TEST

START_TEST(invalid_request_is_refused)
{
	static const uint32_t wanted[] = { 9, 1000, 0x80000000u, 0xffffffffu };
	struct kit *kit = kit_new(&plain);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		kit->mail.asked = ++kit->asks << 32 | wanted[i];
		kit_look(kit);
		ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_BAD);
		ck_assert_uint_eq(kit->mail.posted, 0);
	}
	ck_assert_uint_eq(kit->box.counts.bad, 4);
	ck_assert_uint_eq(kit->box.counts.refusals, 4);
	/* Nor do requests that were answered long ago. */
	for (unsigned int i = 0; i < 10; i++) {
		kit_ask(kit);
		kit_look(kit);
		(void)kit_grant(kit);
	}
	kit->mail.asked = ++kit->asks << 32 | 1;
	kit_look(kit);
	ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_BAD);
	ck_assert_uint_eq(kit->mail.posted, 10);
	kit_end(kit);
}
END_TEST

START_TEST(misaligned_block_or_destroyed_pool_is_refused)
{
	struct kit *kit = kit_new(&plain);

	kit->pool.lies = 4096; /* not aligned as a grant must be */
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_FULL);
	ck_assert_uint_eq(kit->pool.blocks, 0); /* and it was freed */
	ck_assert_uint_gt(kit->pool.gives, 0);
	kit->pool.lies = 0;
	kit->pool.gone = true;
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_ENDED);
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_ENDED);
	ck_assert(!mam_post_ahead(&kit->box, 0, true));
	kit_end(kit);
}
END_TEST

/* Each call of the pool fails once: the device gets a grant or a cause, and nothing leaks. */
START_TEST(failed_pool_call_leaks_nothing)
{
	unsigned int fine = 0;

	for (unsigned int at = 0; fine < 2; at++) {
		struct kit *kit = kit_of(UINT64_MAX, 64 * MIB, 0, 1);

		kit->pool.mapped = 40 * MIB;
		kit->pool.fails = at;
		for (unsigned int i = 0; i < 4; i++) {
			kit_ask(kit);
			kit_look(kit);
			if (kit_refused(kit) == MAM_MAIL_GIVEN)
				(void)kit_grant(kit);
			else
				ck_assert_uint_eq(kit_refused(kit), MAM_MAIL_FULL);
			(void)mam_post_ahead(&kit->box, 0, true);
		}
		ck_assert_uint_ge(kit->taken, 3);
		fine += kit->pool.fails != KIT_NEVER;
		ck_assert_uint_lt(at, 100);
		kit_end(kit);
	}
}
END_TEST

START_TEST(grants_are_returned_between_kernels)
{
	struct kit *kit = kit_of(UINT64_MAX, 64 * MIB, 2 * MIB, 2);
	struct mam_grant grant[5];
	uint64_t bytes = 0, held;

	for (unsigned int i = 0; i < 5; i++) {
		kit_ask(kit);
		kit_look(kit);
		while (mam_post_ahead(&kit->box, 0, true))
			;
		grant[i] = kit_grant(kit);
	}
	ck_assert_uint_eq(kit->mail.posted, 7);
	/* Grants that are not known to be in use cannot be returned. */
	ck_assert(!mam_post_give_back(&kit->box, grant[0].space, &bytes));
	/* Impossible counts change nothing. */
	ck_assert(!mam_post_take_back(&kit->box, 8, &bytes));
	kit->box.posted += 2;
	ck_assert(!mam_post_take_back(&kit->box, 0, &bytes));
	kit->box.posted -= 2;
	ck_assert_uint_eq(bytes, 0);
	held = kit->box.counts.posted_bytes;
	ck_assert(mam_post_take_back(&kit->box, 5, &bytes));
	ck_assert_uint_eq(bytes, held - kit->box.counts.posted_bytes);
	ck_assert_uint_eq(kit->pool.blocks, 5);
	ck_assert_uint_eq(kit->mail.posted, 5);
	ck_assert_uint_eq(kit->box.counts.posted, 5);
	/* The old request is not answered, and no grant is posted ahead. */
	ck_assert(!mam_post_look(&kit->box));
	ck_assert(!mam_post_ahead(&kit->box, 0, true));
	bytes = 0;
	ck_assert(mam_post_give_back(&kit->box, grant[1].space, &bytes));
	ck_assert(mam_post_give_back(&kit->box, grant[4].space, &bytes));
	ck_assert(!mam_post_give_back(&kit->box, grant[1].space, &bytes));
	ck_assert_uint_eq(kit->pool.blocks, 3);
	ck_assert_uint_gt(bytes, 4 * MIB);
	/* The next kernel continues where the last one ended. */
	kit_ask(kit);
	kit_look(kit);
	(void)kit_grant(kit);
	ck_assert_uint_eq(kit->mail.posted, 6);
	while (mam_post_ahead(&kit->box, 0, true))
		;
	ck_assert_uint_eq(kit->mail.posted, 8);
	kit_end(kit);
}
END_TEST

/* A request that was pending when its kernel ended is not served after a retract. */
START_TEST(pending_request_is_dropped_by_retract)
{
	struct kit *kit = kit_new(&plain);
	uint64_t bytes = 0;

	kit_ask(kit);
	ck_assert(mam_post_take_back(&kit->box, 0, &bytes));
	ck_assert(!mam_post_look(&kit->box));
	ck_assert_uint_eq(kit->mail.posted, 0);
	ck_assert_uint_eq(kit->pool.takes, 0);
	kit_ask(kit);
	kit_look(kit);
	ck_assert_uint_eq(kit->mail.posted, 1);
	kit_end(kit);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("heap/post");
	TCase *grants = tcase_create("grants");
	SRunner *runner;
	int failed;

	tcase_add_test(grants, request_gets_next_grant);
	tcase_add_test(grants, grant_size_follows_policy);
	tcase_add_test(grants, automatic_size_includes_metadata);
	tcase_add_test(grants, grants_stay_within_limit);
	tcase_add_test(grants, grants_have_tables);
	tcase_add_test(grants, small_pieces_are_used);
	tcase_add_test(grants, new_memory_is_used_only_if_needed);
	tcase_add_test(grants, small_pool_gets_smaller_grant);
	tcase_add_test(grants, refused_request_is_not_served_later);
	tcase_add_test(grants, grants_are_posted_ahead);
	tcase_add_test(grants, grants_ahead_are_capped);
	tcase_add_test(grants, failed_grant_ahead_is_retried_later);
	tcase_add_test(grants, grant_ahead_takes_no_new_memory_if_forbidden);
	tcase_add_test(grants, invalid_request_is_refused);
	tcase_add_test(grants, misaligned_block_or_destroyed_pool_is_refused);
	tcase_add_test(grants, failed_pool_call_leaks_nothing);
	tcase_add_test(grants, grants_are_returned_between_kernels);
	tcase_add_test(grants, pending_request_is_dropped_by_retract);
	suite_add_tcase(suite, grants);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
