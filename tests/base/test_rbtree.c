/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree alone, compared with a sorted array.
 *
 * The record here is a toy: a key, and a node at an odd offset, so that the tree cannot rely on the
 * pool's record. After each change the test runs mam_rb_check and compares the order with the array
 * in both directions. Finally the check gets corrupted trees, one kind of corruption each, and must
 * report it.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rbtree.h"

#define TOYS 600

struct toy {
	int key;
	char before[16];
	struct mam_rbnode node;
	char after[16];
}; /* 48 bytes: handles 6, 12, 18... */

static struct toy *toys; /* toy 0 is the null record */
static char *nodes;
static uint32_t root;
static uint32_t sorted[TOYS];
static size_t sorted_count;

static uint32_t handle_of(size_t index)
{
	return (uint32_t)(index * sizeof(struct toy) / MAM_RB_UNIT);
}

static struct toy *toy_of(uint32_t handle)
{
	return &toys[(size_t)handle * MAM_RB_UNIT / sizeof(struct toy)];
}

static void setup(void)
{
	ck_assert_uint_eq(sizeof(struct toy) % 16, 0);
	toys = calloc(TOYS + 1, sizeof(*toys));
	ck_assert_ptr_nonnull(toys);
	nodes = (char *)toys + offsetof(struct toy, node);
	root = 0;
	sorted_count = 0;
	for (size_t i = 0; i <= TOYS; i++) {
		toys[i].key = (int)i;
		memset(toys[i].before, 0x5a, sizeof(toys[i].before));
		memset(toys[i].after, 0x5a, sizeof(toys[i].after));
	}
}

static void teardown(void)
{
	for (size_t i = 0; i <= TOYS; i++)
		for (size_t b = 0; b < sizeof(toys[i].before); b++)
			ck_assert_msg(toys[i].before[b] == 0x5a && toys[i].after[b] == 0x5a,
				      "toy %zu was written outside its node", i);
	for (size_t b = 0; b < sizeof(struct mam_rbnode); b++)
		ck_assert_msg(((char *)&toys[0].node)[b] == 0, "record 0 was written");
	free(toys);
}

static bool rising(const void *user, uint32_t a, uint32_t b)
{
	(void)user;
	return toy_of(a)->key < toy_of(b)->key;
}

static const char *fault(void)
{
	uint64_t count = 0;
	const char *what = mam_rb_check(nodes, root, rising, NULL, &count);

	if (what == NULL)
		ck_assert_uint_eq(count, sorted_count);
	return what;
}

static unsigned height_below(uint32_t handle)
{
	unsigned left, right;

	if (handle == 0)
		return 0;
	left = height_below(mam_rb_child(nodes, handle, MAM_RB_LEFT));
	right = height_below(mam_rb_child(nodes, handle, MAM_RB_RIGHT));
	return 1 + (left > right ? left : right);
}

/* height <= 2 log2(n + 1), in whole numbers: 2^height <= (n + 1)^2 */
static void ck_assert_low(void)
{
	unsigned height = height_below(root);

	ck_assert_msg(((uint64_t)1 << height) <= (uint64_t)(sorted_count + 1) * (sorted_count + 1),
		      "%zu records have height %u", sorted_count, height);
}

static void ck_assert_sound(void)
{
	const char *what = fault();
	uint32_t handle;

	ck_assert_msg(what == NULL, "%s", what);
	ck_assert_low();
	handle = mam_rb_extreme(nodes, root, MAM_RB_LEFT);
	for (size_t i = 0; i < sorted_count; i++) {
		if (handle !=
		    sorted[i]) /* Check would record each assertion that holds, which is slow */
			ck_assert_uint_eq(handle, sorted[i]);
		handle = mam_rb_step(nodes, handle, MAM_RB_RIGHT);
	}
	ck_assert_uint_eq(handle, 0);
	handle = mam_rb_extreme(nodes, root, MAM_RB_RIGHT);
	for (size_t i = sorted_count; i-- > 0;) {
		if (handle != sorted[i])
			ck_assert_uint_eq(handle, sorted[i]);
		handle = mam_rb_step(nodes, handle, MAM_RB_LEFT);
	}
	ck_assert_uint_eq(handle, 0);
}

static size_t place_of(int key)
{
	size_t place = 0;

	while (place < sorted_count && toy_of(sorted[place])->key < key)
		place++;
	return place;
}

static void insert(uint32_t handle)
{
	uint32_t parent = 0, below = root;
	enum mam_rbside side = MAM_RB_LEFT;
	size_t place = place_of(toy_of(handle)->key);

	while (below) {
		parent = below;
		side = toy_of(handle)->key < toy_of(below)->key ? MAM_RB_LEFT : MAM_RB_RIGHT;
		below = mam_rb_child(nodes, below, side);
	}
	/* Link must not rely on old contents. */
	memset(&toy_of(handle)->node, 0xff, sizeof(struct mam_rbnode));
	mam_rb_link(nodes, &root, parent, side, handle);
	memmove(&sorted[place + 1], &sorted[place], (sorted_count - place) * sizeof(sorted[0]));
	sorted[place] = handle;
	sorted_count++;
}

/* Links next to a known neighbor without a descent from the root. pre: the tree is not empty. */
static void insert_beside(uint32_t handle)
{
	size_t place = place_of(toy_of(handle)->key);
	uint32_t parent = place ? sorted[place - 1] : sorted[0];
	enum mam_rbside side = place ? MAM_RB_RIGHT : MAM_RB_LEFT;

	if (mam_rb_child(nodes, parent, side)) {
		parent = mam_rb_step(nodes, parent, side);
		side = MAM_RB_LEFT;
	}
	mam_rb_link(nodes, &root, parent, side, handle);
	memmove(&sorted[place + 1], &sorted[place], (sorted_count - place) * sizeof(sorted[0]));
	sorted[place] = handle;
	sorted_count++;
}

static void remove_at(size_t place)
{
	uint32_t handle = sorted[place];

	mam_rb_unlink(nodes, &root, handle);
	/* The tree must not read it any more. */
	memset(&toy_of(handle)->node, 0xee, sizeof(struct mam_rbnode));
	sorted_count--;
	memmove(&sorted[place], &sorted[place + 1], (sorted_count - place) * sizeof(sorted[0]));
}

START_TEST(empty_tree_is_valid_and_has_no_ends)
{
	ck_assert_sound();
	ck_assert_uint_eq(mam_rb_extreme(nodes, 0, MAM_RB_LEFT), 0);
	ck_assert_uint_eq(mam_rb_extreme(nodes, 0, MAM_RB_RIGHT), 0);
}
END_TEST

START_TEST(ascending_and_descending_inserts_stay_balanced)
{
	for (size_t i = 1; i <= TOYS; i++) {
		insert(handle_of(_i ? TOYS + 1 - i : i));
		ck_assert_sound();
	}
	while (sorted_count) {
		remove_at(_i ? 0 : sorted_count - 1);
		ck_assert_sound();
	}
	ck_assert_uint_eq(root, 0);
}
END_TEST

/* The n-th permutation of 1..count, by the factorial number system. */
static void permutation(unsigned n, unsigned count, unsigned *out)
{
	unsigned left[8];

	for (unsigned i = 0; i < count; i++)
		left[i] = i + 1;
	for (unsigned i = count; i > 0; i--) {
		unsigned pick = n % i;

		n /= i;
		out[count - i] = left[pick];
		memmove(&left[pick], &left[pick + 1], (i - pick - 1) * sizeof(left[0]));
	}
}

START_TEST(all_orders_of_five_inserts_and_removals)
{
	unsigned in[5], out[5];

	for (unsigned a = 0; a < 120; a++) {
		permutation(a, 5, in);
		for (unsigned b = 0; b < 120; b++) {
			permutation(b, 5, out);
			for (unsigned i = 0; i < 5; i++)
				insert(handle_of(in[i]));
			ck_assert_sound();
			for (unsigned i = 0; i < 5; i++) {
				remove_at(place_of((int)out[i]));
				ck_assert_sound();
			}
		}
	}
}
END_TEST

START_TEST(each_removal_from_all_orders_of_seven)
{
	unsigned in[7];

	for (unsigned a = 0; a < 5040; a++) {
		permutation(a, 7, in);
		for (unsigned i = 0; i < 7; i++)
			insert(handle_of(in[i]));
		remove_at(a % 7);
		ck_assert_sound();
		while (sorted_count)
			remove_at(0);
	}
}
END_TEST

START_TEST(random_changes_match_sorted_array)
{
	bool present[TOYS + 1] = { false };
	uint64_t state = 88172645463325252u + (uint64_t)_i;
	/* Small trees meet the corner cases, large ones the long paths. */
	unsigned span = _i % 2 ? 40 : TOYS;

	for (unsigned step = 0; step < 3000; step++) {
		size_t index;

		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		index = 1 + (state >> 20) % span;
		if (present[index])
			remove_at(place_of((int)index));
		else if (sorted_count && (state & 1))
			insert_beside(handle_of(index));
		else
			insert(handle_of(index));
		present[index] = !present[index];
		if (span < TOYS || step % 8 == 0)
			ck_assert_sound();
	}
}
END_TEST

START_TEST(replace_works_at_root_leaf_and_inner_node)
{
	for (size_t i = 1; i <= 15; i++)
		insert(handle_of(i * 2));
	for (size_t place = 0; place < 15; place++) {
		uint32_t old = sorted[place], fresh = handle_of((place + 1) * 2 + 100);

		toy_of(fresh)->key = toy_of(old)->key;
		mam_rb_replace(nodes, &root, old, fresh);
		memset(&toy_of(old)->node, 0xee, sizeof(struct mam_rbnode));
		sorted[place] = fresh;
		ck_assert_sound();
	}
}
END_TEST

/* A tree of 15 to corrupt; the corruption is undone so that teardown finds a valid tree. */
static void build_victim(void)
{
	for (size_t i = 1; i <= 15; i++)
		insert(handle_of(i));
	ck_assert_sound();
}

static void ck_assert_fault(const char *word)
{
	const char *what = fault();

	ck_assert_msg(what != NULL, "the check did not detect the %s", word);
	ck_assert_msg(strstr(what, word) != NULL, "'%s' does not mention the %s", what, word);
}

START_TEST(check_detects_wrong_order)
{
	build_victim();
	for (size_t place = 0; place < 15; place++) {
		int key = toy_of(sorted[place])->key;

		/* Equals its neighbor: not in order. */
		toy_of(sorted[place])->key = place < 14 ? key + 1 : key - 1;
		ck_assert_fault("order");
		toy_of(sorted[place])->key = key;
	}
	ck_assert_sound();
}
END_TEST

START_TEST(check_detects_red_child_of_red_node)
{
	unsigned planted = 0;

	build_victim();
	for (size_t place = 0; place < 15; place++) {
		uint32_t handle = sorted[place];

		if (!mam_rb_is_red(nodes, handle) || !mam_rb_child(nodes, handle, MAM_RB_LEFT))
			continue;
		mam_rb_paint(nodes, mam_rb_child(nodes, handle, MAM_RB_LEFT), true);
		ck_assert_fault("red");
		mam_rb_paint(nodes, mam_rb_child(nodes, handle, MAM_RB_LEFT), false);
		planted++;
	}
	ck_assert_uint_gt(planted, 0);
	ck_assert_sound();
}
END_TEST

START_TEST(check_detects_red_root)
{
	build_victim();
	root |= 1u;
	ck_assert_fault("red");
	root &= ~1u;
	ck_assert_sound();
}
END_TEST

START_TEST(check_detects_unequal_black_height)
{
	unsigned planted = 0;

	build_victim();
	for (size_t place = 0; place < 15; place++) {
		uint32_t handle = sorted[place];

		if (!mam_rb_is_red(nodes, handle))
			continue;
		mam_rb_paint(nodes, handle, false);
		ck_assert_fault("black");
		mam_rb_paint(nodes, handle, true);
		planted++;
	}
	ck_assert_uint_gt(planted, 0);
	ck_assert_sound();
}
END_TEST

START_TEST(check_detects_wrong_parent_link)
{
	build_victim();
	for (size_t place = 0; place < 15; place++) {
		struct mam_rbnode *node = mam_rb_at(nodes, sorted[place]);
		uint32_t parent = node->parent;

		node->parent = sorted[(place + 7) % 15];
		if (node->parent != parent)
			ck_assert_fault("parent");
		node->parent = parent;
	}
	ck_assert_sound();
}
END_TEST

START_TEST(check_detects_cycle_and_returns)
{
	uint32_t leaf;
	struct mam_rbnode *node;

	build_victim();
	leaf = mam_rb_extreme(nodes, root, MAM_RB_LEFT);
	node = mam_rb_at(nodes, leaf);
	node->child[MAM_RB_LEFT] = root;
	ck_assert_ptr_nonnull(fault());
	node->child[MAM_RB_LEFT] = leaf;
	ck_assert_ptr_nonnull(fault());
	/*
	 * A record that is its own parent and child, under a root that is itself: only the depth
	 * reveals it.
	 */
	node->parent = leaf;
	ck_assert_ptr_nonnull(fault());
}
END_TEST

START_TEST(check_leaves_count_unchanged_on_fault)
{
	uint64_t count = 77;

	build_victim();
	root |= 1u;
	ck_assert_ptr_nonnull(mam_rb_check(nodes, root, rising, NULL, &count));
	ck_assert_uint_eq(count, 77);
	root &= ~1u;
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/rbtree");
	TCase *tcase = tcase_create("tree");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, empty_tree_is_valid_and_has_no_ends);
	tcase_add_loop_test(tcase, ascending_and_descending_inserts_stay_balanced, 0, 2);
	tcase_add_test(tcase, all_orders_of_five_inserts_and_removals);
	tcase_add_test(tcase, each_removal_from_all_orders_of_seven);
	tcase_add_loop_test(tcase, random_changes_match_sorted_array, 0, 6);
	tcase_add_test(tcase, replace_works_at_root_leaf_and_inner_node);
	tcase_add_test(tcase, check_detects_wrong_order);
	tcase_add_test(tcase, check_detects_red_child_of_red_node);
	tcase_add_test(tcase, check_detects_red_root);
	tcase_add_test(tcase, check_detects_unequal_black_height);
	tcase_add_test(tcase, check_detects_wrong_parent_link);
	tcase_add_test(tcase, check_detects_cycle_and_returns);
	tcase_add_test(tcase, check_leaves_count_unchanged_on_fault);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
