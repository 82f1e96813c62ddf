/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Eight threads on one pool: blocks of mixed sizes, most of them freed by another thread than the
 * one that allocated them.
 *
 *   1. Each thread allocates a block, writes a stamp over it if it has memory, and swaps it into a
 *      shared slot.
 *   2. It now owns the block that was in the slot: it verifies the stamp, and frees the block. Two
 *      live blocks that overlap would overwrite each other's stamps, or be a data race to
 *      ThreadSanitizer.
 *   3. Meanwhile some threads sometimes trim, count, walk, check, or make a request that must not
 *      wait.
 *   4. At the end every statistic matches the threads' own counts.
 *
 * Seeds are fixed; the interleaving of the threads is not.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "pool/fixture.h"

#if TESTS_TSAN
#define OPERATIONS 4000
#elif TESTS_ASAN
#define OPERATIONS 10000
#else
#define OPERATIONS 30000
#endif

#define THREADS 8
#define SLOTS 256

struct entry {
	unsigned char *block;
	size_t bytes;
	uint64_t stamp;
};

struct arena {
	struct mam_pool *pool;
	bool backed;
	_Atomic(struct entry *) slot[SLOTS];
};

struct worker {
	struct arena *arena;
	uint64_t state;
	uint64_t allocs, frees, failures;
	pthread_t thread;
};

static uint64_t draw(struct worker *worker)
{
	worker->state ^= worker->state << 13;
	worker->state ^= worker->state >> 7;
	worker->state ^= worker->state << 17;
	return worker->state >> 11;
}

static size_t draw_size(struct worker *worker)
{
	/* Up to 128 KiB, with small ones as frequent as large ones. */
	size_t max = (size_t)1 << (6 + draw(worker) % 12);

	return 1 + draw(worker) % max;
}

/* Eight bytes at the start of each granule, and the last byte. */
static void write_stamp(const struct entry *entry)
{
	for (size_t at_byte = 0; at_byte + 8 <= entry->bytes; at_byte += 512)
		memcpy(entry->block + at_byte, &entry->stamp, 8);
	entry->block[entry->bytes - 1] = (unsigned char)entry->stamp;
}

static void verify_stamp(const struct entry *entry)
{
	uint64_t found;

	if (entry->block[entry->bytes - 1] != (unsigned char)entry->stamp)
		ck_abort_msg("the last byte of a block of %zu was overwritten", entry->bytes);
	for (size_t at_byte = 512; at_byte + 8 < entry->bytes; at_byte += 512) {
		memcpy(&found, entry->block + at_byte, 8);
		if (found != entry->stamp)
			ck_abort_msg("a block of %zu was overwritten at %zu", entry->bytes,
				     at_byte);
	}
}

static void dispose(struct worker *worker, struct entry *entry)
{
	enum mam_status status;

	if (entry == NULL)
		return;
	if (worker->arena->backed)
		verify_stamp(entry);
	status = mam_pool_free(worker->arena->pool, entry->block);
	if (status != MAM_OK)
		ck_abort_msg("a free returns %d", (int)status);
	worker->frees++;
	free(entry);
}

static void obtain(struct worker *worker)
{
	struct arena *arena = worker->arena;
	struct entry *entry = malloc(sizeof(*entry));
	size_t alignment = draw(worker) % 8 ? 0 : (size_t)1 << draw(worker) % 15;
	void *block = NULL;
	enum mam_status status;

	if (entry == NULL)
		ck_abort_msg("the test is out of host memory");
	entry->bytes = draw_size(worker);
	if (draw(worker) % 16 == 0)
		status = mam_pool_alloc_nowait(arena->pool, entry->bytes, alignment, &block);
	else
		status = mam_pool_alloc(arena->pool, entry->bytes, alignment, &block);
	if (status != MAM_OK) {
		if (status != MAM_ERROR_OUT_OF_MEMORY && status != MAM_ERROR_WOULD_WAIT)
			ck_abort_msg("a request returns %d", (int)status);
		worker->failures += status != MAM_ERROR_WOULD_WAIT;
		free(entry);
		return;
	}
	worker->allocs++;
	entry->block = block;
	entry->stamp = (uint64_t)(uintptr_t)entry * 0x9e3779b97f4a7c15u + worker->allocs;
	if (arena->backed)
		write_stamp(entry);
	dispose(worker, atomic_exchange(&arena->slot[draw(worker) % SLOTS], entry));
}

static bool count_bytes(const struct mam_segment_info *segment, void *user)
{
	*(uint64_t *)user += segment->bytes;
	return true;
}

static void look_on(struct worker *worker)
{
	struct mam_pool *pool = worker->arena->pool;
	struct mam_stats stats = { .size = sizeof(stats) };
	struct mam_segment_info info;
	uint64_t bytes = 0;
	char why[256] = "";
	int local = 0;

	switch (draw(worker) % 5) {
	case 0:
		if (mam_pool_trim(pool, draw(worker) % (4 * MIB), NULL) != MAM_OK)
			ck_abort_msg("a trim failed");
		break;
	case 1:
		if (mam_pool_stats(pool, &stats) != MAM_OK ||
		    stats.allocs - stats.frees != stats.live_blocks ||
		    stats.grows - stats.shrinks < stats.chunks ||
		    stats.live_bytes > stats.live_rounded_bytes ||
		    stats.live_rounded_bytes + stats.free_block_bytes > stats.reserved_bytes)
			ck_abort_msg("the statistics are inconsistent");
		break;
	case 2:
		if (mam_pool_walk(pool, count_bytes, &bytes) != MAM_OK || bytes % 512)
			ck_abort_msg("the walk failed");
		break;
	case 3:
		if (mam_pool_check(pool, why, sizeof(why)) != MAM_OK)
			ck_abort_msg("%s", why);
		break;
	default:
		if (mam_pool_find(pool, &local, &info) != MAM_ERROR_NOT_OWNED ||
		    mam_pool_free(pool, &local) != MAM_ERROR_NOT_OWNED)
			ck_abort_msg("the pool owns a thread's stack");
	}
}

static void *work(void *user)
{
	struct worker *worker = user;

	for (unsigned i = 0; i < OPERATIONS; i++) {
		if (draw(worker) % 3)
			obtain(worker);
		else
			dispose(worker,
				atomic_exchange(&worker->arena->slot[draw(worker) % SLOTS], NULL));
		if (draw(worker) % 256 == 0)
			look_on(worker);
	}
	return NULL;
}

static void run(struct mam_pool *pool, bool backed)
{
	static struct arena arena;
	static struct worker workers[THREADS];
	struct mam_stats stats = { .size = sizeof(stats) };
	uint64_t allocs = 0, frees = 0, failures = 0;
	char why[256] = "";

	memset(&arena, 0, sizeof(arena));
	arena.pool = pool;
	arena.backed = backed;
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] =
			(struct worker){ .arena = &arena, .state = 0x2545f4914f6cdd1du * (i + 1) };
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
	for (unsigned i = 0; i < SLOTS; i++)
		dispose(&workers[0], atomic_exchange(&arena.slot[i], NULL));
	for (unsigned i = 0; i < THREADS; i++) {
		allocs += workers[i].allocs;
		frees += workers[i].frees;
		failures += workers[i].failures;
	}
	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_eq(allocs, frees);
	ck_assert_uint_gt(allocs, THREADS * OPERATIONS / 3);
	ck_assert_uint_eq(stats.allocs, allocs);
	ck_assert_uint_eq(stats.frees, frees);
	ck_assert_uint_eq(stats.failures, failures);
	ck_assert_uint_eq(stats.live_blocks + stats.live_bytes + stats.live_rounded_bytes, 0);
	ck_assert_uint_eq(stats.segments, stats.chunks);
	ck_assert_uint_eq(stats.chunks, stats.grows - stats.shrinks);
	ck_assert_msg(mam_pool_check(pool, why, sizeof(why)) == MAM_OK, "%s", why);
}

static void run_on(struct mam_source *source, const struct mam_pool_config *config, bool backed)
{
	struct mam_pool *pool = calloc(1, sizeof(*pool));

	ck_assert_int_eq(mam_pool_init(pool, source, false, config), MAM_OK);
	run(pool, backed);
	ck_assert_int_eq(mam_pool_fini(pool), MAM_OK);
	free(pool);
}

/* Plenty of memory in one chunk; growth chunk by chunk; and a limit that is often reached. */
static const struct mam_pool_config configs[] = {
	{ .chunk_bytes = 64 * MIB, .growth_bytes = MAM_GROWTH_NONE },
	{ .growth_bytes = 256 * KIB },
	{ .growth_bytes = 256 * KIB, .limit_bytes = 2 * MIB },
};

#define CONFIGS ((int)(sizeof(configs) / sizeof(configs[0])))

START_TEST(threads_share_pool_of_addresses)
{
	struct mam_source *source;

	ck_assert_int_eq(mam_source_host(0, false, &source), MAM_OK);
	run_on(source, &configs[_i], false);
	mam_source_destroy(source);
}
END_TEST

START_TEST(threads_share_pool_of_stamped_memory)
{
	struct mam_source *source;

	ck_assert_int_eq(mam_source_host(128 * MIB, true, &source), MAM_OK);
	run_on(source, &configs[_i], true);
	mam_source_destroy(source);
}
END_TEST

START_TEST(threads_survive_refusing_source)
{
	struct fixture *f = fixture_on(&configs[2], SPACE_SCATTERED, 4096, 4096, MIB + 512 * KIB);

	run(f->pool, false);
	fixture_end(f); /* the source would have reported two threads inside grow or shrink */
}
END_TEST

static void *until_the_end(void *user)
{
	struct mam_pool *pool = user;
	enum mam_status status = MAM_OK;
	void *block;

	while (status != MAM_ERROR_DESTROYED) {
		status = mam_pool_alloc(pool, 100 * KIB, 0, &block);
		if (status == MAM_OK)
			status = mam_pool_free(pool, block);
		if (status != MAM_OK && status != MAM_ERROR_OUT_OF_MEMORY &&
		    status != MAM_ERROR_DESTROYED)
			ck_abort_msg("a call around the pool's end returns %d", (int)status);
	}
	return NULL;
}

START_TEST(calls_return_destroyed_when_pool_ends)
{
	for (unsigned round = 0; round < 30; round++) {
		struct mam_pool *pool = calloc(1, sizeof(*pool));
		struct mam_source *source;
		pthread_t users[4];
		enum mam_status status = MAM_ERROR_LIVE_BLOCKS;

		ck_assert_int_eq(mam_source_host(0, false, &source), MAM_OK);
		ck_assert_int_eq(mam_pool_init(pool, source, false, &configs[2]), MAM_OK);
		for (unsigned i = 0; i < 4; i++)
			ck_assert_int_eq(pthread_create(&users[i], NULL, until_the_end, pool), 0);
		for (unsigned tries = 0; status == MAM_ERROR_LIVE_BLOCKS; tries++)
			status = tries < 200 ? mam_pool_fini(pool) : mam_pool_drop(pool);
		ck_assert_int_eq(status, MAM_OK);
		for (unsigned i = 0; i < 4; i++)
			pthread_join(users[i], NULL);
		mam_source_destroy(source);
		free(pool);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("stress/threads");

	tcase_set_timeout(tcase, 300);
	tcase_add_loop_test(tcase, threads_share_pool_of_addresses, 0, CONFIGS);
	tcase_add_loop_test(tcase, threads_share_pool_of_stamped_memory, 0, CONFIGS);
	tcase_add_test(tcase, threads_survive_refusing_source);
	tcase_add_test(tcase, calls_return_destroyed_when_pool_ends);
	return suite_end();
}
