/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam_pool_check detects each kind of corruption.
 *
 * All other tests rely on the check, so this test verifies it: one pool per row, with one
 * corruption. The check must return CORRUPT with a message about it, and must not crash.
 */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "index/addrtree.h"
#include "index/freelists.h"

/*
 * The victim, in granules:   chunk 1: L1 F2 L1 F2 L1 F1    chunk 2 (newest): L3 F5 Two free blocks
 * of 2, a free end of 1, and the tail. The pointers below are to their records.
 */
struct victim {
	struct fixture *f;
	struct mam_pool *pool;
	struct mam_segment *live, *free_block, *equal, *end, *tail;
	struct mam_chunk *old, *newest;
	uint32_t live_handle, free_handle;
};

static uint32_t handle_at(struct mam_pool *pool, void *address)
{
	uint32_t handle = mam_addrtree_find(&pool->segments, pool->by_address, (uintptr_t)address);

	ck_assert_uint_ne(handle, 0);
	return handle;
}

static void build(struct victim *v)
{
	static const struct mam_pool_config config = { .growth_bytes = 4096 };
	void *block[7];

	v->f = fixture_on(&config, SPACE_UP, 4096, 4096, 0);
	v->pool = v->f->pool;
	block[0] = alloc(v->f, 512);
	block[1] = alloc(v->f, 1024);
	block[2] = alloc(v->f, 512);
	block[3] = alloc(v->f, 1024);
	block[4] = alloc(v->f, 512);
	block[5] = alloc(v->f, 3 * 512);
	alloc(v->f, 3 * 512);
	alloc(v->f, 512); /* the smallest free block is the old chunk's end: best fit uses it */
	ck_assert_picture(v->f, 512, "L1 L2 L1 L2 L1 L1 | L3 L3 F2");
	dealloc(v->f, at(block[4], 512));
	alloc(v->f, 1024);
	ck_assert_picture(v->f, 512, "L1 L2 L1 L2 L1 F1 | L3 L3 L2");
	dealloc(v->f, at(block[5], 6 * 512));
	dealloc(v->f, at(block[5], 3 * 512));
	dealloc(v->f, block[1]);
	dealloc(v->f, block[3]);
	ck_assert_picture(v->f, 512, "L1 F2 L1 F2 L1 F1 | L3 F5");
	v->live_handle = handle_at(v->pool, block[2]);
	v->free_handle = handle_at(v->pool, block[1]);
	v->live = mam_segment_at(&v->pool->segments, v->live_handle);
	v->free_block = mam_segment_at(&v->pool->segments, v->free_handle);
	v->equal = mam_segment_at(&v->pool->segments, handle_at(v->pool, block[3]));
	v->end = mam_segment_at(&v->pool->segments, handle_at(v->pool, at(block[4], 512)));
	v->tail = mam_segment_at(&v->pool->segments, v->pool->tail);
	v->newest = mam_chunk_at(&v->pool->chunks, v->pool->newest_chunk);
	v->old = mam_chunk_at(&v->pool->chunks, v->newest->older);
}

/* clang-format off */
static void segment_too_long(struct victim *v) { v->live->bytes += 512; }
static void segment_too_short(struct victim *v) { v->free_block->bytes -= 512; }
static void segment_empty(struct victim *v) { v->live->bytes = 0; }
static void base_not_granule_aligned(struct victim *v) { v->live->base += 8; }
static void segment_moved(struct victim *v) { v->live->base += 512; }
static void wrong_prev(struct victim *v) { v->live->prev = v->live_handle; }
static void wrong_next(struct victim *v) { v->live->next = v->live_handle; }
static void list_cut(struct victim *v) { v->live->next = 0; }
static void wrong_chunk(struct victim *v) { v->live->chunk = v->pool->newest_chunk; }
static void block_marked_free(struct victim *v) { v->live->state = MAM_SEGMENT_FREE; }
static void free_block_marked_live(struct victim *v) { v->free_block->state = MAM_SEGMENT_LIVE; }
static void record_marked_idle(struct victim *v) { v->live->state = MAM_SEGMENT_IDLE; }
static void requested_is_zero(struct victim *v) { v->live->requested = 0; }
static void requested_exceeds_bytes(struct victim *v) { v->live->requested = v->live->bytes + 1; }
static void tail_lost(struct victim *v) { v->pool->tail = 0; }
static void tail_is_other_free_block(struct victim *v) { v->pool->tail = v->free_handle; }
static void tail_in_freelists(struct victim *v)
{
	mam_freelists_insert(&v->pool->freelists, &v->pool->segments, v->pool->tail);
}
static void free_block_not_in_freelists(struct victim *v)
{
	mam_freelists_remove(&v->pool->freelists, &v->pool->segments, v->free_handle);
}
static void live_block_in_freelists(struct victim *v)
{
	struct mam_segment kept = *v->live;

	mam_freelists_insert(&v->pool->freelists, &v->pool->segments, v->live_handle);
	(void)kept;
}
static void list_of_equals_broken(struct victim *v)
{
	v->equal->peer_prev = 0;
	v->free_block->peer_prev = 0;
	v->free_block->peer_next = 0;
}
static void segment_not_in_address_tree(struct victim *v)
{
	mam_addrtree_remove(&v->pool->segments, &v->pool->by_address, v->free_handle);
}
static void free_neighbors_not_merged(struct victim *v)
{
	/* A free that did not merge, although it updated every counter. */
	ck_assert_uint_ne(
		mam_blockmap_take(&v->pool->blocks, &v->pool->segments, v->live->base), 0);
	v->pool->counts.live_blocks--;
	v->pool->counts.live_bytes -= v->live->requested;
	v->pool->counts.live_rounded_bytes -= v->live->bytes;
	v->pool->counts.frees++;
	v->old->live_blocks--;
	v->live->state = MAM_SEGMENT_FREE;
	mam_freelists_insert(&v->pool->freelists, &v->pool->segments, v->live_handle);
}
static void high_mark_too_low(struct victim *v)
{
	v->pool->high_bytes -= v->old->high - 512;
	v->old->high = 512;
}
static void high_mark_above_chunk(struct victim *v)
{
	v->pool->high_bytes += 8192;
	v->pool->counts.high_water_bytes += 8192;
	v->old->high += 8192;
}
static void wrong_sum_of_high_marks(struct victim *v) { v->pool->high_bytes += 512; }
static void wrong_last_segment(struct victim *v) { v->old->last = v->free_handle; }
static void wrong_count_in_chunk(struct victim *v) { v->old->live_blocks++; }
static void chunk_too_long(struct victim *v) { v->old->bytes += 4096; }
static void list_of_chunks_broken(struct victim *v) { v->old->newer = 0; }
static void chunk_not_in_list(struct victim *v) { v->newest->older = 0; }
static void list_of_chunks_circular(struct victim *v) { v->old->older = v->pool->newest_chunk; }
static void wrong_count_of_segments(struct victim *v) { v->pool->counts.segments++; }
static void wrong_count_of_blocks(struct victim *v) { v->pool->counts.live_blocks++; }
static void wrong_count_of_allocs(struct victim *v) { v->pool->counts.allocs++; }
static void wrong_live_bytes(struct victim *v) { v->pool->counts.live_bytes++; }
static void wrong_rounded_bytes(struct victim *v) { v->pool->counts.live_rounded_bytes += 512; }
static void wrong_count_of_chunks(struct victim *v) { v->pool->counts.chunks--; }
static void wrong_reserved_bytes(struct victim *v) { v->pool->counts.reserved_bytes += 4096; }
static void peak_of_blocks_too_low(struct victim *v) { v->pool->counts.peak_live_blocks = 1; }
static void peak_of_bytes_too_low(struct victim *v) { v->pool->counts.peak_live_bytes = 1; }
static void peak_of_rounded_too_low(struct victim *v)
{
	v->pool->counts.peak_live_rounded_bytes = 512;
}
static void peak_of_reserved_too_low(struct victim *v)
{
	v->pool->counts.peak_reserved_bytes = 512;
}
static void high_water_too_low(struct victim *v) { v->pool->counts.high_water_bytes = 512; }
static void limit_exceeded(struct victim *v) { v->pool->config.limit_bytes = 4096; }
static void segment_record_lost(struct victim *v)
{
	ck_assert_int_eq(mam_records_reserve(&v->pool->segments, 1), MAM_OK);
	mam_records_take(&v->pool->segments);
}
static void chunk_record_lost(struct victim *v)
{
	ck_assert_int_eq(mam_records_reserve(&v->pool->chunks, 1), MAM_OK);
	mam_records_take(&v->pool->chunks);
}
static void free_block_in_block_map(struct victim *v)
{
	mam_blockmap_insert(&v->pool->blocks, &v->pool->segments, v->free_handle);
	v->pool->blocks.count--;
}
static void block_twice_in_block_map(struct victim *v)
{
	mam_blockmap_insert(&v->pool->blocks, &v->pool->segments, v->live_handle);
	v->pool->blocks.count--;
}
static void wrong_count_in_block_map(struct victim *v) { v->pool->blocks.count++; }
/* clang-format on */

/* clang-format off */
static const struct damage {
	const char *name;
	void (*plant)(struct victim *victim);
} damages[] = {
#define ROW(damage) { #damage, damage }
	ROW(segment_too_long), ROW(segment_too_short), ROW(segment_empty),
	ROW(base_not_granule_aligned), ROW(segment_moved), ROW(wrong_prev), ROW(wrong_next),
	ROW(list_cut), ROW(wrong_chunk), ROW(block_marked_free), ROW(free_block_marked_live),
	ROW(record_marked_idle), ROW(requested_is_zero), ROW(requested_exceeds_bytes),
	ROW(tail_lost), ROW(tail_is_other_free_block), ROW(tail_in_freelists),
	ROW(free_block_not_in_freelists), ROW(live_block_in_freelists), ROW(list_of_equals_broken),
	ROW(segment_not_in_address_tree), ROW(free_neighbors_not_merged), ROW(high_mark_too_low),
	ROW(high_mark_above_chunk), ROW(wrong_sum_of_high_marks), ROW(wrong_last_segment),
	ROW(wrong_count_in_chunk), ROW(chunk_too_long), ROW(list_of_chunks_broken),
	ROW(chunk_not_in_list), ROW(list_of_chunks_circular), ROW(wrong_count_of_segments),
	ROW(wrong_count_of_blocks), ROW(wrong_count_of_allocs), ROW(wrong_live_bytes),
	ROW(wrong_rounded_bytes), ROW(wrong_count_of_chunks), ROW(wrong_reserved_bytes),
	ROW(peak_of_blocks_too_low), ROW(peak_of_bytes_too_low), ROW(peak_of_rounded_too_low),
	ROW(peak_of_reserved_too_low), ROW(high_water_too_low), ROW(limit_exceeded),
	ROW(segment_record_lost), ROW(chunk_record_lost), ROW(free_block_in_block_map),
	ROW(block_twice_in_block_map), ROW(wrong_count_in_block_map),
#undef ROW
};
/* clang-format on */

START_TEST(check_detects_corruption)
{
	const struct damage *damage = &damages[_i];
	char why[256] = "", cut[8];
	struct victim v;

	build(&v);
	damage->plant(&v);
	ck_assert_msg(mam_pool_check(v.pool, why, sizeof(why)) == MAM_ERROR_CORRUPT,
		      "%s was not detected", damage->name);
	ck_assert_msg(strlen(why) > 10, "%s was detected, but the message is '%s'", damage->name,
		      why);
	memset(cut, 'x', sizeof(cut));
	ck_assert_int_eq(mam_pool_check(v.pool, cut, sizeof(cut) - 1), MAM_ERROR_CORRUPT);
	ck_assert_int_eq(cut[6], '\0');
	ck_assert_int_eq(cut[7], 'x');
	ck_assert_int_eq(mam_pool_check(v.pool, NULL, 0), MAM_ERROR_CORRUPT);
	ck_assert_int_eq(mam_pool_drop(v.pool), MAM_OK);
	space_fini(&v.f->space);
	free(v.f->pool);
	free(v.f);
}
END_TEST

START_TEST(intact_pool_leaves_message_unchanged)
{
	char why[8] = "as was";
	struct victim v;

	build(&v);
	ck_assert_int_eq(mam_pool_check(v.pool, why, sizeof(why)), MAM_OK);
	ck_assert_str_eq(why, "as was");
	ck_assert_int_eq(mam_pool_check(v.pool, NULL, 0), MAM_OK);
	ck_assert_int_eq(mam_pool_check(NULL, why, sizeof(why)), MAM_ERROR_INVALID_VALUE);
	fixture_end(v.f);
}
END_TEST

int main(void)
{
	TCase *tcase = suite_begin("pool/check");

	tcase_add_test(tcase, intact_pool_leaves_message_unchanged);
	tcase_add_loop_test(tcase, check_detects_corruption, 0,
			    (int)(sizeof(damages) / sizeof(damages[0])));
	return suite_end();
}
