/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges.cu - build a graph from a list of edges, on a heap of mam, on the poor man's heap, and
 * optionally on CUDA's own malloc(); the graph is compared with the host's sums over the list.
 *
 *	nvcc -O2 -arch=native -I PREFIX/include -o edges edges.cu -L PREFIX/lib -lmam
 *	./edges [--edges 65536] [--nodes 10000] ...
 *
 * Prints one line per allocator: the best of its rounds. Status 0; 1: wrong result or failure; 2:
 * invalid options.
 */
static const char program[] = "edges";

#include "edges.h"
#include "edges_host.h"
#include "edges_ring.h"
#include "cuda_host.cuh"
#include "options.h"

enum { OVER_HEAP, OVER_RING, OVER_CUDA };
enum { EDGES, NODES, LANES, ROUNDS, SEED, CUDA };

static struct example_option options[] = {
	{ "edges", "number of edges", 1, 1u << 27, 65536 },
	{ "nodes", "number of nodes", 1, 1u << 27, 10000 },
	{ "lanes", "number of lanes; 0: as many as can be resident", 0, 1u << 20, 0 },
	{ "rounds", "number of rounds; the best is printed", 1, 1000, 5 },
	{ "seed", "random seed of the list", 0, 1u << 20, 1 },
	{ "cuda", "1: also on CUDA's malloc(), which is slow", 0, 1, 0 },
	{ NULL, NULL, 0, 0, 0 },
};

/* All in device memory. */
struct work {
	struct edges_edge *list;
	uint64_t count;
	struct mam_tree *tree;
	struct edges_sum *sum;
	uint64_t *refused, *chains;
	struct mam_kheap *heap;
	struct edges_ring *ring;
};

/* `over` is a compile-time constant, so the base's functions are called directly. */
template <int over>
static __device__ struct mam_kbase base_of(struct work work, struct edges_keep *keep)
{
	if (over == OVER_RING)
		return edges_ring_base(keep);
	return over == OVER_HEAP ? mam_base_heap(work.heap) : mam_base_cuda();
}

template <int over> __global__ void build(struct work work)
{
	struct edges_keep keep = { work.ring, NULL };

	edges_build(work.tree, base_of<over>(work, &keep), work.list, work.count, work.refused);
}

template <int over> __global__ void drop_links(struct work work)
{
	edges_drop_links(work.tree, base_of<over>(work, NULL), work.chains);
}

template <int over> __global__ void drop_nodes(struct work work)
{
	edges_drop_nodes(work.tree, base_of<over>(work, NULL), work.chains);
}

__global__ void look(struct work work)
{
	edges_check(work.tree, work.sum);
}

__global__ void empty(struct work work, uint64_t ring_bytes)
{
	mam_tree_init(work.tree);
	*work.refused = 0;
	if (work.ring)
		edges_ring_init(work.ring, ring_bytes);
}

static void compare(struct work work, const struct edges_sum *expected)
{
	struct edges_sum sum;
	uint64_t refused;

	to_host(&refused, work.refused, 1);
	to_host(&sum, work.sum, 1);
	if (refused)
		fail("the graph", "out of memory");
	if (!edges_same(&sum, expected))
		fail("the graph", "it does not match the list");
}

/* Milliseconds of the fastest build. */
template <int over>
static double best_of(struct work work, uint64_t ring_bytes, const struct edges_sum *expected)
{
	unsigned int lanes = (unsigned int)options[LANES].value;
	unsigned int blocks = lanes ? (lanes + THREADS - 1) / THREADS : blocks_for(work.count);
	unsigned int threads = lanes && lanes < THREADS ? lanes : THREADS;
	double best = 0, ms;
	struct stopwatch watch;
	uint64_t round;

	work.chains = on_device((uint64_t *)NULL, (size_t)blocks * threads);
	for (round = 0; round < options[ROUNDS].value; round++) {
		empty<<<1, 1>>>(work, ring_bytes);
		fill(work.sum, 0, sizeof(*work.sum));
		begin(&watch);
		build<over><<<blocks, threads>>>(work);
		ms = end(&watch, "build");
		best = round && best < ms ? best : ms;
		look<<<blocks, threads>>>(work);
		check(cudaDeviceSynchronize(), "check");
		compare(work, expected);
		if (over == OVER_RING)
			continue;
		drop_links<over><<<blocks, threads>>>(work);
		drop_nodes<over><<<blocks, threads>>>(work);
		check(cudaDeviceSynchronize(), "drop");
	}
	check(cudaFree(work.chains), "cudaFree");
	return best;
}

static void say(const char *name, double ms, const struct edges_sum *expected)
{
	std::printf("%-12s %llu edges, %llu nodes: %.3f ms, %.1f M edges/s; the graph is right\n",
		    name, (unsigned long long)expected->links, (unsigned long long)expected->nodes,
		    ms, (double)expected->links / ms / 1e3);
}

int main(int argc, char **argv)
{
	struct work work = {};
	struct edges_edge *list;
	struct edges_sum expected;
	struct mam_heap *heap;
	uint32_t nodes;
	uint64_t bytes;

	example_options(program,
			"Build a graph from a list of edges, in a kernel that allocates it.",
			options, argc, argv);
	work.count = options[EDGES].value;
	nodes = (uint32_t)options[NODES].value;
	list = edges_list(options[SEED].value, work.count, nodes);
	if (!list || !edges_expect(list, work.count, nodes, &expected))
		fail("the list", "out of memory");
	work.list = on_device(list, (size_t)work.count);
	std::free(list);
	work.tree = on_device((struct mam_tree *)NULL, 1);
	work.sum = on_device((struct edges_sum *)NULL, 1);
	work.refused = on_device((uint64_t *)NULL, 1);

	/* And one node per lane, which may lose the race to the tree with it. */
	bytes = expected.nodes * sizeof(struct edges_node) +
		expected.links * sizeof(struct edges_link) + ((uint64_t)64 << 20);
	heap = heap_of((size_t)(bytes + bytes / 4));
	work.heap = mam_heap_device(heap);
	say("mam_kmalloc", best_of<OVER_HEAP>(work, 0, &expected), &expected);
	end_heap(heap);
	work.heap = NULL;

	work.ring = (struct edges_ring *)on_device((unsigned char *)NULL, (size_t)bytes);
	say("poor man's", best_of<OVER_RING>(work, bytes, &expected), &expected);
	check(cudaFree(work.ring), "cudaFree");
	work.ring = NULL;

	if (options[CUDA].value) {
		check(cudaDeviceSetLimit(cudaLimitMallocHeapSize, (size_t)bytes * 4),
		      "cudaDeviceSetLimit");
		say("CUDA malloc", best_of<OVER_CUDA>(work, 0, &expected), &expected);
	}
	check(cudaFree(work.list), "cudaFree");
	check(cudaFree(work.tree), "cudaFree");
	check(cudaFree(work.sum), "cudaFree");
	check(cudaFree(work.refused), "cudaFree");
	std::printf("all is well\n");
	return std::fflush(stdout) ? 1 : 0;
}
