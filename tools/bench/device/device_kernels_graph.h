/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_kernels_graph.h - kernels of `mam bench device` in which lists grow: a graph's edges are
 * added at random, and each vertex keeps its neighbors in a list that doubles when it is full.
 *
 * Vertex v has numbers[v] neighbors, a list at more[v], and capacity for a power of two of them, at
 * least 4. Each asker adds `rounds` edges; there are `count` vertices.
 * 1. An asker sets the vertex's lock, the highest bit of the number, or pauses and retries.
 * 2. If the list is full, it allocates one of twice the capacity, copies, and frees the old one.
 * 3. It writes the neighbor, and stores the number, incremented, without the lock.
 *
 * Verification: a checksum over all lists, of a value for each edge, must equal the same sum over
 * the generated edges.
 */
#ifndef MAM_TOOLS_BENCH_DEVICE_KERNELS_GRAPH_H
#define MAM_TOOLS_BENCH_DEVICE_KERNELS_GRAPH_H

#include "bench/device/device_kernels_touch.h"

#define DEVICE_GRAPH_LOCK 0x80000000u
#define DEVICE_GRAPH_MIN 4u

MAM_KFN uint32_t device_graph_room(uint32_t neighbours)
{
	uint32_t room = DEVICE_GRAPH_MIN;

	while (room < neighbours)
		room *= 2;
	return room;
}

/* The vertex of an edge by its number, and an edge's contribution to the checksum. */
MAM_KFN uint32_t device_graph_from(const struct device_job *job, uint32_t edge)
{
	return bench_mix(edge + 1) % job->count;
}

MAM_KFN uint32_t device_graph_to(uint32_t edge)
{
	return bench_mix(edge ^ 0x5bd1e995u);
}

MAM_KFN uint64_t device_graph_value(uint32_t from, uint32_t to)
{
	return (uint64_t)bench_mix(from ^ 0x68e31da4u) * (to | 1u);
}

/* With the lock held: returns a list with room for one more; NULL if allocation failed. */
MAM_KFN uint32_t *device_graph_list(const struct device_job *job, uint32_t vertex, uint32_t n)
{
	uint32_t *const list = (uint32_t *)job->more[vertex], *wider;
	const uint32_t room = n > 0 ? device_graph_room(n) : 0;
	uint32_t k;

	if (n < room)
		return list;
	wider = (uint32_t *)bench_malloc(job->heap, device_graph_room(n + 1) * 4);
	if (wider == NULL)
		return NULL;
	for (k = 0; k < n; k++)
		wider[k] = list[k];
	if (list != NULL)
		device_drop(job, list, room * 4);
	job->more[vertex] = (uint64_t)wider;
	return wider;
}

MAM_KFN void device_graph(const struct device_job *job)
{
	uint32_t asker, round, n, *list;
	uint64_t none = 0;

	if (!device_asks(job, &asker))
		return;
	for (round = 0; round < job->rounds; round++) {
		const uint32_t edge = asker * job->rounds + round;
		const uint32_t vertex = device_graph_from(job, edge);
		bool added = false;

		/*
		 * The critical section is inside the loop: a lane with the lock never waits for one
		 * without it.
		 */
		while (!added) {
			n = mam_atomic_or32(&job->numbers[vertex], DEVICE_GRAPH_LOCK, MAM_ACQUIRE,
					    MAM_AT_DEVICE);
			if (n & DEVICE_GRAPH_LOCK) {
				mam_nanosleep(100);
				continue;
			}
			list = device_graph_list(job, vertex, n);
			if (list != NULL)
				list[n] = device_graph_to(edge);
			else
				none++;
			mam_atomic_store32(&job->numbers[vertex], n + (list != NULL), MAM_RELEASE,
					   MAM_AT_DEVICE);
			added = true;
		}
	}
	device_report(&job->found->none, none);
}
DEVICE_KERNEL(graph, device_graph)

/* The lists' checksum. One asker per vertex. */
MAM_KFN void device_graph_sum(const struct device_job *job)
{
	uint32_t vertex, k;
	uint64_t sum = 0;

	if (!device_asks(job, &vertex) || vertex >= job->count)
		return;
	for (k = 0; k < job->numbers[vertex]; k++)
		sum += device_graph_value(vertex, ((uint32_t *)job->more[vertex])[k]);
	device_report(&job->found->objects, job->numbers[vertex]);
	device_report(&job->found->spare[0], sum);
}
DEVICE_KERNEL(graph_sum, device_graph_sum)

/* The expected checksum. */
MAM_KFN void device_graph_wanted(const struct device_job *job)
{
	uint32_t asker, round;
	uint64_t sum = 0;

	if (!device_asks(job, &asker))
		return;
	for (round = 0; round < job->rounds; round++) {
		const uint32_t edge = asker * job->rounds + round;

		sum += device_graph_value(device_graph_from(job, edge), device_graph_to(edge));
	}
	device_report(&job->found->spare[1], sum);
}
DEVICE_KERNEL(graph_wanted, device_graph_wanted)

MAM_KFN void device_graph_drop(const struct device_job *job)
{
	uint32_t vertex;

	if (!device_asks(job, &vertex) || vertex >= job->count)
		return;
	if (job->more[vertex] != 0)
		device_drop(job, (void *)job->more[vertex],
			    device_graph_room(job->numbers[vertex]) * 4);
	job->more[vertex] = 0;
	job->numbers[vertex] = 0;
}
DEVICE_KERNEL(graph_drop, device_graph_drop)

#endif
