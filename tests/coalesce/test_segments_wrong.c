/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_segments_wrong.c - segments under errors: the base refuses, sizes that cannot be served,
 * double frees, and frees of addresses that never were segments.
 */
#include "coalesce/segments_kit.h"

/* ---- the base refuses ----------------------------------------------------------------------- */

struct refusal {
	uint32_t after, every;
	size_t max;
	uint32_t failed; /* lanes that get NULL; 99: that depends on which lanes converged */
};

static const struct refusal refusals[] = {
	{ 1, 0, 0, 8 }, /* always */
	{ 2, 0, 0, 99 }, { 5, 0, 0, 99 }, { 0, 2, 0, 99 },
	{ 0, 3, 0, 99 }, { 0, 0, 64, 3 }, /* 100, 200 and 64 with their headers do not fit */
	{ 0, 0, 16, 5 },                  /* nor do 16 and 48 */
	{ 0, 0, 7, 7 },                   /* 1 does */
};

/* Each lane that can be served on its own is, even if others cannot; and again, later. */
static MAM_KERNEL(refused)
{
	struct ckit *kit = argument;
	const struct segs *segs = kit->own;
	uint32_t me = simt_thread(), round;
	void *part;

	for (round = 0; round < 2; round++) {
		part = segs_get(kit, segs->bytes[me]);
		if (!part && !round)
			ckit_fail(kit);
		ckit_keep(kit, me, part);
		mam_syncthreads();
		segs_release(kit, ckit_take(kit, 7 - me));
		mam_syncthreads();
	}
}

static const char *check_refused(void *argument)
{
	const struct ckit *kit = argument;
	const struct refusal *refusal = kit->plan;
	struct segs *segs = kit->own;

	segs->refused += kit->refusals > 0;
	if (refusal->failed != 99 && kit->failed != refusal->failed)
		return "unexpected set of failed lanes";
	return ckit_check_empty(argument);
}

START_TEST(each_lane_that_fits_is_served)
{
	struct segs segs = { .lanes = 8, .bytes = { 4, 100, 16, 8, 200, 1, 48, 64 } };
	const struct refusal *refusal = &refusals[_i];
	struct ckit *kit = ckit_create(1 << 13, refusal);

	kit->own = &segs;
	kit->refuse_after = refusal->after;
	kit->refuse_every = refusal->every;
	kit->max_bytes = refusal->max;
	ckit_explore(kit, "a base that refuses", refused, 1, 8, 100, check_refused);
	ck_assert_uint_gt(segs.refused, 0);
	ckit_destroy(kit);
}
END_TEST

/* ---- sizes that cannot be served ------------------------------------------------------------- */

/* These lanes get NULL, and do not affect the others. */
static MAM_KERNEL(too_large)
{
	static const size_t sizes[] = { SIZE_MAX, 4,  SIZE_MAX - 15, SIZE_MAX - 16,
					0,        24, SIZE_MAX / 2,  1 };
	struct ckit *kit = argument;
	size_t bytes = sizes[simt_thread()];
	void *part = segs_get(kit, bytes);

	MAM_KASSERT(!part == (!bytes || bytes > 24));
	segs_release(kit, part);
}

START_TEST(oversized_requests_return_null)
{
	struct segs segs = { .lanes = 8 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	kit->max_bytes = 1 << 12;
	ckit_explore(kit, "oversized requests", too_large, 1, 8, 200, NULL);
	ckit_destroy(kit);
}
END_TEST

/* ---- invalid frees --------------------------------------------------------------------------- */

/* A second free is refused as long as a segment of the block is live: the lowest one here. */
static MAM_KERNEL(twice)
{
	struct ckit *kit = argument;
	struct mam_kbase base = segs_base(kit);
	uint32_t me = simt_thread(), i, k;
	unsigned char *part;
	void *again[4];
	uint64_t word;

	ckit_keep(kit, me, segs_get(kit, 1 + 7 * me));
	mam_syncthreads();
	if (me)
		return;
	for (i = 1; i < 4; i++) {
		k = i ^ (uint32_t)(simt_random() % 2 && i > 1);
		again[i] = ckit_take(kit, k);
		if (!again[i])
			continue;
		segs_release(kit, again[i]);
	}
	for (i = 1; i < 4 && kit->allocs == 1; i++) {
		part = again[i];
		if (!part)
			continue;
		word = mam_segment_look(part);
		MAM_KASSERT(!mam_segments_free(base, part));
		MAM_KASSERT(mam_segment_look(part) == word);
	}
	for (i = 0; i < 4; i++)
		segs_release(kit, ckit_take(kit, i));
}

START_TEST(double_free_is_refused)
{
	struct segs segs = { .lanes = 4 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	ckit_explore(kit, "double free", twice, 1, 4, 300, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* Two lanes free the same segment concurrently, the last one or not: one of them gets false. */
static MAM_KERNEL(both)
{
	struct ckit *kit = argument;
	struct mam_kbase base = segs_base(kit);
	uint32_t me = simt_thread(), k = me / 2 + 1;
	void *part = segs_get(kit, 6);
	bool done;

	ckit_keep(kit, me, part);
	mam_syncthreads();
	if (me < 4) {
		/* Not ckit_take(): both lanes need it. */
		part = (void *)(uintptr_t)mam_atomic_load64(&kit->kept[k], MAM_ACQUIRE,
							    MAM_AT_DEVICE);
		if (me % 2 == 0)
			segs_disown(kit, part);
	}
	mam_syncthreads();
	if (me < 4 && kit->allocs == 1) {
		done = mam_segments_free(base, part);
		(void)mam_atomic_add64(&kit->kept[8 + k], done, MAM_RELEASE, MAM_AT_DEVICE);
	} else if (me < 4 && me % 2 == 0) {
		MAM_KASSERT(mam_segments_free(base, part));
	}
	mam_syncthreads();
	if (me == 0) {
		for (k = 1; k < 3 && kit->allocs == 1; k++)
			MAM_KASSERT(mam_atomic_load64(&kit->kept[8 + k], MAM_ACQUIRE,
						      MAM_AT_DEVICE) == 1);
		segs_release(kit, ckit_take(kit, 0));
		segs_release(kit, ckit_take(kit, 3));
	}
}

/* The same, after segment 3 was freed, so that 2 is the last. */
static MAM_KERNEL(both_last)
{
	struct ckit *kit = argument;
	struct mam_kbase base = segs_base(kit);
	uint32_t me = simt_thread();
	void *part = segs_get(kit, 3);
	bool done;

	ckit_keep(kit, me, part);
	mam_syncthreads();
	part = (void *)(uintptr_t)mam_atomic_load64(&kit->kept[2], MAM_ACQUIRE, MAM_AT_DEVICE);
	if (me == 2) {
		segs_release(kit, ckit_take(kit, 3));
		segs_disown(kit, part);
	}
	mam_syncthreads();
	if ((me == 1 && kit->allocs == 1) || me == 2) {
		done = mam_segments_free(base, part);
		(void)mam_atomic_add64(&kit->kept[8], done, MAM_RELEASE, MAM_AT_DEVICE);
	}
	mam_syncthreads();
	if (me == 0) {
		MAM_KASSERT(mam_atomic_load64(&kit->kept[8], MAM_ACQUIRE, MAM_AT_DEVICE) == 1);
		segs_release(kit, ckit_take(kit, 1));
		segs_release(kit, ckit_take(kit, 0));
	}
}

START_TEST(concurrent_double_free_is_refused)
{
	struct segs segs = { .lanes = 4 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	ckit_explore(kit, "two lanes free a segment", both, 1, 4, CKIT_RACE ? 300 : 1500,
		     ckit_check_served);
	ckit_explore(kit, "two lanes free the last segment", both_last, 1, 4,
		     CKIT_RACE ? 300 : 1500, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* Addresses that are not segments, in memory of another owner. */
static MAM_KERNEL(rubbish)
{
	static const unsigned char fills[] = { 0, 0xff, 0xa5, 2, 3, 0x7e, 0x33 };
	struct ckit *kit = argument;
	unsigned char *memory = mam_base_alloc(segs_base(kit), 64);
	uint32_t i, k;

	MAM_KASSERT(mam_segments_free(segs_base(kit), NULL));
	for (i = 0; i < sizeof(fills); i++) {
		for (k = 0; k < 64; k++)
			memory[k] = fills[i];
		/* Addresses with bits like headers of all three sizes, and of no header. */
		for (k = 8; k < 64; k++)
			MAM_KASSERT(!mam_segments_free(segs_base(kit), memory + k));
		for (k = 0; k < 64; k++)
			MAM_KASSERT(memory[k] == fills[i]);
	}
	MAM_KASSERT(mam_base_free(segs_base(kit), memory));
}

START_TEST(free_of_foreign_memory_is_refused)
{
	struct segs segs = { .lanes = 1 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	ckit_explore(kit, "foreign memory", rubbish, 1, 1, 1, NULL);
	ckit_destroy(kit);
}
END_TEST

/*
 * A header was overwritten: a free that reaches it leaves it unchanged, even if it looks free, and
 * the block remains allocated.
 */
static MAM_KERNEL(overwritten)
{
	struct ckit *kit = argument;
	uint32_t me = simt_thread();
	unsigned char *part = segs_get(kit, 24);
	uint64_t rubbish = UINT64_C(0x123456789abcdef0) | (simt_random() & 1);

	ckit_keep(kit, me, part);
	mam_syncthreads();
	if (me != 2)
		return;
	part = ckit_take(kit, 1);
	if (kit->allocs == 1) {
		ckit_forget(kit, part);
		mam_atomic_store64((uint64_t *)(void *)(part - 8), rubbish, MAM_RELAXED,
				   MAM_AT_DEVICE);
		MAM_KASSERT(!mam_segments_free(segs_base(kit), part));
		segs_release(kit, ckit_take(kit, 2));
		MAM_KASSERT(mam_segment_look(part) == rubbish);
	} else {
		segs_release(kit, part);
		segs_release(kit, ckit_take(kit, 2));
	}
	segs_release(kit, ckit_take(kit, 0));
}

static const char *check_overwritten(void *argument)
{
	const struct ckit *kit = argument;

	if (kit->allocs > 1)
		return ckit_check_empty(argument);
	return kit->parts || kit->frees ? "a free changed a block with a lost header" : NULL;
}

START_TEST(overwritten_header_leaks_block_safely)
{
	struct segs segs = { .lanes = 3 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	ckit_explore(kit, "an overwritten header", overwritten, 1, 3, 50, check_overwritten);
	ckit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("segment errors");

	tcase_add_loop_test(tcase, each_lane_that_fits_is_served, 0,
			    sizeof(refusals) / sizeof(refusals[0]));
	tcase_add_test(tcase, oversized_requests_return_null);
	tcase_add_test(tcase, double_free_is_refused);
	tcase_add_test(tcase, concurrent_double_free_is_refused);
	tcase_add_test(tcase, free_of_foreign_memory_is_refused);
	tcase_add_test(tcase, overwritten_header_leaks_block_safely);
	return ckit_run(tcase, "coalesce/segment errors");
}
