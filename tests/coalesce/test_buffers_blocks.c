/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_buffers_blocks.c - buffers of more and of fewer blocks, used by one lane: the capacity of
 * each FIFO and of all FIFOs, and that all cached blocks are found and freed to the base.
 */
#include <string.h>

#include "device/port.h"

/* A clock that tests set, so that lanes choose the FIFOs in turn. */
static uint64_t clock_now;

#undef mam_clock
#define mam_clock() clock_now

#include "coalesce/buffers_kit.h"

#define MAX MAM_BUFFERS_BLOCKS_MAX
/* The test does not access blocks, so they have no memory: the first one is at this address. */
#define REFERENCE ((uint64_t)1 << 40)

static const struct {
	uint32_t count, blocks;
} sizes[] = {
	{ 1, 32 },    { 4, 32 },   { 32, 32 },   { 2, 64 },    { 1, 256 },    { 2, 256 },
	{ 4, 256 },   { 8, 256 },  { 16, 256 },  { 32, 256 },  { 1, 1024 },   { 4, 1024 },
	{ 32, 1024 }, { 8, 4096 }, { 1, 65536 }, { 4, 65536 }, { 32, 65536 },
};

#define SIZES ((int)(sizeof(sizes) / sizeof(sizes[0])))

/* A base that has a block after a number of frees, and records which blocks were freed. */
static struct {
	uint32_t allocs, frees;
	uint32_t wanted;  /* frees before it has a block; 0: it never has one */
	size_t bytes;     /* bytes of the last request */
	uint32_t strange; /* freed addresses that are not blocks */
	uint8_t back[4 * MAX];
} base_has;

static void *block_of(uint32_t i)
{
	return (void *)(uintptr_t)(REFERENCE + (uint64_t)i * 16);
}

/* Not a block of the test: 4 * MOST. */
static uint32_t number_of(const void *block)
{
	uint64_t offset = (uint64_t)(uintptr_t)block - REFERENCE;

	return offset % 16 == 0 && offset / 16 < 4 * MAX ? (uint32_t)(offset / 16) : 4 * MAX;
}

static void *base_alloc(void *heap, size_t bytes)
{
	(void)heap;
	base_has.allocs++;
	base_has.bytes = bytes;
	return base_has.wanted && base_has.frees == base_has.wanted ? block_of(4 * MAX - 1) : NULL;
}

static bool base_free(void *heap, void *block)
{
	uint32_t i = number_of(block);

	(void)heap;
	base_has.frees++;
	if (i < 4 * MAX)
		base_has.back[i]++;
	else
		base_has.strange++;
	return true;
}

static const struct mam_kbase base = { base_alloc, base_free, NULL, 0 };

/* Creates buffers with the numbers of the test, and resets the base. */
static void make(int test)
{
	buffers_make(sizes[test].count, sizes[test].blocks, REFERENCE);
	memset(&base_has, 0, sizeof(base_has));
}

/* Puts blocks with numbers from `from` upward, as many as each FIFO of the class can hold. */
static uint32_t fill(uint32_t class_, uint32_t from)
{
	uint32_t i, n = from;

	for (i = 0; i < buffers->count; i++)
		while (mam_fifo_put(mam_buffers_at(buffers, (class_ - 1) * buffers->count + i), n))
			n++;
	return n - from;
}

/* Each of these was freed to the base once, and nothing else was. */
static void all_back(uint32_t n)
{
	uint32_t i, once = 0;

	for (i = 0; i < n; i++)
		once += base_has.back[i] == 1;
	ck_assert_uint_eq(once, n);
	ck_assert_uint_eq(base_has.frees, n);
	ck_assert_uint_eq(base_has.strange, 0);
	ck_assert_uint_eq(buffers_cached(0), 0);
}

/* ---- capacity ------------------------------------------------------------------------------ */

START_TEST(fifos_are_contiguous)
{
	uint32_t count = sizes[_i].count, blocks = sizes[_i].blocks, i;
	struct mam_fifo *fifo;
	char *end;

	make(_i);
	ck_assert_uint_eq(mam_buffers_valid(count, blocks), count);
	ck_assert_uint_eq(1u << mam_buffers_shift(count, blocks), blocks / count);
	ck_assert_uint_eq(buffers->count, count);
	ck_assert_uint_eq(buffers->each, blocks / count);
	end = (char *)buffers + sizeof(*buffers);
	for (i = 0; i < MAM_CLASSES * count; i++) {
		fifo = mam_buffers_fifo(buffers, buffers->fifo_bytes, i);
		ck_assert_ptr_eq((char *)fifo, end);
		ck_assert_uint_eq((uintptr_t)fifo % MAM_FIFO_LINE, 0);
		ck_assert_uint_eq(1u << fifo->shift, blocks / count);
		end += mam_fifo_bytes(fifo->shift);
	}
	ck_assert_ptr_eq(end, (char *)buffers + mam_buffers_bytes(count, blocks));
	buffers_drop();
}
END_TEST

/* Headers, turns and the words that all lanes change are in separate cache lines. */
START_TEST(shared_words_have_own_cache_lines)
{
	ck_assert_uint_eq(offsetof(struct mam_buffers, turn), MAM_FIFO_LINE);
	ck_assert_uint_eq(sizeof(struct mam_buffers), 2 * MAM_FIFO_LINE);
	ck_assert_uint_eq(MAM_BUFFERS_BLOCKS_MIN, 32);
	ck_assert_uint_eq(MAM_BUFFERS_BLOCKS, 256);
	ck_assert_uint_eq(MAX, 65536);
}
END_TEST

/* The number of warps that run concurrently, or the next larger valid number. */
START_TEST(block_count_follows_warp_count)
{
	static const uint32_t rows[][2] = {
		{ 0, 256 },       { 1, 256 },       { 255, 256 },     { 256, 256 },
		{ 257, 512 },     { 512, 512 },     { 8448, 16384 },  { 16385, 32768 },
		{ 32769, 65536 }, { 65536, 65536 }, { 65537, 65536 }, { UINT32_MAX, 65536 },
	};
	uint32_t i;

	for (i = 0; i < 12; i++) {
		ck_assert_uint_eq(mam_buffers_blocks_for(rows[i][0]), rows[i][1]);
		ck_assert_uint_eq(mam_buffers_valid(MAM_BUFFERS_MAX, rows[i][1]), MAM_BUFFERS_MAX);
	}
}
END_TEST

/* Frees blocks `from` to `to`, and returns how many frees failed. */
static uint32_t free_range(uint32_t from, uint32_t to)
{
	uint32_t i, refused = 0;

	for (i = from; i < to; i++, clock_now += 77)
		refused += !mam_buffers_free(buffers, base, block_of(i), MAM_CLASS_BYTES_MAX);
	return refused;
}

/*
 * This many blocks of a class are cached; the base gets the rest at once, and all of them at the
 * drain.
 */
START_TEST(excess_blocks_go_to_base)
{
	uint32_t count = sizes[_i].count, blocks = sizes[_i].blocks, n, i, cached, more, first = 0;

	make(_i);
	n = 2 * blocks;
	ck_assert_uint_eq(free_range(0, n), 0);
	cached = buffers_cached(MAM_CLASSES);
	ck_assert_uint_eq(buffers_cached(0), cached);
	ck_assert_uint_eq(cached + base_has.frees, n);
	/* The first frees, when all FIFOs have room; later most FIFOs are full. */
	for (i = 0; i < blocks; i++)
		first += !base_has.back[i];
	if (count == 1)
		ck_assert(first == blocks && cached == blocks);
	ck_assert_uint_gt(cached, blocks / 2);
	more = fill(MAM_CLASSES, n);
	ck_assert_uint_eq(cached + more, blocks);
	ck_assert_uint_eq(buffers_cached(MAM_CLASSES), blocks);
	n += more;
	ck_assert_uint_eq(free_range(n, n + 200), 0);
	n += 200;
	ck_assert_uint_eq(buffers_cached(0), blocks);
	ck_assert_uint_eq(base_has.frees + blocks, n);
	ck_assert_uint_eq(mam_buffers_drain(buffers, base), blocks);
	all_back(n);
	buffers_drop();
}
END_TEST

/* ---- a base without a block ---------------------------------------------------------------- */

/* A request finds all blocks in FIFOs of its class, starting from any FIFO. */
START_TEST(every_cached_block_is_found)
{
	static uint8_t had[4 * MAX + 1];
	uint32_t blocks = sizes[_i].blocks, n, i, once = 0;

	make(_i);
	memset(had, 0, sizeof(had));
	ck_assert_uint_eq(fill(40, 0), blocks);
	for (n = 0; n < blocks; n++, clock_now += 77)
		had[number_of(mam_buffers_alloc(buffers, base, mam_class_bytes(40)))]++;
	for (i = 0; i < blocks; i++)
		once += had[i] == 1;
	ck_assert_uint_eq(once, blocks);
	ck_assert_uint_eq(buffers_cached(0), 0);
	ck_assert_uint_eq(base_has.frees, 0);
	n = base_has.allocs;
	ck_assert(buffers->count > 1 || n == 0);
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, mam_class_bytes(40)));
	ck_assert_uint_eq(base_has.allocs, n + 2);
	ck_assert_uint_eq(base_has.frees, 0);
	buffers_drop();
}
END_TEST

/*
 * All blocks of other classes are freed to the base, for a request that the base can serve only
 * then.
 */
START_TEST(other_classes_are_drained_on_demand)
{
	static const uint32_t classes[] = { 1, 40, MAM_CLASSES };
	uint32_t blocks = sizes[_i].blocks, n = 0, i;

	make(_i);
	for (i = 0; i < 3; i++)
		n += fill(classes[i], n);
	ck_assert_uint_eq(n, 3 * blocks);
	base_has.wanted = n;
	ck_assert_ptr_eq(mam_buffers_alloc(buffers, base, mam_class_bytes(39)),
			 block_of(4 * MAX - 1));
	ck_assert_uint_eq(base_has.allocs, 2);
	ck_assert_uint_eq(base_has.bytes, mam_class_bytes(39));
	all_back(n);
	/* And for one that is larger than all classes. */
	memset(&base_has, 0, sizeof(base_has));
	ck_assert_uint_eq(fill(2, 0), blocks);
	base_has.wanted = blocks;
	ck_assert_ptr_nonnull(mam_buffers_alloc(buffers, base, MAM_CLASS_BYTES_MAX + 1));
	all_back(blocks);
	buffers_drop();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("buffer capacity");

	tcase_add_loop_test(tcase, fifos_are_contiguous, 0, SIZES);
	tcase_add_test(tcase, shared_words_have_own_cache_lines);
	tcase_add_test(tcase, block_count_follows_warp_count);
	tcase_add_loop_test(tcase, excess_blocks_go_to_base, 0, SIZES);
	tcase_add_loop_test(tcase, every_cached_block_is_found, 0, SIZES);
	tcase_add_loop_test(tcase, other_classes_are_drained_on_demand, 0, SIZES);
	return ckit_run(tcase, "coalesce/buffer capacity");
}
