/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_returns.c - what the host gives back is freed once, by one lane of one kernel, after all
 * that the host did to it, however small the ring is and however many kernels drain it.
 *
 * The host is a thread of a world that does what the copies of mam_heap_free() do: entries, whole
 * but in no order to whoever reads them too early, and then `told`. What frees is the test's own,
 * and keeps a shadow; the object's memory is plain.
 */
#define MAM_RETURNS 8u

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "heap/slab/returns.h"
#include "simt/explore.h"
#include "simt/suite.h"

/* Plain accesses are seen in builds with hooks only. */
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
	uint64_t first;            /* count that the ring begins at */
	uint32_t freed[OBJECTS];   /* times; atomic */
	uint32_t written[OBJECTS]; /* plain: by the host before it gives, read by who frees */
	uint32_t full;             /* times the host found no room */
	uint64_t all_full;         /* over all runs */
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
			return "an object was given back and not freed";
	if (job.ring.told != job.first + OBJECTS || job.ring.taken != job.ring.told)
		return "what was told and what was taken are not what was given";
	return NULL;
}

MAM_KERNEL(drain)
{
	(void)argument;
	for (unsigned int round = 0; round < 3; round++)
		mam_returns_drain(&job.heap);
}

/* As many of objects first to first + n - 1 as there is room for. */
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

/* All objects; where the ring is full, sometimes a kernel of its own makes room. */
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

/* Kernels of several streams drain while the host gives. */
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

START_TEST(one_kernel_drains)
{
	job.first = 0;
	explore("one kernel", one_kernel);
	ck_assert_uint_gt(job.all_full, 0);
}
END_TEST

START_TEST(several_kernels_drain)
{
	job.first = 5;
	explore("several kernels", two_kernels);
	ck_assert_uint_gt(job.all_full, 0);
}
END_TEST

/* What is left of a count of 64 bits: it wraps, and nothing else happens. */
START_TEST(counts_wrap)
{
	job.first = UINT64_MAX - 9;
	explore("counts wrap", one_kernel);
}
END_TEST

/* Nothing is there: nothing is freed, nothing is written. */
START_TEST(an_empty_ring)
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
		 * Nobody claims: two loads a lane and round, its beginning and end, and two plain
		 * reads.
		 */
		ck_assert_uint_le(result.steps, 128 * 3 * (RACE ? 4 : 2) + 2 * 128);
	}
}
END_TEST

/* More than a warp has lanes, by few lanes, and by one. */
START_TEST(few_lanes_take_all)
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

SIMT_SUITE("heap/returns", one_kernel_drains, several_kernels_drain, counts_wrap, an_empty_ring,
	   few_lanes_take_all)
