/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edges_list.h - an unsorted list of edges, for host and device: how its edges are generated, and
 * the sums that verify a graph.
 *
 * 1. Edge i of a list is computed from its seed and i alone, so any lane can generate any of them.
 * 2. edges_key() maps a node's name to its key, which is unique, and edges_name() maps it back:
 *    sorted names would make a binary tree as deep as a list, keys do not.
 * 3. A graph is verified by sums, which do not depend on the order of its parts: the number of
 *    nodes and links, the sum of names, and a sum in which each pair of names has a unique number.
 *
 * Source: edges_key() is the last step of MurmurHash3 (Austin Appleby, public domain): each of its
 * operations is invertible.
 *
 * Bound: two different lists have the same sums with a probability of about 2^-64.
 *
 * C11, C++11, CUDA and OpenCL C; in OpenCL include mam.cl first.
 */
#ifndef EDGES_LIST_H
#define EDGES_LIST_H

#ifndef __OPENCL_C_VERSION__
#include <stdint.h>
#endif
#ifdef __CUDACC__
#define EDGES_BOTH static __host__ __device__ inline
#else
#define EDGES_BOTH static inline
#endif

struct edges_edge {
	uint32_t source, sink; /* names of nodes */
};

struct edges_sum {
	uint64_t nodes, links;
	uint64_t names; /* of nodes, summed */
	uint64_t pairs; /* edges_pair() of links, summed */
};

EDGES_BOTH uint64_t edges_key(uint64_t name)
{
	name = (name ^ name >> 33) * 0xff51afd7ed558ccdu;
	name = (name ^ name >> 33) * 0xc4ceb9fe1a85ec53u;
	return name ^ name >> 33;
}

EDGES_BOTH uint64_t edges_name(uint64_t key)
{
	key = (key ^ key >> 33) * 0x9cb4b2f8129337dbu;
	key = (key ^ key >> 33) * 0x4f74430c22a54005u;
	return key ^ key >> 33;
}

/* Edge `i` of the list of that seed, between nodes below `nodes`. */
EDGES_BOTH struct edges_edge edges_edge(uint64_t seed, uint64_t i, uint32_t nodes)
{
	uint64_t random = edges_key((seed << 40) + i + 1);
	struct edges_edge edge;

	edge.source = (uint32_t)((random & 0xffffffffu) * nodes >> 32);
	edge.sink = (uint32_t)((random >> 32) * nodes >> 32);
	return edge;
}

EDGES_BOTH uint64_t edges_pair(uint64_t source, uint64_t sink)
{
	return edges_key(source * 0x9e3779b97f4a7c15u + edges_key(sink + 1));
}

#endif
