/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_slist.c - the list with one thread; then lanes add to it, iterate over it and empty it at
 * the same time, and stop anywhere: each node is removed once, with the written contents.
 */
#include "ds/kit.h"
#include "ds/slist.h"

#define NODES 256u

struct plan {
	const char *name;
	uint32_t grid, block, rounds;
	uint32_t takers;   /* the last blocks: they take and look */
	uint32_t stoppers; /* the first blocks, each with a lane that stops */
	uint32_t seeds;
};

struct item {
	uint32_t value; /* not the first member, so that the two addresses differ */
	struct mam_sll_node node;
};

struct own {
	const struct plan *plan;
	struct mam_sll list;
	struct item items[NODES];
};

static struct item *item_of(struct mam_sll_node *node)
{
	return (struct item *)((unsigned char *)node - offsetof(struct item, node));
}

static void begin(void *argument)
{
	struct own *own = argument;

	memset(own->items, 0xa5, sizeof(own->items));
	mam_sll_init(&own->list);
	dkit_begin((own->plan->grid - own->plan->stoppers) * own->plan->block);
}

/* Newest first; each node is taken once; a node may be added again. */
START_TEST(list_is_last_in_first_out)
{
	static const struct plan plan = { .grid = 1, .block = 1 };
	struct own *own = calloc(1, sizeof(*own));
	struct mam_sll_node *node;
	uint32_t i, round;

	ck_assert_ptr_nonnull(own);
	own->plan = &plan;
	begin(own);
	for (round = 0; round < 2; round++) {
		ck_assert(!mam_sll_first(&own->list) && !mam_sll_take(&own->list));
		for (i = 0; i < NODES; i++) {
			mam_sll_add(&own->list, &own->items[i].node);
			ck_assert_ptr_eq(mam_sll_first(&own->list), &own->items[i].node);
		}
		for (node = mam_sll_first(&own->list); node; node = mam_sll_next(node))
			ck_assert_ptr_eq(item_of(node), &own->items[--i]);
		ck_assert_uint_eq(i, 0);
		node = mam_sll_take(&own->list);
		for (i = NODES; node; node = mam_sll_next(node))
			ck_assert_ptr_eq(item_of(node), &own->items[--i]);
		ck_assert_uint_eq(i, 0);
	}
	free(own);
}
END_TEST

/* Consumes nodes that now belong to the caller alone. */
static void use_up(struct own *own, struct mam_sll_node *node)
{
	struct mam_sll_node *next;

	for (; node; node = next) {
		next = mam_sll_next(node);
		MAM_KASSERT(item_of(node)->value == (uint32_t)(item_of(node) - own->items) + 7);
		dkit_note((uint64_t)(item_of(node) - own->items));
		item_of(node)->value = 0;
		node->next = 1;
	}
}

static MAM_KERNEL(add_and_take)
{
	struct own *own = argument;
	const struct plan *plan = own->plan;
	bool stops = mam_block() < plan->stoppers;
	struct item *item;
	uint32_t i;

	if (stops && simt_thread() == simt_random() % plan->block)
		stop_after(1 + (uint32_t)(simt_random() % (3 * plan->rounds)));
	for (i = 0; i < plan->rounds; i++) {
		if (mam_block() + plan->takers >= plan->grid) {
			use_up(own, mam_sll_take(&own->list));
			continue;
		}
		item = &own->items[dkit_self() * plan->rounds + i];
		item->value = (uint32_t)(item - own->items) + 7;
		mam_sll_add(&own->list, &item->node);
	}
	if (!stops)
		stop_leave();
}

static const char *check_all(void *argument)
{
	struct own *own = argument;
	const struct plan *plan = own->plan;

	dkit_count_run();
	use_up(own, mam_sll_take(&own->list));
	return dkit_check_noted((plan->grid - plan->takers) * plan->block * plan->rounds);
}

/* An iteration sees all nodes that existed when it started, while others add. */
static MAM_KERNEL(walk)
{
	struct own *own = argument;
	const struct plan *plan = own->plan;
	struct mam_sll_node *node;
	uint32_t i, seen, before = 0;
	struct item *item;

	for (i = 0; i < plan->rounds; i++, before = seen) {
		if (mam_block() + plan->takers < plan->grid) {
			item = &own->items[dkit_self() * plan->rounds + i];
			item->value = (uint32_t)(item - own->items) + 7;
			mam_sll_add(&own->list, &item->node);
		}
		seen = 0;
		for (node = mam_sll_first(&own->list); node; node = mam_sll_next(node), seen++)
			MAM_KASSERT(item_of(node)->value ==
				    (uint32_t)(item_of(node) - own->items) + 7);
		MAM_KASSERT(seen >= before);
	}
}

static void explore(const struct plan *plan, simt_kernel *kernel)
{
	struct own *own = calloc(1, sizeof(*own));
	struct simt_case test = {
		.name = plan->name,
		.kernel = kernel,
		.grid = plan->grid,
		.block = plan->block,
		.argument = own,
		.begin = begin,
		.check = check_all,
		.seeds = CKIT_RACE ? (plan->seeds + 3) / 4 : plan->seeds,
		.config = { .race = CKIT_RACE, .strict = true },
	};

	ck_assert_ptr_nonnull(own);
	own->plan = plan;
	dkit.runs = dkit.stopped = 0;
	simt_must_pass(&test);
	ck_assert(!plan->stoppers || dkit.runs < 60 || dkit.stopped > dkit.runs / 3);
	free(own);
}

static const struct plan plans[] = {
	/* name, grid, block, rounds, takers, stoppers, seeds */
	{ "two lanes add", 2, 1, 4, 0, 0, 400 },
	{ "two lanes add, one takes", 3, 1, 4, 1, 0, 1000 },
	{ "two lanes add, two take", 4, 1, 4, 2, 0, 600 },
	{ "warps add, a warp takes", 3, 32, 2, 1, 0, 20 },
	{ "one stopped lane", 4, 1, 4, 1, 1, 800 },
	{ "two stopped lanes", 5, 2, 3, 1, 2, 400 },
};

START_TEST(each_node_is_taken_once)
{
	explore(&plans[_i], add_and_take);
}
END_TEST

START_TEST(iteration_sees_all_earlier_nodes)
{
	static const struct plan plan = { "one lane iterates", 3, 1, 4, 1, 0, 600 };

	explore(&plan, walk);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("slist");

	tcase_add_test(tcase, list_is_last_in_first_out);
	tcase_add_loop_test(tcase, each_node_is_taken_once, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, iteration_sees_all_earlier_nodes);
	return ckit_run(tcase, "ds/slist");
}
