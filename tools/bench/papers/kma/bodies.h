/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bodies.h - the kernel bodies of `mam bench kma`, over any base (ds/base.h): for CUDA, the
 * simulator and OpenCL C, where mam.cl precedes it. After the experiments of KMA (Spliet, Howes,
 * Gaster, Varbanescu, GPGPU-7, 2014), sections 5.1 to 5.3.
 *
 *   pairs     a lane allocates a block and frees it, `rounds` times
 *   apart     a lane allocates blocks one by one and keeps them
 *   together  the same blocks are elements of one list, which a block of threads grows by one request
 *   stamped   checks that each element still has its owner's stamp
 *   build     turns edges into a graph: a tree of nodes, each with a list of links (examples/edges.h)
 *   count     counts what the graph has, by node number; check compares it with the edges
 *   prune     frees the whole graph: links, and then nodes by their recorded addresses
 *
 * Sizes follow from the numbers of lane and round, so that every allocator gets the same requests.
 * Each element is stamped by its owner. pairs stamps one word of each block; with KMA_LOOK it
 * stamps all words and reads them back.
 */
#ifndef MAM_TOOLS_BENCH_KMA_BODIES_H
#define MAM_TOOLS_BENCH_KMA_BODIES_H

#ifndef __OPENCL_C_VERSION__
#include "bench/papers/kma/told.h"
#include "ds/arraylist.h"
#include "ds/slist.h"
#include "ds/tree.h"
#include "kma/kma.h"
#include "examples/edges.h"
#endif

MAM_KFN uint32_t kma_lane(void)
{
	return mam_block() * mam_block_threads() + mam_thread();
}

MAM_KFN uint32_t kma_lanes(void)
{
	return mam_grid_blocks() * mam_block_threads();
}

MAM_KFN void kma_report(MAM_GLOBAL uint64_t *where, uint64_t n)
{
	if (n > 0)
		(void)mam_atomic_add64(where, n, MAM_RELAXED, MAM_AT_DEVICE);
}

MAM_KFN uint32_t kma_bytes_of(struct kma_ask ask, uint32_t lane, uint32_t round)
{
	if (ask.min == ask.max)
		return ask.min;
	return ask.min + mam_kma_mix(lane * 0x9e3779b9u + round + 1) % (ask.max - ask.min + 1);
}

/* ---- malloc and free ---- */

/* Returns true if all words have this lane's stamp. */
MAM_KFN bool kma_look(MAM_GLOBAL volatile uint32_t *block, uint32_t words, uint32_t stamp)
{
	uint32_t i, others = 0;

	for (i = 0; i < words; i++)
		block[i] = stamp + i;
	for (i = 0; i < words; i++)
		others += block[i] != stamp + i;
	return others == 0;
}

MAM_KFN void kma_pairs(MAM_DS_BASE base, struct kma_ask ask, MAM_GLOBAL struct kma_told *told)
{
	uint32_t lane = kma_lane(), none = 0, wrong = 0, bytes, i;
	MAM_GLOBAL volatile uint32_t *block;

	if (lane >= ask.lanes)
		return;
	for (i = 0; i < ask.rounds; i++) {
		bytes = kma_bytes_of(ask, lane, i);
		block = (MAM_GLOBAL volatile uint32_t *)mam_ds_alloc(base, bytes);
		if (!block) {
			none++;
			continue;
		}
		if (ask.flags & KMA_LOOK)
			wrong += !kma_look(block, bytes / 4, lane * 0x9e3779b9u);
		else
			*block = lane;
		wrong += !mam_ds_free(base, (MAM_GLOBAL void *)block);
	}
	kma_report(&told->none, none);
	kma_report(&told->wrong, wrong);
}

/* ---- elements ---- */

/* Stamps an element, and records its address. */
MAM_KFN void kma_keep(MAM_GLOBAL uint64_t *got, struct kma_ask ask, uint32_t lane, uint32_t round,
		      MAM_GLOBAL void *element)
{
	got[(uint64_t)round * ask.lanes + lane] = MAM_DS_WORD(element);
	if (element)
		*(MAM_GLOBAL uint32_t *)element = lane * ask.rounds + round;
}

MAM_KFN void kma_apart(MAM_DS_BASE base, struct kma_ask ask, MAM_GLOBAL uint64_t *got,
		       MAM_GLOBAL struct kma_told *told)
{
	uint32_t lane = kma_lane(), none = 0, i;
	MAM_GLOBAL void *element;

	if (lane >= ask.lanes)
		return;
	for (i = 0; i < ask.rounds; i++) {
		element = mam_ds_alloc(base, ask.max);
		none += !element;
		kma_keep(got, ask, lane, i, element);
	}
	kma_report(&told->none, none);
}

/* All threads of each block must call it. */
MAM_KFN void kma_together(MAM_DS_BASE base, struct kma_ask ask,
			  MAM_GLOBAL struct mam_arraylist *list,
			  MAM_DS_SHARED struct mam_arraylist_shared *shared,
			  MAM_GLOBAL uint64_t *got, MAM_GLOBAL struct kma_told *told)
{
	uint32_t lane = kma_lane(), none = 0, i;
	bool asks = lane < ask.lanes;
	MAM_GLOBAL void *element;
	uint64_t first;

	for (i = 0; i < ask.rounds; i++) {
		element = mam_arraylist_grow_local(list, base, shared, asks, &first);
		if (asks) {
			none += !element;
			kma_keep(got, ask, lane, i, element);
		}
	}
	kma_report(&told->none, none);
}

/* `list` may be NULL. */
MAM_KFN void kma_stamped(struct kma_ask ask, MAM_GLOBAL struct mam_arraylist *list,
			 MAM_GLOBAL uint64_t *got, MAM_GLOBAL struct kma_told *told)
{
	uint32_t lane = kma_lane(), wrong = 0, i;
	MAM_GLOBAL uint32_t *element;

	if (list && lane == 0)
		kma_report(&told->nodes, mam_arraylist_count(list));
	if (lane >= ask.lanes)
		return;
	for (i = 0; i < ask.rounds; i++) {
		element = MAM_DS_POINTER(uint32_t, got[(uint64_t)i * ask.lanes + lane]);
		wrong += element && *element != lane * ask.rounds + i;
	}
	kma_report(&told->wrong, wrong);
}

MAM_KFN void kma_give_apart(MAM_DS_BASE base, struct kma_ask ask, MAM_GLOBAL uint64_t *got,
			    MAM_GLOBAL struct kma_told *told)
{
	uint32_t lane = kma_lane(), wrong = 0, i;
	MAM_GLOBAL void *element;

	if (lane >= ask.lanes)
		return;
	for (i = 0; i < ask.rounds; i++) {
		element = MAM_DS_POINTER(void, got[(uint64_t)i * ask.lanes + lane]);
		if (element)
			wrong += !mam_ds_free(base, element);
	}
	kma_report(&told->wrong, wrong);
}

/* ---- a graph ---- */

/* Makes the edges, each between any two nodes, in random order; marks nodes that have one. */
MAM_KFN void kma_deal(struct kma_ask ask, MAM_GLOBAL struct edges_edge *edges,
		      MAM_GLOBAL uint32_t *marks)
{
	uint32_t i;

	for (i = kma_lane(); i < ask.edges; i += kma_lanes()) {
		edges[i] = edges_edge(KMA_SEED, i, ask.nodes);
		mam_atomic_store32(&marks[edges[i].source], 1, MAM_RELAXED, MAM_AT_DEVICE);
		mam_atomic_store32(&marks[edges[i].sink], 1, MAM_RELAXED, MAM_AT_DEVICE);
	}
}

/* Computes the expected values of their graph. */
MAM_KFN void kma_compute(struct kma_ask ask, MAM_GLOBAL struct edges_edge *edges,
			 MAM_GLOBAL uint32_t *marks, MAM_GLOBAL struct kma_told *told)
{
	uint64_t sum = 0, nodes = 0;
	uint32_t i;

	for (i = kma_lane(); i < ask.edges; i += kma_lanes())
		sum += edges_pair(edges[i].source, edges[i].sink);
	for (i = kma_lane(); i < ask.nodes; i += kma_lanes())
		nodes += marks[i];
	kma_report(&told->sum, sum);
	kma_report(&told->nodes, nodes);
}

MAM_KFN void kma_build(MAM_DS_BASE base, struct kma_ask ask, MAM_GLOBAL struct mam_tree *tree,
		       MAM_GLOBAL struct edges_edge *edges, MAM_GLOBAL struct kma_told *told)
{
	uint32_t none = 0, i = kma_lane() < ask.lanes ? kma_lane() : ask.edges, came;

	/*
	 * Lanes of a warp reconverge before each edge: otherwise, on an H100, they diverged in this
	 * loop and from then on allocated memory one by one.
	 */
	came = mam_warp_active();
	while (mam_warp_ballot(came, i < ask.edges)) {
		if (i < ask.edges) {
			none += !edges_add(tree, base, edges[i].source, edges[i].sink);
			i = ask.edges - i > ask.lanes ? i + ask.lanes : ask.edges;
		}
	}
	kma_report(&told->none, none);
}

/* After build. Records the nodes' addresses. */
MAM_KFN void kma_count(struct kma_ask ask, MAM_GLOBAL struct mam_tree *tree,
		       MAM_GLOBAL uint32_t *marks, MAM_GLOBAL uint64_t *got,
		       MAM_GLOBAL struct kma_told *told)
{
	uint64_t nodes = 0, links = 0, sum = 0, wrong = 0;
	MAM_GLOBAL struct edges_node *node, *sink;
	MAM_GLOBAL struct mam_sll_node *at;
	uint32_t i;

	for (i = kma_lane(); i < ask.nodes; i += kma_lanes()) {
		node = (MAM_GLOBAL struct edges_node *)mam_tree_get(tree, edges_key(i));
		got[i] = MAM_DS_WORD(node);
		wrong += (node != NULL) != (marks[i] != 0);
		if (!node)
			continue;
		nodes++;
		for (at = mam_sll_first(&node->links); at; at = mam_sll_next(at)) {
			links++;
			sink = MAM_DS_POINTER(struct edges_node,
					      ((MAM_GLOBAL struct edges_link *)at)->sink);
			sum += edges_pair(i, edges_name(sink->tree.key));
		}
	}
	kma_report(&told->nodes, nodes);
	kma_report(&told->links, links);
	kma_report(&told->sum, sum);
	kma_report(&told->wrong, wrong);
}

/* After count. */
MAM_KFN void kma_prune(MAM_DS_BASE base, struct kma_ask ask, MAM_GLOBAL uint64_t *got,
		       MAM_GLOBAL struct kma_told *told)
{
	MAM_GLOBAL struct mam_sll_node *at, *next;
	MAM_GLOBAL struct edges_node *node;
	uint64_t wrong = 0;
	uint32_t i;

	for (i = kma_lane(); i < ask.nodes; i += kma_lanes()) {
		node = MAM_DS_POINTER(struct edges_node, got[i]);
		if (!node)
			continue;
		for (at = mam_sll_take(&node->links); at; at = next) {
			next = mam_sll_next(at);
			wrong += !mam_ds_free(base, at);
		}
		wrong += !mam_ds_free(base, node);
	}
	kma_report(&told->wrong, wrong);
}

#endif
