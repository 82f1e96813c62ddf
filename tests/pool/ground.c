/* SPDX-License-Identifier: Apache-2.0 */
#include "ground.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GROUND_LOW  ((uintptr_t)0x700000000000)
#define GROUND_HIGH ((uintptr_t)0x7f0000000000)
#define GROUND_SLOT ((uintptr_t)1 << 34)

static void complain(struct ground *ground, const char *what)
{
	if (atomic_fetch_add(&ground->broken, 1) == 0)
		fprintf(stderr, "ground: the pool broke the contract of source.h: %s\n", what);
}

static const struct ground_piece *piece_over(const struct ground *ground, uintptr_t base, size_t bytes)
{
	for (size_t i = 0; i < ground->pieces; i++)
		if (ground->piece[i].base < base + bytes && base < ground->piece[i].base + ground->piece[i].bytes)
			return &ground->piece[i];
	return NULL;
}

static uintptr_t place(struct ground *ground, size_t bytes)
{
	size_t alignment = ground->source.properties.alignment;
	const struct ground_piece *over;
	uintptr_t base;

	switch (ground->layout) {
	case GROUND_UP:
		base = GROUND_LOW + alignment; /* aligned as promised and not one bit better */
		while ((over = piece_over(ground, base, bytes)))
			base = (over->base + over->bytes + alignment - 1) & ~(alignment - 1);
		return base;
	case GROUND_DOWN:
		base = (GROUND_HIGH - alignment - bytes) & ~(alignment - 1);
		while ((over = piece_over(ground, base, bytes)))
			base = (over->base - bytes) & ~(alignment - 1);
		return base;
	default:
		do {
			/* Knuth's MMIX generator: all that matters is that the order is no order. */
			ground->scatter = ground->scatter * 6364136223846793005u + 1442695040888963407u;
			base = GROUND_LOW + (ground->scatter >> 33) % 900 * GROUND_SLOT + alignment;
		} while (piece_over(ground, base, bytes));
		return base;
	}
}

/* Counts the call, waits if told to, and says whether to refuse. Called and left with the lock held. */
static bool arrive(struct ground *ground, enum ground_call kind)
{
	bool refuse;

	if (atomic_load(&ground->forbidden)) {
		fprintf(stderr, "ground: call of kind %d where none may come\n", (int)kind);
		abort();
	}
	ground->calls[kind]++;
	ground->all_calls++;
	refuse = ground->calls[kind] >= ground->refuse_at[kind] &&
	         ground->calls[kind] < ground->refuse_at[kind] + ground->refuse_count[kind];
	refuse = refuse || ground->all_calls == ground->refuse_any_at;
	while (ground->stop_inside[kind]) {
		ground->inside++;
		pthread_cond_broadcast(&ground->changed);
		pthread_cond_wait(&ground->changed, &ground->lock);
		ground->inside--;
	}
	return refuse;
}

static void enter_exclusive(struct ground *ground)
{
	if (atomic_fetch_add(&ground->in_exclusive, 1) != 0)
		complain(ground, "two threads inside grow or shrink");
}

static enum mam_status grow(struct mam_source *source, size_t bytes, void **base)
{
	struct ground *ground = (struct ground *)source;
	enum mam_status status = MAM_OK;

	enter_exclusive(ground);
	pthread_mutex_lock(&ground->lock);
	if (bytes == 0 || bytes & (source->properties.granularity - 1))
		complain(ground, "grow of a size that is 0 or no multiple of the granularity");
	if (arrive(ground, GROUND_GROW))
		status = ground->refuse_with;
	else if (bytes > GROUND_SLOT || ground->pieces == GROUND_PIECES ||
	         (ground->total_bytes && bytes > ground->total_bytes - ground->held_bytes))
		status = MAM_ERROR_OUT_OF_MEMORY;
	if (status == MAM_OK) {
		struct ground_piece *piece = &ground->piece[ground->pieces];

		piece->base = place(ground, bytes);
		piece->bytes = bytes;
		ground->pieces++;
		ground->held_bytes += bytes;
		piece->serial = ++ground->done[GROUND_GROW];
		*base = (void *)piece->base;
	}
	pthread_mutex_unlock(&ground->lock);
	atomic_fetch_sub(&ground->in_exclusive, 1);
	return status;
}

static enum mam_status shrink(struct mam_source *source, void *base, size_t bytes)
{
	struct ground *ground = (struct ground *)source;
	enum mam_status status = MAM_OK;
	size_t i;

	enter_exclusive(ground);
	pthread_mutex_lock(&ground->lock);
	for (i = 0; i < ground->pieces; i++)
		if (ground->piece[i].base == (uintptr_t)base && ground->piece[i].bytes == bytes)
			break;
	if (i == ground->pieces)
		complain(ground, "shrink of what no grow gave");
	if (arrive(ground, GROUND_SHRINK)) {
		status = ground->refuse_with;
		ground->kept = (uintptr_t)base;
	}
	if (status == MAM_OK && i < ground->pieces) {
		ground->held_bytes -= bytes;
		ground->piece[i] = ground->piece[--ground->pieces];
		ground->done[GROUND_SHRINK]++;
	}
	pthread_mutex_unlock(&ground->lock);
	atomic_fetch_sub(&ground->in_exclusive, 1);
	return status;
}

static enum mam_status quiesce(struct mam_source *source)
{
	struct ground *ground = (struct ground *)source;
	enum mam_status status = MAM_OK;

	pthread_mutex_lock(&ground->lock);
	if (arrive(ground, GROUND_QUIESCE))
		status = ground->refuse_with;
	else
		ground->done[GROUND_QUIESCE]++;
	pthread_mutex_unlock(&ground->lock);
	return status;
}

static void destroy(struct mam_source *source)
{
	atomic_fetch_add(&((struct ground *)source)->destroyed, 1);
}

static const struct mam_source_ops ground_ops = {
	.size = sizeof(ground_ops),
	.grow = grow, .shrink = shrink, .quiesce = quiesce, .destroy = destroy
};

void ground_init(struct ground *ground, enum ground_layout layout, size_t granularity, size_t alignment)
{
	memset(ground, 0, sizeof(*ground));
	ground->source.size = sizeof(ground->source);
	ground->source.ops = &ground_ops;
	ground->source.properties.name = "ground";
	ground->source.properties.granularity = granularity ? granularity : 512;
	ground->source.properties.alignment = alignment ? alignment : 512;
	ground->source.properties.device = -1;
	ground->source.properties.survives_fork = true;
	ground->layout = layout;
	ground->refuse_with = MAM_ERROR_OUT_OF_MEMORY;
	ground->scatter = 12345;
	pthread_mutex_init(&ground->lock, NULL);
	pthread_cond_init(&ground->changed, NULL);
}

void ground_fini(struct ground *ground)
{
	pthread_cond_destroy(&ground->changed);
	pthread_mutex_destroy(&ground->lock);
}

void ground_refuse(struct ground *ground, enum ground_call kind, size_t at, size_t count, enum mam_status with)
{
	pthread_mutex_lock(&ground->lock);
	ground->refuse_at[kind] = ground->calls[kind] + at;
	ground->refuse_count[kind] = count;
	ground->refuse_with = with;
	pthread_mutex_unlock(&ground->lock);
}

void ground_refuse_any(struct ground *ground, size_t at, enum mam_status with)
{
	pthread_mutex_lock(&ground->lock);
	ground->refuse_any_at = ground->all_calls + at;
	ground->refuse_with = with;
	pthread_mutex_unlock(&ground->lock);
}

void ground_refuse_none(struct ground *ground)
{
	pthread_mutex_lock(&ground->lock);
	memset(ground->refuse_at, 0, sizeof(ground->refuse_at));
	memset(ground->refuse_count, 0, sizeof(ground->refuse_count));
	ground->refuse_any_at = 0;
	pthread_mutex_unlock(&ground->lock);
}

void ground_stop(struct ground *ground, enum ground_call kind)
{
	pthread_mutex_lock(&ground->lock);
	ground->stop_inside[kind] = true;
	pthread_mutex_unlock(&ground->lock);
}

void ground_go(struct ground *ground, enum ground_call kind)
{
	pthread_mutex_lock(&ground->lock);
	ground->stop_inside[kind] = false;
	pthread_cond_broadcast(&ground->changed);
	pthread_mutex_unlock(&ground->lock);
}

bool ground_wait_inside(struct ground *ground)
{
	struct timespec until;
	bool waiting;
	int gone = 0;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	pthread_mutex_lock(&ground->lock);
	while (ground->inside == 0 && gone == 0)
		gone = pthread_cond_timedwait(&ground->changed, &ground->lock, &until);
	waiting = ground->inside > 0;
	pthread_mutex_unlock(&ground->lock);
	return waiting;
}
