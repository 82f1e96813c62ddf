/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - graph nodes that allocate memory. The driver allocates it when the graph is launched.
 *
 * Nodes of a graph may share memory, so only one fact is known when a node is added: a launch needs
 * at least that node's bytes at once. A node larger than the limit fails with out of memory. The
 * memory of launched graphs counts toward the limit in all other calls (kept.h).
 */
#include <stdint.h>

#include "interpose/memory/kept.h"
#include "interpose/memory/pass.h"
#include "interpose/routes/gate.h"
#include "interpose/routes/hooks.h"
#include "interpose/routes/init.h"

#define NODE_MEM_ALLOC 10 /* CU_GRAPH_NODE_TYPE_MEM_ALLOC */

/* A CUDA_MEM_ALLOC_NODE_PARAMS. */
struct alloc_node {
	unsigned char pool[88];
	const void *access;
	size_t access_count;
	size_t bytes;
	unsigned long long address; /* out */
};

/* The start of a CUgraphNodeParams. */
struct node {
	int type;
	int reserved[3];
	struct alloc_node alloc;
};

/* Called before the real function, because another thread may launch the graph at once. */
static void note(void)
{
	if (!mam_init_passes())
		mam_kept_note_graphs();
}

/* Notifies the watchers, then returns `answer`. */
static int watch(enum mam_table_id function, enum mam_road road, bool over, int answer)
{
	if (!mam_init_passes())
		mam_pass_watch(function, road, over ? MAM_WHY_LIMIT : MAM_WHY_KIND, answer);
	return answer;
}

static int add_alloc(enum mam_road road, void **node, void *graph, const void *dependencies,
		     size_t count, void *wanted)
{
	MAM_GATE_PASS();
	__typeof__(&cuGraphAddMemAllocNode) real = MAM_TABLE_ORIGINAL(cuGraphAddMemAllocNode);
	const struct alloc_node *alloc = wanted;
	bool over;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	over = alloc != NULL && !mam_init_passes() && mam_kept_is_too_much(alloc->bytes);
	note();
	return watch(MAM_TABLE_cuGraphAddMemAllocNode, road, over,
		     over ? MAM_CUDA_OUT_OF_MEMORY
			  : real(node, graph, dependencies, count, wanted));
}

int cuGraphAddMemAllocNode(void **node, void *graph, const void *dependencies, size_t count,
			   void *wanted)
{
	return add_alloc(mam_road_taken(), node, graph, dependencies, count, wanted);
}
MAM_THUNK(cuGraphAddMemAllocNode);

/* Ignores nodes of other types. Returns true if the node allocates more than the limit. */
static bool look(const void *wanted, bool *is_alloc)
{
	const struct node *node = wanted;

	*is_alloc = node != NULL && node->type == NODE_MEM_ALLOC && !mam_init_passes();
	if (*is_alloc)
		note();
	return *is_alloc && mam_kept_is_too_much(node->alloc.bytes);
}

static int add(enum mam_road road, void **node, void *graph, const void *dependencies, size_t count,
	       void *wanted)
{
	MAM_GATE_PASS();
	__typeof__(&cuGraphAddNode) real = MAM_TABLE_ORIGINAL(cuGraphAddNode);
	bool is_alloc, over;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	over = look(wanted, &is_alloc);
	answer = over ? MAM_CUDA_OUT_OF_MEMORY : real(node, graph, dependencies, count, wanted);
	return is_alloc ? watch(MAM_TABLE_cuGraphAddNode, road, over, answer) : answer;
}

int cuGraphAddNode(void **node, void *graph, const void *dependencies, size_t count, void *wanted)
{
	return add(mam_road_taken(), node, graph, dependencies, count, wanted);
}
MAM_THUNK(cuGraphAddNode);

static int add_v2(enum mam_road road, void **node, void *graph, const void *dependencies,
		  const void *edges, size_t count, void *wanted)
{
	MAM_GATE_PASS();
	__typeof__(&cuGraphAddNode_v2) real = MAM_TABLE_ORIGINAL(cuGraphAddNode_v2);
	bool is_alloc, over;
	int answer;

	if (real == NULL)
		return MAM_CUDA_NOT_INITIALIZED;
	over = look(wanted, &is_alloc);
	answer = over ? MAM_CUDA_OUT_OF_MEMORY
		      : real(node, graph, dependencies, edges, count, wanted);
	return is_alloc ? watch(MAM_TABLE_cuGraphAddNode_v2, road, over, answer) : answer;
}

int cuGraphAddNode_v2(void **node, void *graph, const void *dependencies, const void *edges,
		      size_t count, void *wanted)
{
	return add_v2(mam_road_taken(), node, graph, dependencies, edges, count, wanted);
}
MAM_THUNK(cuGraphAddNode_v2);
