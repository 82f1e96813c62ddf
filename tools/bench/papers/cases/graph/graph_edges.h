/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_edges.h - the edges of the graph of `mam bench case`, as both the host and the kernels
 * compute them, and the state of a vertex.
 *
 * An edge is a number. It is inserted in a batch, concurrently with all other edges of the batch,
 * and deleted in one of the following `batches` rounds. It starts at any vertex, at one of the
 * first quarter, at one of the first sixteenth, and so on, each half as likely as the previous one.
 * So a few vertices have lists many times longer than most, as in real-world graphs, and lists of
 * all sizes are requested concurrently.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GRAPH_EDGES_H
#define MAM_TOOLS_BENCH_CASES_GRAPH_EDGES_H

#include "bench/harness/mix.h"

#define GRAPH_CHUNKS 0x100u /* a flag of a job: lists are chains of chunks of job->least bytes */
#define GRAPH_NARROWINGS 5u
#define GRAPH_NARROWER 4u
#define GRAPH_MIN 2u /* capacity of the smallest array in neighbors: 16 bytes */

struct graph_vertex {
	uint64_t list; /* an array of neighbors, or the newest chunk; 0: none */
	uint32_t lock; /* 1: a lane is changing it */
	uint32_t count;
	uint32_t room; /* capacity of an array */
	uint32_t max;  /* with reserved lists: peak number of neighbors */
};

MAM_KBOTH uint32_t graph_from(uint32_t edge, uint32_t vertices)
{
	uint32_t chance = bench_mix(edge ^ 0x5bd1e995u), span = vertices, i;

	for (i = 0; i < GRAPH_NARROWINGS && chance % 2 == 1 && span >= GRAPH_NARROWER; i++) {
		span /= GRAPH_NARROWER;
		chance /= 2;
	}
	return bench_mix(edge + 1) % span;
}

/* The entry of an edge in a list: its end vertex, and its number, which makes the entry unique. */
MAM_KBOTH uint64_t graph_entry(uint32_t edge, uint32_t vertices)
{
	return (uint64_t)(bench_mix(edge + 0x9e3779b9u) % vertices) << 32 | edge;
}

/* The round after which it is deleted, if there are that many. */
MAM_KBOTH uint32_t graph_goes(uint32_t edge, uint32_t edges, uint32_t batches)
{
	return edge / (edges / batches) + bench_mix(edge + 77u) % batches;
}

/* An edge's contribution to an order-independent checksum of all edges. */
MAM_KBOTH uint64_t graph_value(uint32_t from, uint64_t entry)
{
	const uint32_t a = bench_mix((uint32_t)entry ^ bench_mix(from));

	return (uint64_t)a * (bench_mix((uint32_t)(entry >> 32) + a) | 1u);
}

#endif
