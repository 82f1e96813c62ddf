/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_returns.c - an object that the host frees is freed once, by one lane of one kernel, after
 * all of the host's accesses to it, however small the ring is and however many kernels drain it.
 *
 * The host is a simulated thread that does what the copies of mam_heap_free() do: it writes whole
 * entries, which a lane that reads them too early may see in any order, and then `told`. The test
 * replaces the function that frees by one that keeps a shadow; the object's memory is accessed with
 * plain accesses.
 */
#define MAM_RETURNS 8u

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "heap/slab/returns.h"
#include "simt/explore.h"
#include "simt/suite.h"

/* Only builds with access hooks observe plain accesses. */
#ifdef SIMT_HOOKS
#define RACE true
#define SEEDS 60
#else
#define RACE false
#define SEEDS 400
#endif

#define OBJECTS 40

struct job {
	struct mam_kheap heap;
	struct mam_returns ring;
	uint64_t first;            /* initial value of the ring's counts */
	uint32_t freed[OBJECTS];   /* times; atomic */
	uint32_t written[OBJECTS]; /* plain: written by the host, then read by the freeing lane */
	uint32_t full;             /* times that the host found the ring full */
	uint64_t all_full;         /* total of all runs */
};

static struct job job;

MAM_KSLOW bool mam_objects_free_lone(struct mam_kheap *heap, void *object)
{
	uint64_t number = (uintptr_t)object / 16 - 1;

	MAM_KASSERT(heap == &job.heap);
	MAM_KASSERT(number < OBJECTS && (uintptr_t)object % 16 == 0);
	MAM_KASSERT(mam_atomic_add32(&job.freed[number], 1, MAM_RELAXED, MAM_AT_DEVICE) == 0);
	MAM_KASSERT(job.written[number] == number + 1);
	return true;
}

static void begin(void *argument)
{
	(void)argument;
	job.all_full += job.full;
	memset(&job.heap, 0, sizeof(job.heap));
	memset(&job.ring, 0, sizeof(job.ring));
	memset(job.freed, 0, sizeof(job.freed));
	memset(job.written, 0, sizeof(job.written));
	job.full = 0;
	job.heap.blocks = 1;
	job.heap.returns = &job.ring;
	job.ring.told = job.first;
	job.ring.taken = job.first;
}

static const char *check(void *argument)
{
	(void)argument;
	for (unsigned int i = 0; i < OBJECTS; i++)
		if (job.freed[i] != 1)
			return "an object was not freed exactly once";
	if (job.ring.told != job.first + OBJECTS || job.ring.taken != job.ring.told)
		return "the ring's counts differ from the number of objects";
	return NULL;
}

MAM_KERNEL(drain)
{
	(void)argument;
	for (unsigned int round = 0; round < 3; round++)
		mam_returns_drain(&job.heap);
}

/*
 * Frees at most `n` objects, starting at `first`, as far as the ring has room; returns how many.
 */
static uint32_t give(uint32_t first, uint32_t n)
{
	uint64_t taken = mam_atomic_load64(&job.ring.taken, MAM_ACQUIRE, MAM_AT_SYSTEM);
	uint64_t told = job.ring.told;
	uint32_t room = (uint32_t)(MAM_RETURNS - (told - taken)), i;

	if (n > room)
		n = room;
	for (i = 0; i < n; i++) {
		job.written[first + i] = first + i + 1;
		mam_atomic_store64(&job.ring.address[(told + i) % MAM_RETURNS],
				   16 * (uint64_t)(first + i + 1), MAM_RELAXED, MAM_AT_SYSTEM);
	}
	if (n)
		mam_atomic_store64(&job.ring.told, told + n, MAM_RELEASE, MAM_AT_SYSTEM);
	return n;
}

/* Frees all objects; if the ring is full, a kernel of the host's own sometimes makes room. */
static void host(void *argument)
{
	uint32_t given = 0, n, wanted;

	while (given < OBJECTS) {
		wanted = 1 + (uint32_t)(simt_random() % (2 * MAM_RETURNS));
		n = give(given, wanted < OBJECTS - given ? wanted : OBJECTS - given);
		given += n;
		simt_host_yield("host");
		if (n)
			continue;
		job.full++;
		MAM_KASSERT(simt_host_launch(9, drain, 1, 5, argument));
		simt_host_wait(9, "host waits");
	}
	MAM_KASSERT(simt_host_launch(9, drain, 1, 3, argument));
	simt_host_wait(9, "host waits at last");
}

/* Kernels on several streams drain while the host frees. */
static bool two_kernels(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, drain, 2, 33, argument) &&
	       simt_world_launch(world, 1, drain, 1, 7, argument) &&
	       simt_world_launch(world, 2, drain, 1, 40, argument) &&
	       simt_world_host(world, host, argument);
}

static bool one_kernel(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, drain, 1, 20, argument) &&
	       simt_world_host(world, host, argument);
}

static void explore(const char *name, bool (*build)(struct simt_world *world, void *argument))
{
	/* clang-format off */
	struct simt_case test = { .name = name, .build = build, .argument = &job, .begin = begin,
				  .check = check, .seeds = SEEDS, .config = { .race = RACE } };
	/* clang-format on */

	simt_must_pass(&test);
}

START_TEST(one_kernel_frees_each_object_once)
{
	job.first = 0;
	explore("one kernel", one_kernel);
	ck_assert_uint_gt(job.all_full, 0);
}
END_TEST

START_TEST(several_kernels_free_each_object_once)
{
	job.first = 5;
	explore("several kernels", two_kernels);
	ck_assert_uint_gt(job.all_full, 0);
}
END_TEST

/* The 64-bit counts wrap without any other effect. */
START_TEST(counts_wrap_safely)
{
	job.first = UINT64_MAX - 9;
	explore("counts wrap", one_kernel);
}
END_TEST

/* An empty ring: nothing is freed, nothing is written. */
START_TEST(drain_of_empty_ring_writes_nothing)
{
	struct simt_config config = { .seed = 1 };
	struct simt_result result;

	job.first = 12345;
	for (unsigned int shape = 0; shape < SIMT_SHAPES; shape++) {
		begin(&job);
		simt_set_shape(&config, shape);
		ck_assert_msg(simt_launch(&config, drain, 2, 64, &job, &result) == SIMT_FINE, "%s",
			      result.text);
		ck_assert_uint_eq(job.ring.told, 12345);
		ck_assert_uint_eq(job.ring.taken, 12345);
		/*
		 * No lane claims: two loads per lane and round, its start and end, and two plain
		 * reads.
		 */
		ck_assert_uint_le(result.steps, 128 * 3 * (RACE ? 4 : 2) + 2 * 128);
	}
}
END_TEST

/* More objects than a warp has lanes are drained by few lanes, and by one. */
START_TEST(few_lanes_drain_whole_ring)
{
	static const unsigned int lanes[] = { 1, 3, 32 };
	struct simt_config config = { .seed = 1 };
	struct simt_result result;

	job.first = 3;
	for (unsigned int i = 0; i < 3; i++) {
		begin(&job);
		ck_assert_uint_eq(give(0, OBJECTS), MAM_RETURNS);
		ck_assert_uint_eq(give(MAM_RETURNS, 1), 0);
		simt_set_shape(&config, i);
		ck_assert_msg(simt_launch(&config, drain, 1, lanes[i], &job, &result) == SIMT_FINE,
			      "%s", result.text);
		for (unsigned int object = 0; object < OBJECTS; object++)
			ck_assert_uint_eq(job.freed[object], object < MAM_RETURNS);
		ck_assert_uint_eq(job.ring.taken, 3 + MAM_RETURNS);
	}
}
END_TEST

SIMT_SUITE("heap/returns", one_kernel_frees_each_object_once, several_kernels_free_each_object_once,
	   counts_wrap_safely, drain_of_empty_ring_writes_nothing, few_lanes_drain_whole_ring)
