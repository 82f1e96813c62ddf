/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels on a heap made by mam_heap_create(): the calls of heap.cuh, run by the simulator in the
 * memory of the fake driver, and the host's statistics afterwards.
 *
 * Each case creates one heap and explores it: before each interleaving the heap is reset, after it
 * the statistics are compared with the lanes' own counts.
 */
#include <mam/heap.cuh>

#include "heap_fixture.h"
#include "simt/explore.h"

/* With access hooks, writes to pages are checked, too: they must be ordered between owners. */
#ifdef SIMT_HOOKS
#define RACE true
#define SEEDS 60
#else
#define RACE false
#define SEEDS 400
#endif

#define BLOCKS 2
#define LANES (BLOCKS * 32)
#define PAGE 256
#define WORDS (PAGE / 4)

struct job {
	struct cuda cuda;
	struct mam_pool *pool;
	struct mam_heap *heap;
	struct mam_kheap *device;
	void *kept[LANES];
	uint32_t counts[LANES]; /* of pages kept */
	uint32_t vain[LANES];   /* requests that returned NULL */
	struct mam_heap_info info;
};

static struct job *job_new(size_t pages)
{
	struct job *job = calloc(1, sizeof(*job));

	ck_assert_ptr_nonnull(job);
	job->cuda = load();
	job->pool = pool_new();
	job->heap = heap_of(job->pool, pages * PAGE, PAGE);
	job->device = mam_heap_device(job->heap);
	return job;
}

static void job_end(struct job *job)
{
	heap_end(job->heap);
	pool_end(job->pool);
	free(job);
}

static void begin(void *argument)
{
	struct job *job = argument;

	memset(job->kept, 0, sizeof(job->kept));
	memset(job->counts, 0, sizeof(job->counts));
	memset(job->vain, 0, sizeof(job->vain));
	ck_assert_int_eq(mam_heap_reset(job->heap, NULL), MAM_OK);
	ck_assert_int_eq(job->cuda.cuCtxSynchronize(), CUDA_SUCCESS);
}

static uint64_t sum(const uint32_t *numbers)
{
	uint64_t all = 0;

	for (unsigned int i = 0; i < LANES; i++)
		all += numbers[i];
	return all;
}

static const char *check(void *argument)
{
	struct job *job = argument;

	job->info = stats_of(job->heap);
	if (job->info.taken != sum(job->counts))
		return "allocated pages differ from those that lanes kept";
	if (job->info.full + job->info.no_run + job->info.contended != sum(job->vain))
		return "failed requests differ from those that were counted";
	return job->info.double_frees + job->info.foreign_frees + job->info.bad_sizes
		       ? "an error was counted without one"
		       : NULL;
}

static uint32_t number_of(void)
{
	return mam_block() * simt_block_threads() + simt_thread();
}

static void mark(void *page, uint32_t n, uint32_t mark)
{
	for (uint32_t i = 0; i < n * WORDS; i += 8)
		((uint32_t *)page)[i] = mark + i;
}

static bool is_marked(const void *page, uint32_t n, uint32_t mark)
{
	for (uint32_t i = 0; i < n * WORDS; i += 8)
		if (((const uint32_t *)page)[i] != mark + i)
			return false;
	return true;
}

/* Three rounds; every second lane keeps its last page. */
MAM_KERNEL(churn)
{
	struct job *job = argument;
	uint32_t self = number_of();
	struct mam_kwalk walk;
	void *page;

	mam_kpage_start(job->device, &walk);
	for (uint32_t round = 0; round < 3; round++) {
		page = mam_kpage_alloc(job->device, &walk);
		if (!page) {
			job->vain[self]++;
			continue;
		}
		MAM_KASSERT((uintptr_t)page % PAGE == 0);
		mark(page, 1, self << 16 | round << 8);
		(void)mam_warp_active(); /* other lanes may run in between */
		MAM_KASSERT(is_marked(page, 1, self << 16 | round << 8));
		if (round == 2 && self % 2) {
			job->kept[self] = page;
			job->counts[self] = 1;
		} else {
			MAM_KASSERT(mam_kpage_free(job->device, page));
		}
	}
}

static void explore(struct job *job, const char *name, simt_kernel *kernel)
{
	/* clang-format off */
	struct simt_case test = { .name = name, .kernel = kernel, .grid = BLOCKS, .block = 32,
				  .argument = job, .begin = begin, .check = check, .seeds = SEEDS,
				  .config = { .race = RACE } };
	/* clang-format on */

	simt_must_pass(&test);
}

START_TEST(lanes_allocate_and_free_pages)
{
	struct job *job = job_new(100);

	explore(job, "pages", churn);
	job_end(job);
}
END_TEST

/* Fewer pages than lanes: some requests fail, at the latest when half of the lanes keep theirs. */
START_TEST(small_heap_counts_failures)
{
	struct job *job = job_new(20);

	explore(job, "heap is too small", churn);
	ck_assert_uint_ge(job->info.full, LANES / 2 - 20);
	ck_assert_uint_le(job->info.taken, 20);
	job_end(job);
}
END_TEST

MAM_KERNEL(runs)
{
	struct job *job = argument;
	uint32_t self = number_of(), n = 1 + self % 7;
	struct mam_kwalk walk;
	void *run;

	mam_kpage_start(job->device, &walk);
	run = mam_kpage_alloc_run(job->device, &walk, n);
	if (!run) {
		job->vain[self]++;
		return;
	}
	mark(run, n, self << 16);
	(void)mam_warp_active();
	MAM_KASSERT(is_marked(run, n, self << 16));
	if (n > 3) { /* free in parts */
		MAM_KASSERT(mam_kpage_free_run(job->device, run, n - 2));
		run = (unsigned char *)run + (size_t)(n - 2) * PAGE;
		n = 2;
	}
	if (self % 3 == 0) {
		MAM_KASSERT(mam_kpage_free_run(job->device, run, n));
		return;
	}
	job->kept[self] = run;
	job->counts[self] = n;
}

START_TEST(runs_can_be_freed_in_parts)
{
	struct job *job = job_new(200);

	explore(job, "runs", runs);
	job_end(job);
}
END_TEST

MAM_KERNEL(free_kept)
{
	struct job *job = argument;
	uint32_t self = LANES - 1 - number_of(); /* the run of another lane */

	MAM_KASSERT(mam_kpage_free_run(job->device, job->kept[self], job->counts[self]));
	job->counts[self] = 0;
}

static bool alloc_then_free(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, runs, BLOCKS, 32, argument) &&
	       simt_world_launch(world, 1, free_kept, BLOCKS, 32, argument);
}

START_TEST(another_kernel_may_free)
{
	struct job *job = job_new(300);
	/* clang-format off */
	struct simt_case test = { .name = "two kernels", .argument = job, .begin = begin,
				  .check = check, .build = alloc_then_free, .seeds = SEEDS,
				  .config = { .race = RACE } };
	/* clang-format on */

	simt_must_pass(&test);
	ck_assert_uint_eq(job->info.taken, 0);
	job_end(job);
}
END_TEST

/* One lane; the test compares the counts. */
MAM_KERNEL(errors)
{
	struct job *job = argument;
	struct mam_kheap *heap = job->device;
	struct mam_kwalk walk;
	unsigned char *page, *run;

	mam_kpage_start(heap, &walk);
	page = mam_kpage_alloc(heap, &walk);
	run = mam_kpage_alloc_run(heap, &walk, 3);
	MAM_KASSERT(page && run);
	MAM_KASSERT(mam_kpage_free(heap, NULL) && mam_kpage_free_run(heap, NULL, 3));
	MAM_KASSERT(mam_kpage_free(heap, page) && !mam_kpage_free(heap, page)); /* double 1 */
	MAM_KASSERT(!mam_kpage_free(heap, run + 1));               /* foreign 1: interior */
	MAM_KASSERT(!mam_kpage_free(heap, heap));                  /* 2: the head */
	MAM_KASSERT(!mam_kpage_free(heap, heap->space - PAGE));    /* 3: before the heap */
	MAM_KASSERT(!mam_kpage_free(heap, &walk));                 /* 4: elsewhere */
	MAM_KASSERT(!mam_kpage_free_run(heap, run + PAGE / 2, 2)); /* 5 */
	MAM_KASSERT(!mam_kpage_free_run(heap, run, 1000));         /* 6: more than exist */
	MAM_KASSERT(mam_kpage_free(heap, run + PAGE));
	MAM_KASSERT(
		!mam_kpage_free_run(heap, run, 3)); /* double 2: its middle; the rest is freed */
	MAM_KASSERT(!mam_kpage_alloc_run(heap, &walk, 0));               /* bad 1 */
	MAM_KASSERT(!mam_kpage_alloc_run(heap, &walk, heap->pages + 1)); /* bad 2 */
	run = mam_kpage_alloc_run(heap, &walk, heap->pages);
	MAM_KASSERT(run == heap->space);
	MAM_KASSERT(!mam_kpage_alloc(heap, &walk));        /* full */
	MAM_KASSERT(!mam_kpage_alloc_run(heap, &walk, 2)); /* no run */
}

START_TEST(invalid_calls_are_counted_and_change_nothing)
{
	struct job *job = job_new(130);
	struct simt_config config = { .seed = 1 };
	struct simt_result result;

	begin(job);
	simt_set_shape(&config, (uint64_t)_i);
	ck_assert_msg(simt_launch(&config, errors, 1, 1, job, &result) == SIMT_FINE, "%s",
		      result.text);
	job->info = stats_of(job->heap);
	ck_assert_uint_eq(job->info.taken, 130);
	ck_assert_uint_eq(job->info.double_frees, 2);
	ck_assert_uint_eq(job->info.foreign_frees, 6);
	ck_assert_uint_eq(job->info.bad_sizes, 2);
	ck_assert_uint_eq(job->info.full, 1);
	ck_assert_uint_eq(job->info.no_run, 1);
	ck_assert_int_eq(mam_heap_reset(job->heap, NULL), MAM_OK);
	job->info = stats_of(job->heap);
	ck_assert_uint_eq(job->info.taken + job->info.double_frees + job->info.full, 0);
	job_end(job);
}
END_TEST

MAM_KERNEL(places)
{
	struct job *job = argument;
	struct mam_kheap *heap = job->device;

	MAM_KASSERT(mam_kpage_bytes(heap) == PAGE);
	MAM_KASSERT(!mam_kpage_at(heap, MAM_NO_PAGE));
	for (uint32_t i = 0; i < heap->pages; i++) {
		unsigned char *page = mam_kpage_at(heap, i);

		MAM_KASSERT(page == heap->space + (size_t)i * PAGE);
		MAM_KASSERT(mam_kpage_number(heap, page) == i);
		MAM_KASSERT(mam_kpage_number(heap, page + 1) == MAM_NO_PAGE);
		MAM_KASSERT(mam_kpage_number(heap, page + PAGE - 1) == MAM_NO_PAGE);
		MAM_KASSERT(mam_kpage_around(heap, page + PAGE - 1) == i);
	}
	MAM_KASSERT(mam_kpage_number(heap, heap) == MAM_NO_PAGE);
	MAM_KASSERT(mam_kpage_around(heap, heap) == MAM_NO_PAGE);
	MAM_KASSERT(mam_kpage_around(heap, heap->space - 1) == MAM_NO_PAGE);
	/* A whole number of pages plus 2^32 away. */
	MAM_KASSERT(mam_kpage_number(heap, (void *)((uintptr_t)heap->space +
						    ((uintptr_t)PAGE << 32))) == MAM_NO_PAGE);
	MAM_KASSERT(mam_kpage_around(heap, (void *)((uintptr_t)heap->space +
						    ((uintptr_t)PAGE << 32))) == MAM_NO_PAGE);
}

START_TEST(page_addresses_match_page_numbers)
{
	struct job *job = job_new(70);
	struct simt_config config = { .seed = 1 };
	struct simt_result result;

	simt_set_shape(&config, (uint64_t)_i);
	ck_assert_msg(simt_launch(&config, places, 1, 1, job, &result) == SIMT_FINE, "%s",
		      result.text);
	job_end(job);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, lanes_allocate_and_free_pages);
	tcase_add_test(tests, small_heap_counts_failures);
	tcase_add_test(tests, runs_can_be_freed_in_parts);
	tcase_add_test(tests, another_kernel_may_free);
	tcase_add_loop_test(tests, invalid_calls_are_counted_and_change_nothing, 0, SIMT_SHAPES);
	tcase_add_loop_test(tests, page_addresses_match_page_numbers, 0, SIMT_SHAPES);
}

int main(void)
{
	return run_suite("heap/heap_kernel", add);
}
