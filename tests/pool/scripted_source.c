/* SPDX-License-Identifier: Apache-2.0 */
#include "scripted_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPACE_LOW ((uintptr_t)0x700000000000)
#define SPACE_HIGH ((uintptr_t)0x7f0000000000)
#define SPACE_SLOT ((uintptr_t)1 << 34)

static void complain(struct space *space, const char *what)
{
	if (atomic_fetch_add(&space->broken, 1) == 0)
		fprintf(stderr, "space: the pool broke the contract of source.h: %s\n", what);
}

static const struct space_piece *piece_over(const struct space *space, uintptr_t base, size_t bytes)
{
	for (size_t i = 0; i < space->pieces; i++)
		if (space->piece[i].base < base + bytes &&
		    base < space->piece[i].base + space->piece[i].bytes)
			return &space->piece[i];
	return NULL;
}

static uintptr_t place(struct space *space, size_t bytes)
{
	size_t alignment = space->source.properties.alignment;
	const struct space_piece *over;
	uintptr_t base;

	switch (space->layout) {
	case SPACE_UP:
		base = SPACE_LOW + alignment; /* aligned as promised and never better */
		while ((over = piece_over(space, base, bytes)))
			base = (over->base + over->bytes + alignment - 1) & ~(alignment - 1);
		return base;
	case SPACE_DOWN:
		base = (SPACE_HIGH - alignment - bytes) & ~(alignment - 1);
		while ((over = piece_over(space, base, bytes)))
			base = (over->base - bytes) & ~(alignment - 1);
		return base;
	default:
		do {
			/* Knuth's MMIX generator: any irregular order will do. */
			space->scatter =
				space->scatter * 6364136223846793005u + 1442695040888963407u;
			base = SPACE_LOW + (space->scatter >> 33) % 900 * SPACE_SLOT + alignment;
		} while (piece_over(space, base, bytes));
		return base;
	}
}

/*
 * Counts the call, waits if requested, and returns whether to refuse. Called and returns with the
 * lock held.
 */
static bool arrive(struct space *space, enum space_call kind)
{
	bool refuse;

	if (atomic_load(&space->forbidden)) {
		fprintf(stderr, "space: call of kind %d while calls are forbidden\n", (int)kind);
		abort();
	}
	space->calls[kind]++;
	space->all_calls++;
	refuse = space->calls[kind] >= space->refuse_at[kind] &&
		 space->calls[kind] < space->refuse_at[kind] + space->refuse_count[kind];
	refuse = refuse || space->all_calls == space->refuse_any_at;
	while (space->stop_inside[kind]) {
		space->inside++;
		pthread_cond_broadcast(&space->changed);
		pthread_cond_wait(&space->changed, &space->lock);
		space->inside--;
	}
	return refuse;
}

static void enter_exclusive(struct space *space)
{
	if (atomic_fetch_add(&space->in_exclusive, 1) != 0)
		complain(space, "two threads inside grow or shrink");
}

static enum mam_status grow(struct mam_source *source, size_t bytes, void **base)
{
	struct space *space = (struct space *)source;
	enum mam_status status = MAM_OK;

	enter_exclusive(space);
	pthread_mutex_lock(&space->lock);
	if (bytes == 0 || bytes & (source->properties.granularity - 1))
		complain(space, "grow of a size that is 0 or not a multiple of the granularity");
	if (arrive(space, SPACE_GROW))
		status = space->refuse_with;
	else if (bytes > SPACE_SLOT || space->pieces == SPACE_PIECES ||
		 (space->total_bytes && bytes > space->total_bytes - space->held_bytes))
		status = MAM_ERROR_OUT_OF_MEMORY;
	if (status == MAM_OK) {
		struct space_piece *piece = &space->piece[space->pieces];

		piece->base = place(space, bytes);
		piece->bytes = bytes;
		space->pieces++;
		space->held_bytes += bytes;
		piece->serial = ++space->done[SPACE_GROW];
		*base = (void *)piece->base;
	}
	pthread_mutex_unlock(&space->lock);
	atomic_fetch_sub(&space->in_exclusive, 1);
	return status;
}

static enum mam_status shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct space *space = (struct space *)source;
	enum mam_status status = MAM_OK;
	size_t i;

	enter_exclusive(space);
	pthread_mutex_lock(&space->lock);
	for (i = 0; i < space->pieces; i++)
		if (space->piece[i].base == (uintptr_t)base && space->piece[i].bytes == bytes)
			break;
	if (i == space->pieces)
		complain(space, "shrink of a chunk that no grow returned");
	if (arrive(space, SPACE_SHRINK)) {
		status = space->refuse_with;
		space->kept = (uintptr_t)base;
	}
	if (status == MAM_OK && i < space->pieces) {
		space->held_bytes -= bytes;
		space->piece[i] = space->piece[--space->pieces];
		space->done[SPACE_SHRINK]++;
	}
	pthread_mutex_unlock(&space->lock);
	atomic_fetch_sub(&space->in_exclusive, 1);
	return status;
}

static enum mam_status quiesce(struct mam_source *source)
{
	struct space *space = (struct space *)source;
	enum mam_status status = MAM_OK;

	pthread_mutex_lock(&space->lock);
	if (arrive(space, SPACE_QUIESCE))
		status = space->refuse_with;
	else
		space->done[SPACE_QUIESCE]++;
	pthread_mutex_unlock(&space->lock);
	return status;
}

static void destroy(struct mam_source *source)
{
	atomic_fetch_add(&((struct space *)source)->destroyed, 1);
}

static const struct mam_source_ops space_ops = { .size = sizeof(space_ops),
						 .grow = grow,
						 .shrink = shrink,
						 .quiesce = quiesce,
						 .destroy = destroy };

void space_init(struct space *space, enum space_layout layout, size_t granularity, size_t alignment)
{
	memset(space, 0, sizeof(*space));
	space->source.size = sizeof(space->source);
	space->source.ops = &space_ops;
	space->source.properties.name = "space";
	space->source.properties.granularity = granularity ? granularity : 512;
	space->source.properties.alignment = alignment ? alignment : 512;
	space->source.properties.device = -1;
	space->source.properties.survives_fork = true;
	space->layout = layout;
	space->refuse_with = MAM_ERROR_OUT_OF_MEMORY;
	space->scatter = 12345;
	pthread_mutex_init(&space->lock, NULL);
	pthread_cond_init(&space->changed, NULL);
}

void space_fini(struct space *space)
{
	pthread_cond_destroy(&space->changed);
	pthread_mutex_destroy(&space->lock);
}

void space_refuse(struct space *space, enum space_call kind, size_t at, size_t count,
		  enum mam_status with)
{
	pthread_mutex_lock(&space->lock);
	space->refuse_at[kind] = space->calls[kind] + at;
	space->refuse_count[kind] = count;
	space->refuse_with = with;
	pthread_mutex_unlock(&space->lock);
}

void space_refuse_any(struct space *space, size_t at, enum mam_status with)
{
	pthread_mutex_lock(&space->lock);
	space->refuse_any_at = space->all_calls + at;
	space->refuse_with = with;
	pthread_mutex_unlock(&space->lock);
}

void space_refuse_none(struct space *space)
{
	pthread_mutex_lock(&space->lock);
	memset(space->refuse_at, 0, sizeof(space->refuse_at));
	memset(space->refuse_count, 0, sizeof(space->refuse_count));
	space->refuse_any_at = 0;
	pthread_mutex_unlock(&space->lock);
}

void space_stop(struct space *space, enum space_call kind)
{
	pthread_mutex_lock(&space->lock);
	space->stop_inside[kind] = true;
	pthread_mutex_unlock(&space->lock);
}

void space_go(struct space *space, enum space_call kind)
{
	pthread_mutex_lock(&space->lock);
	space->stop_inside[kind] = false;
	pthread_cond_broadcast(&space->changed);
	pthread_mutex_unlock(&space->lock);
}

bool space_wait_inside(struct space *space)
{
	struct timespec until;
	bool waiting;
	int gone = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	pthread_mutex_lock(&space->lock);
	while (space->inside == 0 && gone == 0)
		gone = pthread_cond_timedwait(&space->changed, &space->lock, &until);
	waiting = space->inside > 0;
	pthread_mutex_unlock(&space->lock);
	return waiting;
}
