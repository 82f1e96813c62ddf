/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random calls in the order of several streams, by one thread: allocations and frees with and
 * without a stream, trims, releases, and streams that are destroyed and replaced by one with the
 * same handle.
 *
 * The test records each piece of work with its stream and the time at which it ends. If a block is
 * allocated in a stream, only work of that stream may be unfinished on it; on any other block,
 * none.
 */
#include "scene.h"

#define BLOCKS 300
#define STREAMS 6 /* the last one is the legacy stream */
#define LEGACY (STREAMS - 1)
#define WORKS 8192
#define STEPS 6000

struct work {
	char *from, *to;
	unsigned long long stream; /* its id, which no other stream has */
	uint64_t due;
};

struct block {
	char *base;
	size_t bytes;
	unsigned stream;
};

static struct program {
	struct scene *s;
	unsigned seed;
	struct CUstream_st *stream[STREAMS];
	struct block block[BLOCKS];
	struct work work[WORKS];
	unsigned works;
} program;

static unsigned draw(unsigned below)
{
	program.seed = program.seed * 1664525u + 1013904223u;
	return (program.seed >> 8) % below;
}

static void forget_finished_work(void)
{
	uint64_t now = program.s->cuda.fake_clock();
	unsigned kept = 0;

	for (unsigned i = 0; i < program.works; i++)
		if (program.work[i].due > now)
			program.work[kept++] = program.work[i];
	program.works = kept;
}

/* Returns the id of the stream. */
static unsigned long long use(const struct block *block)
{
	struct work *work = &program.work[program.works];

	if (program.works == WORKS) {
		ck_assert_int_eq(program.s->cuda.cuCtxSynchronize(), CUDA_SUCCESS);
		forget_finished_work();
		work = &program.work[program.works];
	}
	program.works++;
	work->from = block->base;
	work->to = block->base + block->bytes;
	ck_assert_int_eq(program.s->cuda.fake_use((uintptr_t)block->base, block->bytes,
						  program.stream[block->stream], &work->stream,
						  &work->due),
			 CUDA_SUCCESS);
	return work->stream;
}

/* The block is new. `ordered`: it was allocated in its stream. */
static void check_new(const struct block *block, bool ordered)
{
	unsigned before;
	unsigned long long stream;

	forget_finished_work();
	before = program.works;
	stream = use(block);
	for (unsigned i = 0; i < before && i < program.works; i++) {
		const struct work *work = &program.work[i];

		if (work->to <= block->base || block->base + block->bytes <= work->from)
			continue;
		ck_assert_msg(ordered && work->stream == stream,
			      "a block has unfinished work of stream %llu", work->stream);
	}
}

static size_t draw_bytes(void)
{
	switch (draw(4)) {
	case 0: return 1 + draw(24u << 20);
	case 1: return 1 + draw(2u << 20);
	default: return 1 + draw(1u << 16);
	}
}

static void allocate(struct block *block)
{
	bool ordered = draw(10) < 7;
	void *base = NULL;
	enum mam_status status;

	block->bytes = draw_bytes();
	block->stream = draw(STREAMS);
	if (ordered)
		status = mam_malloc_async(program.s->pool, block->bytes,
					  program.stream[block->stream], &base);
	else
		status = mam_malloc(program.s->pool, block->bytes, &base);
	ck_assert(status == MAM_OK || status == MAM_ERROR_OUT_OF_MEMORY);
	block->base = base;
	if (status == MAM_OK)
		check_new(block, ordered);
}

static void release(struct block *block)
{
	if (draw(10) < 8) {
		dealloc(program.s, block->base, program.stream[block->stream]);
	} else {
		ck_assert_int_eq(program.s->cuda.cuCtxSynchronize(), CUDA_SUCCESS);
		ck_assert_int_eq(mam_free(program.s->pool, block->base), MAM_OK);
	}
	block->base = NULL;
}

/* Its successor has the same handle. From now on the legacy stream uses its blocks. */
static void replace_stream(unsigned at)
{
	for (unsigned i = 0; i < BLOCKS; i++)
		if (program.block[i].stream == at)
			program.block[i].stream = LEGACY;
	finish(program.s, program.stream[at]);
	stream_end(program.s, program.stream[at]);
	program.stream[at] = stream_new(program.s);
}

static void step(void)
{
	struct block *block = &program.block[draw(BLOCKS)];

	if (block->base == NULL)
		allocate(block);
	else
		release(block);
	if (draw(500) == 0)
		replace_stream(draw(LEGACY));
	if (draw(700) == 0)
		ck_assert_int_eq(mam_pool_trim(program.s->pool, 0, NULL), MAM_OK);
	if (draw(300) == 0)
		ck_assert_int_eq(mam_stream_release(program.s->pool, program.stream[draw(STREAMS)]),
				 MAM_OK);
	if (draw(100) == 0)
		intact(program.s);
}

#define SEEDS 3

START_TEST(no_block_has_unfinished_work_of_other_stream)
{
	static const struct {
		const char *source;
		size_t spare_bytes, limit_bytes;
		enum mam_cache_mode cache;
	} pools[] = {
		{ "vmm", 0, 0, MAM_CACHE_OFF },
		{ "vmm", 64 * MIB, 640 * MIB, MAM_CACHE_OFF },
		{ "cudamalloc", 0, 0, MAM_CACHE_OFF },
		{ "cudamalloc", 64 * MIB, 640 * MIB, MAM_CACHE_OFF },
		{ "vmm", 64 * MIB, 640 * MIB, MAM_CACHE_ON },
		{ "cudamalloc", 0, 0, MAM_CACHE_ON },
	};
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;

	setenv("FAKE_CUDA_MEMORY", "4G", 1);
	setenv("FAKE_CUDA_LAG_US", "20", 1);
	setenv("FAKE_CUDA_LAG_RANDOM", "7", 1);
	setenv("FAKE_CUDA_CLOCK_NS", "1000", 1);
	unsetenv("FAKE_CUDA_LOG");
	attr.source = pools[_i / SEEDS].source;
	attr.spare_bytes = pools[_i / SEEDS].spare_bytes;
	attr.limit_bytes = pools[_i / SEEDS].limit_bytes;
	attr.free_policy = MAM_FREE_STREAM;
	attr.cache = pools[_i / SEEDS].cache;
	program.s = scene_with(&attr);
	program.seed = (unsigned)_i % SEEDS + 1;
	for (unsigned i = 0; i < LEGACY; i++)
		program.stream[i] = stream_new(program.s);
	for (unsigned i = 0; i < STEPS; i++)
		step();
	for (unsigned i = 0; i < BLOCKS; i++)
		if (program.block[i].base != NULL)
			release(&program.block[i]);
	ck_assert_int_eq(mam_pool_trim(program.s->pool, 0, NULL), MAM_OK);
	ck_assert_uint_eq(stats_of(program.s).retired_bytes, 0);
	scene_end(program.s);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_loop_test(tests, no_block_has_unfinished_work_of_other_stream, 0, 6 * SEEDS);
}

int main(void)
{
	return suite_run("stream/random", add);
}
