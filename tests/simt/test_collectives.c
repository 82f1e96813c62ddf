/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collectives.c - ballots, shuffles and matches give each lane what it should get, whatever the
 * order in which lanes come.
 */
#include <check.h>
#include <stdlib.h>

#include "heap/port.h"
#include "simt/explore.h"

MAM_KERNEL(whole_warp)
{
	uint32_t lane = mam_lane();

	(void)argument;
	MAM_KASSERT(mam_warp_ballot(~0u, lane % 3 == 0) == 0x49249249);
	MAM_KASSERT(mam_warp_shuffle32(~0u, lane * 10, (lane + 1) % 32) == (lane + 1) % 32 * 10);
	MAM_KASSERT(mam_warp_shuffle64(~0u, (uint64_t)lane << 40, 31 - lane) ==
		    (uint64_t)(31 - lane) << 40);
	MAM_KASSERT(mam_warp_match32(~0u, lane % 2) == (lane % 2 ? 0xaaaaaaaa : 0x55555555));
	MAM_KASSERT(mam_warp_match64(~0u, (uint64_t)(lane / 16) << 32) ==
		    (lane / 16 ? 0xffff0000 : 0xffff));
}

START_TEST(a_whole_warp)
{
	struct simt_case test = { .name = "whole warp", .kernel = whole_warp, .grid = 2, .block = 64, .seeds = 50 };

	simt_must_pass(&test);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simt/collectives");
	TCase *tcase = tcase_create("collectives");
	SRunner *runner;
	int failed;

	tcase_add_test(tcase, a_whole_warp);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
