/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_buffers.c - buffers over the kit's base: which block comes again for which request, what
 * goes to the base, and that no block is lost or had twice, whoever takes, gives, drains, sleeps
 * or stops.
 */
#include <string.h>

#include "heap/stop.h"
#include "coalesce/kit.h"
#include "coalesce/buffers.h"

struct plan {
	const char *name;
	uint32_t count;
	uint32_t grid, block;
	uint32_t rounds;
	size_t bytes[4];
	size_t arena;
	uint32_t refuse_every;
	uint32_t stoppers; /* blocks, the first ones, each with a lane that stops */
	uint32_t seeds, seeds_race;
};

static struct mam_buffers *buffers;
static uint32_t halts, runs;
static uint64_t given; /* by drains, in a run; atomic */

static uint32_t below(uint32_t n)
{
	return (uint32_t)(simt_random() % n);
}

static void buffers_make(uint32_t count, uint64_t reference)
{
	free(buffers);
	buffers = aligned_alloc(MAM_FIFO_LINE, mam_buffers_bytes(count));
	ck_assert_ptr_nonnull(buffers);
	memset(buffers, 0xa5, mam_buffers_bytes(count));
	mam_buffers_format(buffers, count, reference);
}

static void buffers_drop(void)
{
	free(buffers);
	buffers = NULL;
}

/* How many blocks lie in the FIFOs of a class; of class 0: in all. */
STOP_UNSEEN uint32_t lying(uint32_t class_)
{
	uint32_t i, n = 0;

	for (i = 0; i < MAM_CLASSES * buffers->count; i++) {
		const struct mam_fifo *fifo = mam_buffers_fifo(buffers, buffers->fifo_bytes, i);

		if (!class_ || i / buffers->count == class_ - 1)
			n += (uint32_t)(fifo->tail >> 32) - fifo->head + 1;
	}
	return n;
}

/* ---- alone --------------------------------------------------------------------------------- */

static struct ckit *alone_create(size_t arena, uint32_t count)
{
	struct ckit *kit = ckit_create(arena, NULL);

	ckit_begin(kit);
	buffers_make(count, (uintptr_t)kit->arena);
	return kit;
}

static void alone_destroy(struct ckit *kit)
{
	ck_assert_ptr_null(ckit_check_empty(kit));
	ckit_destroy(kit);
	buffers_drop();
}

/* A class's block serves any request of the class, and none of another. */
START_TEST(classes)
{
	struct ckit *kit = alone_create(1 << 19, 1);
	struct mam_kbase base = ckit_base(kit);
	uint32_t class_, low, high;
	void *first, *second, *other;

	for (class_ = 1; class_ <= MAM_CLASSES; class_++) {
		high = mam_class_bytes(class_);
		low = class_ == 1 ? 1 : mam_class_bytes(class_ - 1) + 1;
		first = mam_buffers_alloc(buffers, base, low);
		ckit_own(kit, first, high); /* the whole class, whatever was asked for */
		ckit_disown(kit, first);
		ck_assert(mam_buffers_free(buffers, base, first, low));
		ck_assert_uint_eq(kit->allocs, class_);
		ck_assert_uint_eq(kit->frees, 0);
		ck_assert_uint_eq(lying(class_), 1);
		other = mam_buffers_alloc(buffers, base, class_ < MAM_CLASSES ? high + 1 : low - 1);
		ck_assert_ptr_ne(other, first);
		ck_assert_uint_eq(kit->allocs, class_ + (class_ < MAM_CLASSES));
		second = mam_buffers_alloc(buffers, base, high);
		ck_assert_ptr_eq(first, second);
		ck_assert(mam_buffers_free(buffers, base, second, high));
		ck_assert(mam_buffers_free(buffers, base, other,
					   class_ < MAM_CLASSES ? high + 1 : low - 1));
		if (class_ < MAM_CLASSES) {
			/* As it was, for the next class. */
			ck_assert_ptr_eq(mam_buffers_alloc(buffers, base, high + 1), other);
			ck_assert(mam_base_free(base, other));
			kit->allocs--;
			kit->frees--;
		}
	}
	ck_assert_uint_eq(lying(0), MAM_CLASSES);
	ck_assert_uint_eq(mam_buffers_drain(buffers, base), MAM_CLASSES);
	ck_assert_uint_eq(lying(0), 0);
	alone_destroy(kit);
}
END_TEST

/* What is larger than the classes, or no request. */
START_TEST(not_kept)
{
	struct ckit *kit = alone_create(1 << 17, 2);
	struct mam_kbase base = ckit_base(kit);
	void *block = mam_buffers_alloc(buffers, base, MAM_CLASS_BYTES_MAX + 1);

	ckit_own(kit, block, MAM_CLASS_BYTES_MAX + 1);
	ckit_disown(kit, block);
	ck_assert(mam_buffers_free(buffers, base, block, MAM_CLASS_BYTES_MAX + 1));
	ck_assert_uint_eq(kit->frees, 1);
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, 0));
	ck_assert_ptr_null(mam_buffers_alloc(NULL, base, 0));
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, (size_t)1 << 30));
	ck_assert_uint_eq(kit->allocs, 1);
	block = mam_buffers_alloc(buffers, base, MAM_CLASS_BYTES_MAX);
	ck_assert(mam_buffers_free(buffers, base, block, 0));
	ck_assert_uint_eq(kit->frees, 2);
	alone_destroy(kit);
}
END_TEST

/* A base that only answers, and what it was told last. */
static struct {
	void *block;
	size_t bytes;
	uint32_t allocs, frees;
	bool answer;
} told;

static void *told_alloc(void *heap, size_t bytes)
{
	(void)heap;
	told.bytes = bytes;
	told.allocs++;
	return told.block;
}

static bool told_free(void *heap, void *block)
{
	(void)heap;
	told.block = block;
	told.frees++;
	return told.answer;
}

/* None at all: the request is the base's as it is. */
START_TEST(none)
{
	struct mam_kbase base = { told_alloc, told_free, NULL };
	uint32_t counts[] = { 0, 3, 12, 33, 64, 1u << 31, UINT32_MAX }, i;
	char block[32];

	for (i = 0; i < 7; i++) {
		memset(&told, 0, sizeof(told));
		ck_assert_uint_eq(mam_buffers_bytes(counts[i]), sizeof(struct mam_buffers));
		buffers_make(counts[i], (uintptr_t)block);
		ck_assert_uint_eq(buffers->count, 0);
		ck_assert_ptr_null(mam_buffers_alloc(buffers, base, 300));
		ck_assert(told.bytes == 300 && told.allocs == 1);
		told.block = block;
		ck_assert_ptr_eq(mam_buffers_alloc(i ? buffers : NULL, base, 301), block);
		ck_assert(told.bytes == 301 && told.allocs == 2);
		ck_assert(!mam_buffers_free(i ? buffers : NULL, base, block, 301));
		told.answer = true;
		ck_assert(mam_buffers_free(i ? buffers : NULL, base, block + 16, 301));
		ck_assert(told.frees == 2 && told.block == block + 16);
		ck_assert_uint_eq(mam_buffers_drain(i ? buffers : NULL, base), 0);
	}
	buffers_drop();
}
END_TEST

/* Of each number of FIFOs; the class is rounded to, and the last byte is within the memory. */
START_TEST(counts)
{
	struct mam_kbase base = { told_alloc, told_free, NULL };
	uint32_t count = 1u << _i, i, n;
	size_t bytes = mam_buffers_bytes(count);
	struct mam_fifo *last;
	char block[32];

	memset(&told, 0, sizeof(told));
	told.answer = true;
	buffers_make(count, (uintptr_t)block);
	ck_assert_uint_eq(buffers->count, count);
	last = mam_buffers_fifo(buffers, buffers->fifo_bytes, MAM_CLASSES * count - 1);
	ck_assert_ptr_eq((char *)last + mam_fifo_bytes(last->shift), (char *)buffers + bytes);
	for (i = 0; i < MAM_CLASSES * count; i++)
		ck_assert_uint_eq(mam_buffers_fifo(buffers, buffers->fifo_bytes, i)->shift,
				  8 - (uint32_t)_i);
	/* 256 of a class, and what is more goes to the base, at the latest when all are full. */
	for (n = 0; told.frees < 3000; n++) {
		ck_assert(mam_buffers_free(buffers, base, block, 8192));
		ck_assert_uint_le(lying(0), 256);
		ck_assert_uint_eq(lying(MAM_CLASSES) + told.frees, n + 1);
	}
	if (count == 1)
		ck_assert_uint_eq(lying(0), 256);
	told.frees = 0;
	n = lying(0);
	ck_assert_uint_eq(mam_buffers_drain(buffers, base), n);
	ck_assert_uint_eq(told.frees, n);
	ck_assert_uint_eq(lying(0), 0);
	buffers_drop();
}
END_TEST

/* Who drains counts what the base took. */
START_TEST(base_says_no)
{
	struct mam_kbase base = { told_alloc, told_free, NULL };
	char block[32];

	memset(&told, 0, sizeof(told));
	buffers_make(1, (uintptr_t)block);
	ck_assert(mam_buffers_free(buffers, base, block, 8));
	ck_assert_uint_eq(mam_buffers_drain(buffers, base), 0);
	ck_assert_uint_eq(told.frees, 1);
	ck_assert_uint_eq(lying(0), 0);
	buffers_drop();
}
END_TEST

/* Offsets reach 64 GiB, at multiples of 16 from the reference. */
START_TEST(reach)
{
	static const uint64_t wide = (uint64_t)1 << 36;
	static _Alignas(16) char block[64];
	static const struct {
		uint64_t offset; /* the reference is so far below the block */
		bool kept;
	} rows[] = {
		{ 0, true },
		{ 16, true },
		{ 8, false },
		{ 1, false },
		{ wide - 16, true },
		{ wide - 8, false },
		{ wide, false },
		{ wide + 16, false },
		{ 2 * wide, false },
		{ (uint64_t)-16, false },
		{ (uint64_t)0 - wide, false },
		{ wide / 2, true },
	};
	struct mam_kbase base = { told_alloc, told_free, NULL };

	memset(&told, 0, sizeof(told));
	told.answer = true;
	buffers_make(1, (uintptr_t)block - rows[_i].offset);
	ck_assert(mam_buffers_free(buffers, base, block, 40));
	ck_assert_uint_eq(told.frees, !rows[_i].kept);
	ck_assert_uint_eq(lying(0), rows[_i].kept);
	if (rows[_i].kept) {
		ck_assert_ptr_eq(mam_buffers_alloc(buffers, base, 48), block);
		ck_assert_uint_eq(told.allocs, 0);
	}
	buffers_drop();
}
END_TEST

/* NULL is the base's, also where the reference is NULL. */
START_TEST(null)
{
	struct mam_kbase base = { told_alloc, told_free, NULL };

	memset(&told, 0, sizeof(told));
	told.answer = true;
	buffers_make(2, 0);
	ck_assert(mam_buffers_free(buffers, base, NULL, 40));
	ck_assert_uint_eq(told.frees, 1);
	ck_assert(mam_buffers_free(buffers, base, (void *)(uintptr_t)16, 40));
	ck_assert_uint_eq(told.frees, 1);
	ck_assert_uint_eq(lying(3), 1);
	buffers_drop();
}
END_TEST

/* ---- a base that has no more ----------------------------------------------------------------- */

/* All memory lies in buffers, in pieces of another class: each request is served all the same. */
START_TEST(other_class)
{
	static const size_t wanted[] = { 16, 100, 4096, 8192, 8193, 16384 };
	struct ckit *kit = alone_create(16384, 1u << _i % 6);
	struct mam_kbase base = ckit_base(kit);
	void *block[256], *large;
	uint32_t i, w;

	for (w = 0; w < 6; w++) {
		for (i = 0; i < 256; i++) {
			block[i] = mam_buffers_alloc(buffers, base, 64);
			ck_assert_ptr_nonnull(block[i]);
		}
		ck_assert_ptr_null(mam_buffers_alloc(buffers, base, 64));
		for (i = 0; i < 256; i++)
			ck_assert(mam_buffers_free(buffers, base, block[i], 64));
		large = mam_buffers_alloc(buffers, base, wanted[w]);
		ck_assert_ptr_nonnull(large);
		ckit_own(kit, large, wanted[w]);
		ckit_disown(kit, large);
		ck_assert(mam_base_free(base, large));
		(void)mam_buffers_drain(buffers, base);
		ck_assert_uint_eq(kit->allocs, kit->frees);
	}
	alone_destroy(kit);
}
END_TEST

/* The base refuses from now on: what lies in any FIFO of the class is found, to the last. */
START_TEST(same_class)
{
	uint32_t count = 1u << _i, i, n;
	struct ckit *kit = alone_create(1 << 16, count);
	struct mam_kbase base = ckit_base(kit);
	void *block[256];

	for (i = 0; i < 256; i++)
		block[i] = mam_buffers_alloc(buffers, base, 200);
	for (i = 0; i < 256; i++)
		ck_assert(mam_buffers_free(buffers, base, block[i], 200));
	n = lying(0);
	ck_assert_uint_eq(kit->frees + n, 256);
	kit->most_bytes = 1;
	for (i = 0; i < n; i++) {
		block[i] = mam_buffers_alloc(buffers, base, 200);
		ck_assert_ptr_nonnull(block[i]);
		ckit_own(kit, block[i], 200);
	}
	ck_assert_uint_eq(lying(0), 0);
	ck_assert_ptr_null(mam_buffers_alloc(buffers, base, 200));
	for (i = 0; i < n; i++) {
		ckit_disown(kit, block[i]);
		ck_assert(mam_base_free(base, block[i]));
	}
	alone_destroy(kit);
}
END_TEST

/* ---- by many ------------------------------------------------------------------------------- */

static void begin(struct ckit *kit)
{
	const struct plan *plan = kit->plan;

	buffers_make(plan->count, (uintptr_t)kit->arena);
	stop_begin((plan->grid - plan->stoppers) * plan->block);
	given = 0;
}

/* Each gives back what somebody else had, now and then all drain. */
static MAM_KERNEL(churn)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	struct mam_kbase base = ckit_base(kit);
	uint32_t lanes = mam_block_threads() * mam_grid_blocks(), n, kind;
	size_t bytes;
	void *part;

	if (mam_block() < plan->stoppers && mam_thread() == below(plan->block))
		stop_after(1 + below(12 * plan->rounds));
	for (n = 0; n < plan->rounds; n++) {
		kind = below(4);
		bytes = plan->bytes[kind];
		part = mam_buffers_alloc(buffers, base, bytes);
		if (part)
			ckit_own(kit, part, bytes);
		else
			ckit_fail(kit);
		/* Who leaves a part leaves it among those of its size. */
		if (part && below(4)) {
			uint32_t at = below(lanes) * 4 + kind;

			if (mam_atomic_cas64(&kit->kept[at], 0, (uintptr_t)part, MAM_RELEASE,
					     MAM_AT_DEVICE) == 0)
				part = NULL;
		}
		if (!part)
			part = ckit_take(kit, below(lanes) * 4 + kind);
		if (part) {
			ckit_disown(kit, part);
			MAM_KASSERT(mam_buffers_free(buffers, base, part, bytes));
		}
	}
	if (mam_block() >= plan->stoppers)
		stop_leave();
}

/* All that was left is given back; then lanes drain together. */
static MAM_KERNEL(drain)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t i = mam_block() * mam_block_threads() + mam_thread();
	void *part;

	for (; i < plan->grid * plan->block * 4; i += mam_block_threads() * mam_grid_blocks()) {
		part = ckit_take(kit, i);
		if (part) {
			ckit_disown(kit, part);
			MAM_KASSERT(mam_buffers_free(buffers, ckit_base(kit), part,
						     plan->bytes[i % 4]));
		}
	}
	mam_syncthreads();
	(void)mam_atomic_add64(&given, mam_buffers_drain(buffers, ckit_base(kit)), MAM_RELAXED,
			       MAM_AT_DEVICE);
}

static bool build(struct simt_world *world, void *argument)
{
	const struct plan *plan = ((struct ckit *)argument)->plan;

	return simt_world_launch(world, 1, churn, plan->grid, plan->block, argument) &&
	       simt_world_launch(world, 1, drain, 1, 3, argument);
}

/* Two kernels at a time, each in a stream; the host drains when both have ended. */
static bool build_streams(struct simt_world *world, void *argument)
{
	const struct plan *plan = ((struct ckit *)argument)->plan;

	return simt_world_launch(world, 1, churn, plan->grid, plan->block, argument) &&
	       simt_world_launch(world, 2, churn, plan->grid, plan->block, argument) &&
	       simt_world_launch(world, 1, churn, plan->grid, plan->block, argument);
}

static const char *check(void *argument)
{
	runs++;
	halts += stop.stopped;
	if (lying(0))
		return "a drain has left something";
	return buffers->moving ? "somebody still moves something" : ckit_check_empty(argument);
}

static const char *check_streams(void *argument)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t i;
	void *part;

	for (i = 0; i < plan->grid * plan->block * 4; i++) {
		part = ckit_take(kit, i);
		if (part) {
			ckit_disown(kit, part);
			(void)mam_buffers_free(buffers, ckit_base(kit), part, plan->bytes[i % 4]);
		}
	}
	(void)mam_buffers_drain(buffers, ckit_base(kit));
	return check(argument);
}

static const struct plan plans[] = {
	/* name, count, grid, block, rounds, bytes, arena, refuse every, stoppers, seeds */
	{ "no FIFO", 0, 2, 3, 6, { 16, 40, 100, 200 }, 1 << 16, 0, 0, 60, 30 },
	{ "one FIFO", 1, 2, 3, 8, { 16, 16, 16, 40 }, 1 << 14, 0, 0, 400, 100 },
	{ "two", 2, 2, 3, 8, { 16, 40, 100, 200 }, 1 << 14, 0, 0, 300, 80 },
	{ "32", 32, 2, 3, 8, { 16, 40, 100, 200 }, 1 << 14, 0, 0, 20, 8 },
	{ "little room", 1, 2, 3, 8, { 16, 40, 100, 200 }, 320, 0, 0, 200, 50 },
	{ "little room, two", 2, 4, 1, 8, { 16, 16, 32, 64 }, 96, 0, 0, 150, 40 },
	{ "refused now and then", 1, 2, 3, 8, { 16, 40, 100, 200 }, 1 << 14, 3, 0, 200, 50 },
	{ "too large ones, too", 1, 3, 1, 8, { 16, 16, 9000, 8192 }, 1 << 18, 0, 0, 60, 10 },
	{ "warps", 4, 2, 40, 3, { 16, 40, 40, 48 }, 1 << 14, 0, 0, 10, 3 },
	{ "one stops", 1, 4, 1, 8, { 16, 16, 16, 40 }, 1 << 14, 0, 1, 400, 100 },
	{ "two stop, little room", 1, 5, 1, 6, { 16, 16, 40, 64 }, 160, 0, 2, 150, 40 },
	{ "warps, one stops in each", 2, 3, 5, 5, { 16, 16, 40, 64 }, 1 << 14, 0, 2, 100, 30 },
};

static void explore(const struct plan *plan,
		    bool (*build_)(struct simt_world *world, void *argument),
		    const char *(*check_)(void *argument), bool served)
{
	struct ckit *kit = ckit_create(plan->arena, plan);

	kit->begin = begin;
	kit->refuse_every = plan->refuse_every;
	kit->steps_max = 4000000;
	runs = halts = 0;
	ckit_explore_world(kit, plan->name, build_, CKIT_RACE ? plan->seeds_race : plan->seeds,
			   check_);
	if (served)
		ck_assert_uint_eq(kit->failed, 0);
	ck_assert(runs < 60 || !plan->stoppers || halts > runs / 3);
	ckit_destroy(kit);
	buffers_drop();
}

START_TEST(many)
{
	const struct plan *plan = &plans[_i];

	explore(plan, build, check, plan->arena >= 1 << 14 && !plan->refuse_every);
}
END_TEST

START_TEST(streams)
{
	static const struct plan plan = { "streams", 2, 2, 2,   6, { 16, 40, 40, 64 },
					  1 << 14,   0, 0, 200, 50 };

	explore(&plan, build_streams, check_streams, true);
}
END_TEST

/* ---- memory in buffers is no reason for NULL ------------------------------------------------- */

/*
 * A base that counts bytes, so that it matters only how many came back, not which. All it may give
 * lies in buffers, in small blocks; lanes want larger ones, which all can be had once all has come
 * back, whichever of them carries what.
 */
static struct {
	size_t used, most;
} budget;

STOP_UNSEEN bool budget_take(size_t bytes)
{
	if (budget.used + bytes > budget.most)
		return false;
	budget.used += bytes;
	return true;
}

STOP_UNSEEN size_t budget_bytes(const struct ckit *kit, const unsigned char *block)
{
	return (size_t)kit->extent[(block - kit->arena) / 16] * 16;
}

STOP_UNSEEN void budget_give(size_t bytes)
{
	budget.used -= bytes;
}

static void *budget_alloc(void *heap, size_t bytes)
{
	bytes = (bytes + 15) / 16 * 16;
	return budget_take(bytes) ? ckit_base_alloc(heap, bytes) : NULL;
}

static bool budget_free(void *heap, void *block)
{
	size_t bytes = budget_bytes(heap, block);
	bool done = ckit_base_free(heap, block);

	budget_give(bytes);
	return done;
}

static struct mam_kbase budget_base(struct ckit *kit)
{
	struct mam_kbase base = { budget_alloc, budget_free, kit };

	return base;
}

/* The plan's arena is what the base may give, in as many blocks as its rounds. */
static void begin_full(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	size_t bytes = plan->arena / plan->rounds;
	uint32_t i;
	void *block[64];

	begin(kit);
	budget.used = 0;
	budget.most = plan->arena;
	for (i = 0; i < plan->rounds; i++)
		block[i] = mam_base_alloc(budget_base(kit), bytes);
	for (i = 0; i < plan->rounds; i++)
		MAM_KASSERT(mam_buffers_free(buffers, budget_base(kit), block[i], bytes));
	MAM_KASSERT(lying(0) == plan->rounds && budget.used == budget.most);
}

static MAM_KERNEL(want)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t me = mam_block() * mam_block_threads() + mam_thread();
	size_t bytes = plan->bytes[me % 4];
	void *part = mam_buffers_alloc(buffers, budget_base(kit), bytes);

	if (!part) {
		ckit_fail(kit);
		return;
	}
	ckit_own(kit, part, bytes);
	ckit_keep(kit, me * 4 + me % 4, part);
}

static bool build_want(struct simt_world *world, void *argument)
{
	const struct plan *plan = ((struct ckit *)argument)->plan;

	return simt_world_launch(world, 1, want, plan->grid, plan->block, argument) &&
	       simt_world_launch(world, 1, drain, 1, 2, argument);
}

static const char *check_want(void *argument)
{
	const struct ckit *kit = argument;

	return kit->failed ? "memory lay in buffers, and a request was refused" : check(argument);
}

static const struct plan wants[] = {
	/* name, count, grid, block, blocks that lie there, bytes, all bytes, -, -, seeds */
	{ "half for one", 1, 1, 1, 8, { 64, 0, 0, 0 }, 128, 0, 0, 3, 3 },
	{ "all for two", 1, 2, 1, 8, { 64, 64, 0, 0 }, 128, 0, 0, 500, 100 },
	{ "all for two, a large one", 2, 2, 1, 20, { 1024, 9216, 0, 0 }, 10240, 0, 0, 200, 50 },
	{ "all for four", 2, 4, 1, 8, { 32, 32, 32, 32 }, 128, 0, 0, 300, 80 },
	{ "all for a warp's lanes", 1, 1, 4, 8, { 32, 32, 32, 32 }, 128, 0, 0, 300, 80 },
	{ "some of the same class", 1, 4, 1, 8, { 16, 32, 64, 16 }, 128, 0, 0, 300, 80 },
};

START_TEST(no_reason)
{
	const struct plan *plan = &wants[_i];
	struct ckit *kit = ckit_create(1 << 15, plan);

	kit->begin = begin_full;
	kit->steps_max = 4000000;
	ckit_explore_world(kit, plan->name, build_want, CKIT_RACE ? plan->seeds_race : plan->seeds,
			   check_want);
	ckit_destroy(kit);
	buffers_drop();
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("buffers");

	tcase_add_test(tcase, classes);
	tcase_add_test(tcase, not_kept);
	tcase_add_test(tcase, none);
	tcase_add_loop_test(tcase, counts, 0, 6);
	tcase_add_test(tcase, base_says_no);
	tcase_add_loop_test(tcase, reach, 0, 12);
	tcase_add_test(tcase, null);
	tcase_add_loop_test(tcase, other_class, 0, 6);
	tcase_add_loop_test(tcase, same_class, 0, 6);
	tcase_add_loop_test(tcase, many, 0, sizeof(plans) / sizeof(plans[0]));
	tcase_add_test(tcase, streams);
	tcase_add_loop_test(tcase, no_reason, 0, sizeof(wants) / sizeof(wants[0]));
	return ckit_run(tcase, "coalesce/buffers");
}
