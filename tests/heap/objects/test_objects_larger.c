/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects_larger.c - requests of a size for which there is neither a slot nor a free unit: the
 * free slots of larger sizes serve them, as far as their alignment is sufficient, and serve their own
 * size again later.
 */
#include "heap/objects/objects_kit.h"

#define BLOCKS 2

struct plan {
	size_t bytes, then; /* the heap is full of the first size; requests are of the second one */
	uint32_t grid, block;
	uint32_t share; /* of 16: how many of the freed slots are used at least */
	uint32_t seeds;
};

static uint32_t freed;

/* Outside of a launch: fills the heap, and frees the objects in every other place. */
static void begin(void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t count = 0, i;
	void *object;

	okit_begin(kit);
	while ((object = okit_alloc(kit, plan->bytes)) != NULL)
		okit_keep(kit, count++, object);
	freed = 0;
	for (i = 0; i < count; i++) {
		object = okit_take(kit, i);
		if (((unsigned char *)object - kit->space) / okit_usable(plan->bytes) % 2) {
			okit_free(kit, object);
			freed++;
		}
	}
	memset(kit->refused, 0, sizeof(kit->refused));
}

MAM_KERNEL(allocate_until_null)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t at = (mam_block() * simt_block_threads() + simt_thread()) * 64, i = 0;
	void *object;

	while ((object = okit_alloc(kit, plan->then)) != NULL)
		okit_keep(kit, at + i++, object);
	MAM_KASSERT(i <= 64);
}

/* All in larger slots; after they are freed, as many of the first size fit. */
static const char *larger_slots_were_used(void *argument)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t larger = okit_larger(kit), i, again = 0;
	const char *wrong = okit_check(kit);
	void *object;

	if (wrong)
		return wrong;
	if (larger > freed || 16 * larger < plan->share * freed)
		return okit_wrong("%u objects have a larger slot, of %u", larger, freed);
	/* The first failure was that of begin(). */
	if (kit->failed < 2)
		return "no request failed";
	for (i = 0; i < OKIT_KEPT; i++) {
		object = okit_take(kit, i);
		if (object)
			okit_free(kit, object);
	}
	while (okit_alloc(kit, plan->bytes))
		again++;
	if (again != freed)
		return okit_wrong("%u objects fit again, of %u", again, freed);
	return okit_check(kit);
}

static const struct plan plans[] = {
	/* One warp, whose requests see what all earlier ones left. */
	{ 512, 16, 1, 8, 16, 60 },
	{ 512, 436, 1, 8, 16, 60 },
	{ 512, 256, 1, 8, 16, 60 },
	{ 1536, 512, 1, 1, 16, 60 },
	{ 64, 16, 1, 32, 16, 4 },
	{ 1040, 900, 1, 4, 16, 60 },
	{ 2176, 1100, 1, 1, 16, 60 },
	/* Slots of 640 B are aligned to 128 B. */
	{ 640, 512, 1, 8, 0, 60 },
	{ 1040, 1024, 1, 4, 0, 60 },
	/* Several warps: which classes have free slots is a hint. */
	{ 512, 48, 2, 8, 15, 60 },
	{ 512, 200, 3, 4, 15, 60 },
};

START_TEST(larger_slots_serve_small_requests)
{
	const struct plan *plan = &plans[_i];
	struct okit *kit = okit_create(BLOCKS, 2, plan);
	struct simt_case test = {
		.name = "larger slots",
		.kernel = allocate_until_null,
		.grid = plan->grid,
		.block = plan->block,
		.argument = kit,
		.begin = begin,
		.check = larger_slots_were_used,
		.seeds = KIT_RACE ? (plan->seeds + 3) / 4 : plan->seeds,
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 20000000 },
	};

	simt_must_pass(&test);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects_larger");

	tcase_add_loop_test(tcase, larger_slots_serve_small_requests, 0,
			    (int)(sizeof(plans) / sizeof(plans[0])));
	return kit_run(tcase, "heap/objects_larger");
}
