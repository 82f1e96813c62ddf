/* SPDX-License-Identifier: Apache-2.0 */
/*
 * returns.c - objects that the host gives back, into the ring of struct mam_returns (<mam/heap.h>).
 *
 * 1. Wait for the caller's stream: what it does with the objects is done.
 * 2. In a stream of our own, which waits for no kernel: read both counts.
 * 3. Write as many addresses as there is room for, and then, behind them in that stream, `told`.
 * 4. Wait for that.
 *
 * Kernels take them from there (returns.h, with the argument why that is right). No entry is
 * written before `taken` was read to be past the one that it replaces; nothing is remembered here,
 * so a reset, which sets both counts to 0, needs to tell nobody, and may be part of a graph.
 *
 * Threads come one after the other from 2 on, under a lock that is never held while work of the
 * caller's is waited for: a kernel may be waiting for what another thread gives back.
 */
#include "heap/grant.h"

_Static_assert(sizeof(void *) == sizeof(uint64_t), "addresses are written as they stand");

/* Both counts, as they stand. */
struct counts {
	uint64_t told;
	uint64_t pad[offsetof(struct mam_returns, taken) / sizeof(uint64_t) - 1];
	uint64_t taken;
};

static enum mam_status wait_for(const struct mam_heap *heap, struct CUstream_st *stream)
{
	struct mam_reach_visit visit;
	enum mam_status status;

	status = mam_reach_begin(&heap->reach, stream, true, &visit);
	if (status != MAM_OK)
		return status;
	mam_reach_wait(&visit);
	return mam_reach_end(&visit);
}

/* Entries number `at` and so on; those past the ring's end are at its beginning. */
static void write_entries(struct mam_reach_visit *visit, uintptr_t ring, uint64_t at,
			  void *const *objects, size_t count)
{
	const uintptr_t entries = ring + offsetof(struct mam_returns, address);
	const size_t place = (size_t)(at % MAM_RETURNS);
	const size_t first = count < MAM_RETURNS - place ? count : MAM_RETURNS - place;

	mam_reach_write(visit, entries + place * sizeof(uint64_t), objects,
			first * sizeof(uint64_t));
	if (first < count)
		mam_reach_write(visit, entries, objects + first,
				(count - first) * sizeof(uint64_t));
}

/* Steps 2 to 4; `count`: in: how many are wanted, out: how many there is room for. */
static enum mam_status give(const struct mam_heap *heap, void *const *objects, size_t *count)
{
	const uintptr_t ring = mam_grant_head(heap) + mam_grant_plan(heap).returns;
	struct counts counts = { 0 };
	struct mam_reach_visit visit;
	enum mam_status status;
	uint64_t told, room;

	status = mam_reach_begin_apart(&heap->reach, &visit);
	if (status != MAM_OK)
		return status;
	mam_reach_read(&visit, &counts, ring, sizeof(counts));
	mam_reach_wait(&visit);
	/* Counts that cannot be, of a heap that was written over: no room. */
	room = counts.told - counts.taken;
	room = room < MAM_RETURNS ? MAM_RETURNS - room : 0;
	if (*count > room)
		*count = (size_t)room;
	if (*count != 0) {
		told = counts.told + *count;
		write_entries(&visit, ring, counts.told, objects, *count);
		mam_reach_write(&visit, ring + offsetof(struct mam_returns, told), &told,
				sizeof(told));
		mam_reach_wait(&visit);
	}
	return mam_reach_end(&visit);
}

static enum mam_status check(const struct mam_heap *heap, void *const *objects, size_t count)
{
	if (!heap || (!objects && count != 0))
		return MAM_ERROR_INVALID_VALUE;
	if (heap->blocks == 0)
		return MAM_ERROR_UNSUPPORTED;
	return mam_grant_alive(heap) ? MAM_OK : MAM_ERROR_DESTROYED;
}

enum mam_status mam_heap_free(struct mam_heap *heap, struct CUstream_st *stream,
			      void *const *objects, size_t count, size_t *taken)
{
	enum mam_status status = check(heap, objects, count);
	size_t given = count;

	if (taken)
		*taken = 0;
	if (status == MAM_OK)
		status = wait_for(heap, stream);
	if (status != MAM_OK)
		return status;
	pthread_mutex_lock(&heap->returning);
	status = give(heap, objects, &given);
	pthread_mutex_unlock(&heap->returning);
	if (status != MAM_OK)
		return status;
	if (taken)
		*taken = given;
	return given == count ? MAM_OK : MAM_ERROR_WOULD_WAIT;
}
