/* SPDX-License-Identifier: Apache-2.0 */
/*
 * speed.c - schedules per second: a small page allocator, two blocks of a warp, three rounds; each
 * lane allocates a page and frees it. Fails below a fifth of the simulator's target, which is 3,000
 * per second, and 1,000 with the race checker; prints the measured rate. Sanitizers and builds
 * without optimization have no such limit.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "device/port.h"
#include "simt/explore.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
#define FLOOR 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FLOOR 0
#endif
#endif
#ifndef FLOOR
#define FLOOR 1
#endif

#define WORDS 4
#define ROUNDS 3

struct pages {
	uint64_t word[WORDS];
	uint32_t owner[WORDS * 64];
	uint32_t failed;
};

/*
 * Converged lanes allocate as many pages as they are from one word; lanes that get none try the
 * next word.
 */
static uint32_t take(struct pages *pages)
{
	for (uint32_t at = mam_smid() % WORDS;; at = (at + 1) % WORDS) {
		uint32_t active = mam_warp_active();
		uint32_t leader = mam_ffs32(active) - 1;
		uint32_t rank = mam_popc32(active & ((1u << mam_lane()) - 1));
		uint32_t word = mam_warp_shuffle32(active, at, leader);
		uint64_t won = 0;

		if (mam_lane() == leader) {
			uint64_t seen =
				mam_atomic_load64(&pages->word[at], MAM_RELAXED, MAM_AT_DEVICE);
			uint64_t free = ~seen, chosen = 0;

			for (uint32_t n = mam_popc32(active); n && free; n--, free &= free - 1)
				chosen |= free & -free;
			won = chosen & ~mam_atomic_or64(&pages->word[at], chosen, MAM_ACQUIRE,
							MAM_AT_DEVICE);
		}
		won = mam_warp_shuffle64(active, won, leader);
		if (rank >= mam_popc64(won))
			continue;
		while (rank--)
			won &= won - 1;
		return word * 64 + mam_ffs64(won) - 1;
	}
}

MAM_KERNEL(rounds)
{
	struct pages *pages = argument;

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t page = take(pages);

		if (mam_atomic_xchg32(&pages->owner[page], 1, MAM_RELAXED, MAM_AT_DEVICE))
			mam_atomic_add32(&pages->failed, 1, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_store32(&pages->owner[page], 0, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_and64(&pages->word[page / 64], ~((uint64_t)1 << page % 64), MAM_RELEASE,
				 MAM_AT_DEVICE);
	}
}

static void begin(void *argument)
{
	memset(argument, 0, sizeof(struct pages));
}

static const char *check(void *argument)
{
	const struct pages *pages = argument;

	for (int i = 0; i < WORDS; i++) {
		if (pages->word[i])
			return "a page was not freed";
	}
	return pages->failed ? "a page was allocated twice" : NULL;
}

static int measure(const char *name, bool race, double floor)
{
	static struct pages pages;
	struct simt_case test = { .name = name,
				  .kernel = rounds,
				  .grid = 2,
				  .block = 32,
				  .argument = &pages,
				  .begin = begin,
				  .check = check,
				  .seeds = 300,
				  .config = { .race = race } };
	int slow = 0;

	for (unsigned int policy = 0; policy < SIMT_POLICIES; policy++) {
		struct simt_search search;
		clock_t began =
			clock(); /* processor time: other processes may run on the machine */
		double rate, seconds;

		test.policies = 1u << policy;
		if (!simt_explore(&test, &search)) {
			char text[2 * SIMT_TEXT_BYTES];

			simt_describe(&test, &search, text, sizeof(text));
			printf("not ok - %s: %s\n", name, text);
			return 1;
		}
		if (!search.schedules)
			continue;
		seconds = (double)(clock() - began + 1) / CLOCKS_PER_SEC;
		rate = (double)search.schedules / seconds;
		printf("%s - %s, by %s: %.0f schedules/s, %.1f M steps/s, %.0f steps each\n",
		       rate < floor ? "not ok" : "ok", name, simt_policy_name(policy), rate,
		       (double)search.steps / seconds / 1e6,
		       (double)search.steps / (double)search.schedules);
		slow |= rate < floor;
	}
	return slow;
}

int main(void)
{
	return measure("plain", false, 600 * FLOOR) | measure("race", true, 200 * FLOOR);
}
