/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thread caches in schedules of two or three threads that deviate at one or two points, and in
 * random ones: owners allocate and free, pass blocks on and end, while another thread drains the
 * caches, reads their counts, or closes them. The code of src/cache is observed; a call of the pool
 * is one step.
 *
 * Two rules are broken: the search must find it.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <mam/stats.h>

#include "../pool/scripted_source.h"

#include "base/bits.h"
#include "cache/cache.h"
#include "device/port.h"
#include "simt/explore.h"
#include "simt/host.h"
#include "simt/suite.h"

#define BYTES 1500
#define TURNS 2
#define THREADS 3
#define BLOCKS 128
#define TCACHE_BYTES mam_round_up(sizeof(struct mam_tcache), 4096)

enum fault {
	NONE,
	NO_BARRIER, /* a drain does not execute a fence for the owners */
	NO_ENTER,   /* an owner does not enter its thread cache */
};

static struct state {
	struct space space;
	struct mam_pool *pool;
	_Atomic(void *) passed;
	enum fault fault;
} state;

/* The thread that holds a block, from 1. Not observed: the pool's lock orders some accesses. */
static unsigned holders[BLOCKS];
static uintptr_t base;

static _Thread_local unsigned number; /* of the thread, from 1 */
static char selves[THREADS + 1];
static struct mam_tcache *ended[THREADS + 1]; /* of threads that have ended */

const void *own_self(void)
{
	return &selves[number];
}

static __attribute__((no_sanitize_thread)) bool hold(const void *block, unsigned before,
						     unsigned after)
{
	unsigned *holder = &holders[((uintptr_t)block - base) / 512];

	if (*holder != before)
		return false;
	*holder = after;
	return true;
}

static void *get(void)
{
	struct mam_pool *pool = state.pool;
	void *block = NULL;

	if (state.fault == NO_ENTER && mam_tcache_find(pool))
		block = mam_cache_take_inside(mam_tcache_last, &mam_tcache_last->bins, BYTES);
	else
		block = mam_cache_alloc_own(pool, BYTES);
	if (!block)
		MAM_KASSERT(mam_cache_alloc_slowly(pool, BYTES, 0, &block) == MAM_OK);
	MAM_KASSERT(hold(block, 0, number));
	return block;
}

static void put(void *block)
{
	struct mam_pool *pool = state.pool;

	MAM_KASSERT(hold(block, number, 0));
	if (!mam_cache_free_own(pool, block))
		MAM_KASSERT(mam_cache_free_slowly(pool, block) == MAM_OK);
}

/*
 * As thread_ends() of tcache.c. The memory is not unmapped before the end of the run, or another
 * thread cache would get the address; but no access to it is allowed.
 */
static void end_thread(void)
{
	struct mam_tcache *tcache = mam_tcache_last;

	if (mam_tcache_find(state.pool) == NULL && mam_tcache_find(NULL) == NULL)
		return;
	tcache = mam_tcache_last;
	mam_cache_leave_tcache(tcache);
	if (mprotect(tcache, TCACHE_BYTES, PROT_NONE) != 0)
		abort();
	ended[number] = tcache;
}

static void use(void *argument)
{
	number = (unsigned)(uintptr_t)argument;
	for (unsigned i = 0; i < TURNS; i++) {
		void *first = get(), *second = get();

		put(first);
		put(second);
	}
	end_thread();
}

/* Allocates blocks that the next function frees. */
static void pass(void *argument)
{
	number = (unsigned)(uintptr_t)argument;
	for (unsigned i = 0; i < TURNS; i++) {
		void *block = get(), *none = NULL;

		MAM_KASSERT(hold(block, number, 0));
		if (!atomic_compare_exchange_strong(&state.passed, &none, block)) {
			MAM_KASSERT(hold(block, 0, number));
			put(block);
		}
	}
	end_thread();
}

static void receive(void *argument)
{
	number = (unsigned)(uintptr_t)argument;
	for (unsigned i = 0; i < TURNS; i++) {
		void *block = atomic_exchange(&state.passed, NULL);

		if (!block)
			continue;
		MAM_KASSERT(hold(block, 0, number));
		put(block);
		put(get());
	}
	end_thread();
}

static void drain(void *argument)
{
	number = (unsigned)(uintptr_t)argument;
	(void)mam_cache_drain(state.pool);
}

static void count(void *argument)
{
	struct mam_cache *held;

	number = (unsigned)(uintptr_t)argument;
	held = mam_cache_count_pending(state.pool);
	MAM_KASSERT(mam_cache_check(held) == NULL);
	mam_cache_go(held);
}

static void close_caches(void *argument)
{
	number = (unsigned)(uintptr_t)argument;
	mam_cache_close(state.pool);
}

static void begin(void *argument)
{
	const struct mam_pool_config config = { .chunk_bytes = BLOCKS * (size_t)512,
						.growth_bytes = BLOCKS * (size_t)512 };

	(void)argument;
	simt_host_lacks_membarrier = state.fault == NO_BARRIER;
	space_init(&state.space, SPACE_UP, 0, 0);
	state.pool = calloc(1, sizeof(*state.pool));
	if (!state.pool || mam_pool_init(state.pool, &state.space.source, false, &config) != MAM_OK)
		abort();
	base = state.space.piece[0].base;
	state.passed = NULL;
	memset(holders, 0, sizeof(holders));
	mam_cache_open(state.pool, 1);
}

/* All blocks come back. */
static const char *check(void *argument)
{
	struct mam_pool *pool = state.pool;
	struct mam_stats stats = { .size = sizeof(stats) };
	void *left = state.passed;
	bool closed;

	(void)argument;
	number = 0;
	if (left && mam_cache_free_now(pool, left) != MAM_OK)
		return "the last block cannot be freed";
	(void)mam_cache_drain(pool);
	for (unsigned i = 1; i <= THREADS; i++)
		if (ended[i])
			mam_tcache_drop(ended[i]);
	memset(ended, 0, sizeof(ended));
	closed = !mam_cache_serves(pool->cache, pool);
	if (!closed)
		mam_cache_close(pool);
	if (mam_pool_audit(pool, NULL, 0) != MAM_OK || atomic_load(&state.space.broken) != 0)
		return "the pool is not intact";
	if (mam_pool_count(pool, &stats) != MAM_OK)
		return "the pool has ended";
	if (!closed && (stats.live_blocks != 0 || stats.allocs != stats.frees))
		return "a block did not come back";
	if (mam_pool_drop(pool) != MAM_OK) /* blocks in closed caches are dropped */
		return "the pool cannot end";
	space_fini(&state.space);
	free(pool);
	return NULL;
}

typedef void work(void *argument);

static const struct row {
	const char *name;
	work *works[THREADS];
	unsigned deviations;
	enum fault fault;
} rows[] = {
	{ "drain", { use, drain }, 1, NONE },
	{ "drain two", { use, use, drain }, 1, NONE },
	{ "count", { use, count }, 1, NONE },
	{ "close", { use, close_caches }, 1, NONE },
	{ "pass", { pass, receive }, 1, NONE },
	{ "pass and drain", { pass, receive, drain }, 1, NONE },
	{ "pass and close", { pass, receive, close_caches }, 1, NONE },
	{ "drain and close", { use, drain, close_caches }, 1, NONE },
	{ "no barrier", { use, drain }, 2, NO_BARRIER },
	{ "no enter", { use, drain }, 2, NO_ENTER },
};

#define ROWS ((int)(sizeof(rows) / sizeof(rows[0])))

static bool build(struct simt_world *world, void *argument)
{
	const struct row *row = argument;

	for (unsigned i = 0; i < THREADS; i++)
		if (row->works[i] &&
		    !simt_world_host(world, row->works[i], (void *)(uintptr_t)(i + 1)))
			return false;
	return true;
}

START_TEST(no_block_is_lost_and_no_memory_used_after_its_end)
{
	struct row row = rows[_i];
	struct simt_case test = { .name = row.name,
				  .build = build,
				  .argument = &row,
				  .begin = begin,
				  .check = check,
				  .deviations = row.deviations,
				  .seeds = 300,
				  .config = { .race = true, .stale = true, .steps_max = 50000 } };

	state.fault = row.fault;
	if (row.fault == NONE)
		simt_must_pass(&test);
	else
		simt_must_fail(&test, SIMT_FINE);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("orders");

	simt_host_init();
	tcase_add_loop_test(tests, no_block_is_lost_and_no_memory_used_after_its_end, 0, ROWS);
	return simt_run_case(tests, "cache/cache_orders");
}
