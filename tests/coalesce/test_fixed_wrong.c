/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fixed_wrong.c - parts of one block under errors: the base refuses, the map is full, invalid
 * sizes, invalid frees, and leaked parts.
 */
#include "coalesce/fixed_kit.h"

static const uint32_t threads[] = { 1, 5, 12, 40 };

/* ---- all or nothing -------------------------------------------------------------------------- */

/*
 * Each thread of a block gets a part and frees it, or none of them gets one. In a warp this holds
 * for lanes that call together, which the test does not know.
 */
static MAM_KERNEL(all_or_nothing)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	MAM_SHARED(uint32_t, served);
	uint32_t round, n = simt_block_threads();
	void *part;

	for (round = 0; round < plan->rounds; round++) {
		if (simt_thread() == 0)
			mam_atomic_store32(served, 0, MAM_RELAXED, MAM_AT_BLOCK);
		mam_syncthreads();
		part = fixed_alloc(kit, plan->bytes);
		if (part) {
			ckit_own(kit, part, plan->bytes);
			(void)mam_atomic_add32(served, 1, MAM_RELAXED, MAM_AT_BLOCK);
		} else {
			ckit_fail(kit);
		}
		mam_syncthreads();
		n = mam_atomic_load32(served, MAM_RELAXED, MAM_AT_BLOCK);
		MAM_KASSERT(!(plan->way & BY_BLOCK) || n == 0 || n == simt_block_threads());
		mam_syncthreads();
		if (part)
			fixed_release(kit, part);
	}
}

/* The base refuses some calls. */
static const char *check_refused(void *argument)
{
	const struct ckit *kit = argument;

	if (kit->refusals && !kit->failed)
		return "the base refused, and all parts were allocated";
	if (!kit->refusals && kit->failed)
		return "an allocation failed although the base had memory";
	return fixed_check(argument);
}

START_TEST(refused_block_gives_null_to_all)
{
	struct plan plan = { .way = (uint32_t)_i % WAYS, .bytes = 30, .rounds = 3 };
	uint32_t n = threads[_i / WAYS], k;
	struct ckit *kit = fixed_create(&plan, 1 << 15);
	/* Room for one block, or slightly more. */
	struct ckit *small = ckit_create(16 + n * 48, &plan);

	for (k = 1; k < 6; k++) {
		kit->refuse_after = k;
		ckit_explore(kit, "refused from a call on", all_or_nothing, 2, n, fixed_seeds(12),
			     check_refused);
		kit->refuse_after = 0;
		kit->refuse_every = k;
		ckit_explore(kit, "refused at intervals", all_or_nothing, 2, n, fixed_seeds(12),
			     check_refused);
		kit->refuse_every = 0;
	}
	small->begin = fixed_begin;
	small->whole = kit->whole;
	ckit_explore(small, "out of memory", all_or_nothing, 3, n, fixed_seeds(20), check_refused);
	ckit_destroy(small);
	fixed_destroy(kit, &plan);
}
END_TEST

/* ---- the map is full ------------------------------------------------------------------------- */

static uint32_t missed, got; /* counted over all runs of a case */

/* One thread block; the map has room for all of its parts or not. */
static const char *check_fitted(void *argument)
{
	const struct ckit *kit = argument;
	const struct plan *plan = kit->plan;

	missed += kit->failed;
	got += !kit->failed;
	if (kit->refusals)
		return "the base refused";
	if (plan->way & BY_BLOCK && !kit->failed != (plan->before + plan->mask <= 16))
		return kit->failed ? "the map had room" : "the map did not have room";
	return fixed_check(argument);
}

/* Sixteen places, of which any number is occupied. */
START_TEST(full_map_gives_null_to_all)
{
	struct plan plan = { .way = WITH_MAP | (_i % 2 ? BY_BLOCK : 0), .bytes = 24, .rounds = 2 };
	uint32_t n = 10;
	struct ckit *kit;

	plan.entries = 8;
	plan.mask = n;
	kit = fixed_create(&plan, 1 << 14);
	missed = got = 0;
	for (plan.before = 0; plan.before <= 16; plan.before++)
		ckit_explore(kit, "a full map", all_or_nothing, 1, n, fixed_seeds(30),
			     check_fitted);
	ck_assert(missed && got);
	fixed_destroy(kit, &plan);
}
END_TEST

static const char *check_few(void *argument)
{
	const struct ckit *kit = argument;

	missed += kit->failed;
	got += !kit->failed;
	return fixed_check(argument);
}

/* Several groups compete for the space of two, or of one and a half. */
START_TEST(groups_compete_for_map_entries)
{
	struct plan plan = { .way = WITH_MAP | (_i % 2 ? BY_BLOCK : 0), .bytes = 7, .rounds = 3 };
	struct ckit *kit;

	plan.entries = 8;
	kit = fixed_create(&plan, 1 << 14);
	missed = got = 0;
	ckit_explore(kit, "two thirds of a map", all_or_nothing, 3, 8, fixed_seeds(80), check_few);
	ckit_explore(kit, "half of a map", all_or_nothing, 2, 11, fixed_seeds(80), check_few);
	ck_assert(missed);
	fixed_destroy(kit, &plan);
}
END_TEST

/*
 * Block 0 needs three entries where there is space for two, so it removes the ones it inserted.
 * Block 1, whose block begins at another offset of the same memory, has a part at one of those
 * addresses.
 */
static MAM_KERNEL(in_others_places)
{
	struct ckit *kit = argument;
	struct mam_kbase base = ckit_base(kit);
	void *part, *before = NULL;
	uint32_t round;

	if (mam_block() == 0) {
		part = fixed_alloc(kit, 16);
		if (part)
			MAM_KASSERT(fixed_free(kit, part));
		return;
	}
	if (simt_thread() == 0)
		before = mam_base_alloc(base, 16);
	for (round = 0; simt_thread() == 0 && round < 2; round++) {
		part = mam_fixed_alloc_warp(base, map_of(kit->plan), 16);
		if (!part)
			continue;
		ckit_own(kit, part, 16);
		fixed_release(kit, part);
	}
	if (simt_thread() == 0)
		(void)mam_base_free(base, before);
}

START_TEST(rollback_spares_parts_of_others)
{
	struct plan plan = { .way = WITH_MAP | (_i ? BY_BLOCK : 0), .before = 14, .entries = 8 };
	struct ckit *kit = fixed_create(&plan, 1 << 12);

	ckit_explore(kit, "places of others", in_others_places, 2, 3, fixed_seeds(2000),
		     fixed_check);
	fixed_destroy(kit, &plan);
}
END_TEST

/* ---- invalid sizes --------------------------------------------------------------------------- */

/* The distance of each part from the start of its block fits into a header. */
static void *asked(void *heap, size_t bytes)
{
	MAM_KASSERT(bytes <= MAM_FIXED_MAX);
	return ckit_base_alloc(heap, bytes);
}

static MAM_KERNEL(no_sizes)
{
	static const size_t sizes[] = { 0,
					SIZE_MAX,
					SIZE_MAX - 8,
					SIZE_MAX - 24,
					SIZE_MAX / 12,
					SIZE_MAX / 12 + 1,
					SIZE_MAX / 6 - 15,
					(size_t)1 << 63,
					(size_t)1 << 62,
					((size_t)1 << 60) + 1,
					((size_t)1 << 40) + 1,
					(size_t)1 << 40,
					((size_t)1 << 40) / 12 + 1,
					((size_t)1 << 40) / 12 - 24 };
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kbase base = { asked, ckit_base_free, kit, 0 };
	uint32_t i;
	void *part;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		MAM_KASSERT(!(plan->way & BY_BLOCK
				      ? mam_fixed_alloc_block(base, map_of(plan), sizes[i])
				      : mam_fixed_alloc_warp(base, map_of(plan), sizes[i])));
	/* The first thread's size is used. */
	if (plan->way & BY_BLOCK) {
		part = fixed_alloc(kit, simt_thread() ? SIZE_MAX : 9);
		MAM_KASSERT(part);
		ckit_own(kit, part, 9);
		fixed_release(kit, part);
		MAM_KASSERT(!fixed_alloc(kit, simt_thread() ? 9 : SIZE_MAX));
	}
}

START_TEST(invalid_sizes_return_null)
{
	struct plan plan = { .way = (uint32_t)_i };
	struct ckit *kit = fixed_create(&plan, 1 << 12);

	kit->max_bytes = 1 << 11;
	ckit_explore(kit, "invalid sizes", no_sizes, 1, 12, fixed_seeds(12), fixed_check);
	fixed_destroy(kit, &plan);
}
END_TEST

/* ---- invalid frees --------------------------------------------------------------------------- */

/*
 * Thread 0 makes invalid frees, between its own free and those of the other threads, which keep the
 * block allocated.
 */
static MAM_KERNEL(invalid_frees)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	unsigned char *part = fixed_alloc(kit, 48);
	uint64_t number = 0;
	uint32_t i;

	MAM_KASSERT(part);
	for (i = 0; i < 48; i++)
		part[i] = (unsigned char)(i + simt_thread());
	/* Before part + 32: the distance to the block, without a mark. */
	part[24] = 48;
	memset(part + 25, 0, 7);
	MAM_KASSERT(fixed_free(kit, NULL));
	mam_syncthreads();
	if (simt_thread() == 0) {
		for (i = 1; i < 48; i++)
			MAM_KASSERT(!fixed_free(kit, part + i));
		MAM_KASSERT(!(plan->way & WITH_MAP) || !fixed_free(kit, part - 16));
		/* An address outside the heap, without a header before it. */
		MAM_KASSERT(plan->way & WITH_MAP || !fixed_free(kit, &number + 1));
		MAM_KASSERT(fixed_free(kit, part));
		MAM_KASSERT(!fixed_free(kit, part));
		MAM_KASSERT(!fixed_free(kit, part));
		MAM_KASSERT(kit->frees == 0);
	}
	mam_syncthreads();
	for (i = simt_thread() ? 0 : 48; i < 48; i++)
		MAM_KASSERT(part[i] == (i / 8 != 3 ? (unsigned char)(i + simt_thread())
					: i == 24  ? 48
						   : 0));
	if (simt_thread()) {
		MAM_KASSERT(fixed_free(kit, part));
		/* With a map, even if the block was freed. */
		MAM_KASSERT(!(plan->way & WITH_MAP) || !fixed_free(kit, part));
	}
}

START_TEST(invalid_frees_are_refused)
{
	struct plan plan = { .way = (uint32_t)_i | BY_BLOCK };
	struct ckit *kit = fixed_create(&plan, 1 << 12);

	ckit_explore(kit, "invalid frees", invalid_frees, 1, 6, fixed_seeds(40), fixed_check);
	fixed_destroy(kit, &plan);
}
END_TEST

/* All lanes of all warps free each part at the same time: with a map, one of them succeeds. */
static MAM_KERNEL(at_once)
{
	struct ckit *kit = argument;
	void *part = fixed_alloc(kit, 16);
	uint32_t i;

	MAM_KASSERT(part);
	ckit_keep(kit, simt_thread(), part);
	mam_syncthreads();
	for (i = 0; i < simt_block_threads(); i++) {
		part = (void *)(uintptr_t)mam_atomic_load64(
			&kit->kept[(i + simt_thread() % 2) % simt_block_threads()], MAM_ACQUIRE,
			MAM_AT_DEVICE);
		if (fixed_free(kit, part))
			(void)mam_atomic_add64(
				&kit->kept[100 + (i + simt_thread() % 2) % simt_block_threads()], 1,
				MAM_RELAXED, MAM_AT_DEVICE);
	}
}

static const char *check_once(void *argument)
{
	const struct ckit *kit = argument;
	uint32_t i;

	for (i = 0; i < 6; i++)
		if (kit->kept[100 + i] != 1)
			return "a part was freed twice, or never";
	return fixed_check(argument);
}

START_TEST(concurrent_double_frees_are_refused)
{
	struct plan plan = { .way = WITH_MAP | BY_BLOCK };
	struct ckit *kit = fixed_create(&plan, 1 << 12);

	ckit_explore(kit, "all lanes free all parts", at_once, 1, 6, fixed_seeds(200), check_once);
	fixed_destroy(kit, &plan);
}
END_TEST

/*
 * With a header, of a block with one part: the block is freed once or never, and at most one free
 * returns true.
 */
static MAM_KERNEL(both)
{
	struct ckit *kit = argument;
	void *part;

	if (simt_thread() == 0)
		ckit_keep(kit, 0, fixed_alloc(kit, 16));
	mam_syncthreads();
	part = (void *)(uintptr_t)mam_atomic_load64(&kit->kept[0], MAM_ACQUIRE, MAM_AT_DEVICE);
	if (fixed_free(kit, part))
		(void)mam_atomic_add64(&kit->kept[1], 1, MAM_RELAXED, MAM_AT_DEVICE);
}

static const char *check_both(void *argument)
{
	const struct ckit *kit = argument;

	return kit->kept[1] == kit->frees && kit->frees <= 1 ? NULL
							     : "the block was freed more often";
}

START_TEST(two_frees_of_a_part_free_block_once)
{
	struct plan plan = { .way = 0 };
	struct ckit *kit = fixed_create(&plan, 1 << 12);

	ckit_explore(kit, "two lanes free one part", both, 1, 2, fixed_seeds(100), check_both);
	fixed_destroy(kit, &plan);
}
END_TEST

/* ---- leaked parts ---------------------------------------------------------------------------- */

static MAM_KERNEL(leave)
{
	struct ckit *kit = argument;
	void *part = fixed_alloc(kit, 20);

	MAM_KASSERT(part);
	if (simt_thread() % 3 == 0)
		MAM_KASSERT(fixed_free(kit, part));
}

static MAM_KERNEL(clean)
{
	struct ckit *kit = argument;
	uint32_t found = mam_fixed_clean(ckit_base(kit), map_of(kit->plan));

	(void)mam_atomic_add64(&kit->kept[0], found, MAM_RELAXED, MAM_AT_DEVICE);
}

static bool build_leave(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, leave, 2, 40, argument) &&
	       simt_world_launch(world, 0, clean, 2, 35, argument);
}

static const char *check_cleaned(void *argument)
{
	const struct ckit *kit = argument;

	return kit->kept[0] == 2 * 26 ? fixed_check(argument)
				      : "the cleanup found other parts than were leaked";
}

START_TEST(cleanup_frees_leaked_parts)
{
	struct plan plan = { .way = WITH_MAP | (_i ? BY_BLOCK : 0) };
	struct ckit *kit = fixed_create(&plan, 1 << 13);

	kit->whole = true; /* all threads take part in the cleanup */
	ckit_explore_world(kit, "leaked parts", build_leave, fixed_seeds(24), check_cleaned);
	fixed_destroy(kit, &plan);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fixed errors");

	tcase_add_loop_test(tcase, refused_block_gives_null_to_all, 0, WAYS * 4);
	tcase_add_loop_test(tcase, full_map_gives_null_to_all, 0, 2);
	tcase_add_loop_test(tcase, groups_compete_for_map_entries, 0, 2);
	tcase_add_loop_test(tcase, rollback_spares_parts_of_others, 0, 2);
	tcase_add_loop_test(tcase, invalid_sizes_return_null, 0, WAYS);
	tcase_add_loop_test(tcase, invalid_frees_are_refused, 0, 3);
	tcase_add_test(tcase, concurrent_double_frees_are_refused);
	tcase_add_test(tcase, two_frees_of_a_part_free_block_once);
	tcase_add_loop_test(tcase, cleanup_frees_leaked_parts, 0, 2);
	return ckit_run(tcase, "coalesce/fixed_wrong");
}
