/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_edges.c - the example that builds a graph from a list of edges, lane by lane: against sums
 * computed on the host, over a base that checks its callers, over one that refuses, and over a
 * ring; and keys that keep a tree of sorted names shallow.
 */
#include "ds/kit.h"
#include "ds/slist.h"
#include "ds/tree.h"
#include "edges.h"
#include "edges_host.h"
#include "edges_ring.h"

#define EDGES 256u
#define LANES 128u
#define RING_BYTES 16384u

struct plan {
	const char *name;
	uint32_t grid, block;
	uint32_t edges, nodes;
	uint32_t refuse_every;
	uint32_t ring; /* bytes; 0: the base that checks its callers */
	uint32_t seeds;
};

struct own {
	struct mam_tree tree;
	struct edges_sum sum;
	uint64_t refused;
	uint64_t chains[LANES];
	struct edges_edge *list;
	struct edges_sum expected;
	_Alignas(16) unsigned char ring[RING_BYTES];
};

static void begin(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;

	mam_tree_init(&own->tree);
	memset(&own->sum, 0, sizeof(own->sum));
	memset(own->chains, 0xa5, sizeof(own->chains));
	memset(own->ring, 0xa5, sizeof(own->ring));
	own->refused = 0;
	edges_ring_init((struct edges_ring *)own->ring, plan->ring);
	dkit_begin(plan->grid * plan->block);
}

static MAM_KERNEL(build)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;
	struct edges_keep keep = { (struct edges_ring *)own->ring, NULL };

	edges_build(&own->tree, plan->ring ? edges_ring_base(&keep) : ckit_base(kit), own->list,
		    plan->edges, &own->refused);
}

static MAM_KERNEL(check)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;

	edges_check(&own->tree, &own->sum);
}

static MAM_KERNEL(drop_links)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;

	edges_drop_links(&own->tree, ckit_base(kit), own->chains);
}

static MAM_KERNEL(drop_nodes)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;

	edges_drop_nodes(&own->tree, ckit_base(kit), own->chains);
}

static bool kernels(struct simt_world *world, void *argument)
{
	const struct plan *plan = ((struct ckit *)argument)->plan;
	uint32_t i;

	for (i = 0; i < (plan->ring ? 2 : 4); i++)
		if (!simt_world_launch(world, 1,
				       i == 0   ? build
				       : i == 1 ? check
				       : i == 2 ? drop_links
						: drop_nodes,
				       plan->grid, plan->block, argument))
			return false;
	return true;
}

static const char *check_sums(void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;

	if (own->sum.links + own->refused != plan->edges)
		return "an edge is neither a link nor refused";
	if (!plan->refuse_every && own->refused && plan->ring != 512)
		return "an edge was refused";
	if (plan->ring == 512 &&
	    (!own->refused || own->ring[sizeof(struct edges_ring) + 512] != 0xa5))
		return "the ring has handed out more than its size";
	if (!own->refused && !edges_same(&own->sum, &own->expected))
		return "the graph does not match the list";
	if (plan->ring)
		return own->sum.nodes * sizeof(struct edges_node) +
					       own->sum.links * sizeof(struct edges_link) <=
				       ((struct edges_ring *)own->ring)->head
			       ? NULL
			       : "the ring has handed out too little";
	if (own->tree.root)
		return "the tree is not empty";
	return ckit_check_empty(kit);
}

static const struct plan plans[] = {
	/* name, grid, block, edges, nodes, refuse, ring, seeds */
	{ "one lane", 1, 1, 40, 13, 0, 0, 5 },
	{ "two lanes, two nodes", 2, 1, 4, 2, 0, 0, 300 },
	{ "three blocks", 3, 5, 40, 9, 0, 0, 100 },
	{ "two warps", 2, 34, 200, 50, 0, 0, 10 },
	{ "more lanes than edges", 2, 33, 20, 1000, 0, 0, 20 },
	{ "some requests refused", 3, 2, 20, 5, 3, 0, 200 },
	{ "all requests refused", 2, 2, 5, 4, 1, 0, 30 },
	{ "a ring", 3, 5, 40, 9, 0, 8192, 100 },
	{ "a ring that runs out", 2, 3, 40, 9, 0, 512, 100 },
};

START_TEST(graph_matches_edge_list)
{
	const struct plan *plan = &plans[_i];
	struct ckit *kit = dkit_create(1 << 16, plan, sizeof(struct own), begin);
	struct own *own = kit->own;

	kit->whole = true; /* the example's kernels are for all threads */
	kit->refuse_every = plan->refuse_every;
	own->list = edges_list(7 + (uint64_t)_i, plan->edges, plan->nodes);
	ck_assert_ptr_nonnull(own->list);
	ck_assert(edges_expect(own->list, plan->edges, plan->nodes, &own->expected));
	ckit_explore_world(kit, plan->name, kernels,
			   CKIT_RACE ? (plan->seeds + 3) / 4 : plan->seeds, check_sums);
	free(own->list);
	dkit_destroy(kit);
}
END_TEST

/* A lane that inserted its node too late keeps it for the next key, once. */
START_TEST(unused_node_is_kept_for_next_key)
{
	_Alignas(16) unsigned char memory[512];
	struct edges_ring *ring = (struct edges_ring *)memory;
	struct edges_keep keep = { ring, NULL };
	void *node, *other;

	edges_ring_init(ring, 8);
	ck_assert_ptr_null(edges_ring_alloc(&keep, 1));
	edges_ring_init(ring, sizeof(*ring) + 80);
	node = edges_ring_alloc(&keep, sizeof(struct edges_node));
	ck_assert_ptr_eq(node, memory + sizeof(*ring));
	ck_assert(edges_ring_free(&keep, node));
	ck_assert_ptr_eq(edges_ring_alloc(&keep, 16), memory + sizeof(*ring) + 32);
	ck_assert_ptr_eq(edges_ring_alloc(&keep, sizeof(struct edges_node)), node);
	other = edges_ring_alloc(&keep, sizeof(struct edges_node));
	ck_assert_ptr_eq(other, memory + sizeof(*ring) + 48);
	ck_assert(edges_ring_free(&keep, node) && !edges_ring_free(&keep, other));
	ck_assert_ptr_null(edges_ring_alloc(&keep, 1));
	ck_assert_ptr_eq(edges_ring_alloc(&keep, sizeof(struct edges_node)), node);
	ck_assert_ptr_null(edges_ring_alloc(&keep, (size_t)1 << 40));
}
END_TEST

/* Each name has a unique key, which can be converted back. */
START_TEST(keys_are_unique_and_reversible)
{
	uint64_t name = 1;
	uint32_t i;

	for (i = 0; i < 1000; i++) {
		ck_assert_uint_eq(edges_name(edges_key(i)), i);
		ck_assert_uint_eq(edges_name(edges_key(name)), name);
		ck_assert_uint_eq(edges_key(edges_name(~name)), ~name);
		name = name * 6364136223846793005u + 1442695040888963407u;
	}
}
END_TEST

/* Sorted names give a tree that is no deeper than with a random order. */
START_TEST(sorted_names_give_a_shallow_tree)
{
	static struct mam_tree_node nodes[4096];
	struct mam_tree tree;
	struct mam_tree_node *at;
	uint32_t i, deep, deepest = 0;

	mam_tree_init(&tree);
	for (i = 0; i < 4096; i++) {
		nodes[i].key = edges_key(i);
		ck_assert(mam_tree_add(&tree, &nodes[i]));
	}
	for (i = 0; i < 4096; i++) {
		deep = 0;
		for (at = mam_tree_look(&tree.root); at != &nodes[i];
		     at = mam_tree_look(mam_tree_link(at, nodes[i].key)))
			deep++;
		deepest = deep > deepest ? deep : deepest;
	}
	ck_assert_uint_le(deepest, 36);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("edges");

	tcase_add_loop_test(tcase, graph_matches_edge_list, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, unused_node_is_kept_for_next_key);
	tcase_add_test(tcase, keys_are_unique_and_reversible);
	tcase_add_test(tcase, sorted_names_give_a_shallow_tree);
	return ckit_run(tcase, "examples/edges");
}
