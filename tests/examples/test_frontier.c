/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_frontier.c - the example of a breadth-first search, lane by lane: distances are those of a
 * queue on the host, and each node was reached by one edge of the previous level; over a base that
 * checks its callers, and over one that refuses.
 */
#define MAM_VECTOR_WAITS 20u

#include "ds/kit.h"
#include "ds/vector.h"
#include "frontier.h"
#include "frontier_host.h"

#define LEVELS 64u

struct plan {
	const char *name;
	uint32_t grid, block;
	uint32_t nodes, degree, reach;
	uint32_t refuse_after;
	uint32_t seeds;
};

struct own {
	struct frontier frontier;
	struct frontier_graph graph;
	uint32_t *by, *distance, *expected;
	uint32_t levels, level;
	uint64_t sizes[LEVELS];
};

static void begin(struct ckit *kit)
{
	struct own *own = kit->own;

	memset(&own->frontier, 0xa5, sizeof(own->frontier));
	memset(own->by, 0xff, own->graph.nodes * sizeof(*own->by));
	memset(own->distance, 0xff, own->graph.nodes * sizeof(*own->distance));
	memset(own->sizes, 0xa5, sizeof(own->sizes));
	own->level = 0;
}

static MAM_KERNEL(start)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;

	frontier_start(&own->frontier, ckit_base(kit), own->by, own->distance, 3);
}

static MAM_KERNEL(step)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;

	frontier_step(&own->frontier, ckit_base(kit), own->graph.first, own->graph.sinks, own->by,
		      own->distance, own->level, &own->sizes[own->level]);
}

/* Between two levels. */
static MAM_KERNEL(deeper)
{
	((struct own *)((struct ckit *)argument)->own)->level++;
}

static MAM_KERNEL(end)
{
	struct ckit *kit = argument;
	struct own *own = kit->own;

	frontier_end(&own->frontier, ckit_base(kit));
}

static bool kernels(struct simt_world *world, void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;
	uint32_t i;

	if (!simt_world_launch(world, 1, start, 1, 1, argument))
		return false;
	for (i = 0; i <= own->levels; i++)
		if (!simt_world_launch(world, 1, step, plan->grid, plan->block, argument) ||
		    !simt_world_launch(world, 1, deeper, 1, 1, argument))
			return false;
	return simt_world_launch(world, 1, end, 1, 1, argument);
}

static const char *check(void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct own *own = kit->own;
	uint64_t reached = 0, known = 0;
	uint32_t i;

	if (plan->refuse_after) {
		if (!own->frontier.lost)
			return "a failed allocation was not reported";
		for (i = 0; i < plan->nodes; i++)
			if (own->distance[i] < own->expected[i])
				return "a node has too small a distance";
		return ckit_check_empty(kit);
	}
	if (own->frontier.lost)
		return "a node was not reached";
	if (memcmp(own->distance, own->expected, plan->nodes * sizeof(*own->distance)) != 0)
		return "a distance is wrong";
	if (!frontier_tree_right(&own->graph, 3, own->by, own->distance))
		return "a node was not reached by exactly one edge";
	for (i = 0; i <= own->levels; i++)
		known += own->sizes[i];
	for (i = 0; i < plan->nodes; i++)
		reached += own->expected[i] != FRONTIER_NOBODY;
	if (known != reached || own->sizes[own->levels] || !own->sizes[own->levels - 1])
		return "a level has an unexpected size";
	return ckit_check_empty(kit);
}

static const struct plan plans[] = {
	/* name, grid, block, nodes, degree, reach, refuse, seeds */
	{ "one lane", 1, 1, 40, 2, 5, 0, 4 },
	{ "two lanes", 2, 1, 12, 3, 4, 0, 200 },
	{ "three blocks", 3, 5, 40, 2, 12, 0, 100 },
	{ "two warps", 2, 33, 1400, 3, 1400, 0, 2 },
	{ "one request refused", 2, 4, 1400, 2, 1400, 3, 10 },
	{ "all requests refused", 2, 2, 12, 3, 4, 1, 20 },
};

START_TEST(distances_match_a_host_queue)
{
	const struct plan *plan = &plans[_i];
	struct ckit *kit = dkit_create(1 << 17, plan, sizeof(struct own), begin);
	struct own *own = kit->own;

	kit->whole = true; /* the example's kernels are for all threads */
	ck_assert(frontier_graph_make(&own->graph, 5, plan->nodes, plan->degree, plan->reach));
	own->by = malloc(plan->nodes * sizeof(*own->by));
	own->distance = malloc(plan->nodes * sizeof(*own->distance));
	own->expected = malloc(plan->nodes * sizeof(*own->expected));
	ck_assert(own->by && own->distance && own->expected);
	own->levels = frontier_expect(&own->graph, 3, own->expected);
	ck_assert_uint_gt(own->levels, 2);
	ck_assert_uint_lt(own->levels, LEVELS);
	kit->refuse_after = plan->refuse_after;
	ckit_explore_world(kit, plan->name, kernels,
			   CKIT_RACE ? (plan->seeds + 3) / 4 : plan->seeds, check);
	free(own->expected);
	free(own->distance);
	free(own->by);
	frontier_graph_free(&own->graph);
	dkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("frontier");

	tcase_add_loop_test(tcase, distances_match_a_host_queue, 0,
			    sizeof(plans) / sizeof(plans[0]));
	return ckit_run(tcase, "examples/frontier");
}
