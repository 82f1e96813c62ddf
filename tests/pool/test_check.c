/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam_pool_check sees each kind of damage.
 *
 * All other tests lean on the check, so here its teeth are counted: one pool a row, one thing wrong with it, and the
 * check must answer CORRUPT with a sentence that speaks of it, without crashing on what it finds.
 */
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "index/addrtree.h"
#include "index/freelists.h"

/*
 * The victim, in granules:   chunk 1: L1 F2 L1 F2 L1 F1    chunk 2 (newest): L3 F3 L1 F1
 * Holes of 2, two of them; one of 3; a free end; the tail. The pointers below are to its records.
 */
struct victim {
	struct fixture *f;
	struct mam_pool *pool;
	struct mam_segment *live, *hole, *equal, *end, *tail;
	struct mam_chunk *old, *newest;
	uint32_t live_handle, hole_handle;
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
	block[0] = take(v->f, 512);
	block[1] = take(v->f, 1024);
	block[2] = take(v->f, 512);
	block[3] = take(v->f, 1024);
	block[4] = take(v->f, 512);
	block[5] = take(v->f, 3 * 512);
	take(v->f, 3 * 512);
	take(v->f, 512); /* the smallest hole is the old chunk's end: it goes there */
	ck_assert_picture(v->f, 512, "L1 L2 L1 L2 L1 L1 | L3 L3 F2");
	give(v->f, at(block[4], 512));
	take(v->f, 1024);
	ck_assert_picture(v->f, 512, "L1 L2 L1 L2 L1 F1 | L3 L3 L2");
	give(v->f, at(block[5], 6 * 512));
	give(v->f, at(block[5], 3 * 512));
	give(v->f, block[1]);
	give(v->f, block[3]);
	ck_assert_picture(v->f, 512, "L1 F2 L1 F2 L1 F1 | L3 F5");
	v->live_handle = handle_at(v->pool, block[2]);
	v->hole_handle = handle_at(v->pool, block[1]);
	v->live = mam_segment_at(&v->pool->segments, v->live_handle);
	v->hole = mam_segment_at(&v->pool->segments, v->hole_handle);
	v->equal = mam_segment_at(&v->pool->segments, handle_at(v->pool, block[3]));
	v->end = mam_segment_at(&v->pool->segments, handle_at(v->pool, at(block[4], 512)));
	v->tail = mam_segment_at(&v->pool->segments, v->pool->tail);
	v->newest = mam_chunk_at(&v->pool->chunks, v->pool->newest_chunk);
	v->old = mam_chunk_at(&v->pool->chunks, v->newest->older);
}

/* clang-format off */
static void a_longer_segment(struct victim *v)    { v->live->bytes += 512; }
static void a_shorter_segment(struct victim *v)   { v->hole->bytes -= 512; }
static void an_empty_segment(struct victim *v)    { v->live->bytes = 0; }
static void a_base_off_the_granule(struct victim *v) { v->live->base += 8; }
static void a_moved_segment(struct victim *v)     { v->live->base += 512; }
static void a_wrong_prev(struct victim *v)        { v->live->prev = v->live_handle; }
static void a_wrong_next(struct victim *v)        { v->live->next = v->live_handle; }
static void a_cut_list(struct victim *v)          { v->live->next = 0; }
static void a_wrong_chunk(struct victim *v)       { v->live->chunk = v->pool->newest_chunk; }
static void a_block_called_free(struct victim *v) { v->live->state = MAM_SEGMENT_FREE; }
static void a_hole_called_live(struct victim *v)  { v->hole->state = MAM_SEGMENT_LIVE; }
static void a_record_called_idle(struct victim *v) { v->live->state = MAM_SEGMENT_IDLE; }
static void no_bytes_asked_for(struct victim *v)  { v->live->requested = 0; }
static void more_asked_for_than_given(struct victim *v) { v->live->requested = v->live->bytes + 1; }
static void a_lost_tail(struct victim *v)         { v->pool->tail = 0; }
static void a_hole_as_tail(struct victim *v)      { v->pool->tail = v->hole_handle; }
static void the_tail_among_the_holes(struct victim *v)
{
	mam_freelists_insert(&v->pool->freelists, &v->pool->segments, v->pool->tail);
}
static void a_hole_lost_from_the_tree(struct victim *v)
{
	mam_freelists_remove(&v->pool->freelists, &v->pool->segments, v->hole_handle);
}
static void a_block_among_the_holes(struct victim *v)
{
	struct mam_segment kept = *v->live;

	mam_freelists_insert(&v->pool->freelists, &v->pool->segments, v->live_handle);
	(void)kept;
}
static void a_broken_list_of_equals(struct victim *v) { v->equal->peer_prev = 0; v->hole->peer_prev = 0; v->hole->peer_next = 0; }
static void a_segment_lost_by_address(struct victim *v)
{
	mam_addrtree_remove(&v->pool->segments, &v->pool->by_address, v->hole_handle);
}
static void two_free_neighbours(struct victim *v)
{
	/* A free that forgot to join, with all its counting done. */
	ck_assert_uint_ne(mam_blockmap_take(&v->pool->blocks, &v->pool->segments, v->live->base), 0);
	v->pool->counts.live_blocks--;
	v->pool->counts.live_bytes -= v->live->requested;
	v->pool->counts.live_rounded_bytes -= v->live->bytes;
	v->pool->counts.frees++;
	v->old->live_blocks--;
	v->live->state = MAM_SEGMENT_FREE;
	mam_freelists_insert(&v->pool->freelists, &v->pool->segments, v->live_handle);
}
static void a_low_high_mark(struct victim *v)     { v->pool->high_bytes -= v->old->high - 512; v->old->high = 512; }
static void a_high_mark_above_the_chunk(struct victim *v) { v->pool->high_bytes += 8192; v->pool->counts.high_water_bytes += 8192; v->old->high += 8192; }
static void a_wrong_sum_of_high_marks(struct victim *v) { v->pool->high_bytes += 512; }
static void a_wrong_last_segment(struct victim *v) { v->old->last = v->hole_handle; }
static void a_wrong_count_in_a_chunk(struct victim *v) { v->old->live_blocks++; }
static void a_chunk_too_long(struct victim *v)    { v->old->bytes += 4096; }
static void a_broken_list_of_chunks(struct victim *v) { v->old->newer = 0; }
static void a_chunk_lost_from_the_list(struct victim *v) { v->newest->older = 0; }
static void a_circle_of_chunks(struct victim *v)  { v->old->older = v->pool->newest_chunk; }
static void a_wrong_count_of_segments(struct victim *v) { v->pool->counts.segments++; }
static void a_wrong_count_of_blocks(struct victim *v) { v->pool->counts.live_blocks++; }
static void a_wrong_count_of_allocs(struct victim *v) { v->pool->counts.allocs++; }
static void wrong_live_bytes(struct victim *v)    { v->pool->counts.live_bytes++; }
static void wrong_rounded_bytes(struct victim *v) { v->pool->counts.live_rounded_bytes += 512; }
static void a_wrong_count_of_chunks(struct victim *v) { v->pool->counts.chunks--; }
static void wrong_reserved_bytes(struct victim *v) { v->pool->counts.reserved_bytes += 4096; }
static void a_low_peak_of_blocks(struct victim *v) { v->pool->counts.peak_live_blocks = 1; }
static void a_low_peak_of_bytes(struct victim *v) { v->pool->counts.peak_live_bytes = 1; }
static void a_low_peak_of_rounded(struct victim *v) { v->pool->counts.peak_live_rounded_bytes = 512; }
static void a_low_peak_of_reserved(struct victim *v) { v->pool->counts.peak_reserved_bytes = 512; }
static void a_low_high_water(struct victim *v)    { v->pool->counts.high_water_bytes = 512; }
static void more_than_the_limit(struct victim *v) { v->pool->config.limit_bytes = 4096; }
static void a_lost_segment_record(struct victim *v)
{
	ck_assert_int_eq(mam_records_reserve(&v->pool->segments, 1), MAM_OK);
	mam_records_take(&v->pool->segments);
}
static void a_lost_chunk_record(struct victim *v)
{
	ck_assert_int_eq(mam_records_reserve(&v->pool->chunks, 1), MAM_OK);
	mam_records_take(&v->pool->chunks);
}
static void a_hole_in_the_block_map(struct victim *v)
{
	mam_blockmap_insert(&v->pool->blocks, &v->pool->segments, v->hole_handle);
	v->pool->blocks.count--;
}
static void a_block_twice_in_the_block_map(struct victim *v)
{
	mam_blockmap_insert(&v->pool->blocks, &v->pool->segments, v->live_handle);
	v->pool->blocks.count--;
}
static void a_wrong_count_in_the_block_map(struct victim *v) { v->pool->blocks.count++; }
/* clang-format on */

/* clang-format off */
static const struct damage {
	const char *name;
	void (*plant)(struct victim *victim);
} damages[] = {
#define ROW(damage) { #damage, damage }
	ROW(a_longer_segment), ROW(a_shorter_segment), ROW(an_empty_segment), ROW(a_base_off_the_granule),
	ROW(a_moved_segment), ROW(a_wrong_prev), ROW(a_wrong_next), ROW(a_cut_list), ROW(a_wrong_chunk),
	ROW(a_block_called_free), ROW(a_hole_called_live), ROW(a_record_called_idle), ROW(no_bytes_asked_for),
	ROW(more_asked_for_than_given), ROW(a_lost_tail), ROW(a_hole_as_tail), ROW(the_tail_among_the_holes),
	ROW(a_hole_lost_from_the_tree), ROW(a_block_among_the_holes), ROW(a_broken_list_of_equals),
	ROW(a_segment_lost_by_address), ROW(two_free_neighbours), ROW(a_low_high_mark), ROW(a_high_mark_above_the_chunk),
	ROW(a_wrong_sum_of_high_marks), ROW(a_wrong_last_segment), ROW(a_wrong_count_in_a_chunk), ROW(a_chunk_too_long),
	ROW(a_broken_list_of_chunks), ROW(a_chunk_lost_from_the_list), ROW(a_circle_of_chunks),
	ROW(a_wrong_count_of_segments), ROW(a_wrong_count_of_blocks), ROW(a_wrong_count_of_allocs), ROW(wrong_live_bytes),
	ROW(wrong_rounded_bytes), ROW(a_wrong_count_of_chunks), ROW(wrong_reserved_bytes), ROW(a_low_peak_of_blocks),
	ROW(a_low_peak_of_bytes), ROW(a_low_peak_of_rounded), ROW(a_low_peak_of_reserved), ROW(a_low_high_water),
	ROW(more_than_the_limit), ROW(a_lost_segment_record), ROW(a_lost_chunk_record), ROW(a_hole_in_the_block_map),
	ROW(a_block_twice_in_the_block_map), ROW(a_wrong_count_in_the_block_map),
#undef ROW
};
/* clang-format on */

START_TEST(the_check_sees)
{
	const struct damage *damage = &damages[_i];
	char why[256] = "", cut[8];
	struct victim v;

	build(&v);
	damage->plant(&v);
	ck_assert_msg(mam_pool_check(v.pool, why, sizeof(why)) == MAM_ERROR_CORRUPT,
		      "%s was not seen", damage->name);
	ck_assert_msg(strlen(why) > 10, "%s was seen, but not said: '%s'", damage->name, why);
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

START_TEST(a_sound_pool_leaves_the_sentence_alone)
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

	tcase_add_test(tcase, a_sound_pool_leaves_the_sentence_alone);
	tcase_add_loop_test(tcase, the_check_sees, 0, (int)(sizeof(damages) / sizeof(damages[0])));
	return suite_end();
}
