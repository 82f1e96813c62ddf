/* SPDX-License-Identifier: Apache-2.0 */
/*
 * returns.c - writes objects that the host frees into the ring of struct mam_returns
 * (<mam/heap.h>).
 *
 * 1. Wait for the caller's stream: its work with the objects is done.
 * 2. In a stream of our own, which waits for no kernel: read both counts.
 * 3. Write as many addresses as there is room for, and then, after them in that stream, `told`.
 * 4. Wait for that.
 *
 * Kernels take the addresses from there (returns.h, which also proves it correct). No entry is
 * written before `taken` was seen to be past the one that it replaces. No state is kept here, so a
 * reset, which sets both counts to 0, needs no notification, and may be part of a graph.
 *
 * Threads run steps 2 to 4 one after the other, under a lock that is never held during a wait for
 * the caller's work: a kernel may be waiting for objects that another thread frees.
 */
#include "heap/host/create.h"

_Static_assert(sizeof(void *) == sizeof(uint64_t), "addresses are written as they stand");

/* Both counts, in the ring's layout. */
struct counts {
	uint64_t told;
	uint64_t pad[offsetof(struct mam_returns, taken) / sizeof(uint64_t) - 1];
	uint64_t taken;
};

static enum mam_status wait_for(const struct mam_heap *heap, struct CUstream_st *stream)
{
	struct mam_copy_visit visit;
	enum mam_status status;

	status = mam_copy_begin(&heap->reach, stream, true, &visit);
	if (status != MAM_OK)
		return status;
	mam_copy_wait(&visit);
	return mam_copy_end(&visit);
}

/* Writes entries starting at number `at`; those past the ring's end wrap to its start. */
static void write_entries(struct mam_copy_visit *visit, uintptr_t ring, uint64_t at,
			  void *const *objects, size_t count)
{
	const uintptr_t entries = ring + offsetof(struct mam_returns, address);
	const size_t place = (size_t)(at % MAM_RETURNS);
	const size_t first = count < MAM_RETURNS - place ? count : MAM_RETURNS - place;

	mam_copy_write(visit, entries + place * sizeof(uint64_t), objects,
		       first * sizeof(uint64_t));
	if (first < count)
		mam_copy_write(visit, entries, objects + first, (count - first) * sizeof(uint64_t));
}

/* Steps 2 to 4; `count`: in: how many are wanted, out: how many there is room for. */
static enum mam_status give(const struct mam_heap *heap, void *const *objects, size_t *count)
{
	const uintptr_t ring = mam_grant_head(heap) + mam_grant_plan(heap).returns;
	struct counts counts = { 0 };
	struct mam_copy_visit visit;
	enum mam_status status;
	uint64_t told, room;

	status = mam_copy_begin_apart(&heap->reach, &visit);
	if (status != MAM_OK)
		return status;
	mam_copy_read(&visit, &counts, ring, sizeof(counts));
	mam_copy_wait(&visit);
	/* Impossible counts, of a heap that was overwritten: no room. */
	room = counts.told - counts.taken;
	room = room < MAM_RETURNS ? MAM_RETURNS - room : 0;
	if (*count > room)
		*count = (size_t)room;
	if (*count != 0) {
		told = counts.told + *count;
		write_entries(&visit, ring, counts.told, objects, *count);
		mam_copy_write(&visit, ring + offsetof(struct mam_returns, told), &told,
			       sizeof(told));
		mam_copy_wait(&visit);
	}
	return mam_copy_end(&visit);
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
