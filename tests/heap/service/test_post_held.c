/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mailbox whose pool is blocked: another thread holds up new memory, and may wait for a kernel
 * that waits here. Each attempt takes time, so there is only one, and it refuses all pending
 * requests.
 */
#include <check.h>
#include <stdlib.h>

#include "heap/service/post_look.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static struct mam_mail mail;
static struct mam_post_box box;
static unsigned news; /* number of attempts at new memory */
static enum mam_status answer;

static enum mam_status take(void *user, uint64_t bytes, uint64_t alignment, bool may_grow,
			    uint64_t *address)
{
	(void)user;
	(void)bytes;
	if (!may_grow)
		return MAM_ERROR_WOULD_WAIT;
	news++;
	if (answer == MAM_OK)
		*address = (64 + news) * 1024 * MIB / alignment * alignment;
	return answer;
}

static void give(void *user, uint64_t address)
{
	(void)user;
	ck_assert_uint_ne(address, 0);
}

static enum mam_status zero(void *user, uint64_t address, uint64_t bytes)
{
	(void)user;
	(void)address;
	(void)bytes;
	return MAM_OK;
}

static void set_up(void)
{
	const struct mam_post_config config = { .max_bytes = UINT64_MAX,
						.root_bytes = 64 * MIB,
						.grow_bytes = 64 * MIB,
						.large = MIB };

	mam_post_open(&box, &mail, &config, (struct mam_post_pool){ take, give, zero, NULL });
	answer = MAM_ERROR_WOULD_WAIT;
}

static void tear_down(void)
{
	mam_post_close(&box);
}

static void send(uint32_t slot, uint64_t bytes)
{
	mail.ask[slot].detail = bytes;
	mail.ask[slot].stamp = ((mail.ask[slot].stamp >> 8) + 1) << 8 | MAM_MAIL_ALLOC;
	mail.knock++;
}

static void was_answered(uint32_t slot, enum mam_mail_cause cause)
{
	ck_assert_uint_eq(mail.answer[slot].stamp >> 8, mail.ask[slot].stamp >> 8);
	ck_assert_uint_eq(mail.answer[slot].stamp & 255, cause);
}

static void look(void)
{
	for (int i = 0; i < 100 && mam_post_look(&box); i++)
		;
}

START_TEST(one_attempt_refuses_all_pending_requests)
{
	for (uint32_t i = 0; i < 64; i++)
		send(i, (400 - i) * KIB); /* the largest is tried first */
	look();
	ck_assert_uint_eq(news, 1);
	for (uint32_t i = 0; i < 64; i++)
		was_answered(i, MAM_MAIL_FULL);
	send(3, 300 * KIB); /* and a repeated request is tried again */
	answer = MAM_OK;
	look();
	ck_assert_uint_eq(news, 2);
	was_answered(3, MAM_MAIL_GIVEN);
}
END_TEST

START_TEST(blocked_pool_is_not_retried_with_smaller_grants)
{
	mail.asked = UINT64_C(1) << 32 | 1;
	look();
	ck_assert_uint_eq(news, 1);
	ck_assert_uint_eq(mail.refused, UINT64_C(1) << 8 | MAM_MAIL_FULL);
	ck_assert_uint_eq(mail.posted, 0);
	mail.asked = UINT64_C(2) << 32 | 1;
	answer = MAM_ERROR_OUT_OF_MEMORY;
	look();
	ck_assert_uint_gt(news, 3); /* where the size is the cause, they are */
	answer = MAM_OK;
	mail.asked = UINT64_C(3) << 32 | 1;
	look();
	ck_assert_uint_eq(mail.posted, 1);
}
END_TEST

START_TEST(smaller_requests_are_tried_if_size_is_the_cause)
{
	answer = MAM_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < 8; i++)
		send(i, (300 + 8 - i) * KIB); /* each smaller than the previous one */
	look();
	ck_assert_uint_eq(news, 8);
	for (uint32_t i = 0; i < 8; i++)
		was_answered(i, MAM_MAIL_FULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("heap/post_held");
	TCase *tests = tcase_create("blocked pool");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, set_up, tear_down);
	tcase_add_test(tests, one_attempt_refuses_all_pending_requests);
	tcase_add_test(tests, blocked_pool_is_not_retried_with_smaller_grants);
	tcase_add_test(tests, smaller_requests_are_tried_if_size_is_the_cause);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
