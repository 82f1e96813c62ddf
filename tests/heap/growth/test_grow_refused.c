/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_grow_refused.c - growth is refused in the middle of a kernel: at the limit, by a full pool,
 * with parts in several tables, or after the host has ended growth. A request fails only if no part
 * has room. Each NULL is counted once, under its cause. Freed memory is reused without growth.
 */
#define MAM_PARTS_FIRST 4u
#define GKIT_PIECES 12u

#include "heap/growth/growth_kit.h"

struct plan {
	const char *name;
	uint32_t grid, block, resident;
	size_t bytes[4];
	struct gkit_host host;
	enum mam_object_tally tally;
	uint32_t parts; /* at the end */
	uint32_t seeds, seeds_race;
};

/* Where an object is kept: each at its own index. */
static uint32_t place_of(const struct gkit *kit, const void *object)
{
	uint64_t place = (uint64_t)((const unsigned char *)object - kit->o.space) >> 10;

	MAM_KASSERT(place < OKIT_KEPT);
	return (uint32_t)place;
}

/* Each lane allocates all sizes in turn until each fails. */
static void fill(struct gkit *kit)
{
	const struct plan *plan = kit->o.plan;
	uint32_t i;
	void *object;

	for (i = 0; i < 4; i++)
		while ((object = gkit_alloc(kit, plan->bytes[(i + mam_lane()) % 4])))
			okit_keep(&kit->o, place_of(kit, object), object);
}

OKIT_UNSEEN uint32_t failed(const struct gkit *kit)
{
	return kit->o.failed;
}

/* Fills the heap; then a lane frees one object after the other, and allocates again. */
static MAM_KERNEL(fill_and_refill)
{
	struct gkit *kit = argument;
	const struct plan *plan = kit->o.plan;
	uint32_t lanes = mam_grid_blocks() * simt_block_threads(), i, before;
	uint32_t me = mam_block() * simt_block_threads() + simt_thread();
	uint32_t end = kit->o.blocks * MAM_BLOCK_UNITS;
	void *object;
	size_t bytes;

	fill(kit);
	mam_syncthreads();
	before = failed(kit);
	/* One lane alone, so that it finds the memory that it freed. */
	for (i = me; i < end && mam_grid_blocks() == 1 && !me; i += 1 + lanes / 2) {
		object = okit_take(&kit->o, i);
		if (!object)
			continue;
		(void)okit_noted(&kit->o, object, &bytes);
		gkit_free(kit, object);
		object = gkit_alloc(kit, bytes);
		MAM_KASSERT(object);
		okit_keep(&kit->o, place_of(kit, object), object);
	}
	mam_syncthreads();
	MAM_KASSERT(mam_grid_blocks() != 1 || failed(kit) == before);
	MAM_KASSERT(gkit_parts(kit) == plan->parts);
	for (i = me; i < end; i += lanes)
		gkit_free(kit, okit_take(&kit->o, i));
}

static const char *check_refused(void *argument)
{
	const struct gkit *kit = argument;
	const struct plan *plan = kit->o.plan;

	if (!kit->o.failed)
		return "no request failed";
	if (gkit_tally(kit, plan->tally) != kit->o.failed)
		return okit_wrong("%u requests failed, but only %u for this cause", kit->o.failed,
				  (uint32_t)gkit_tally(kit, plan->tally));
	if (gkit_parts(kit) != plan->parts)
		return okit_wrong("%u parts", gkit_parts(kit));
	return gkit_check(argument);
}

/* clang-format off */
static const struct plan plans[] = {
	{ "limit, at once", 1, 32, 0, { 1000, 1000, 1000, 1000 },
	  { .grants = 1, .cause = MAM_MAIL_LIMIT, .min = 1, .max = 1 },
	  MAM_OBJECT_AT_LIMIT, 1, 8, 3 },
	{ "limit, mixed sizes", 1, 40, 0, { 4100, 1000, 9000, 300 },
	  { .grants = 3, .cause = MAM_MAIL_LIMIT }, MAM_OBJECT_AT_LIMIT, 3, 8, 3 },
	{ "a full pool", 1, 24, 0, { 8192, 5000, 20000, 3000 },
	  { .grants = 2, .cause = MAM_MAIL_FULL }, MAM_OBJECT_POOL_FULL, 2, 12, 4 },
	{ "a full pool, a late host", 1, 24, 0, { 8192, 5000, 20000, 3000 },
	  { .grants = 2, .cause = MAM_MAIL_FULL, .late = 500 }, MAM_OBJECT_POOL_FULL, 2, 12, 4 },
	{ "growth has ended", 1, 20, 0, { 8192, 5000, 20000, 3000 },
	  { .grants = 1, .cause = MAM_MAIL_ENDED }, MAM_OBJECT_REFUSED, 1, 12, 4 },
	{ "two tables", 1, 32, 0, { 8192, 12000, 8192, 8192 }, { .grants = 7 },
	  MAM_OBJECT_AT_LIMIT, 7, 10, 4 },
	{ "two tables, grants ahead", 1, 32, 0, { 8192, 12000, 8192, 8192 },
	  { .grants = 7, .ahead = 3 }, MAM_OBJECT_AT_LIMIT, 7, 10, 4 },
	{ "limit, lone lanes", 12, 1, 0, { 8192, 5000, 20000, 3000 },
	  { .grants = 3 }, MAM_OBJECT_AT_LIMIT, 3, 12, 4 },
	{ "limit, few lanes at a time", 6, 16, 2, { 8192, 3000, 5000, 9000 },
	  { .grants = 2 }, MAM_OBJECT_AT_LIMIT, 2, 10, 4 },
};
/* clang-format on */
#define PLANS ((int)(sizeof(plans) / sizeof(plans[0])))

START_TEST(request_fails_only_if_no_part_has_room)
{
	const struct plan *plan = &plans[_i];
	struct gkit *kit = gkit_create(1, 1 + _i % 2, &plan->host, plan);

	/* Within one block nothing is freed before all lanes have finished. */
	kit->only_taken = plan->grid == 1;
	gkit_explore(kit, plan->name, fill_and_refill, plan->grid, plan->block, plan->resident,
		     KIT_RACE ? plan->seeds_race : plan->seeds, check_refused);
	gkit_destroy(kit);
}
END_TEST

/* ---- larger slots ----------------------------------------------------------------------- */

static uint32_t freed, served;

/* Each object at its own index, if none is smaller than 512 bytes. */
static uint32_t small_place_of(const struct gkit *kit, const void *object)
{
	uint64_t place = (uint64_t)((const unsigned char *)object - kit->o.space) >> 9;

	MAM_KASSERT(place < OKIT_KEPT);
	return (uint32_t)place;
}

/* After growth was refused every other object is freed; smaller ones take their slots, in each part. */
static MAM_KERNEL(refill_with_smaller)
{
	struct gkit *kit = argument;
	const struct plan *plan = kit->o.plan;
	uint32_t me = simt_thread(), i, count = 0;
	void *object;

	while ((object = gkit_alloc(kit, plan->bytes[0])))
		okit_keep(&kit->o, small_place_of(kit, object), object);
	mam_syncthreads();
	if (!me)
		freed = served = 0;
	for (i = 0; i < OKIT_KEPT && !me; i++) {
		object = okit_take(&kit->o, i);
		if (object && count++ % 2) {
			gkit_free(kit, object);
			freed++;
		} else {
			okit_keep(&kit->o, i, object);
		}
	}
	mam_syncthreads();
	while ((object = gkit_alloc(kit, plan->bytes[1]))) {
		okit_keep(&kit->o, small_place_of(kit, object), object);
		(void)__atomic_add_fetch(&served, 1, __ATOMIC_RELAXED);
	}
	mam_syncthreads();
	MAM_KASSERT(freed > 20 && served >= freed);
	for (i = me; i < OKIT_KEPT; i += simt_block_threads())
		gkit_free(kit, okit_take(&kit->o, i));
}

START_TEST(larger_slots_of_all_parts_are_used)
{
	static const struct plan plan = {
		"larger slots",
		1,
		4,
		0,
		{ 1088, 900, 0, 0 },
		{ .grants = 2, .cause = MAM_MAIL_LIMIT, .min = 1, .max = 1 },
		MAM_OBJECT_AT_LIMIT,
		2,
		12,
		4
	};
	struct gkit *kit = gkit_create(1, 1, &plan.host, &plan);

	gkit_explore(kit, plan.name, refill_with_smaller, plan.grid, plan.block, plan.resident,
		     KIT_RACE ? plan.seeds_race : plan.seeds, check_refused);
	gkit_destroy(kit);
}
END_TEST

/* ---- invalid sizes ---------------------------------------------------------------------- */

/* A request for 0 bytes, or for more than any heap has, does not ask the host for memory. */
static MAM_KERNEL(senseless)
{
	struct gkit *kit = argument;
	void *object;

	MAM_KASSERT(!gkit_alloc(kit, 0));
	object = gkit_alloc(kit, 100);
	MAM_KASSERT(object);
	MAM_KASSERT(!gkit_alloc(kit, 0));
	gkit_free(kit, object);
}

static const char *check_senseless(void *argument)
{
	const struct gkit *kit = argument;

	if (gkit_tally(kit, MAM_OBJECT_ZERO) != kit->o.failed || kit->o.failed != 2 * 20)
		return "a zero-size request was counted under the wrong cause";
	if (gkit_parts(kit) || kit->growth->asks)
		return "the heap asked the host for memory";
	return gkit_check_empty(argument);
}

START_TEST(zero_size_request_does_not_grow)
{
	struct gkit *kit = gkit_create(4, 1, NULL, NULL);

	gkit_explore(kit, "zero-size requests", senseless, 1, 20, 0, 10, check_senseless);
	gkit_destroy(kit);
}
END_TEST

/* ---- the heap may grow again later ------------------------------------------------------ */

/* The pool was full, and then has room for one more grant: the next request gets it. */
static MAM_KERNEL(allocate_until_success)
{
	struct gkit *kit = argument;
	uint32_t tries;
	void *object[4];

	for (tries = 0; tries < 4; tries++)
		object[tries] = NULL;
	for (tries = 0; tries < 4;) {
		object[tries] = gkit_alloc(kit, 20000);
		if (object[tries])
			tries++;
		else
			mam_nanosleep(1000);
	}
	for (tries = 0; tries < 4; tries++)
		gkit_free(kit, object[tries]);
}

/* Another user frees memory of the pool at some time. */
static void make_room(void *argument)
{
	struct gkit *kit = argument;
	uint32_t yields = (uint32_t)(simt_random() % 20000);

	while (yields--)
		simt_host_yield("pool is full");
	kit->host.grants = 8;
}

static bool build_room(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, allocate_until_success, 1, 3, argument) &&
	       simt_world_host(world, make_room, argument) && gkit_hosts(world, argument);
}

static void begin_room(void *argument)
{
	struct gkit *kit = argument;

	kit->host.grants = 1;
	gkit_begin(kit);
}

static uint64_t runs, nulls;

static const char *check_room(void *argument)
{
	const struct gkit *kit = argument;

	runs++;
	nulls += kit->o.failed;
	if (gkit_tally(kit, MAM_OBJECT_POOL_FULL) != kit->o.failed)
		return "a NULL has another cause";
	return gkit_check_empty(argument);
}

START_TEST(heap_grows_again_when_pool_has_room)
{
	static const struct gkit_host host = { .grants = 1, .cause = MAM_MAIL_FULL };
	struct gkit *kit = gkit_create(1, 1, &host, NULL);
	struct simt_case test = gkit_case(kit, "the pool has room again", KIT_RACE ? 15 : 40,
					  build_room, check_room);

	runs = nulls = 0;
	test.begin = begin_room;
	test.config.race = false; /* the plan changes while others read it */
	simt_must_pass(&test);
	ck_assert(runs < 30 || nulls);
	gkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("grow_refused");

	tcase_add_loop_test(tcase, request_fails_only_if_no_part_has_room, 0, PLANS);
	tcase_add_test(tcase, larger_slots_of_all_parts_are_used);
	tcase_add_test(tcase, zero_size_request_does_not_grow);
	tcase_add_test(tcase, heap_grows_again_when_pool_has_room);
	return kit_run(tcase, "heap/grow_refused");
}
