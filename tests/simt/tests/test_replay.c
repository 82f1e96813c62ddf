/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_replay.c - seed and policy determine a run: repeating it gives the same result, after other
 * runs, after failures, and in another process with another memory layout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/port.h"
#include "simt/expect.h"

#define SEEDS 30

struct work {
	uint32_t order[64], next;
	uint32_t flag;
};

/*
 * All sources of choice: atomics, collectives, sleeps, random numbers, and addresses, which a
 * kernel may hash.
 */
MAM_KERNEL(busy)
{
	struct work *work = argument;
	uint32_t active;

	MAM_SHARED(uint32_t, shared);
	if (mam_thread() == 0)
		mam_atomic_store32(shared, 0, MAM_RELAXED, MAM_AT_BLOCK);
	mam_syncthreads();
	mam_atomic_add32(shared, 1, MAM_RELAXED, MAM_AT_BLOCK);
	if (simt_random() % 3 == 0)
		mam_nanosleep(40);
	active = mam_warp_active();
	mam_warp_ballot(active, true);
	work->order[mam_atomic_add32(&work->next, 1, MAM_RELAXED, MAM_AT_DEVICE)] =
		mam_block() * mam_block_threads() + mam_thread();
	mam_warp_sync(~0u);
}

static struct simt_result run(uint64_t seed, enum simt_policy policy, struct work *work)
{
	struct simt_config config = { .seed = seed, .policy = policy, .resident = seed % 3 };
	struct simt_result result;

	memset(work, 0, sizeof(*work));
	if (simt_launch(&config, busy, 2, 32, work, &result) != SIMT_FINE)
		abort(); /* outside Check, its assertions do not work */
	return result;
}

static uint64_t hash_of(uint64_t seed, enum simt_policy policy)
{
	struct work work;

	return run(seed, policy, &work).hash;
}

START_TEST(same_seed_gives_same_run)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		for (unsigned int policy = 0; policy < SIMT_POLICIES; policy++) {
			struct work one, two;
			struct simt_result first = run(seed, policy, &one);
			struct simt_result second;

			run(seed + 1, (policy + 1) % SIMT_POLICIES, &two);
			second = run(seed, policy, &two);
			ck_assert_uint_eq(first.hash, second.hash);
			ck_assert_uint_eq(first.steps, second.steps);
			ck_assert_int_eq(memcmp(&one, &two, sizeof(one)), 0);
		}
	}
}
END_TEST

START_TEST(different_seeds_give_different_runs)
{
	for (unsigned int policy = 0; policy < SIMT_POLICIES; policy++) {
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			for (uint64_t other = 0; other < seed; other++)
				ck_assert_uint_ne(hash_of(seed, policy), hash_of(other, policy));
		}
	}
	ck_assert_uint_ne(hash_of(1, SIMT_BY_LANE), hash_of(1, SIMT_BY_WARP));
}
END_TEST

MAM_KERNEL(fails)
{
	(void)argument;
	mam_warp_active();
	MAM_KASSERT(simt_random() % 8);
	mam_syncthreads();
}

START_TEST(failed_run_does_not_affect_next)
{
	uint64_t before = hash_of(7, SIMT_BY_LANE);

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct simt_config config = { .seed = seed, .policy = seed % 3, .steps_max = 100 };

		simt_launch(&config, fails, 3, 100, NULL, NULL);
		ck_assert_uint_eq(hash_of(7, SIMT_BY_LANE), before);
	}
}
END_TEST

static void print_hashes(void)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		for (unsigned int policy = 0; policy < SIMT_POLICIES; policy++)
			printf("%llx\n", (unsigned long long)hash_of(seed, policy));
	}
}

START_TEST(run_is_the_same_in_another_process)
{
	FILE *pipe;
	unsigned long long hash;

	setenv("REPLAY_PRINT", "1", 1);
	pipe = popen("exec /proc/$PPID/exe", "r");
	ck_assert_ptr_nonnull(pipe);
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		for (unsigned int policy = 0; policy < SIMT_POLICIES; policy++) {
			ck_assert_int_eq(fscanf(pipe, "%llx", &hash), 1);
			ck_assert_uint_eq(hash, hash_of(seed, policy));
		}
	}
	ck_assert_int_eq(pclose(pipe), 0);
}
END_TEST

int main(void)
{
	const simt_test tests[] = { same_seed_gives_same_run, different_seeds_give_different_runs,
				    failed_run_does_not_affect_next,
				    run_is_the_same_in_another_process };

	if (getenv("REPLAY_PRINT")) {
		/* Lanes and stacks of this process are allocated after other memory. */
		void *other = malloc(123456);

		print_hashes();
		free(other);
		return EXIT_SUCCESS;
	}
	return simt_run_suite("simt/replay", tests, sizeof(tests) / sizeof(tests[0]));
}
