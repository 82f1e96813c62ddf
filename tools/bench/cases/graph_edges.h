/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_edges.h - the edges of the graph of `mam bench case`, as the host and the kernels both reckon
 * them, and what is known of a vertex.
 *
 * An edge is a number. It comes in a batch, all edges of one at the same time, and goes with one of the
 * `batches` rounds from then on. Where it begins: any vertex, or one of the first quarter, or one of the
 * first sixteenth, and so on, each half as often. So few vertices have lists many times as long as most,
 * as in graphs that people draw, and lists of all sizes are asked for at the same time.
 */
#ifndef MAM_TOOLS_BENCH_CASES_GRAPH_EDGES_H
#define MAM_TOOLS_BENCH_CASES_GRAPH_EDGES_H

#include "bench/mix.h"

#define GRAPH_CHUNKS 0x100u /* a flag of a job: lists are chains of chunks of job->least bytes */
#define GRAPH_NARROWINGS 5u
#define GRAPH_NARROWER 4u
#define GRAPH_LEAST 2u /* neighbours that the least array has room for: 16 bytes */

struct graph_vertex {
	uint64_t list; /* an array of neighbours, or the chunk begun last; 0: none */
	uint32_t lock; /* 1: somebody changes it */
	uint32_t count;
	uint32_t room; /* of an array */
	uint32_t most; /* where all room is reserved: neighbours at any time */
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

/* What a list says of it: where it ends, and its number, which makes each another. */
MAM_KBOTH uint64_t graph_entry(uint32_t edge, uint32_t vertices)
{
	return (uint64_t)(bench_mix(edge + 0x9e3779b9u) % vertices) << 32 | edge;
}

/* The round after whose batch it goes, if there are so many. */
MAM_KBOTH uint32_t graph_goes(uint32_t edge, uint32_t edges, uint32_t batches)
{
	return edge / (edges / batches) + bench_mix(edge + 77u) % batches;
}

/* Of a sum that says which edges there are, in whatever order. */
MAM_KBOTH uint64_t graph_value(uint32_t from, uint64_t entry)
{
	const uint32_t a = bench_mix((uint32_t)entry ^ bench_mix(from));

	return (uint64_t)a * (bench_mix((uint32_t)(entry >> 32) + a) | 1u);
}

#endif
