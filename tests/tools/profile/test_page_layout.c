/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a flame graph: siblings in the order of what they held, callees above their caller,
 * narrow ones together, and stacks of any depth.
 */
#include <check.h>
#include <stdlib.h>

#include "flame/flame.h"

#define NODES 8
#define DEEP 200000

/*
 *   0 +- 1 +- 3
 *     |    +- 4
 *     +- 2 +- 5
 *          +- 6
 *          +- 7
 */
static struct profile_node nodes[NODES] = {
	{ PROFILE_NONE, 0 }, { 0, 1 }, { 0, 2 }, { 1, 3 }, { 1, 4 }, { 2, 5 }, { 2, 6 }, { 2, 7 }
};
static struct profile_leaf leaves[] = {
	{ .node = 1, .held = 5 },  { .node = 3, .held = 10 }, { .node = 4, .held = 20 },
	{ .node = 5, .held = 30 }, { .node = 6, .held = 1 },  { .node = 7, .held = 2 },
};
static const struct profile profile = {
	.nodes = nodes,
	.node_count = NODES,
	.leaves = leaves,
	.leaf_count = sizeof(leaves) / sizeof(leaves[0]),
};
static struct flame flame;
static struct flame_rects rects;

static void begin(void)
{
	rects = (struct flame_rects){ .width = 100, .narrowest = 1 };
	ck_assert(flame_init(&flame, &profile));
}

static void end(void)
{
	flame_fini(&flame);
	free(rects.list);
}

static void check_rect(size_t i, uint32_t node, uint32_t frames, uint32_t depth, double x,
		       double width)
{
	const struct flame_rect *rect = &rects.list[i];

	ck_assert_uint_eq(flame.nodes[rect->place], node);
	ck_assert_uint_eq(rect->frames, frames);
	ck_assert_uint_eq(rect->depth, depth);
	ck_assert_double_eq_tol(rect->x, x, 1e-9);
	ck_assert_double_eq_tol(rect->width, width, 1e-9);
}

/* Node 1 and those above it held 35, node 2 33. */
START_TEST(siblings_that_held_more_are_first)
{
	static const uint32_t expected[NODES] = { 0, 1, 4, 3, 2, 5, 7, 6 };
	static const uint32_t ends[NODES] = { 8, 4, 3, 4, 8, 6, 7, 8 };
	static const uint32_t depths[NODES] = { 0, 1, 2, 2, 1, 2, 2, 2 };

	for (uint32_t i = 0; i < NODES; i++) {
		ck_assert_uint_eq(flame.nodes[i], expected[i]);
		ck_assert_uint_eq(flame.ends[i], ends[i]);
		ck_assert_uint_eq(flame.depths[i], depths[i]);
	}
}
END_TEST

/* The amount of a node beyond that of its callees is empty space above it. */
START_TEST(callees_are_side_by_side_above_their_caller)
{
	static const double total[NODES] = { 50, 20, 10, 4, 30, 15, 5, 10 };

	ck_assert(flame_layout(&flame, total, &rects));
	ck_assert_uint_eq(rects.count, NODES);
	check_rect(0, 0, 1, 0, 0, 100);
	check_rect(1, 1, 1, 1, 0, 40);
	check_rect(2, 4, 1, 2, 0, 20);
	check_rect(3, 3, 1, 2, 20, 8);
	check_rect(4, 2, 1, 1, 40, 60);
	check_rect(5, 5, 1, 2, 40, 30);
	check_rect(6, 7, 1, 2, 70, 10);
	check_rect(7, 6, 1, 2, 80, 20);
}
END_TEST

START_TEST(narrow_siblings_share_a_rectangle)
{
	static const double total[NODES] = { 100, 0.4, 0.2, 0.2, 99.6, 0, 0.7, 0.6 };

	ck_assert(flame_layout(&flame, total, &rects));
	ck_assert_uint_eq(rects.count, 3);
	check_rect(0, 0, 1, 0, 0, 100);
	check_rect(1, 2, 1, 1, 0.4, 99.6);
	check_rect(2, 7, 2, 2, 0.4, 1.3);
}
END_TEST

START_TEST(nothing_is_drawn_of_nothing)
{
	static const double none[NODES], some[NODES] = { 10, 0, 0, 0, 10, 0, 10, 0 };

	ck_assert(flame_layout(&flame, none, &rects));
	ck_assert_uint_eq(rects.count, 0);
	ck_assert(flame_layout(&flame, some, &rects));
	ck_assert_uint_eq(rects.count, 3);
	check_rect(2, 7, 1, 2, 0, 100);
}
END_TEST

START_TEST(a_stack_may_be_deep)
{
	struct profile deep = { .node_count = DEEP, .leaf_count = 1 };
	struct profile_leaf leaf = { .node = DEEP - 1, .held = 1 };
	double *total = malloc(DEEP * sizeof(*total));
	struct flame tower;

	deep.nodes = malloc(DEEP * sizeof(*deep.nodes));
	deep.leaves = &leaf;
	for (uint32_t i = 0; i < DEEP; i++) {
		deep.nodes[i] = (struct profile_node){ i ? i - 1 : PROFILE_NONE, i };
		total[i] = 1;
	}
	ck_assert(flame_init(&tower, &deep));
	ck_assert(flame_layout(&tower, total, &rects));
	ck_assert_uint_eq(rects.count, DEEP);
	ck_assert_uint_eq(rects.list[DEEP - 1].depth, DEEP - 1);
	ck_assert_uint_eq(tower.ends[0], DEEP);
	flame_fini(&tower);
	free(deep.nodes);
	free(total);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("page_layout");
	TCase *tcase = tcase_create("layout");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, begin, end);
	tcase_add_test(tcase, siblings_that_held_more_are_first);
	tcase_add_test(tcase, callees_are_side_by_side_above_their_caller);
	tcase_add_test(tcase, narrow_siblings_share_a_rectangle);
	tcase_add_test(tcase, nothing_is_drawn_of_nothing);
	tcase_add_test(tcase, a_stack_may_be_deep);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
