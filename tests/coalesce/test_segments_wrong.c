/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_segments_wrong.c - segments where something goes wrong: the base refuses, sizes that nobody can
 * have, frees of what is free already and of what never was a segment.
 */
#include "coalesce/segments_kit.h"

/* ---- the base refuses ----------------------------------------------------------------------- */

struct refusal {
	uint32_t after, every;
	size_t max;
	uint32_t failed; /* lanes that get nothing; 99: that depends on who came together */
};

static const struct refusal refusals[] = {
	{ 1, 0, 0, 8 }, /* always */
	{ 2, 0, 0, 99 }, { 5, 0, 0, 99 }, { 0, 2, 0, 99 },
	{ 0, 3, 0, 99 }, { 0, 0, 64, 3 }, /* 100, 200 and 64 with their headers do not fit */
	{ 0, 0, 16, 5 },                  /* nor do 16 and 48 */
	{ 0, 0, 7, 7 },                   /* 1 does */
};

/* Each lane that can be served on its own is, whoever else cannot; and again, later. */
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
		segs_give(kit, ckit_take(kit, 7 - me));
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
		return "others went without than those who had to";
	return ckit_check_empty(argument);
}

START_TEST(refuses)
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

/* ---- sizes that nobody can have --------------------------------------------------------------- */

/* They go without, and do not stand in the way of the others. */
static MAM_KERNEL(too_large)
{
	static const size_t sizes[] = { SIZE_MAX, 4,  SIZE_MAX - 15, SIZE_MAX - 16,
					0,        24, SIZE_MAX / 2,  1 };
	struct ckit *kit = argument;
	size_t bytes = sizes[simt_thread()];
	void *part = segs_get(kit, bytes);

	MAM_KASSERT(!part == (!bytes || bytes > 24));
	segs_give(kit, part);
}

START_TEST(sizes)
{
	struct segs segs = { .lanes = 8 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	kit->max_bytes = 1 << 12;
	ckit_explore(kit, "sizes that nobody can have", too_large, 1, 8, 200, NULL);
	ckit_destroy(kit);
}
END_TEST

/* ---- frees that are wrong --------------------------------------------------------------------- */

/* What is free already stays so, as long as somebody has a part of the block: the lowest one here. */
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
		segs_give(kit, again[i]);
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
		segs_give(kit, ckit_take(kit, i));
}

START_TEST(free_twice)
{
	struct segs segs = { .lanes = 4 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	ckit_explore(kit, "freed twice", twice, 1, 4, 300, ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* Two of the lanes free the same at the same time, live or last: one of them is told. */
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
		/* No ckit_take(): both are to have it. */
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
		segs_give(kit, ckit_take(kit, 0));
		segs_give(kit, ckit_take(kit, 3));
	}
}

/* The same, and segment 3 is gone before, so that 2 is the last. */
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
		segs_give(kit, ckit_take(kit, 3));
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
		segs_give(kit, ckit_take(kit, 1));
		segs_give(kit, ckit_take(kit, 0));
	}
}

START_TEST(free_twice_at_once)
{
	struct segs segs = { .lanes = 4 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	ckit_explore(kit, "two free the same", both, 1, 4, CKIT_RACE ? 300 : 1500,
		     ckit_check_served);
	ckit_explore(kit, "two free the last", both_last, 1, 4, CKIT_RACE ? 300 : 1500,
		     ckit_check_served);
	ckit_destroy(kit);
}
END_TEST

/* Addresses that no segment has, in memory of somebody else. */
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
		/* Addresses of all three sizes of header, and of none. */
		for (k = 8; k < 64; k++)
			MAM_KASSERT(!mam_segments_free(segs_base(kit), memory + k));
		for (k = 0; k < 64; k++)
			MAM_KASSERT(memory[k] == fills[i]);
	}
	MAM_KASSERT(mam_base_free(segs_base(kit), memory));
}

START_TEST(no_segments)
{
	struct segs segs = { .lanes = 1 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	ckit_explore(kit, "no segments", rubbish, 1, 1, 1, NULL);
	ckit_destroy(kit);
}
END_TEST

/*
 * A header that was overwritten: who comes to it leaves it alone, whatever it says of being free, and
 * the block stays with nobody.
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
		segs_give(kit, ckit_take(kit, 2));
		MAM_KASSERT(mam_segment_look(part) == rubbish);
	} else {
		segs_give(kit, part);
		segs_give(kit, ckit_take(kit, 2));
	}
	segs_give(kit, ckit_take(kit, 0));
}

static const char *check_overwritten(void *argument)
{
	const struct ckit *kit = argument;

	if (kit->allocs > 1)
		return ckit_check_empty(argument);
	return kit->parts || kit->frees ? "who has lost a header is not left alone" : NULL;
}

START_TEST(headers_lost)
{
	struct segs segs = { .lanes = 3 };
	struct ckit *kit = ckit_create(1 << 12, NULL);

	kit->own = &segs;
	ckit_explore(kit, "a header overwritten", overwritten, 1, 3, 50, check_overwritten);
	ckit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("wrong");

	tcase_add_loop_test(tcase, refuses, 0, sizeof(refusals) / sizeof(refusals[0]));
	tcase_add_test(tcase, sizes);
	tcase_add_test(tcase, free_twice);
	tcase_add_test(tcase, free_twice_at_once);
	tcase_add_test(tcase, no_segments);
	tcase_add_test(tcase, headers_lost);
	return ckit_run(tcase, "coalesce/segments wrong");
}
