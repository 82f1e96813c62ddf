/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_published.c - the random-walk paper's allocators and the queue, one page per request: no
 * page has two owners, and none is lost, for any lanes and any interleaving.
 */
#include "tools/bench/papers/published.h"

PUBLISHED_CALLS(rw)
PUBLISHED_CALLS(rwbm)
PUBLISHED_CALLS(crw)
PUBLISHED_CALLS(corw)
PUBLISHED_CALLS(queue)

static const struct published variants[] = {
	{ "rw", mam_rw_bytes, format_rw, take_rw, give_rw, published_flag, NULL },
	{ "rwbm", mam_rwbm_bytes, format_rwbm, take_rwbm, give_rwbm, published_bit,
	  published_locked },
	{ "crw", mam_crw_bytes, format_crw, take_crw, give_crw, published_bit, published_locked },
	{ "corw", mam_corw_bytes, format_corw, take_corw, give_corw, published_bit,
	  published_locked },
	{ "queue", mam_queue_bytes, format_queue, take_queue, give_queue, published_queued, NULL },
};

static const char *all_is_back(void *argument)
{
	return published_metadata(argument, 0);
}

static const char *served_and_back(void *argument)
{
	struct published_job *job = argument;

	return job->failed ? published_wrong(job, "requests failed", job->failed)
			   : published_metadata(job, 0);
}

static void churn(int which, const char *name, simt_kernel *kernel, unsigned int grid,
		  unsigned int block, uint32_t count, uint32_t low, uint32_t rounds,
		  const char *(*check)(void *), unsigned int seeds)
{
	struct published_job *job = published_job(&variants[which], count, low, rounds);
	char title[64];
	struct simt_case test = { .name = title,
				  .kernel = kernel,
				  .grid = grid,
				  .block = block,
				  .argument = job,
				  .begin = published_begin,
				  .check = check,
				  .seeds = PUBLISHED_RACE ? seeds / 2 + 1 : seeds,
				  .config.race = PUBLISHED_RACE };

	snprintf(title, sizeof(title), "%s, %s", variants[which].name, name);
	simt_must_pass(&test);
	published_end(job);
}

/* As many pages as lanes: every lane gets one if searches are long enough. */
START_TEST(every_lane_gets_a_page)
{
	churn(_i, "a page for each", published_churn, 2, 64, 128, 1, 2, served_and_back, 25);
}
END_TEST

/* Five pages for 64 lanes, and a single one: collisions and failures all the time. */
START_TEST(few_pages_for_many_lanes)
{
	churn(_i, "five pages", published_churn, 2, 32, 5, 300, 3, all_is_back, 60);
	churn(_i, "one page", published_churn, 2, 16, 1, 500, 3, all_is_back, 60);
	churn(_i, "33 pages", published_churn, 2, 32, 33, 200, 3, all_is_back, 60);
}
END_TEST

START_TEST(empty_heap_returns_no_page)
{
	churn(_i, "no page", published_churn, 1, 32, 0, 5, 1, all_is_back, 3);
}
END_TEST

/* Blocks of 7 and 45 lanes: warps that were never full. */
START_TEST(warps_with_few_lanes)
{
	churn(_i, "7 lanes", published_churn, 3, 7, 24, 50, 3, all_is_back, 60);
	churn(_i, "45 lanes", published_churn, 1, 45, 40, 100, 3, all_is_back, 40);
}
END_TEST

START_TEST(lanes_that_diverge)
{
	churn(_i, "lanes that diverge", published_part, 2, 32, 50, 100, 4, all_is_back, 50);
}
END_TEST

/* Fill; free by other lanes; fill again: each time the returned pages match the metadata. */
static bool refill(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, published_fill, 2, 32, argument) &&
	       simt_world_launch(world, 0, published_empty, 2, 32, argument) &&
	       simt_world_launch(world, 0, published_fill, 2, 32, argument);
}

static uint32_t kept(const struct published_job *job)
{
	uint32_t i, n = 0;

	for (i = 0; i < 64 * job->rounds; i++)
		n += job->taken[i] != MAM_NO_PAGE;
	return n;
}

static const char *metadata_agree(void *argument)
{
	struct published_job *job = argument;
	uint32_t n = kept(job);

	/* The statistical end comes early now and then, but not for one page in ten. */
	if (n > job->count || n < job->count * 9 / 10)
		return published_wrong(job, "pages were allocated", n);
	return published_metadata(job, n);
}

START_TEST(fill_free_and_fill_again)
{
	struct published_job *job = published_job(&variants[_i], 100, 40, 2);
	char title[64];
	struct simt_case test = { .name = title,
				  .argument = job,
				  .begin = published_begin,
				  .build = refill,
				  .check = metadata_agree,
				  .seeds = 10,
				  .config.race = PUBLISHED_RACE };

	snprintf(title, sizeof(title), "%s, refill", variants[_i].name);
	simt_must_pass(&test);
	published_end(job);
}
END_TEST

/*
 * One lane alone gets every page, then none; after all are freed the same again, a hundred times.
 */
MAM_KERNEL(alone)
{
	struct published_job *job = argument;
	struct mam_published_walk walk;
	uint32_t time, i;

	mam_published_start(&walk, (uint32_t)simt_random());
	for (time = 0; time < job->rounds; time++) {
		for (i = 0; i < job->count; i++) {
			job->taken[i] = job->of->take(job->s, &walk, 1);
			MAM_KASSERT(job->taken[i] < job->count);
			MAM_KASSERT(!job->payload[job->taken[i]]++);
		}
		MAM_KASSERT(job->of->take(job->s, &walk, 1) == MAM_NO_PAGE);
		for (i = 0; i < job->count; i++)
			published_leave(job, job->taken[(i * 11 + time) % job->count], 1);
		MAM_KASSERT(!job->of->give(job->s, job->count, 1));
		MAM_KASSERT(!job->of->give(job->s, MAM_NO_PAGE, 1));
	}
}

START_TEST(every_page_is_found)
{
	churn(_i, "alone, 70 pages", alone, 1, 1, 70, 1, 5, all_is_back, 2);
	churn(_i, "alone, 32 pages", alone, 1, 1, 32, 1, 5, all_is_back, 2);
}
END_TEST

/* A lane's second page follows its first: only the clustered search does that. */
MAM_KERNEL(two_in_a_row)
{
	struct published_job *job = argument;
	struct mam_published_walk walk;
	uint32_t first, second;

	mam_published_start(&walk, (uint32_t)simt_random());
	MAM_KASSERT(walk.last == MAM_NO_PAGE);
	first = mam_crw_take(job->s, &walk);
	MAM_KASSERT(walk.last == first && walk.steps == 1);
	second = mam_crw_take(job->s, &walk);
	MAM_KASSERT(second == first + 1 && walk.last == second && walk.steps == 2);
	walk.last = job->count - 1; /* after the last page comes the first */
	MAM_KASSERT(mam_crw_take(job->s, &walk) / 32 == 0 && walk.steps == 3);
}

START_TEST(cluster_continues_after_the_first_page)
{
	churn(2, "two in a row", two_in_a_row, 1, 1, 4096, 5, 1, NULL, 20);
}
END_TEST

/* Failed requests leave no trace in the queue: otherwise its counters would drift apart. */
MAM_KERNEL(refused)
{
	struct published_job *job = argument;
	struct mam_queue *queue = job->s;
	struct mam_published_walk walk;
	uint32_t i;

	mam_published_start(&walk, 1);
	MAM_KASSERT(mam_queue_take(queue, &walk) == 0 && walk.steps == 1);
	for (i = 0; i < 3; i++) {
		MAM_KASSERT(mam_queue_take(queue, &walk) == MAM_NO_PAGE);
		MAM_KASSERT(queue->ends == ((uint64_t)1 << 32 | 1));
	}
	MAM_KASSERT(walk.steps == 7); /* second in the line each time */
	mam_queue_mark(queue);
	MAM_KASSERT(mam_queue_give(queue, 0) && queue->ends == ((uint64_t)1 << 32 | 2));
	MAM_KASSERT(mam_queue_take(queue, &walk) == 0 && walk.steps == 8);
}

START_TEST(queue_forgets_failed_requests)
{
	churn(4, "refused", refused, 1, 1, 1, 5, 1, NULL, 1);
}
END_TEST

/* Bare counters: each number once, to the end, and none after it. */
MAM_KERNEL(count_up)
{
	struct published_job *job = argument;
	struct mam_published_walk walk;
	uint32_t round, page;

	mam_published_start(&walk, 1);
	for (round = 0; round < job->rounds + mam_lane() % 3; round++) {
		page = job->of->take(job->s, &walk, 1);
		if (page == MAM_NO_PAGE)
			mam_atomic_add32(&job->failed, 1, MAM_RELAXED, MAM_AT_DEVICE);
		else
			published_use(job, page, 1, published_id());
	}
	MAM_KASSERT(walk.steps == round);
}

PUBLISHED_CALLS(bump)
PUBLISHED_CALLS(bumpw)

static const struct published counters[] = {
	{ "bump", mam_bump_bytes, format_bump, take_bump, give_bump, NULL, NULL },
	{ "bumpw", mam_bumpw_bytes, format_bumpw, take_bumpw, give_bumpw, NULL, NULL },
};

static const char *all_counted(void *argument)
{
	struct published_job *job = argument;
	uint32_t page;

	for (page = 0; page < job->count; page++) {
		if (!job->payload[page])
			return published_wrong(job, "a page was skipped", page);
	}
	/*
	 * 64 lanes request twice, and a third of them 0, 1 and 2 more times: 22 + 2 * 20 + 128
	 * minus 100.
	 */
	return job->failed == 190 - 100 ? NULL : published_wrong(job, "failed", job->failed);
}

START_TEST(counter_counts_requests)
{
	struct published_job *job = published_job(&counters[_i], 100, 5, 2);
	struct simt_case test = { .name = counters[_i].name,
				  .kernel = count_up,
				  .grid = 2,
				  .block = 32,
				  .argument = job,
				  .begin = published_begin,
				  .check = all_counted,
				  .seeds = 40,
				  .config.race = PUBLISHED_RACE };

	simt_must_pass(&test);
	ck_assert(job->of->give(job->s, 99, 1));
	ck_assert(!job->of->give(job->s, 100, 1));
	published_end(job);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tools/bench/papers/walk");
	TCase *all = tcase_create("variants");
	SRunner *runner;
	int n = COUNT_OF(variants), failed;

	tcase_set_timeout(all, 300);
	tcase_add_loop_test(all, every_lane_gets_a_page, 0, n);
	tcase_add_loop_test(all, few_pages_for_many_lanes, 0, n);
	tcase_add_loop_test(all, empty_heap_returns_no_page, 0, n);
	tcase_add_loop_test(all, warps_with_few_lanes, 0, n);
	tcase_add_loop_test(all, lanes_that_diverge, 0, n);
	tcase_add_loop_test(all, fill_free_and_fill_again, 0, n);
	tcase_add_loop_test(all, every_page_is_found, 0, n);
	tcase_add_test(all, cluster_continues_after_the_first_page);
	tcase_add_test(all, queue_forgets_failed_requests);
	tcase_add_loop_test(all, counter_counts_requests, 0, COUNT_OF(counters));
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
