/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operations on the pool and on the oracle in parallel.
 *
 * Each row of the table below is a kind of pool. Each is driven by the same mix of requests,
 * aligned requests, frees, invalid frees, trims and refusals of the source. After every step, all
 * invariants, counters and segments are compared (oracle_compare). Seeds 1 to 3 are fixed; one more
 * is new in each run and is printed:
 *
 *     MAM_TEST_SEED=N tests/pool/test_random    runs that seed only
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "fixture.h"
#include "oracle.h"

#define FIXED_SEEDS 3

struct kind {
	const char *name;
	struct mam_pool_config config;
	enum space_layout layout;
	size_t granularity;
	size_t alignment;
	size_t total_bytes; /* of the source; 0: no bound */
	size_t max_bytes;   /* of a request */
	unsigned live;      /* number of blocks at which frees and requests are equally likely */
	unsigned steps;
};

/* clang-format off */
static const struct kind kinds[] = {
	{ "one chunk", { .chunk_bytes = 512 * KIB, .growth_bytes = MAM_GROWTH_NONE },
	  SPACE_UP, 512, 512, 0, 24 * KIB, 60, 2500 },
	{ "one chunk of few sizes", { .chunk_bytes = 256 * KIB, .growth_bytes = MAM_GROWTH_NONE },
	  SPACE_UP, 512, 512, 0, 2 * KIB, 150, 2500 },
	{ "one chunk, large blocks", { .chunk_bytes = 256 * KIB, .growth_bytes = MAM_GROWTH_NONE },
	  SPACE_UP, 512, 512, 0, 100 * KIB, 6, 1500 },
	{ "chunks that touch upward", { .chunk_bytes = 16 * KIB, .growth_bytes = 16 * KIB },
	  SPACE_UP, 4096, 4096, 0, 12 * KIB, 50, 2500 },
	{ "chunks that touch downward", { .growth_bytes = 16 * KIB },
	  SPACE_DOWN, 4096, 4096, 0, 12 * KIB, 50, 2500 },
	{ "scattered chunks", { .growth_bytes = 16 * KIB },
	  SPACE_SCATTERED, 4096, 65536, 0, 40 * KIB, 40, 2500 },
	{ "a limit",
	  { .chunk_bytes = 20 * KIB, .growth_bytes = 32 * KIB, .limit_bytes = 150 * KIB },
	  SPACE_SCATTERED, 4096, 4096, 0, 24 * KIB, 30, 2500 },
	{ "source with little memory", { .growth_bytes = 64 * KIB },
	  SPACE_UP, 4096, 4096, 200 * KIB, 24 * KIB, 30, 2500 },
	{ "granule 16", { .chunk_bytes = 8 * KIB, .growth_bytes = 8 * KIB, .granule = 16 },
	  SPACE_DOWN, 64, 16, 0, 1 * KIB, 60, 2500 },
	{ "sizes around the last bin",
	  { .chunk_bytes = 96 * KIB, .growth_bytes = MAM_GROWTH_NONE, .granule = 16 },
	  SPACE_UP, 64, 16, 0, 10 * KIB, 16, 2500 },
	{ "granule 64 KiB, chunk sizes not multiples",
	  { .growth_bytes = 1 * MIB + 4096, .granule = 64 * KIB },
	  SPACE_SCATTERED, 4096, 64 * KIB, 0, 400 * KIB, 20, 1500 },
	{ "granule 2 MiB",
	  { .chunk_bytes = 64 * MIB, .granule = 2 * MIB, .limit_bytes = 512 * MIB },
	  SPACE_UP, 2 * MIB, 2 * MIB, 0, 20 * MIB, 15, 1500 },
	{ "chunks with one block each", { .growth_bytes = 512 },
	  SPACE_UP, 512, 512, 0, 1536, 30, 2000 },
	{ "default growth", { .granule = 64 * KIB },
	  SPACE_SCATTERED, 2 * MIB, 2 * MIB, 0, 30 * MIB, 15, 800 },
};
/* clang-format on */

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static uint64_t fresh_seed;

struct run {
	const struct kind *kind;
	struct fixture *fixture;
	struct oracle oracle;
	uint64_t state;
	uintptr_t freed[16]; /* addresses of recently freed blocks: candidates for double frees */
};

/* xorshift64*: G. Marsaglia, "Xorshift RNGs", 2003; S. Vigna, 2014. */
static uint64_t draw(struct run *run)
{
	run->state ^= run->state >> 12;
	run->state ^= run->state << 25;
	run->state ^= run->state >> 27;
	return run->state * 0x2545f4914f6cdd1du;
}

static size_t draw_below(struct run *run, size_t bound)
{
	return (size_t)((draw(run) >> 20) % bound);
}

/*
 * Small sizes often, large ones rarely; includes multiples of the granule and sizes just beside
 * them.
 */
static size_t draw_size(struct run *run)
{
	size_t granule = run->oracle.granule, max = run->kind->max_bytes;
	size_t bytes = draw_below(run, 4) ? draw_below(run, max / 4) : draw_below(run, max);

	if (draw_below(run, 3) == 0) {
		bytes = bytes / granule * granule + draw_below(run, 3);
		bytes = bytes ? bytes - 1 : 0;
	}
	return bytes ? bytes : 1;
}

static void request(struct run *run, size_t bytes, size_t alignment)
{
	void *untouched = run, *block = untouched;
	enum mam_status status = mam_pool_alloc(run->fixture->pool, bytes, alignment, &block);

	oracle_sync(&run->oracle, &run->fixture->space);
	if (status == MAM_OK) {
		oracle_alloc(&run->oracle, bytes, alignment, block);
		return;
	}
	ck_assert_int_eq(status, MAM_ERROR_OUT_OF_MEMORY);
	ck_assert_ptr_eq(block, untouched);
	run->oracle.now.failures++;
	oracle_refused(&run->oracle, bytes, alignment);
}

static void request_nowait(struct run *run, size_t bytes, size_t alignment)
{
	void *untouched = run, *block = untouched;
	enum mam_status status;

	atomic_store(&run->fixture->space.forbidden, true);
	status = mam_pool_alloc_nowait(run->fixture->pool, bytes, alignment, &block);
	atomic_store(&run->fixture->space.forbidden, false);
	if (status == MAM_OK) {
		oracle_alloc(&run->oracle, bytes, alignment, block);
		return;
	}
	ck_assert_int_eq(status, MAM_ERROR_WOULD_WAIT);
	ck_assert_ptr_eq(block, untouched);
	oracle_refused(&run->oracle, bytes, alignment);
}

static void release(struct run *run, uintptr_t address)
{
	enum mam_status expected = oracle_free(&run->oracle, address);
	enum mam_status status = mam_pool_free(run->fixture->pool, (void *)address);

	ck_assert_msg(status == expected, "step %llu: free of %p returns %d, expected %d",
		      (unsigned long long)run->oracle.step, (void *)address, (int)status,
		      (int)expected);
	if (status == MAM_OK)
		run->freed[draw_below(run, 16)] = address;
}

static void release_live(struct run *run)
{
	const struct oracle_block *block = oracle_pick(&run->oracle, draw(run));

	if (block)
		release(run, block->base);
}

static void release_wrongly(struct run *run)
{
	const struct oracle_block *block = oracle_pick(&run->oracle, draw(run));

	switch (draw_below(run, 4)) {
	case 0: /* freed recently; may now be part of another block, or live again */
		if (run->freed[draw_below(run, 16)])
			release(run, run->freed[draw_below(run, 16)]);
		return;
	case 1: /* anywhere in a block, rarely its start */
		if (block)
			release(run, block->base + draw_below(run, block->granules *
									   run->oracle.granule));
		return;
	case 2: /* just beside a chunk */
		if (run->oracle.chunks) {
			const struct oracle_chunk *chunk =
				&run->oracle.chunk[draw_below(run, run->oracle.chunks)];
			bool above = draw_below(run, 2);

			release(run, above ? chunk->base + chunk->granules * run->oracle.granule
					   : chunk->base - 1);
		}
		return;
	default: /* anywhere */ release(run, draw_below(run, 2) ? 1 : (uintptr_t)draw(run));
	}
}

static void trim(struct run *run)
{
	size_t held = run->fixture->space.held_bytes,
	       keep = draw_below(run, 2) ? 0 : draw_below(run, held + 1);
	size_t released = 77;
	enum mam_status status;

	if (draw_below(run, 4) == 0)
		space_refuse(&run->fixture->space, SPACE_SHRINK, 1 + draw_below(run, 3), 1,
			     MAM_ERROR_DRIVER);
	run->fixture->space.kept = 0;
	status = mam_pool_trim(run->fixture->pool, keep, &released);
	space_refuse_none(&run->fixture->space);
	oracle_sync(&run->oracle, &run->fixture->space);
	if (run->fixture->space.kept) {
		/*
		 * A partial success before the refusal is a success; otherwise the source's status
		 * is returned.
		 */
		ck_assert_int_eq(status, held == run->fixture->space.held_bytes ? MAM_ERROR_DRIVER
										: MAM_OK);
		oracle_put_back(&run->oracle, run->fixture->space.kept);
		return;
	}
	ck_assert_int_eq(status, MAM_OK);
	oracle_trimmed(&run->oracle, keep);
	ck_assert_uint_eq(released, held - run->fixture->space.held_bytes);
}

/* The source refuses the next grow and perhaps some after it. */
static void request_while_refused(struct run *run)
{
	space_refuse(&run->fixture->space, SPACE_GROW, 1, 1 + draw_below(run, 8),
		     MAM_ERROR_OUT_OF_MEMORY);
	request(run, draw_size(run), 0);
	space_refuse_none(&run->fixture->space);
}

static void step(struct run *run)
{
	size_t dice = draw_below(run, 100);
	/* Rises with the number of live blocks, which keeps it near the middle. */
	size_t push = run->oracle.now.live_blocks * 38 / run->kind->live;

	if (dice < 2)
		trim(run);
	else if (dice < 4)
		release_wrongly(run);
	else if (dice < 5)
		request_while_refused(run);
	else if (dice < 8)
		request_nowait(run, draw_size(run),
			       draw_below(run, 2) ? 0 : (size_t)1 << draw_below(run, 15));
	else if (dice < 8 + (push < 76 ? push : 76))
		release_live(run);
	else if (dice % 6 == 0)
		request(run, draw_size(run), (size_t)1 << draw_below(run, 18));
	else
		request(run, draw_size(run), 0);
}

static void drive(const struct kind *kind, uint64_t seed)
{
	struct run run = { .kind = kind, .state = seed * 0x9e3779b97f4a7c15u + 1 };
	size_t granule = kind->config.granule ? kind->config.granule : 512;

	run.fixture = fixture_on(&kind->config, kind->layout, kind->granularity, kind->alignment,
				 kind->total_bytes);
	oracle_init(&run.oracle, granule);
	oracle_sync(&run.oracle, &run.fixture->space);
	for (unsigned i = 0; i < kind->steps; i++) {
		step(&run);
		oracle_compare(&run.oracle, run.fixture->pool);
	}
	/* Free everything in random order: one free segment per chunk is left. */
	while (run.oracle.now.live_blocks) {
		release_live(&run);
		oracle_compare(&run.oracle, run.fixture->pool);
	}
	ck_assert_uint_eq(stats_of(run.fixture).segments, run.oracle.chunks);
	oracle_fini(&run.oracle);
	fixture_end(run.fixture);
}

START_TEST(fixed_seeds_match_oracle)
{
	drive(&kinds[(size_t)_i % KINDS], (uint64_t)_i / KINDS + 1);
}
END_TEST

START_TEST(new_seed_matches_oracle)
{
	printf("test_random: %s: seed %llu: rerun with MAM_TEST_SEED=%llu\n", kinds[_i].name,
	       (unsigned long long)fresh_seed, (unsigned long long)fresh_seed);
	fflush(stdout);
	drive(&kinds[_i], fresh_seed);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/random");
	const char *given = getenv("MAM_TEST_SEED");

	fresh_seed =
		given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL) * 1000003u % 1000000000u;
	if (given == NULL)
		tcase_add_loop_test(tcase, fixed_seeds_match_oracle, 0, (int)KINDS * FIXED_SEEDS);
	tcase_add_loop_test(tcase, new_seed_matches_oracle, 0, (int)KINDS);
	return suite_end();
}
