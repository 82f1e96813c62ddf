/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shape.c - blocks and grids of three extents: each lane has the same coordinates as in CUDA,
 * even if only some threads of a block run the kernel; and a search uses all shapes.
 */
#include <stdlib.h>
#include <string.h>

#include "device/port.h"
#include "simt/explore.h"
#include "simt/suite.h"

#define BLOCKS 12
#define THREADS 1024

struct seen {
	uint32_t lanes[BLOCKS]; /* of each block that ran; atomic */
	bool once[BLOCKS][THREADS];
	uint32_t block_dims[3], grid_dims[3], first; /* expected values */
};

static struct seen seen;

/* Numbers follow from coordinates, x fastest, and lanes and warps from numbers. */
MAM_KERNEL(looks)
{
	uint32_t thread = mam_thread(), block = mam_block(), i;

	(void)argument;
	for (i = 0; i < 3; i++) {
		MAM_KASSERT(simt_block_dim(i) == seen.block_dims[i]);
		MAM_KASSERT(simt_grid_dim(i) == seen.grid_dims[i]);
		MAM_KASSERT(simt_thread_at(i) < seen.block_dims[i]);
		MAM_KASSERT(simt_block_at(i) < seen.grid_dims[i]);
	}
	MAM_KASSERT(block == simt_block() && block < BLOCKS);
	MAM_KASSERT(thread == seen.first + simt_thread() && thread < THREADS);
	MAM_KASSERT(mam_lane() == thread % SIMT_WARP);
	MAM_KASSERT(mam_block_leader() == (thread == 0));
	MAM_KASSERT(!seen.once[block][thread]);
	seen.once[block][thread] = true;
	(void)mam_atomic_add32(&seen.lanes[block], 1, MAM_RELAXED, MAM_AT_DEVICE);
	mam_syncthreads();
	MAM_KASSERT(mam_atomic_load32(&seen.lanes[block], MAM_RELAXED, MAM_AT_DEVICE) ==
		    simt_block_threads());
	MAM_KASSERT(mam_block_threads() >= simt_block_threads());
	MAM_KASSERT(mam_grid_blocks() == simt_grid_blocks());
}

static const struct {
	struct simt_dims block, grid; /* the requested extents */
	bool whole;
	uint32_t lanes, blocks;
	/* The expected extents; 0: the launch is invalid. */
	uint32_t block_dims[3], grid_dims[3], first;
} rows[] = {
	{ { 0, 0, 0 }, { 0, 0, 0 }, false, 40, 12, { 40, 1, 1 }, { 12, 1, 1 }, 0 },
	{ { 48, 4, 1 }, { 1, 0, 0 }, false, 40, 12, { 48, 4, 1 }, { 1, 12, 1 }, 32 },
	{ { 16, 16, 1 }, { 1, 1, 0 }, false, 224, 3, { 16, 16, 1 }, { 1, 1, 3 }, 32 },
	{ { 16, 16, 1 }, { 3, 2, 2 }, false, 225, 12, { 16, 16, 1 }, { 3, 2, 2 }, 0 },
	{ { 16, 16, 1 }, { 3, 2, 0 }, false, 257, 12, { 16, 16, 2 }, { 3, 2, 2 }, 32 },
	{ { 48, 4, 1 }, { 0, 0, 0 }, true, 96, 2, { 48, 2, 1 }, { 2, 1, 1 }, 0 },
	{ { 48, 4, 1 }, { 0, 0, 0 }, true, 40, 2, { 20, 2, 1 }, { 2, 1, 1 }, 0 },
	{ { 16, 16, 1 }, { 0, 0, 0 }, true, 7, 2, { 1, 7, 1 }, { 2, 1, 1 }, 0 },
	{ { 16, 16, 1 }, { 0, 0, 0 }, true, 1, 1, { 1, 1, 1 }, { 1, 1, 1 }, 0 },
	{ { 8, 4, 4 }, { 0, 0, 0 }, false, 128, 1, { 8, 4, 4 }, { 1, 1, 1 }, 0 },
	{ { 48, 4, 1 }, { 5, 0, 0 }, false, 40, 12, { 0 }, { 0 }, 0 },
	{ { 48, 4, 1 }, { 2, 2, 2 }, false, 40, 12, { 0 }, { 0 }, 0 },
	{ { 48, 4, 1 }, { 0, 0, 0 }, false, 1000, 1, { 0 }, { 0 }, 0 },
	{ { 64, 0, 0 }, { 0, 0, 0 }, false, 40, 1, { 0 }, { 0 }, 0 },
	{ { 0, 0, 0 }, { 0, 0, 0 }, true, 0, 1, { 0 }, { 0 }, 0 },
};

START_TEST(coordinates_match_cuda)
{
	struct simt_config config = { .seed = 1,
				      .block = rows[_i].block,
				      .grid = rows[_i].grid,
				      .whole = rows[_i].whole,
				      .strict = true };
	struct simt_result result;
	enum simt_verdict verdict;

	memset(&seen, 0, sizeof(seen));
	memcpy(seen.block_dims, rows[_i].block_dims, sizeof(seen.block_dims));
	memcpy(seen.grid_dims, rows[_i].grid_dims, sizeof(seen.grid_dims));
	seen.first = rows[_i].first;
	verdict = simt_launch(&config, looks, rows[_i].blocks, rows[_i].lanes, NULL, &result);
	if (!seen.block_dims[0]) {
		ck_assert_int_eq(verdict, SIMT_NO_MEMORY);
		return;
	}
	ck_assert_msg(verdict == SIMT_FINE, "%s", result.text);
	for (uint32_t i = 0; i < rows[_i].blocks; i++)
		ck_assert_uint_eq(seen.lanes[i], rows[_i].lanes);
}
END_TEST

/* One bit per block width. */
MAM_KERNEL(notes)
{
	(void)mam_atomic_or64(argument, (uint64_t)1 << mam_block_dim_x(), MAM_RELAXED,
			      MAM_AT_DEVICE);
}

START_TEST(search_uses_all_shapes)
{
	const uint64_t all = (uint64_t)1 << 5 | (uint64_t)1 << 48 | (uint64_t)1 << 16;
	uint64_t widths = 0;
	struct simt_case test = { .name = "shapes",
				  .kernel = notes,
				  .grid = 2,
				  .block = 5,
				  .argument = &widths,
				  .seeds = 1 };
	struct simt_search search;

	unsetenv("SIMT_SHAPE");
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(search.schedules, SIMT_POLICIES);
	ck_assert_uint_eq(widths, all);
	/* A single policy uses all of them through its seeds. */
	test.policies = 1u << SIMT_BY_WARP;
	widths = 0;
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(search.schedules, SIMT_SHAPES);
	ck_assert_uint_eq(widths, all);
	/* A case or the environment may select the shape. */
	test.config.block = (struct simt_dims){ 7, 2, 1 };
	widths = 0;
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(widths, (uint64_t)1 << 7);
	test.config.block.x = 0;
	setenv("SIMT_SHAPE", "16x16", 1);
	widths = 0;
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(widths, (uint64_t)1 << 16);
	setenv("SIMT_SHAPE", "round", 1);
	widths = 0;
	ck_assert(simt_explore(&test, &search));
	ck_assert_uint_eq(widths, all);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("shape");

	tcase_add_loop_test(tcase, coordinates_match_cuda, 0,
			    (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_test(tcase, search_uses_all_shapes);
	return simt_run_case(tcase, "simt/shape");
}
