/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that the host frees with mam_heap_free(), and kernels that drain them: in the memory of
 * the fake driver, by lanes of the simulator.
 */
#include <mam/heap.cuh>

#include <pthread.h>

#include "heap_fixture.h"
#include "simt/explore.h"

#define NON_BLOCKING 1u
#define MAX 6000

static void *objects[MAX];

static void take(struct mam_heap *heap, unsigned int first, unsigned int count, size_t bytes)
{
	for (unsigned int i = first; i < first + count; i++) {
		objects[i] = mam_kmalloc(mam_heap_device(heap), bytes);
		ck_assert_ptr_nonnull(objects[i]);
	}
}

static void give(struct mam_heap *heap, unsigned int first, unsigned int count)
{
	size_t taken = 12345;

	ck_assert_int_eq(mam_heap_free(heap, NULL, objects + first, count, &taken), MAM_OK);
	ck_assert_uint_eq(taken, count);
}

MAM_KERNEL(drains)
{
	mam_kdrain(argument);
}

static void drain(struct mam_heap *heap)
{
	static uint64_t turn;
	struct simt_config config = { .seed = 1 };
	struct simt_result result;

	simt_set_shape(&config, turn++);
	ck_assert_msg(simt_launch(&config, drains, 2, 40, mam_heap_device(heap), &result) ==
			      SIMT_FINE,
		      "%s", result.text);
}

/* So many objects are live, and so many frees are pending. */
static struct mam_heap_info counts(struct mam_heap *heap, uint64_t live, uint64_t returned)
{
	struct mam_heap_info info = stats_of(heap);

	ck_assert_uint_eq(info.objects, live);
	ck_assert_uint_eq(info.returned, returned);
	return info;
}

START_TEST(objects_are_free_after_drain)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, 4 * MIB);
	struct mam_heap_info info;

	(void)cuda;
	take(heap, 0, 70, 100);
	take(heap, 70, 20, 3000);
	take(heap, 90, 10, 20000);
	give(heap, 0, 0);
	counts(heap, 100, 0);
	give(heap, 50, 50);
	counts(heap, 100, 50);
	give(heap, 10, 20);
	counts(heap, 100, 70);
	drain(heap);
	info = counts(heap, 30, 0);
	ck_assert_uint_eq(info.large_objects, 0);
	ck_assert_uint_eq(info.classes[mam_class_of(100) - 1].objects, 30);
	give(heap, 0, 10);
	give(heap, 30, 20);
	drain(heap);
	info = counts(heap, 0, 0);
	ck_assert_uint_eq(info.double_frees + info.foreign_frees + info.interior_frees, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Accepts the first ones, as many as there is room for. */
START_TEST(full_ring_accepts_no_more)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, 4 * MIB);
	size_t taken = 12345;

	(void)cuda;
	take(heap, 0, MAX, 16);
	ck_assert_int_eq(mam_heap_free(heap, NULL, objects, MAX, &taken), MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_eq(taken, MAM_HEAP_RETURNS);
	counts(heap, MAX, MAM_HEAP_RETURNS);
	ck_assert_int_eq(mam_heap_free(heap, NULL, objects + taken, 1, &taken),
			 MAM_ERROR_WOULD_WAIT);
	ck_assert_uint_eq(taken, 0);
	ck_assert_int_eq(mam_heap_free(heap, NULL, objects, 1, NULL), MAM_ERROR_WOULD_WAIT);
	ck_assert_int_eq(mam_heap_free(heap, NULL, objects, 0, NULL), MAM_OK);
	drain(heap);
	for (unsigned int i = 0; i < MAM_HEAP_RETURNS; i++)
		ck_assert_uint_eq(mam_kusable(mam_heap_device(heap), objects[i]), 0);
	counts(heap, MAX - MAM_HEAP_RETURNS, 0);
	give(heap, MAM_HEAP_RETURNS, MAX - MAM_HEAP_RETURNS);
	drain(heap);
	ck_assert_uint_eq(counts(heap, 0, 0).double_frees, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* A request that would return NULL drains the host's frees first, and succeeds. */
START_TEST(full_heap_drains_before_it_fails)
{
	static const size_t sizes[] = { 16, 100, 8192, 20000 };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();

	(void)cuda;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct mam_heap *heap = objects_of(pool, MAM_HEAP_BLOCK);
		struct mam_kheap *device = mam_heap_device(heap);
		unsigned int count = 0;

		while ((objects[count] = mam_kmalloc(device, sizes[i])) != NULL)
			count++;
		ck_assert_uint_ge(count, 2);
		ck_assert_ptr_null(mam_kmalloc(device, sizes[i]));
		give(heap, 1, 1);
		ck_assert_ptr_eq(mam_kmalloc(device, sizes[i]), objects[1]);
		ck_assert_ptr_null(mam_kmalloc(device, sizes[i]));
		counts(heap, count, 0);
		give(heap, 0, count);
		if (sizes[i] < 20000) /* the whole heap, by a run */
			ck_assert_ptr_eq(mam_kmalloc(device, MAM_HEAP_BLOCK), device->space);
		heap_end(heap);
	}
	pool_end(pool);
}
END_TEST

/* Entries wrap around the ring, wherever the share of a call ends. */
START_TEST(ring_wraps_around)
{
	static const unsigned int steps[] = { 1000, 1, 3096, 4096, 4095, 77, 2000, 3, 4096 };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, 4 * MIB);
	const struct mam_returns *ring = mam_heap_device(heap)->returns;
	uint64_t all = 0;

	(void)cuda;
	for (unsigned int i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		take(heap, 0, steps[i], 16);
		give(heap, 0, steps[i] / 3);
		give(heap, steps[i] / 3, steps[i] - steps[i] / 3);
		all += steps[i];
		ck_assert_uint_eq(ring->told, all);
		drain(heap);
		ck_assert_uint_eq(ring->taken, all);
		ck_assert_uint_eq(counts(heap, 0, 0).double_frees, 0);
	}
	ck_assert_uint_gt(all, 4 * MAM_HEAP_RETURNS);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(invalid_frees_are_counted)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct mam_heap_info info;

	(void)cuda;
	take(heap, 0, 3, 100);
	objects[3] = NULL;
	objects[4] = objects[0];              /* double free */
	objects[5] = (char *)objects[1] + 16; /* interior */
	objects[6] = &info;                   /* not in this heap */
	objects[7] = mam_heap_device(heap);   /* the metadata */
	objects[8] = (void *)(uintptr_t)UINTPTR_MAX;
	objects[9] = objects[2];
	objects[1] = NULL;
	objects[2] = NULL;
	give(heap, 0, 10);
	counts(heap, 3, 10);
	drain(heap);
	info = counts(heap, 1, 0);
	ck_assert_uint_eq(info.double_frees, 1);
	ck_assert_uint_eq(info.interior_frees, 1);
	ck_assert_uint_eq(info.foreign_frees, 3);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* A reset frees all objects; pending frees are not counted as errors. */
START_TEST(reset_drops_pending_frees)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct mam_heap_info info;

	(void)cuda;
	for (unsigned int round = 1; round < 5; round++) {
		take(heap, 0, 100 * round, 64);
		give(heap, 0, 50 * round);
		if (round % 2)
			drain(heap);
		give(heap, 50 * round, 50);
		ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
		counts(heap, 0, 0);
		drain(heap);
		info = counts(heap, 0, 0);
		ck_assert_uint_eq(info.double_frees + info.foreign_frees, 0);
	}
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* The call waits for the caller's stream, and for no other. */
START_TEST(free_waits_for_its_stream_only)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct CUstream_st *one, *two;

	take(heap, 0, 2, 1024);
	ck_assert_int_eq(cuda.cuStreamCreate(&one, NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuStreamCreate(&two, NON_BLOCKING), CUDA_SUCCESS);
	ck_assert_int_eq(cuda.cuMemsetD8Async((uintptr_t)objects[0], 1, 1024, one), CUDA_SUCCESS);
	for (unsigned int i = 0; i < 30; i++)
		ck_assert_int_eq(cuda.cuMemsetD8Async((uintptr_t)objects[1], 1, 1024, two),
				 CUDA_SUCCESS);
	ck_assert_int_gt(cuda.fake_pending((uintptr_t)objects[0], 1024), 0);
	ck_assert_int_eq(mam_heap_free(heap, one, objects, 1, NULL), MAM_OK);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)objects[0], 1024), 0);
	ck_assert_int_gt(cuda.fake_pending((uintptr_t)objects[1], 1024), 0);
	/* And the entry is published when the call returns. */
	ck_assert_uint_eq(mam_heap_device(heap)->returns->told, 1);
	ck_assert_ptr_eq((void *)(uintptr_t)mam_heap_device(heap)->returns->address[0], objects[0]);
	ck_assert_int_eq(mam_heap_free(heap, two, objects + 1, 1, NULL), MAM_OK);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)objects[1], 1024), 0);
	drain(heap);
	counts(heap, 0, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

struct giver {
	struct mam_heap *heap;
	unsigned int first, count;
	bool good;
};

static void *free_singly(void *argument)
{
	struct giver *giver = argument;
	unsigned int i = giver->first, end = i + giver->count;
	size_t taken;

	giver->good = true;
	for (; i < end; i += 1 + i % 3) {
		size_t n = 1 + i % 3 < end - i ? 1 + i % 3 : end - i;

		giver->good &= mam_heap_free(giver->heap, (struct CUstream_st *)2, objects + i, n,
					     &taken) == MAM_OK &&
			       taken == n;
	}
	return NULL;
}

START_TEST(several_threads_may_free)
{
	struct giver givers[4];
	pthread_t threads[4];
	struct mam_pool *pool;
	struct mam_heap *heap;

	/* Real time: threads sleep while the driver works, and others run in between. */
	unsetenv("FAKE_CUDA_CLOCK_NS");
	setenv("FAKE_CUDA_LAG_US", "20", 1);
	(void)load();
	pool = pool_new();
	heap = objects_of(pool, 4 * MIB);
	take(heap, 0, 1200, 32);
	for (unsigned int i = 0; i < 4; i++) {
		givers[i] = (struct giver){ heap, 300 * i, 300, false };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, free_singly, &givers[i]), 0);
	}
	for (unsigned int i = 0; i < 4; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert(givers[i].good);
	}
	counts(heap, 1200, 1200);
	drain(heap);
	ck_assert_uint_eq(counts(heap, 0, 0).double_frees, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

struct waiting_free {
	struct mam_heap *heap;
	struct CUstream_st *stream;
	enum mam_status status;
};

static void *free_after_wait(void *argument)
{
	struct waiting_free *waiting = argument;

	waiting->status = mam_heap_free(waiting->heap, waiting->stream, objects, 1, NULL);
	return NULL;
}

/* A kernel may be waiting for memory that another thread frees. */
START_TEST(waiting_free_does_not_block_others)
{
	struct mam_pool *pool;
	struct waiting_free waiting;
	pthread_t thread;
	struct cuda cuda;

	unsetenv("FAKE_CUDA_CLOCK_NS");
	setenv("FAKE_CUDA_LAG_US", "10000", 1);
	cuda = load();
	pool = pool_new();
	waiting.heap = objects_of(pool, MIB);
	take(waiting.heap, 0, 2, 1024);
	ck_assert_int_eq(cuda.cuStreamCreate(&waiting.stream, NON_BLOCKING), CUDA_SUCCESS);
	for (unsigned int i = 0; i < 200; i++)
		ck_assert_int_eq(
			cuda.cuMemsetD8Async((uintptr_t)objects[0], 1, 1024, waiting.stream),
			CUDA_SUCCESS);
	ck_assert_int_eq(pthread_create(&thread, NULL, free_after_wait, &waiting), 0);
	usleep(100000);
	ck_assert_int_eq(mam_heap_free(waiting.heap, (struct CUstream_st *)2, objects + 1, 1, NULL),
			 MAM_OK);
	ck_assert_int_gt(cuda.fake_pending((uintptr_t)objects[0], 1024), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(cuda.fake_pending((uintptr_t)objects[0], 1024), 0);
	ck_assert_int_eq(waiting.status, MAM_OK);
	drain(waiting.heap);
	counts(waiting.heap, 0, 0);
	heap_end(waiting.heap);
	pool_end(pool);
}
END_TEST

/* Every second object, found by the walk and freed by the visitor. */
static bool free_some(void *argument, void *address, size_t bytes)
{
	struct giver *giver = argument;

	ck_assert_uint_eq(bytes, mam_kusable(mam_heap_device(giver->heap), address));
	if (giver->count++ % 2 == 0)
		ck_assert_int_eq(mam_heap_free(giver->heap, NULL, &address, 1, NULL), MAM_OK);
	return true;
}

START_TEST(visitor_may_free_objects)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, 4 * MIB);
	struct giver giver = { .heap = heap };

	(void)cuda;
	take(heap, 0, 200, 500);
	take(heap, 200, 20, 50000);
	ck_assert_int_eq(mam_heap_walk(heap, NULL, free_some, &giver), MAM_OK);
	ck_assert_uint_eq(giver.count, 220);
	counts(heap, 220, 110);
	drain(heap);
	counts(heap, 110, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- kernels and the host at the same time --------------------------------------------------- */

#define LANES 40
#define ROUNDS 3

struct job {
	struct cuda cuda;
	struct mam_heap *heap;
	struct mam_kheap *device;
	uint64_t kept[LANES]; /* addresses that lanes leave to the host; atomic */
};

static void begin(void *argument)
{
	struct job *job = argument;

	memset(job->kept, 0, sizeof(job->kept));
	ck_assert_int_eq(mam_heap_reset(job->heap, NULL), MAM_OK);
	ck_assert_int_eq(job->cuda.cuCtxSynchronize(), CUDA_SUCCESS);
}

/* Lanes allocate objects and leave them to the host, which frees them meanwhile. */
MAM_KERNEL(leaves)
{
	struct job *job = argument;
	uint32_t self = mam_block() * simt_block_threads() + simt_thread();

	for (uint32_t round = 0; round < ROUNDS; round++) {
		void *object = mam_kmalloc(job->device, 16u << (self + round) % 5);

		MAM_KASSERT(object);
		if (mam_atomic_cas64(&job->kept[self], 0, (uintptr_t)object, MAM_RELEASE,
				     MAM_AT_SYSTEM) != 0)
			MAM_KASSERT(mam_kfree(job->device, object));
		if (round % 2)
			mam_kdrain(job->device);
	}
}

static void free_remaining(struct job *job)
{
	void *found[LANES];
	size_t count = 0;

	for (unsigned int i = 0; i < LANES; i++) {
		uint64_t address = mam_atomic_xchg64(&job->kept[i], 0, MAM_ACQ_REL, MAM_AT_SYSTEM);

		if (address != 0)
			found[count++] = (void *)(uintptr_t)address;
	}
	MAM_KASSERT(mam_heap_free(job->heap, (struct CUstream_st *)2, found, count, NULL) ==
		    MAM_OK);
}

static void host(void *argument)
{
	struct job *job = argument;

	for (unsigned int i = 0; i < 20; i++) {
		free_remaining(job);
		simt_host_yield("host");
	}
	simt_host_wait(1, "the first stream");
	simt_host_wait(2, "the second stream");
	free_remaining(job);
	MAM_KASSERT(simt_host_launch(1, drains, 1, 7, job->device));
	simt_host_wait(1, "the last kernel");
}

static const char *check(void *argument)
{
	struct job *job = argument;
	struct mam_heap_info info = stats_of(job->heap);

	if (info.objects != 0 || info.returned != 0)
		return "a freed object is not free";
	return info.double_frees + info.foreign_frees + info.interior_frees
		       ? "an error was counted without one"
		       : NULL;
}

static bool build(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, leaves, 1, LANES / 2, argument) &&
	       simt_world_launch(world, 2, drains, 1, 33, ((struct job *)argument)->device) &&
	       simt_world_host(world, host, argument);
}

START_TEST(kernels_run_while_host_frees)
{
	struct job job = { .cuda = load() };
	struct mam_pool *pool = pool_new();
	/* clang-format off */
	struct simt_case test = { .name = "host and kernels", .argument = &job, .begin = begin,
				  .check = check, .build = build, .seeds = 60 };
	/* clang-format on */

	job.heap = objects_of(pool, 3 * MAM_HEAP_BLOCK);
	job.device = mam_heap_device(job.heap);
	simt_must_pass(&test);
	heap_end(job.heap);
	pool_end(pool);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, objects_are_free_after_drain);
	tcase_add_test(tests, full_ring_accepts_no_more);
	tcase_add_test(tests, full_heap_drains_before_it_fails);
	tcase_add_test(tests, ring_wraps_around);
	tcase_add_test(tests, invalid_frees_are_counted);
	tcase_add_test(tests, reset_drops_pending_frees);
	tcase_add_test(tests, free_waits_for_its_stream_only);
	tcase_add_test(tests, several_threads_may_free);
	tcase_add_test(tests, waiting_free_does_not_block_others);
	tcase_add_test(tests, visitor_may_free_objects);
	tcase_add_test(tests, kernels_run_while_host_frees);
}

int main(void)
{
	return run_suite("heap/heap_returns", add);
}
