/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.h - shared by the tests of tools/bench/papers/walk: all variants through one set of
 * functions, a heap with one word of payload per page that is written without atomics, and kernels
 * that allocate, use and free.
 */
#ifndef MAM_TESTS_HEAP_PUBLISHED_H
#define MAM_TESTS_HEAP_PUBLISHED_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/walk/bump.h"
#include "bench/papers/walk/bumpw.h"
#include "bench/papers/walk/corw.h"
#include "bench/papers/walk/crw.h"
#include "bench/papers/walk/queue.h"
#include "bench/papers/walk/rw.h"
#include "bench/papers/walk/rwbm.h"
#include "bench/papers/walk/rwmalloc.h"
#include "simt/explore.h"

#ifdef SIMT_HOOKS
#define PUBLISHED_RACE true
#else
#define PUBLISHED_RACE false
#endif

#define PUBLISHED_PAGES 4096
#define PUBLISHED_TAKEN 8192 /* that a test can keep */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct published {
	const char *name;
	size_t (*bytes)(uint32_t count);
	void (*format)(void *s, uint32_t count, uint32_t low);
	uint32_t (*take)(void *s, struct mam_published_walk *walk, uint32_t n);
	bool (*give)(void *s, uint32_t page, uint32_t n);
	bool (*is_taken)(void *s, uint32_t page); /* at rest */
	bool (*is_locked)(void *s);               /* at rest: whether any word is locked; may be
						   * NULL */
};

/* One heap under test, and the parameters of its kernels. */
struct published_job {
	const struct published *of;
	void *s;
	uint32_t count, low;
	uint32_t rounds; /* requests per lane */
	uint32_t max;    /* a lane requests 1 to `max` pages; 1 except for rwmalloc */
	uint32_t payload[PUBLISHED_PAGES]; /* the page's current owner, 0: none; written without
					    * atomics */
	uint32_t taken[PUBLISHED_TAKEN];   /* by kernel fill: lane by lane, `rounds` each */
	uint32_t failed;                   /* failed requests; atomic */
	uint64_t steps;                    /* of all lanes; atomic */
	char wrong[160];
};

#define PUBLISHED_CALLS(NAME)                                                             \
	static void format_##NAME(void *s, uint32_t count, uint32_t low)                  \
	{                                                                                 \
		mam_##NAME##_format(s, count, low);                                       \
	}                                                                                 \
	static uint32_t take_##NAME(void *s, struct mam_published_walk *walk, uint32_t n) \
	{                                                                                 \
		(void)n;                                                                  \
		return mam_##NAME##_take(s, walk);                                        \
	}                                                                                 \
	static bool give_##NAME(void *s, uint32_t page, uint32_t n)                       \
	{                                                                                 \
		(void)n;                                                                  \
		return mam_##NAME##_give(s, page);                                        \
	}

static inline bool published_bit(void *s, uint32_t page)
{
	return *mam_bitlock_word(s, page / 32) >> page % 32 & 1;
}

static inline bool published_unit(void *s, uint32_t unit)
{
	return ((uint32_t *)((struct mam_rwmalloc *)s + 1))[unit / 32] >> unit % 32 & 1;
}

static inline bool published_flag(void *s, uint32_t page)
{
	return ((uint32_t *)((struct mam_rw *)s + 1))[page];
}

/* A page is free if the ring contains it, in one of the places between the ends. */
static inline bool published_queued(void *s, uint32_t page)
{
	struct mam_queue *queue = s;
	uint32_t at = (uint32_t)(queue->ends >> 32), tail = (uint32_t)queue->ends, seen = 0;

	for (; at < tail; at++)
		seen += (uint32_t)((uint64_t *)(queue + 1))[at & queue->mask] == page;
	return seen != 1;
}

static inline bool published_locked(void *s)
{
	struct mam_bitlock *bits = s;
	uint64_t any = 0;
	uint32_t i;

	for (i = 0; i < bits->words; i++)
		any |= *mam_bitlock_word(bits, i);
	return any >> 32 != 0;
}

static inline uint32_t published_n(const struct published_job *job, uint32_t id, uint32_t round)
{
	return 1 + mam_published_mix(id * 64 + round) % job->max;
}

/* A new heap; a search gives up when less than `low` thousandths are free. */
static inline void published_begin(void *argument)
{
	struct published_job *job = argument;

	memset(job->s, 0, job->of->bytes(job->count));
	job->of->format(job->s, job->count, job->low);
	memset(job->payload, 0, job->count * sizeof(job->payload[0]));
	memset(job->taken, 0xff, sizeof(job->taken));
	job->failed = 0;
	job->steps = 0;
}

static inline const char *published_wrong(struct published_job *job, const char *what, uint32_t n)
{
	snprintf(job->wrong, sizeof(job->wrong), "%s: %s: %u", job->of->name, what, n);
	return job->wrong;
}

/*
 * At rest: no word is locked, no bit is set past the end, and exactly `taken` pages are allocated.
 */
static inline const char *published_metadata(struct published_job *job, uint32_t taken)
{
	uint32_t page, found = 0;

	for (page = 0; page < job->count; page++)
		found += job->of->is_taken(job->s, page);
	if (found != taken)
		return published_wrong(job, "wrong number of allocated pages", found);
	if (job->of->is_locked && job->of->is_locked(job->s))
		return published_wrong(job, "a word is still locked", 0);
	return NULL;
}

static inline struct published_job *published_job(const struct published *of, uint32_t count,
						  uint32_t low, uint32_t rounds)
{
	struct published_job *job = calloc(1, sizeof(*job));

	ck_assert_ptr_nonnull(job);
	ck_assert_uint_le(count, PUBLISHED_PAGES);
	job->of = of;
	job->count = count;
	job->low = low;
	job->rounds = rounds;
	job->max = 1;
	job->s = aligned_alloc(128, (of->bytes(count) + 127) / 128 * 128);
	ck_assert_ptr_nonnull(job->s);
	published_begin(job);
	return job;
}

static inline void published_end(struct published_job *job)
{
	free(job->s);
	free(job);
}

/* Owns the pages for a while: no other lane may own them. */
static inline void published_use(struct published_job *job, uint32_t page, uint32_t n, uint32_t who)
{
	uint32_t i;

	MAM_KASSERT(page < job->count && n <= job->count - page);
	for (i = page; i < page + n; i++) {
		MAM_KASSERT(job->payload[i] == 0);
		job->payload[i] = who + 1;
	}
	mam_nanosleep(1);
	for (i = page; i < page + n; i++)
		MAM_KASSERT(job->payload[i] == who + 1);
}

static inline void published_leave(struct published_job *job, uint32_t page, uint32_t n)
{
	uint32_t i;

	for (i = page; i < page + n; i++)
		job->payload[i] = 0;
	MAM_KASSERT(job->of->give(job->s, page, n));
}

static inline uint32_t published_id(void)
{
	return mam_block() * simt_block_threads() + simt_thread();
}

/* One request: the pages are used and freed. */
static inline void published_turn(struct published_job *job, struct mam_published_walk *walk,
				  uint32_t round)
{
	uint32_t n = published_n(job, published_id(), round);
	uint32_t page = job->of->take(job->s, walk, n);

	if (page == MAM_NO_PAGE) {
		mam_atomic_add32(&job->failed, 1, MAM_RELAXED, MAM_AT_DEVICE);
		return;
	}
	published_use(job, page, n, published_id());
	published_leave(job, page, n);
}

/* Each lane: `rounds` requests, one after another. */
static inline MAM_KERNEL(published_churn)
{
	struct published_job *job = argument;
	struct mam_published_walk walk;
	uint32_t round;

	mam_published_start(&walk, (uint32_t)simt_random());
	for (round = 0; round < job->rounds; round++)
		published_turn(job, &walk, round);
}

/* Lanes that diverge: into branches by lane, then for different numbers of rounds. */
static inline MAM_KERNEL(published_part)
{
	struct published_job *job = argument;
	struct mam_published_walk walk;
	uint32_t round, rounds = 1 + published_id() % job->rounds;

	mam_published_start(&walk, (uint32_t)simt_random());
	if (mam_lane() % 3 == 1)
		published_turn(job, &walk, 0);
	else if (mam_lane() % 3 == 2)
		published_turn(job, &walk, 1);
	for (round = 2; round < 2 + rounds; round++)
		published_turn(job, &walk, round);
}

/* Each lane allocates `rounds` times and keeps the pages. */
static inline MAM_KERNEL(published_fill)
{
	struct published_job *job = argument;
	struct mam_published_walk walk;
	uint32_t round, id = published_id(), page;

	mam_published_start(&walk, (uint32_t)simt_random());
	for (round = 0; round < job->rounds; round++) {
		uint32_t n = published_n(job, id, round);

		page = job->of->take(job->s, &walk, n);
		job->taken[id * job->rounds + round] = page;
		if (page == MAM_NO_PAGE)
			mam_atomic_add32(&job->failed, 1, MAM_RELAXED, MAM_AT_DEVICE);
		else
			published_use(job, page, n, id);
	}
	mam_atomic_add64(&job->steps, walk.steps, MAM_RELAXED, MAM_AT_DEVICE);
}

/* Each lane frees pages that another lane of the grid has kept. */
static inline MAM_KERNEL(published_empty)
{
	struct published_job *job = argument;
	uint32_t lanes = mam_grid_blocks() * simt_block_threads(), round;
	uint32_t id = (published_id() * 5 + 3) % lanes;

	for (round = 0; round < job->rounds; round++) {
		uint32_t page = job->taken[id * job->rounds + round];

		if (page != MAM_NO_PAGE)
			published_leave(job, page, published_n(job, id, round));
	}
}

#endif
