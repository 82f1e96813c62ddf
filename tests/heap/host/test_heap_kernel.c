/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels on a heap that mam_heap_create() made: the calls of heap.cuh, run by the simulator in
 * the memory of the stand-in driver, and what the host's statistics say afterwards.
 *
 * Each case makes one heap and explores it: before each interleaving the heap is reset, after it
 * the statistics and what lanes wrote down are compared.
 */
#include <mam/heap.cuh>

#include "heap_fixture.h"
#include "simt/explore.h"

/* With access hooks what lanes write to pages is checked too: is it ordered between owners? */
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
	uint32_t vain[LANES];   /* requests that got NULL */
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
		return "pages taken are not those that lanes kept";
	if (job->info.full + job->info.no_run + job->info.contended != sum(job->vain))
		return "requests that got NULL are not those that were counted";
	return job->info.double_frees + job->info.foreign_frees + job->info.bad_sizes
		       ? "a mistake was counted, and nobody made one"
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

/* Three rounds; each lane's last page is kept by every second lane. */
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
		(void)mam_warp_active(); /* others may come in between */
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

START_TEST(lanes_take_and_give_pages)
{
	struct job *job = job_new(100);

	explore(job, "pages", churn);
	job_end(job);
}
END_TEST

/* Fewer pages than lanes: some get none, at the latest when half of all keep theirs. */
START_TEST(a_heap_that_is_too_small_says_so)
{
	struct job *job = job_new(20);

	explore(job, "too small", churn);
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
	if (n > 3) { /* in parts */
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

START_TEST(lanes_take_runs_and_give_them_in_parts)
{
	struct job *job = job_new(200);

	explore(job, "runs", runs);
	job_end(job);
}
END_TEST

MAM_KERNEL(give_kept)
{
	struct job *job = argument;
	uint32_t self = LANES - 1 - number_of(); /* another lane's */

	MAM_KASSERT(mam_kpage_free_run(job->device, job->kept[self], job->counts[self]));
	job->counts[self] = 0;
}

static bool take_then_give(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, runs, BLOCKS, 32, argument) &&
	       simt_world_launch(world, 1, give_kept, BLOCKS, 32, argument);
}

START_TEST(another_kernel_gives_them_back)
{
	struct job *job = job_new(300);
	/* clang-format off */
	struct simt_case test = { .name = "two kernels", .argument = job, .begin = begin,
				  .check = check, .build = take_then_give, .seeds = SEEDS,
				  .config = { .race = RACE } };
	/* clang-format on */

	simt_must_pass(&test);
	ck_assert_uint_eq(job->info.taken, 0);
	job_end(job);
}
END_TEST

/* One lane; the counts are compared by the test. */
MAM_KERNEL(mistakes)
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
	MAM_KASSERT(!mam_kpage_free(heap, run + 1));               /* foreign 1: inside */
	MAM_KASSERT(!mam_kpage_free(heap, heap));                  /* 2: the head */
	MAM_KASSERT(!mam_kpage_free(heap, heap->space - PAGE));    /* 3: before */
	MAM_KASSERT(!mam_kpage_free(heap, &walk));                 /* 4: elsewhere */
	MAM_KASSERT(!mam_kpage_free_run(heap, run + PAGE / 2, 2)); /* 5 */
	MAM_KASSERT(!mam_kpage_free_run(heap, run, 1000));         /* 6: more than there are */
	MAM_KASSERT(mam_kpage_free(heap, run + PAGE));
	MAM_KASSERT(!mam_kpage_free_run(heap, run, 3));    /* double 2: its middle; the rest goes */
	MAM_KASSERT(!mam_kpage_alloc_run(heap, &walk, 0)); /* bad 1 */
	MAM_KASSERT(!mam_kpage_alloc_run(heap, &walk, heap->pages + 1)); /* bad 2 */
	run = mam_kpage_alloc_run(heap, &walk, heap->pages);
	MAM_KASSERT(run == heap->space);
	MAM_KASSERT(!mam_kpage_alloc(heap, &walk));        /* full */
	MAM_KASSERT(!mam_kpage_alloc_run(heap, &walk, 2)); /* no run */
}

START_TEST(mistakes_change_nothing_and_are_counted)
{
	struct job *job = job_new(130);
	struct simt_config config = { .seed = 1 };
	struct simt_result result;

	begin(job);
	simt_set_shape(&config, (uint64_t)_i);
	ck_assert_msg(simt_launch(&config, mistakes, 1, 1, job, &result) == SIMT_FINE, "%s",
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
	/* A whole number of pages and 2^32 more away. */
	MAM_KASSERT(mam_kpage_number(heap, (void *)((uintptr_t)heap->space +
						    ((uintptr_t)PAGE << 32))) == MAM_NO_PAGE);
	MAM_KASSERT(mam_kpage_around(heap, (void *)((uintptr_t)heap->space +
						    ((uintptr_t)PAGE << 32))) == MAM_NO_PAGE);
}

START_TEST(addresses_and_numbers)
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
	tcase_add_test(tests, lanes_take_and_give_pages);
	tcase_add_test(tests, a_heap_that_is_too_small_says_so);
	tcase_add_test(tests, lanes_take_runs_and_give_them_in_parts);
	tcase_add_test(tests, another_kernel_gives_them_back);
	tcase_add_loop_test(tests, mistakes_change_nothing_and_are_counted, 0, SIMT_SHAPES);
	tcase_add_loop_test(tests, addresses_and_numbers, 0, SIMT_SHAPES);
}

int main(void)
{
	return run_suite("heap/heap_kernel", add);
}
