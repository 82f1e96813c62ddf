/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_tree.c - the tree with one thread, against a model; then many lanes add, look up and ensure
 * nodes at the same time, and stop anywhere or find no memory; and the paper's graph: nodes in the
 * tree, with lists of links.
 */
#include "ds/kit.h"
#include "ds/slist.h"
#include "ds/tree.h"

#define KEYS 64u

struct plan {
	const char *name;
	uint32_t grid, block, rounds;
	uint32_t keys; /* number of keys, up to KEYS */
	uint32_t refuse_every;
	uint32_t stoppers; /* the first blocks, each with a lane that stops */
	uint32_t seeds;
};

struct node {
	struct mam_tree_node tree;
	struct mam_sll links;
};

struct link {
	struct mam_sll_node node;
	struct node *sink;
	uint32_t number;
};

struct own {
	struct mam_tree tree;
	uint32_t links; /* number of added links; atomic */
	uint32_t added; /* nodes that mam_tree_add() accepted; atomic */
	struct mam_tree_node nodes[1024];
};

static struct own *own_of(struct ckit *kit)
{
	return kit->own;
}

static void begin(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;

	memset(own, 0xa5, sizeof(*own));
	mam_tree_init(&own->tree);
	own->links = own->added = 0;
	dkit_begin((plan->grid - plan->stoppers) * plan->block);
}

static struct ckit *create(const struct plan *plan)
{
	struct ckit *kit = dkit_create(1 << 16, plan, sizeof(struct own), begin);

	kit->refuse_every = plan->refuse_every;
	return kit;
}

/* ---- one thread ---------------------------------------------------------------------------- */

/* Random keys, some repeated: found if they were added, once each, and taken in order. */
START_TEST(tree_matches_model)
{
	static const struct plan plan = { .grid = 1, .block = 1 };
	struct ckit *kit = create(&plan);
	struct own *own = kit->own;
	struct mam_tree_node *node;
	bool there[700] = { false };
	uint64_t random = 88172645463325252u + (uint64_t)_i, key, last = 0;
	uint32_t i, count = 0;

	ckit_begin(kit);
	ck_assert(!mam_tree_get(&own->tree, 0) && !mam_tree_take(&own->tree));
	for (i = 0; i < 1024; i++) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		/* Random, ascending, or descending; including the largest numbers. */
		key = _i == 0 ? random % 700 : _i == 1 ? i % 700 : 699 - i % 700;
		own->nodes[i].key = key - 5;
		node = mam_tree_get(&own->tree, key - 5);
		ck_assert((node != NULL) == there[key]);
		ck_assert(mam_tree_add(&own->tree, &own->nodes[i]) == !there[key]);
		ck_assert_ptr_eq(mam_tree_get(&own->tree, key - 5), node ? node : &own->nodes[i]);
		ck_assert_ptr_eq(mam_tree_ensure(&own->tree, ckit_base(kit), key - 5, 64),
				 node ? node : &own->nodes[i]);
		count += !there[key];
		there[key] = true;
	}
	ck_assert_uint_eq(kit->allocs, 0);
	for (node = mam_tree_take(&own->tree); node; node = mam_tree_take(&own->tree)) {
		ck_assert(last < node->key || last == 0);
		last = node->key;
		ck_assert(there[(node->key + 5) % 700]);
		there[(node->key + 5) % 700] = false;
		count--;
	}
	ck_assert_uint_eq(count, 0);
	ck_assert(!mam_tree_get(&own->tree, 5));
	dkit_destroy(kit);
}
END_TEST

/*
 * A created node has the requested size and is zero. Without memory the call returns NULL and
 * adds no node.
 */
START_TEST(ensure_creates_zeroed_node)
{
	static const struct plan plan = { .grid = 1, .block = 1 };
	struct ckit *kit = create(&plan);
	struct mam_tree *tree = &own_of(kit)->tree;
	struct mam_tree_node *node;
	volatile size_t huge = ~(size_t)0; /* volatile avoids a compiler warning */
	size_t bytes, i;

	ckit_begin(kit);
	for (bytes = 0; bytes < 100; bytes++) {
		node = mam_tree_ensure(tree, ckit_base(kit), bytes * 7919 % 101, bytes);
		ck_assert(node && node->key == bytes * 7919 % 101);
		ck_assert_uint_eq(kit->allocs, bytes + 1);
		for (i = sizeof(*node); i < bytes; i++)
			ck_assert_uint_eq(((unsigned char *)node)[i], 0);
		/* The node's memory belongs to no other object. */
		if (bytes >= sizeof(*node)) {
			ckit_own(kit, (unsigned char *)node, bytes);
			ckit_forget(kit, (unsigned char *)node);
			memset(node, 0, bytes);
			node->key = bytes * 7919 % 101;
			while (mam_tree_take(tree))
				;
		}
	}
	ck_assert_ptr_null(mam_tree_ensure(tree, ckit_base(kit), 1000, huge));
	ck_assert_ptr_null(mam_tree_ensure(tree, ckit_base(kit), 1000, huge - 9));
	kit->refuse_every = 1;
	ck_assert_ptr_null(mam_tree_ensure(tree, ckit_base(kit), 1000, 40));
	ck_assert_ptr_null(mam_tree_get(tree, 1000));
	dkit_destroy(kit);
}
END_TEST

/* ---- many lanes ---------------------------------------------------------------------------- */

/* Adds an edge to the graph: ensures its nodes, and adds a link to the source. */
static bool add_edge(struct ckit *kit, uint32_t number, uint64_t source, uint64_t sink)
{
	struct mam_tree *tree = &own_of(kit)->tree;
	struct node *from =
		(struct node *)mam_tree_ensure(tree, ckit_base(kit), source, sizeof(struct node));
	struct node *to =
		(struct node *)mam_tree_ensure(tree, ckit_base(kit), sink, sizeof(struct node));
	struct link *link = from && to ? mam_base_alloc(ckit_base(kit), sizeof(*link)) : NULL;

	if (!link)
		return false;
	MAM_KASSERT(from->tree.key == source && to->tree.key == sink);
	MAM_KASSERT(mam_tree_get(tree, source) == &from->tree);
	link->sink = to;
	link->number = number;
	mam_sll_add(&from->links, &link->node);
	(void)mam_atomic_add32(&own_of(kit)->links, 1, MAM_RELAXED, MAM_AT_DEVICE);
	return true;
}

static MAM_KERNEL(build)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	bool stops = mam_block() < plan->stoppers;
	uint32_t i, number;

	if (stops && simt_thread() == simt_random() % plan->block)
		stop_after(1 + (uint32_t)(simt_random() % (12 * plan->rounds)));
	for (i = 0; i < plan->rounds; i++) {
		number = dkit_self() * plan->rounds + i;
		if (!add_edge(kit, number, simt_random() % plan->keys, simt_random() % plan->keys))
			MAM_KASSERT(plan->refuse_every);
	}
	if (!stops)
		stop_leave();
}

/* Each link exists once, at nodes that are in the tree once, in order; then everything is freed. */
static const char *check_graph(void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;
	struct mam_sll_node *link, *next;
	struct mam_tree_node *node, *before = NULL;
	struct node *nodes[KEYS];
	uint32_t count = 0, links = 0, i;
	uint64_t last = 0;

	dkit_count_run();
	for (node = mam_tree_take(&own->tree); node; node = mam_tree_take(&own->tree)) {
		if (before && node->key <= last)
			return "a key occurs twice, or keys are not in order";
		last = node->key;
		before = node;
		nodes[count++] = (struct node *)node;
	}
	for (i = 0; i < count; i++)
		for (link = mam_sll_first(&nodes[i]->links); link; link = mam_sll_next(link)) {
			dkit_note(((struct link *)link)->number);
			if (((struct link *)link)->sink->tree.key >= plan->keys)
				return "a link has an invalid sink";
			links++;
		}
	if (links != own->links)
		return "a link was lost";
	if (!plan->refuse_every && links != plan->grid * plan->block * plan->rounds)
		return "an edge was not added";
	for (i = 0; i < count; i++) {
		for (link = mam_sll_take(&nodes[i]->links); link; link = next) {
			next = mam_sll_next(link);
			(void)mam_base_free(ckit_base(kit), link);
		}
		(void)mam_base_free(ckit_base(kit), nodes[i]);
	}
	return ckit_check_empty(kit);
}

static const struct plan plans[] = {
	/* name, grid, block, rounds, keys, refuse, stoppers, seeds */
	{ "two lanes, one key", 2, 1, 3, 1, 0, 0, 400 },
	{ "three lanes, three keys", 3, 1, 3, 3, 0, 0, 600 },
	{ "two warps", 2, 34, 1, 20, 0, 0, 20 },
	{ "many keys", 3, 3, 3, 64, 0, 0, 100 },
	{ "some allocations fail", 3, 2, 3, 4, 3, 0, 300 },
	{ "all allocations fail", 2, 2, 2, 4, 1, 0, 50 },
	{ "one stopped lane", 4, 1, 3, 3, 0, 1, 500 },
	{ "two stopped lanes", 4, 2, 2, 5, 0, 2, 300 },
};

START_TEST(concurrent_lanes_build_graph)
{
	const struct plan *plan = &plans[_i];
	struct ckit *kit = create(plan);

	ckit_explore(kit, plan->name, build, plan->grid, plan->block,
		     CKIT_RACE ? (plan->seeds + 3) / 4 : plan->seeds, check_graph);
	ck_assert(!plan->stoppers || dkit.runs < 60 || dkit.stopped > dkit.runs / 3);
	dkit_destroy(kit);
}
END_TEST

/* The lanes' own nodes: of those with the same key one is accepted, and all lanes find it. */
static MAM_KERNEL(add)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;
	const struct plan *plan = kit->plan;
	struct mam_tree_node *node, *found;
	uint32_t i;

	for (i = 0; i < plan->rounds; i++) {
		node = &own->nodes[dkit_self() * plan->rounds + i];
		node->key = (dkit_self() + i * 3) % plan->keys;
		if (mam_tree_add(&own->tree, node))
			(void)mam_atomic_add32(&own->added, 1, MAM_RELAXED, MAM_AT_DEVICE);
		found = mam_tree_get(&own->tree, node->key);
		MAM_KASSERT(found && found->key == node->key);
		found = mam_tree_get(&own->tree, simt_random() % plan->keys);
		MAM_KASSERT(!found || found->key < plan->keys);
	}
}

static const char *check_added(void *argument)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;
	struct mam_tree_node *node;
	uint32_t count = 0;

	for (node = mam_tree_take(&own->tree); node; node = mam_tree_take(&own->tree)) {
		dkit_note(node->key);
		count++;
	}
	return count == own->added ? NULL : "the number of nodes differs from those added";
}

START_TEST(one_node_per_key_is_added)
{
	static const struct plan plan = { "adds", 3, 3, 3, 5, 0, 0, 0 };
	struct ckit *kit = create(&plan);

	ckit_explore(kit, plan.name, add, 3, 3, CKIT_RACE ? 100 : 400, check_added);
	dkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("tree");

	tcase_add_loop_test(tcase, tree_matches_model, 0, 3);
	tcase_add_test(tcase, ensure_creates_zeroed_node);
	tcase_add_loop_test(tcase, concurrent_lanes_build_graph, 0,
			    sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, one_node_per_key_is_added);
	return ckit_run(tcase, "ds/tree");
}
