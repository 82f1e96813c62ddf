/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory a pool needs on the source vmm while the GPU lags: a stream finds the memory
 * that it freed, in whichever part of the range it lies.
 *
 * Blocks below 1 MiB and larger ones lie in two parts of the range (pool/range.h). Freed neighbors
 * join, so the small part has free segments above 1 MiB, and a large segment leaves a rest below it.
 */
#include "scene.h"

#define KIB ((size_t)1 << 10)

static struct scene *vmm_scene(void)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	attr.source = "vmm";
	return scene_with(&attr);
}

/* used - a block that work of the stream touches. */
static void *used(struct scene *s, size_t bytes)
{
	void *block = get(s, bytes, s->one);

	work(s, block, bytes, s->one);
	return block;
}

/* So many frees and reuses that what the stream frees next stays open: no event is recorded. */
static void settle(struct scene *s)
{
	for (int i = 0; i < 150; i++)
		give(s, get(s, KIB, s->one), s->one);
}

/* The free segment of 1200 KiB in the small part fits better, but the request may not use it. */
START_TEST(a_better_fit_in_the_small_part_hides_no_large_segment)
{
	struct scene *s = vmm_scene();
	void *a = used(s, 600 * KIB), *b = used(s, 600 * KIB), *wall = used(s, KIB);
	void *large = used(s, 2 * MIB), *c;
	uint64_t before;

	settle(s);
	give(s, a, s->one);
	give(s, b, s->one);
	give(s, large, s->one);
	before = stats_of(s).physical_bytes;
	c = get(s, 1100 * KIB, s->one);
	ck_assert_ptr_eq(c, large);
	ck_assert_uint_eq(stats_of(s).physical_bytes, before);
	give(s, c, s->one);
	give(s, wall, s->one);
	scene_end(s);
}
END_TEST

/* The rest of 700 KiB in the large part fits better. */
START_TEST(a_better_fit_in_the_large_part_hides_no_small_segment)
{
	struct scene *s = vmm_scene();
	void *large = used(s, 2 * MIB), *high = used(s, 2 * MIB), *small = used(s, 900 * KIB);
	void *wall = used(s, KIB), *b, *c;
	uint64_t before;

	settle(s);
	give(s, large, s->one);
	b = get(s, 2 * MIB - 700 * KIB, s->one);
	ck_assert_ptr_eq(b, large);
	give(s, small, s->one);
	before = stats_of(s).physical_bytes;
	c = get(s, 650 * KIB, s->one);
	ck_assert_ptr_eq(c, small);
	ck_assert_uint_eq(stats_of(s).physical_bytes, before);
	give(s, b, s->one);
	give(s, c, s->one);
	give(s, high, s->one);
	give(s, wall, s->one);
	scene_end(s);
}
END_TEST

#define PAIRS 1500

/* However many segments of the other part fit better: no limit on the search may end it. */
START_TEST(thousands_of_better_fits_in_the_small_part_hide_no_large_segment)
{
	static void *pairs[PAIRS][3];
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct scene *s;
	uint64_t before;
	void *large;

	setenv("FAKE_CUDA_MEMORY", "4G", 1);
	unsetenv("FAKE_CUDA_LOG");
	attr.source = "vmm";
	s = scene_with(&attr);
	for (int i = 0; i < PAIRS; i++) {
		pairs[i][0] = get(s, 512 * KIB + (size_t)i * 512 % (200 * KIB), s->one);
		pairs[i][1] = get(s, 600 * KIB, s->one);
		pairs[i][2] = get(s, 512, s->one);
	}
	large = used(s, 2 * MIB);
	for (int i = 0; i < PAIRS; i++) {
		work(s, pairs[i][0], 512, s->one);
		give(s, pairs[i][0], s->one);
		give(s, pairs[i][1], s->one);
	}
	give(s, large, s->one);
	before = stats_of(s).physical_bytes;
	ck_assert_ptr_eq(get(s, MIB, s->one), large);
	ck_assert_uint_eq(stats_of(s).physical_bytes, before);
	give(s, large, s->one);
	for (int i = 0; i < PAIRS; i++)
		give(s, pairs[i][2], s->one);
	scene_end(s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, a_better_fit_in_the_small_part_hides_no_large_segment);
	tcase_add_test(tests, a_better_fit_in_the_large_part_hides_no_small_segment);
	tcase_add_test(tests, thousands_of_better_fits_in_the_small_part_hide_no_large_segment);
}

int main(void)
{
	return suite_run("stream/footprint", add);
}
