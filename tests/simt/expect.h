/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expect.h - for tests of the simulator itself: a kernel that must end with one verdict under every
 * policy, and a text that must contain a string.
 */
#ifndef MAM_TESTS_SIMT_EXPECT_H
#define MAM_TESTS_SIMT_EXPECT_H

#include <string.h>

#include "simt/simt.h"
#include "simt/suite.h"

struct expect {
	simt_kernel *kernel;
	unsigned int grid, block;
	void *argument;
	size_t zero; /* this number of bytes at `argument` is cleared before each run */
	struct simt_config config;
	unsigned int seeds; /* 0: 20 */
};

/* Returns the last result. `substring` may be NULL. */
static inline const struct simt_result *
simt_expect(const struct expect *what, enum simt_verdict verdict, const char *substring)
{
	static struct simt_result result;

	for (unsigned int seed = 1; seed <= (what->seeds ? what->seeds : 20); seed++) {
		for (unsigned int policy = 0; policy < SIMT_POLICIES; policy++) {
			struct simt_config config = what->config;

			config.seed = seed;
			config.policy = policy;
			if (what->zero)
				memset(what->argument, 0, what->zero);
			simt_launch(&config, what->kernel, what->grid, what->block, what->argument,
				    &result);
			ck_assert_msg(result.verdict == verdict, "seed %u, policy %s: %s: %s", seed,
				      simt_policy_name(policy), simt_verdict_name(result.verdict),
				      result.text);
			ck_assert_msg(!substring || strstr(result.text, substring),
				      "seed %u, policy %s: no \"%s\" in: %s", seed,
				      simt_policy_name(policy), substring, result.text);
		}
	}
	return &result;
}

#endif
