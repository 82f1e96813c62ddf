/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frontier_host.h - a graph to search, and the search on the host, by a queue. C11 and C++11.
 *
 * Up to 2 * degree edges leave each node, to random nodes among the next `reach` ones: the smaller
 * that is, the more levels. Some nodes are unreachable.
 */
#ifndef FRONTIER_HOST_H
#define FRONTIER_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

struct frontier_graph {
	uint32_t nodes, edges;
	uint32_t *first; /* nodes + 1 of them */
	uint32_t *sinks;
};

static inline uint32_t frontier_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

static inline void frontier_graph_free(struct frontier_graph *graph)
{
	free(graph->first);
	free(graph->sinks);
	graph->first = graph->sinks = NULL;
}

/* False: out of memory. pre: nodes * 2 * degree is below 2^31; reach is 1 or more. */
static inline bool frontier_graph_make(struct frontier_graph *graph, uint64_t seed, uint32_t nodes,
				       uint32_t degree, uint32_t reach)
{
	uint64_t random = seed;
	uint32_t i, j, count;

	graph->nodes = nodes;
	graph->edges = 0;
	graph->first = (uint32_t *)malloc(((size_t)nodes + 1) * sizeof(uint32_t));
	graph->sinks = (uint32_t *)malloc((size_t)nodes * 2 * degree * sizeof(uint32_t));
	if (!graph->first || !graph->sinks) {
		frontier_graph_free(graph);
		return false;
	}
	for (i = 0; i < nodes; i++) {
		graph->first[i] = graph->edges;
		count = frontier_random(&random) % (2 * degree + 1);
		for (j = 0; j < count; j++)
			graph->sinks[graph->edges++] =
				(uint32_t)(((uint64_t)i + 1 + frontier_random(&random) % reach) %
					   nodes);
	}
	graph->first[nodes] = graph->edges;
	return true;
}

/* distance: UINT32_MAX for unreachable nodes. Returns the number of levels; 0: out of memory. */
static inline uint32_t frontier_expect(const struct frontier_graph *graph, uint32_t from,
				       uint32_t *distance)
{
	uint32_t *queue = (uint32_t *)malloc((size_t)graph->nodes * sizeof(*queue));
	uint32_t head = 0, tail = 0, levels = 0, node, i;

	if (!queue)
		return 0;
	for (i = 0; i < graph->nodes; i++)
		distance[i] = UINT32_MAX;
	distance[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		node = queue[head++];
		levels = distance[node] + 1;
		for (i = graph->first[node]; i < graph->first[node + 1]; i++) {
			if (distance[graph->sinks[i]] != UINT32_MAX)
				continue;
			distance[graph->sinks[i]] = distance[node] + 1;
			queue[tail++] = graph->sinks[i];
		}
	}
	free(queue);
	return levels;
}

/* Was each node reached by an edge that leads to it from the level before? */
static inline bool frontier_tree_right(const struct frontier_graph *graph, uint32_t from,
				       const uint32_t *by, const uint32_t *distance)
{
	uint32_t i, edge, reached = 0, seen = 0;

	for (i = 0; i < graph->nodes; i++)
		for (edge = graph->first[i]; edge < graph->first[i + 1]; edge++)
			if (by[graph->sinks[edge]] == edge) {
				seen++;
				if (distance[i] == UINT32_MAX ||
				    distance[graph->sinks[edge]] != distance[i] + 1)
					return false;
			}
	for (i = 0; i < graph->nodes; i++)
		reached += i != from && distance[i] != UINT32_MAX;
	return seen == reached;
}

#endif
