/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges_opencl.c - build a graph from a list of edges in OpenCL kernels, on a heap of mam and on
 * the poor man's heap; the graph is compared with the host's sums over the list.
 *
 *	cc -O2 -I PREFIX/include -o edges_opencl edges_opencl.c -L PREFIX/lib -lmam-opencl -lOpenCL
 *	./edges_opencl [--edges 65536] [--nodes 10000] [--platform 0] ...
 *
 * in this folder, where the kernels are. Prints one line per allocator: the best of its rounds.
 * Status 0; 1: wrong result or failure; 2: invalid options; 77: no OpenCL.
 */
#define _POSIX_C_SOURCE 200809L
static const char program[] = "edges_opencl";

#include "edges_host.h"
#include "opencl_host.h"
#include "options.h"

#define GROUP ((size_t)64)
#define NODE_BYTES 32 /* of an edges_node, and of an edges_link, which only kernels declare */
#define LINK_BYTES 16

enum { EDGES, NODES, LANES, ROUNDS, SEED, PLATFORM, DEVICE };

static struct example_option options[] = {
	{ "edges", "number of edges", 1, 1u << 27, 65536 },
	{ "nodes", "number of nodes", 1, 1u << 27, 10000 },
	{ "lanes", "number of lanes, in groups of 64", 1, 1u << 20, 4096 },
	{ "rounds", "number of rounds; the best is printed", 1, 1000, 5 },
	{ "seed", "random seed of the list", 0, 1u << 20, 1 },
	{ "platform", "number of the OpenCL platform", 0, PLATFORMS - 1, 0 },
	{ "device", "number of the platform's device", 0, DEVICES - 1, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

/* The base of mam's structures instead of a heap. */
static const char over_ring[] =
	"#define EDGES_OVER_RING\n"
	"struct edges_keep;\n"
	"#define MAM_DS_BASE struct edges_keep *\n"
	"#define mam_ds_alloc(base, bytes) edges_ring_alloc(base, bytes)\n"
	"#define mam_ds_free(base, block) edges_ring_free(base, block)\n"
	"static __global void *edges_ring_alloc(struct edges_keep *keep, size_t bytes);\n"
	"static bool edges_ring_free(struct edges_keep *keep, __global void *node);\n";

struct work {
	struct opencl cl;
	cl_mem memory, list, tree, sum, refused, chains;
	cl_ulong count, memory_bytes;
	size_t lanes;
	struct edges_sum expected;
};

static void compare(struct work *work)
{
	struct edges_sum sum;
	cl_ulong refused;

	opencl_fill(&work->cl, work->sum, 0, sizeof(sum));
	(void)opencl_run(&work->cl, "look", work->lanes, GROUP, 2, ARGUMENT(work->tree),
			 ARGUMENT(work->sum));
	opencl_read(&work->cl, work->refused, &refused, sizeof(refused));
	opencl_read(&work->cl, work->sum, &sum, sizeof(sum));
	if (refused)
		fail("the graph", "out of memory");
	if (!edges_same(&sum, &work->expected))
		fail("the graph", "it does not match the list");
}

/* Milliseconds of the fastest build. */
static double best_of(struct work *work, bool ring)
{
	double best = 0, ms;
	uint64_t round;

	for (round = 0; round < options[ROUNDS].value; round++) {
		if (ring)
			(void)opencl_run(&work->cl, "empty", 1, 1, 3, ARGUMENT(work->memory),
					 ARGUMENT(work->memory_bytes), ARGUMENT(work->tree));
		ms = opencl_run(&work->cl, "build", work->lanes, GROUP, 5, ARGUMENT(work->memory),
				ARGUMENT(work->tree), ARGUMENT(work->list), ARGUMENT(work->count),
				ARGUMENT(work->refused));
		best = round && best < ms ? best : ms;
		compare(work);
		if (ring)
			continue;
		(void)opencl_run(&work->cl, "drop_links", work->lanes, GROUP, 3,
				 ARGUMENT(work->memory), ARGUMENT(work->tree),
				 ARGUMENT(work->chains));
		(void)opencl_run(&work->cl, "drop_nodes", work->lanes, GROUP, 3,
				 ARGUMENT(work->memory), ARGUMENT(work->tree),
				 ARGUMENT(work->chains));
	}
	return best;
}

static void say(const char *name, double ms, const struct edges_sum *expected)
{
	printf("%-12s %llu edges, %llu nodes: %.3f ms, %.1f M edges/s; the graph is right\n", name,
	       (unsigned long long)expected->links, (unsigned long long)expected->nodes, ms,
	       (double)expected->links / ms / 1e3);
}

static void end_work(struct work *work)
{
	check(clReleaseMemObject(work->list), "clReleaseMemObject");
	check(clReleaseMemObject(work->tree), "clReleaseMemObject");
	check(clReleaseMemObject(work->sum), "clReleaseMemObject");
	check(clReleaseMemObject(work->refused), "clReleaseMemObject");
	check(clReleaseMemObject(work->chains), "clReleaseMemObject");
	opencl_close(&work->cl);
}

int main(int argc, char **argv)
{
	uint32_t nodes;
	struct edges_edge *list;
	struct mam_cl_heap *heap;
	struct work work;

	example_options(program,
			"Build a graph from a list of edges, in OpenCL kernels that allocate it.",
			options, argc, argv);
	work.count = options[EDGES].value;
	work.lanes = (options[LANES].value + GROUP - 1) / GROUP * GROUP;
	nodes = (uint32_t)options[NODES].value;
	list = edges_list(options[SEED].value, work.count, nodes);
	if (!list || !edges_expect(list, work.count, nodes, &work.expected))
		fail("the list", "out of memory");
	opencl_open(&work.cl, options[PLATFORM].value, options[DEVICE].value);
	printf("%s\n", work.cl.name);
	work.list = opencl_buffer(&work.cl, list, (size_t)work.count * sizeof(*list), 0);
	free(list);
	work.tree = opencl_buffer(&work.cl, NULL, sizeof(cl_ulong), 0);
	work.sum = opencl_buffer(&work.cl, NULL, sizeof(struct edges_sum), 0);
	work.refused = opencl_buffer(&work.cl, NULL, sizeof(cl_ulong), 0);
	work.chains = opencl_buffer(&work.cl, NULL, work.lanes * sizeof(cl_ulong), 0);

	/* And one node per lane, which may lose the race to the tree with it. */
	work.memory_bytes = work.expected.nodes * NODE_BYTES + work.expected.links * LINK_BYTES +
			    work.lanes * NODE_BYTES + ((cl_ulong)1 << 20);
	heap = opencl_heap(&work.cl, (size_t)(work.memory_bytes + work.memory_bytes / 4));
	work.memory = mam_cl_heap_buffer(heap);
	opencl_build(&work.cl, "", "edges.cl");
	say("mam_cl_heap", best_of(&work, false), &work.expected);
	opencl_end_heap(&work.cl, heap);

	work.memory = opencl_buffer(&work.cl, NULL, (size_t)work.memory_bytes, 0);
	opencl_build(&work.cl, over_ring, "edges.cl");
	say("poor man's", best_of(&work, true), &work.expected);
	check(clReleaseMemObject(work.memory), "clReleaseMemObject");
	end_work(&work);
	printf("all is well\n");
	return fflush(stdout) ? 1 : 0;
}
