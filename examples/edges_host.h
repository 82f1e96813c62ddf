/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges_host.h - the expected sums of a graph, computed on the host one edge after the other. C11
 * and C++11.
 */
#ifndef EDGES_HOST_H
#define EDGES_HOST_H

#include <stdbool.h>
#include <stdlib.h>

#include "edges_list.h"

/* The list itself; NULL: out of memory. */
static inline struct edges_edge *edges_list(uint64_t seed, uint64_t count, uint32_t nodes)
{
	struct edges_edge *list = (struct edges_edge *)malloc((size_t)count * sizeof(*list));
	uint64_t i;

	for (i = 0; list && i < count; i++)
		list[i] = edges_edge(seed, i, nodes);
	return list;
}

static inline void edges_expect_name(struct edges_sum *sum, unsigned char *seen, uint32_t name)
{
	if (seen[name / 8] >> name % 8 & 1)
		return;
	seen[name / 8] |= (unsigned char)(1 << name % 8);
	sum->nodes++;
	sum->names += name;
}

/* False: out of memory. */
static inline bool edges_expect(const struct edges_edge *list, uint64_t count, uint32_t nodes,
				struct edges_sum *sum)
{
	unsigned char *seen = (unsigned char *)calloc(nodes / 8 + 1, 1); /* one bit per name */
	uint64_t i;

	if (!seen)
		return false;
	sum->nodes = sum->names = sum->pairs = 0;
	sum->links = count;
	for (i = 0; i < count; i++) {
		edges_expect_name(sum, seen, list[i].source);
		edges_expect_name(sum, seen, list[i].sink);
		sum->pairs += edges_pair(list[i].source, list[i].sink);
	}
	free(seen);
	return true;
}

static inline bool edges_same(const struct edges_sum *sum, const struct edges_sum *expected)
{
	return sum->nodes == expected->nodes && sum->links == expected->links &&
	       sum->names == expected->names && sum->pairs == expected->pairs;
}

#endif
