/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_metadata.c - the metadata of a heap of objects: its parts do not overlap, are large enough,
 * start at cache lines and cost little; in a new heap everything is free.
 */
#include "heap/slab/metadata.h"
#include "heap/kit.h"

#define BLOCKS_MAX (1u << 20)
#define PARTS 11

static const uint32_t some_blocks[] = { 1,   2,   3,    7,    8,     63,    64,       65,
					100, 127, 1000, 4097, 16384, 99999, 1u << 18, BLOCKS_MAX };
#define SOME ((int)(sizeof(some_blocks) / sizeof(some_blocks[0])))

struct part {
	uint64_t at, bytes;
};

static void parts_of(uint32_t blocks, uint32_t columns, struct part parts[PARTS])
{
	struct mam_metadata_plan plan = mam_metadata_plan_of(blocks, columns);
	struct part all[PARTS] = {
		{ plan.tallies, sizeof(struct mam_tallies) },
		{ plan.searches, sizeof(struct mam_searches) +
					 MAM_CLASSES * 8 * (uint64_t)mam_metadata_shared(blocks) },
		{ plan.returns, sizeof(struct mam_returns) },
		{ plan.units, mam_pages_bytes(blocks * MAM_BLOCK_UNITS) },
		{ plan.owners, (uint64_t)blocks * MAM_BLOCK_UNITS },
		{ plan.words, (uint64_t)blocks * MAM_BLOCK_WORDS * 8 },
		{ plan.hints, (uint64_t)MAM_CLASSES * ((blocks + 63) / 64) * 8 },
		{ plan.longs, (uint64_t)blocks * 4 },
		{ plan.closes, (uint64_t)blocks * 4 },
		{ plan.steps, columns * sizeof(struct mam_steps) },
		{ plan.handles, (uint64_t)columns * MAM_CLASSES * 8 },
	};

	memcpy(parts, all, sizeof(all));
}

/*
 * The parts are in order, each starts at a cache line, none overlaps another, and the header of
 * zero pages precedes them.
 */
START_TEST(parts_are_in_order)
{
	uint32_t blocks = some_blocks[_i], columns, i;
	struct part parts[PARTS];
	uint64_t end;

	for (columns = 4; columns <= 8192; columns *= 8) {
		end = mam_head_bytes(0);
		parts_of(blocks, columns, parts);
		for (i = 0; i < PARTS; i++) {
			ck_assert_uint_eq(parts[i].at % MAM_PAGES_LINE, 0);
			ck_assert_uint_ge(parts[i].at, end);
			ck_assert_uint_lt(parts[i].at, end + MAM_PAGES_LINE);
			end = parts[i].at + parts[i].bytes;
		}
		ck_assert_uint_ge(mam_metadata_plan_of(blocks, columns).end, end);
		ck_assert_uint_lt(mam_metadata_plan_of(blocks, columns).end, end + MAM_PAGES_LINE);
	}
}
END_TEST

START_TEST(structures_fill_cache_lines)
{
	ck_assert_uint_eq(sizeof(struct mam_kheap), MAM_PAGES_LINE);
	ck_assert_uint_eq(sizeof(struct mam_tallies), MAM_OBJECT_TALLIES * MAM_PAGES_LINE);
	ck_assert_uint_eq(offsetof(struct mam_returns, taken), MAM_PAGES_LINE);
	ck_assert_uint_eq(offsetof(struct mam_returns, address), 2 * MAM_PAGES_LINE);
	ck_assert_uint_eq(offsetof(struct mam_searches, clock), MAM_PAGES_LINE);
	ck_assert_uint_eq(offsetof(struct mam_searches, shared), 2 * MAM_PAGES_LINE);
	ck_assert_uint_eq(offsetof(struct mam_searches, scans), 3 * MAM_PAGES_LINE);
	ck_assert_uint_eq(sizeof(struct mam_searches) % MAM_PAGES_LINE, 0);
	/* The owner codes of classes, runs and groups in transition are distinct. */
	ck_assert_uint_lt(MAM_CLASSES, MAM_OWNER_RUN + MAM_FEW_UNITS + 1);
	ck_assert_uint_lt(MAM_OWNER_RUN + 63, MAM_OWNER_MOVING);
	ck_assert_uint_le(MAM_OWNER_MOVING + MAM_CLASSES, MAM_OWNER_FEW);
	ck_assert_uint_lt(MAM_OWNER_FEW + MAM_FEW_UNITS, MAM_OWNER_LONG);
	/* A run of few units may have any object of a class. */
	ck_assert_uint_eq(MAM_FEW_UNITS << MAM_UNIT_SHIFT, MAM_CLASS_BYTES_MAX);
}
END_TEST

/* Powers of two, one for each 256 KiB, within bounds. */
START_TEST(handle_columns_are_powers_of_two)
{
	uint32_t blocks, columns;

	for (blocks = 1; blocks <= BLOCKS_MAX; blocks += 1 + blocks / 3) {
		columns = mam_metadata_columns(blocks);
		ck_assert_uint_eq(columns & (columns - 1), 0);
		ck_assert_uint_ge(columns, 32);
		ck_assert_uint_le(columns, 8192);
		ck_assert(columns >= blocks / 4 || columns == 8192);
		ck_assert(columns < blocks || columns == 32);
	}
}
END_TEST

/* Powers of two, one for each 16 blocks, within bounds; the index of any word fits beside BUSY. */
START_TEST(shared_words_are_powers_of_two)
{
	uint32_t blocks, words;

	for (blocks = 1; blocks <= BLOCKS_MAX; blocks += 1 + blocks / 100) {
		words = mam_metadata_shared(blocks);
		ck_assert_uint_eq(words & (words - 1), 0);
		ck_assert_uint_ge(words, 16);
		ck_assert_uint_le(words, 8192);
		ck_assert(words >= blocks / 16 || words == 8192);
		ck_assert(words / 2 < blocks / 16 || words == 16);
	}
	ck_assert_uint_lt((uint64_t)BLOCKS_MAX * MAM_BLOCK_UNITS, MAM_SHARED_BUSY);
}
END_TEST

/* The metadata costs at most 4.3% of the memory for objects, from 64 MiB up. */
START_TEST(metadata_costs_about_four_percent)
{
	uint32_t blocks;
	uint64_t end;

	for (blocks = 1024; blocks <= BLOCKS_MAX; blocks *= 2) {
		end = mam_metadata_plan_of(blocks, mam_metadata_columns(blocks)).end;
		ck_assert_uint_ge(((uint64_t)blocks << MAM_BLOCK_SHIFT) * 43, end * 1000);
	}
}
END_TEST

/* Creates zeroed metadata of some blocks as `format` does; the caller frees it. */
static struct mam_kheap *metadata_create(uint32_t blocks, uint32_t columns)
{
	size_t bytes = mam_metadata_plan_of(blocks, columns).end;
	struct mam_kheap *head = aligned_alloc(MAM_PAGES_LINE, bytes);

	ck_assert_ptr_nonnull(head);
	memset(head, 0, bytes);
	mam_metadata_format(head, (unsigned char *)((uintptr_t)1 << MAM_BLOCK_SHIFT), blocks,
			    columns);
	return head;
}

/* A new heap: the header points to its parts, all units are free, and all words are zero. */
START_TEST(new_heap_is_empty)
{
	static const uint32_t sizes[] = { 1, 2, 5, 64, 65 };
	uint32_t blocks = sizes[_i], columns = 8, i;
	struct mam_kheap *head = metadata_create(blocks, columns);
	unsigned char *at = (unsigned char *)head;
	struct mam_metadata_plan plan = mam_metadata_plan_of(blocks, columns);
	const uint64_t *bits = mam_pages_bits(head->units);
	struct mam_pages *none = (struct mam_pages *)(head + 1);

	ck_assert_uint_eq((uintptr_t)head->space, (uintptr_t)1 << MAM_BLOCK_SHIFT);
	ck_assert_uint_eq(head->layout, MAM_HEAP_LAYOUT);
	ck_assert_uint_eq(head->blocks, blocks);
	ck_assert_uint_eq(head->columns, columns - 1);
	ck_assert_ptr_eq(head->tallies, at + plan.tallies);
	ck_assert_ptr_eq(mam_metadata_searches(head), at + plan.searches);
	ck_assert_ptr_eq(head->returns, at + plan.returns);
	ck_assert_ptr_eq(head->units, at + plan.units);
	ck_assert_ptr_eq(head->owners, at + plan.owners);
	ck_assert_ptr_eq(head->words, at + plan.words);
	ck_assert_ptr_eq(head->hints, at + plan.hints);
	ck_assert_ptr_eq(head->longs, at + plan.longs);
	ck_assert_ptr_eq(head->steps, at + plan.steps);
	ck_assert_ptr_eq(head->handles, at + plan.handles);
	/* A kernel that uses pages finds none. */
	ck_assert_uint_eq(head->pages, 0);
	ck_assert_uint_eq(none->count, 0);
	ck_assert_uint_eq(*mam_pages_bits(none), ~(uint64_t)0);
	ck_assert_uint_eq(head->units->count, blocks * MAM_BLOCK_UNITS);
	ck_assert_uint_eq(head->units->words, blocks);
	for (i = 0; i < blocks; i++)
		ck_assert_uint_eq(bits[i], 0);
	for (; plan.searches < plan.units; plan.searches++)
		ck_assert_uint_eq(at[plan.searches], 0);
	for (; plan.owners < plan.end; plan.owners++)
		ck_assert_uint_eq(at[plan.owners], 0);
	free(head);
}
END_TEST

/* Each class's words follow those of the previous class, and end where the hints may start. */
START_TEST(class_words_are_contiguous)
{
	uint32_t blocks = some_blocks[_i], class_;
	struct mam_kheap head;
	uint64_t *next;

	memset(&head, 0, sizeof(head));
	mam_metadata_head(&head, NULL, NULL, blocks, 32);
	next = head.words;
	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		ck_assert_ptr_eq(mam_metadata_words(&head, class_), next);
		ck_assert_uint_eq(mam_metadata_word_count(&head, class_),
				  blocks * mam_class_words(class_));
		next += mam_metadata_word_count(&head, class_);
	}
	ck_assert(next <= head.hints);
}
END_TEST

/*
 * The header is complete whatever the memory contained: a heap of objects has no pages, and its
 * units are 1 KiB.
 */
START_TEST(header_is_fully_initialized)
{
	struct mam_kheap head;

	memset(&head, 255, sizeof(head));
	mam_metadata_head(&head, NULL, NULL, 3, 32);
	ck_assert_uint_eq(head.pages, 0);
	ck_assert_uint_eq(head.shift, MAM_UNIT_SHIFT);
	ck_assert_uint_eq(head.layout, MAM_HEAP_LAYOUT);
	ck_assert_uint_eq(head.blocks, 3);
	ck_assert_uint_eq(head.columns, 31);
}
END_TEST

/* All slots of a word are in its slab, in one block, one after the other. */
START_TEST(slots_are_inside_their_slab)
{
	struct mam_kheap head;
	unsigned char *space = (unsigned char *)((uintptr_t)5 << MAM_BLOCK_SHIFT);
	uint32_t class_, word, slot;
	uint64_t at, end;

	memset(&head, 0, sizeof(head));
	mam_metadata_head(&head, space, NULL, 3, 32);
	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		for (word = 0; word < mam_metadata_word_count(&head, class_); word++) {
			at = (uint64_t)mam_metadata_unit(class_, word) << MAM_UNIT_SHIFT;
			end = at + (mam_class_units(class_) << MAM_UNIT_SHIFT);
			ck_assert_uint_eq(at >> MAM_BLOCK_SHIFT, (end - 1) >> MAM_BLOCK_SHIFT);
			ck_assert_uint_le(end, (uint64_t)3 << MAM_BLOCK_SHIFT);
			for (slot = 0; slot < mam_class_slots(class_); slot++) {
				ck_assert_uint_eq(
					(uintptr_t)mam_metadata_at(&head, class_, word, slot),
					(uintptr_t)space + at);
				at += mam_class_bytes(class_);
			}
			ck_assert_uint_le(at, end);
		}
	}
}
END_TEST

/* Addresses beyond 32 bits. */
START_TEST(slot_address_exceeds_32_bits)
{
	struct mam_kheap head;
	uint32_t class_, last;

	memset(&head, 0, sizeof(head));
	mam_metadata_head(&head, NULL, NULL, BLOCKS_MAX, 8192);
	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		last = mam_metadata_word_count(&head, class_) - 1;
		ck_assert_uint_eq((uintptr_t)mam_metadata_at(&head, class_, last, 0),
				  ((uint64_t)BLOCKS_MAX << MAM_BLOCK_SHIFT) -
					  ((uint64_t)1024 << mam_class_span_shift(class_)));
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("metadata");

	tcase_add_loop_test(tcase, parts_are_in_order, 0, SOME);
	tcase_add_test(tcase, structures_fill_cache_lines);
	tcase_add_test(tcase, handle_columns_are_powers_of_two);
	tcase_add_test(tcase, shared_words_are_powers_of_two);
	tcase_add_test(tcase, metadata_costs_about_four_percent);
	tcase_add_loop_test(tcase, new_heap_is_empty, 0, 5);
	tcase_add_loop_test(tcase, class_words_are_contiguous, 0, SOME);
	tcase_add_test(tcase, header_is_fully_initialized);
	tcase_add_test(tcase, slots_are_inside_their_slab);
	tcase_add_test(tcase, slot_address_exceeds_32_bits);
	return kit_run(tcase, "heap/metadata");
}
