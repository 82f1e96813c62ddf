/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_base_pages.c - a heap of pages as a base: the owner of each byte, refused requests, and each
 * coalescer on top of it.
 *
 * The heap's memory is the arena of the ckit, so its shadow detects a byte with two owners, and a
 * byte that still has an owner when its run of pages is freed.
 */
#include "coalesce/ways_kit.h"
#include "coalesce/base_pages.h"

#define SHIFT 6
#define PAGE (1u << SHIFT)

static struct mam_kheap *heap;
static uint32_t pages;

/* ---- the heap, and the base that reports to the ckit ----------------------------------------- */

static void heap_make(uint32_t count)
{
	size_t bytes = (size_t)mam_head_bytes(count);

	pages = count;
	heap = aligned_alloc(128, (bytes + 127) / 128 * 128);
	ck_assert_ptr_nonnull(heap);
}

static void heap_drop(void)
{
	free(heap);
	heap = NULL;
}

static void heap_begin(struct ckit *kit)
{
	memset(heap, 0, (size_t)mam_head_bytes(pages));
	heap->space = kit->arena;
	heap->pages = pages;
	heap->shift = SHIFT;
	heap->layout = MAM_HEAP_LAYOUT;
	mam_pages_format((struct mam_pages *)(heap + 1), pages, 5);
}

/* Allocated pages, according to their bits. */
CKIT_UNSEEN uint32_t allocated_pages(void)
{
	struct mam_pages *metadata = (struct mam_pages *)(heap + 1);
	const uint64_t *bits = mam_pages_bits(metadata);
	uint32_t i, n = 0;

	for (i = 0; i < pages; i++)
		n += bits[i / 64] >> i % 64 & 1;
	return n;
}

static void *tracked_alloc(void *argument, size_t bytes)
{
	struct ckit *kit = argument;
	unsigned char *block = mam_base_pages_alloc(heap, bytes);

	if (!block) {
		ckit_fail(kit);
		return NULL;
	}
	MAM_KASSERT((uintptr_t)block % MAM_BASE_ALIGN == 0);
	ckit_enter(kit, (uint32_t)((size_t)(block - kit->arena) / MAM_BASE_ALIGN),
		   (uint32_t)((bytes + MAM_BASE_ALIGN - 1) / MAM_BASE_ALIGN));
	return block;
}

static bool tracked_free(void *argument, void *block)
{
	ckit_uncarve(argument, block);
	return mam_base_pages_free(heap, block);
}

static struct mam_kbase tracked(struct ckit *kit)
{
	struct mam_kbase base = { tracked_alloc, tracked_free, kit, 0 };

	return base;
}

static const char *check_back(void *argument)
{
	return allocated_pages() ? "pages are still allocated" : ckit_check_empty(argument);
}

static const char *check_served(void *argument)
{
	const struct ckit *kit = argument;

	return kit->failed ? "an allocation failed" : check_back(argument);
}

/* ---- without a coalescer ------------------------------------------------------------------- */

/* At the boundary of one page, of two and of three. */
static size_t some_bytes(void)
{
	static const size_t sizes[] = { 1, 47, 48, 49, 64, 111, 112, 113, 128, 176, 177 };

	return sizes[simt_random() % (sizeof(sizes) / sizeof(sizes[0]))];
}

/* Each lane leaves its block for any lane, which frees it, also in the next kernel. */
static MAM_KERNEL(exchange)
{
	struct ckit *kit = argument;
	uint32_t round;
	size_t bytes;
	void *block, *other;

	for (round = 0; round < 4; round++) {
		bytes = some_bytes();
		block = mam_base_alloc(tracked(kit), bytes);
		MAM_KASSERT(block);
		ckit_own(kit, block, bytes);
		other = (void *)(uintptr_t)mam_atomic_xchg64(&kit->kept[simt_random() % 16],
							     (uintptr_t)block, MAM_ACQ_REL,
							     MAM_AT_DEVICE);
		if (!other)
			continue;
		ckit_disown(kit, other);
		MAM_KASSERT(mam_base_free(tracked(kit), other));
	}
}

static MAM_KERNEL(sweep)
{
	struct ckit *kit = argument;
	uint32_t i;
	void *block;

	for (i = simt_thread(); i < 16; i += simt_block_threads()) {
		block = ckit_take(kit, i);
		if (!block)
			continue;
		ckit_disown(kit, block);
		MAM_KASSERT(mam_base_free(tracked(kit), block));
	}
}

static bool exchange_and_sweep(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, exchange, 2, 9, argument) &&
	       simt_world_launch(world, 0, exchange, 1, 34, argument) &&
	       simt_world_launch(world, 0, sweep, 1, 7, argument);
}

START_TEST(concurrent_lanes_exchange_runs)
{
	struct ckit *kit = ckit_create(320 * PAGE, NULL);

	heap_make(320);
	ck_assert_uint_eq(mam_base_pages(heap).tries, MAM_BASE_TRIES);
	kit->begin = heap_begin;
	kit->steps_max = 4000000;
	ckit_explore_world(kit, "runs as blocks", exchange_and_sweep, CKIT_RACE ? 20 : 100,
			   check_served);
	heap_drop();
	ckit_destroy(kit);
}
END_TEST

START_TEST(page_count_is_rounded_up)
{
	/* clang-format off */
	static const struct {
		uint64_t bytes;
		uint32_t shift, pages;
	} rows[] = {
		{ 1, 6, 1 },   { 48, 6, 1 },	{ 49, 6, 2 },	 { 64, 6, 2 },	   { 112, 6, 2 },
		{ 113, 6, 3 }, { 4080, 12, 1 }, { 4081, 12, 2 }, { 8176, 12, 2 },  { 1, 4, 2 },
		{ 16, 4, 2 },  { 17, 4, 3 },
		{ (uint64_t)1 << 38, 6, MAM_NO_PAGE }, /* 2^32 pages plus one */
		{ (((uint64_t)1 << 32) - 2) * 64 - 16, 6, MAM_NO_PAGE - 1 },
		{ (((uint64_t)1 << 32) - 2) * 64 - 15, 6, MAM_NO_PAGE },
		{ UINT64_MAX, 6, MAM_NO_PAGE },
	};
	/* clang-format on */

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		ck_assert_uint_eq(mam_base_pages_count(rows[i].shift, (size_t)rows[i].bytes),
				  rows[i].pages);
}
END_TEST

/* ---- out of memory ------------------------------------------------------------------------- */

static MAM_KERNEL(fill)
{
	struct ckit *kit = argument;
	void *block[5];
	uint32_t i;

	for (i = 0; i < 5; i++)
		block[i] = mam_base_alloc(tracked(kit), i == 4 ? (size_t)pages * PAGE : 100);
	MAM_KASSERT(!block[4]); /* one page more than the heap has */
	for (i = 0; i < 4; i++)
		MAM_KASSERT(!block[i] || mam_base_free(tracked(kit), block[i]));
}

static uint32_t refused;

static const char *check_full(void *argument)
{
	const struct ckit *kit = argument;

	refused += kit->failed > 12;
	return check_back(argument);
}

START_TEST(full_heap_returns_null)
{
	struct ckit *kit = ckit_create(64 * PAGE, NULL);

	heap_make(64);
	kit->begin = heap_begin;
	kit->steps_max = 4000000;
	refused = 0;
	ckit_explore(kit, "out of memory", fill, 1, 12, 40, check_full);
	ck_assert_uint_gt(refused, 0); /* 48 runs of two pages do not fit into 64 pages */
	heap_drop();
	ckit_destroy(kit);
}
END_TEST

/* ---- invalid frees ------------------------------------------------------------------------- */

/* Resembles a header, with some mark. */
static uint64_t word_of(uint64_t mark, uint64_t number)
{
	return mark << MAM_BASE_PAGES_MARK_SHIFT | number;
}

/* A block after this word is refused, and the word is left unchanged. */
static void refuse(unsigned char *block, uint64_t word)
{
	uint64_t was, found;

	memcpy(&was, block - 16, 8);
	memcpy(block - 16, &word, 8);
	MAM_KASSERT(!mam_base_free(mam_base_pages(heap), block));
	memcpy(&found, block - 16, 8);
	MAM_KASSERT(found == word);
	memcpy(block - 16, &was, 8);
}

/* The arena has two pages more than the heap. */
static MAM_KERNEL(invalid_frees)
{
	struct mam_kbase base = mam_base_pages(heap);
	unsigned char *low = mam_base_alloc(base, 150), *three = mam_base_alloc(base, 150);
	unsigned char *one = mam_base_alloc(base, 40), *high = low > three ? low : three;
	struct ckit *kit = argument;
	unsigned char *past_end = kit->arena + (size_t)pages * PAGE + 16;
	uint64_t first = (uint64_t)(high - kit->arena) / PAGE,
		 good = word_of(MAM_BASE_PAGES_MARK, 1);
	uint64_t left;

	MAM_KASSERT(low && one && three && allocated_pages() == 7);
	refuse(one + 8, good); /* not at the start of a page */
	refuse(one + 32, good);
	refuse(past_end, good); /* not in the heap */
	refuse(past_end + PAGE, good);
	refuse(three, word_of(MAM_BASE_PAGES_MARK + 1, 3));
	refuse(three, word_of(MAM_BASE_PAGES_MARK, 0));
	refuse(high, word_of(MAM_BASE_PAGES_MARK, pages - first + 1));
	refuse(three + 2 * PAGE, 3); /* in the middle of a run */
	MAM_KASSERT(!mam_base_free(base, NULL) && !mam_base_free(base, (unsigned char *)heap));
	MAM_KASSERT(!mam_base_free(base, kit->arena));
	MAM_KASSERT(allocated_pages() == 7 && mam_base_free(base, low) && allocated_pages() == 4);
	MAM_KASSERT(mam_base_free(base, three) && allocated_pages() == 1);
	memcpy(&left, three - 16, 8);
	/* The next owner of the pages, which does not write there, finds no mark in them. */
	MAM_KASSERT(!left);
	MAM_KASSERT(!mam_base_free(base, three) && allocated_pages() == 1);
	MAM_KASSERT(mam_base_free(base, one) && !mam_base_free(base, one) && !allocated_pages());
}

START_TEST(invalid_frees_are_refused)
{
	struct ckit *kit = ckit_create(66 * PAGE, NULL);

	heap_make(64);
	kit->begin = heap_begin;
	ckit_explore(kit, "invalid frees", invalid_frees, 1, 1, 20, NULL);
	heap_drop();
	ckit_destroy(kit);
}
END_TEST

/* ---- below each coalescer ------------------------------------------------------------------ */

static void begin_both(struct ckit *kit)
{
	heap_begin(kit);
	ways_begin(kit);
}

/* All threads request one size, so that every coalescer is usable. */
static MAM_KERNEL(go)
{
	struct ckit *kit = argument;
	const struct ways *ways = kit->own;
	struct mam_kcoalescer c = { tracked(kit), ways->buffers, ways->map };
	uint32_t round;
	void *part;

	for (round = 0; round < 2; round++) {
		part = mam_way_alloc(ways->way, c, 24);
		MAM_KASSERT(part);
		ckit_own(kit, part, 24);
		mam_syncthreads();
		ckit_disown(kit, part);
		MAM_KASSERT(mam_way_free(ways->way, c, part));
		mam_syncthreads();
	}
	if (ways->way == MAM_WAY_XMALLOC) {
		mam_syncthreads();
		(void)mam_buffers_drain(ways->buffers, c.base);
	}
}

START_TEST(each_coalescer_works_over_pages)
{
	struct ways ways = ways_make((enum mam_kway)_i);
	struct ckit *kit = ckit_create(256 * PAGE, NULL);

	heap_make(256);
	kit->own = &ways;
	kit->begin = begin_both;
	kit->steps_max = 4000000;
	kit->whole = ways.way >= MAM_WAY_BLOCK_HEADERS;
	ckit_explore(kit, "a coalescer", go, 1, 40, CKIT_RACE ? 4 : 12, check_served);
	ways_drop(&ways);
	heap_drop();
	ckit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("base_pages");

	tcase_add_test(tcase, concurrent_lanes_exchange_runs);
	tcase_add_test(tcase, page_count_is_rounded_up);
	tcase_add_test(tcase, full_heap_returns_null);
	tcase_add_test(tcase, invalid_frees_are_refused);
	tcase_add_loop_test(tcase, each_coalescer_works_over_pages, 0, MAM_WAYS);
	return ckit_run(tcase, "coalesce/base_pages");
}
