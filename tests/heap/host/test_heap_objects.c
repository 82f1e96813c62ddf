/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A heap of objects in its memory: aligned blocks, a reset that results in a new heap; statistics
 * and heap walk, compared with a list of the allocated objects.
 *
 * Device functions that are called outside of a launch run as the only lane of the only block, in
 * the memory of the fake driver.
 */
#include "heap/objects/objects.h"
#include "heap/objects/resize.h"
#include "heap/slab/returns.h"

#include "heap_fixture.h"

#define MAX 20000

/* The test's objects, in no order. */
static struct {
	unsigned char *address[MAX];
	size_t bytes[MAX]; /* requested */
	unsigned int count;
} held;

static size_t usable(size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes);

	return class_ ? mam_class_bytes(class_) : (bytes + 1023) / 1024 * 1024;
}

/* Returns false if there is no room. */
static bool take(struct mam_heap *heap, size_t bytes)
{
	unsigned char *object = mam_objects_alloc(mam_heap_device(heap), bytes);

	if (!object)
		return false;
	ck_assert_uint_lt(held.count, MAX);
	held.address[held.count] = object;
	held.bytes[held.count++] = bytes;
	return true;
}

static void give(struct mam_heap *heap, unsigned int number)
{
	ck_assert(mam_objects_free(mam_heap_device(heap), held.address[number]));
	held.count--;
	held.address[number] = held.address[held.count];
	held.bytes[number] = held.bytes[held.count];
}

static uint64_t state = 1;

static uint32_t any(uint32_t below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 32) * below >> 32);
}

/* All orders of magnitude are equally likely. */
static size_t any_bytes(void)
{
	return 1 + any(1u << (4 + any(14)));
}

/* ---- statistics ---------------------------------------------------------------------------- */

/* Returns statistics after checking that they are consistent, whatever the heap contains. */
static struct mam_heap_info counted(struct mam_heap *heap)
{
	struct mam_heap_info info = stats_of(heap);
	uint64_t objects = info.large_objects, bytes = info.large_bytes, slabs = 0, idle = 0;
	uint64_t groups[MAM_HEAP_CLASSES] = { 0 };
	uint64_t units = info.large_bytes / 1024 + slab_units(mam_heap_device(heap), groups);
	uint64_t reachable[MAM_HEAP_REACHABLE] = { 0 };

	reach(mam_heap_device(heap), reachable);
	ck_assert_mem_eq(info.reachable, reachable, sizeof(reachable));
	for (unsigned int i = 0; i < MAM_HEAP_CLASSES; i++) {
		ck_assert_uint_eq(info.classes[i].bytes, mam_class_bytes(i + 1));
		ck_assert_uint_eq(info.classes[i].slabs, groups[i]);
		ck_assert_uint_le(info.classes[i].objects,
				  info.classes[i].slabs << mam_class_group_shift(i + 1));
		objects += info.classes[i].objects;
		bytes += info.classes[i].objects * info.classes[i].bytes;
		slabs += info.classes[i].slabs;
		idle += info.classes[i].idle;
	}
	ck_assert_uint_eq(info.objects, objects);
	ck_assert_uint_eq(info.object_bytes, bytes);
	ck_assert_uint_eq(info.slabs, slabs);
	ck_assert_uint_eq(info.idle_slabs, idle);
	ck_assert_uint_eq(info.taken, units);
	ck_assert_uint_eq(info.moving, 0);
	ck_assert_uint_eq(info.opened - info.closed, slabs);
	return info;
}

/* Compares statistics with the list. */
static void compare(struct mam_heap *heap)
{
	struct mam_heap_info info = counted(heap);
	uint64_t of[MAM_HEAP_CLASSES + 1] = { 0 }, bytes = 0;

	for (unsigned int i = 0; i < held.count; i++) {
		of[class_at(mam_heap_device(heap), held.address[i])]++;
		bytes += mam_objects_usable(mam_heap_device(heap), held.address[i]);
	}
	ck_assert_uint_eq(info.objects, held.count);
	ck_assert_uint_eq(info.object_bytes, bytes);
	ck_assert_uint_eq(info.large_objects, of[0]);
	for (unsigned int i = 0; i < MAM_HEAP_CLASSES; i++)
		ck_assert_uint_eq(info.classes[i].objects, of[i + 1]);
}

/* ---- the heap walk ------------------------------------------------------------------------- */

struct walked {
	struct mam_heap *heap;
	unsigned char *last; /* the end of the previous object */
	unsigned int count, stop_at;
	uint64_t bytes;
	uint64_t sum; /* of addresses */
};

static bool see(void *argument, void *address, size_t bytes)
{
	struct walked *walked = argument;

	ck_assert((unsigned char *)address >= walked->last);
	ck_assert_uint_eq(mam_objects_usable(mam_heap_device(walked->heap), address), bytes);
	walked->last = (unsigned char *)address + bytes;
	walked->bytes += bytes;
	walked->sum += (uintptr_t)address;
	return ++walked->count != walked->stop_at;
}

static struct walked walk(struct mam_heap *heap, unsigned int stop_at)
{
	struct walked walked = { .heap = heap, .stop_at = stop_at };

	ck_assert_int_eq(mam_heap_walk(heap, NULL, see, &walked), MAM_OK);
	return walked;
}

/* The walk visits each object once: in ascending order, with the same number and sum. */
static void walk_and_compare(struct mam_heap *heap)
{
	struct walked walked = walk(heap, 0);
	uint64_t bytes = 0, sum = 0;

	for (unsigned int i = 0; i < held.count; i++) {
		bytes += mam_objects_usable(mam_heap_device(heap), held.address[i]);
		sum += (uintptr_t)held.address[i];
	}
	ck_assert_uint_eq(walked.count, held.count);
	ck_assert_uint_eq(walked.bytes, bytes);
	ck_assert_uint_eq(walked.sum, sum);
}

/* ---- tests --------------------------------------------------------------------------------- */

START_TEST(new_heap_is_empty)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, 10 * MAM_HEAP_BLOCK);
	struct mam_heap_info info = counted(heap);
	uint32_t columns = mam_metadata_columns(10);

	(void)cuda;
	ck_assert_uint_eq(info.page_bytes, 1024);
	ck_assert_uint_eq(info.pages, 640);
	ck_assert_uint_eq(info.free, 640);
	ck_assert_uint_eq(info.longest_free, 640);
	ck_assert_uint_eq(info.objects + info.slabs + info.idle_slabs + info.returned, 0);
	ck_assert_uint_eq(info.full + info.contended + info.bad_sizes + info.zero_sizes, 0);
	ck_assert_uint_eq(info.space_bytes,
			  10 * MAM_HEAP_BLOCK + mam_metadata_plan_of(10, columns).end);
	ck_assert_uint_eq(walk(heap, 0).count, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(bytes_are_rounded_up_to_blocks)
{
	static const struct {
		size_t bytes;
		uint32_t blocks;
	} rows[] = {
		{ 1, 1 },
		{ MAM_HEAP_BLOCK, 1 },
		{ MAM_HEAP_BLOCK + 1, 2 },
		{ 64 * MAM_HEAP_BLOCK - 1, 64 },
		{ 10 * MIB, 160 },
	};
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	void *before;

	(void)cuda;
	ck_assert_int_eq(mam_malloc(pool, 512, &before),
			 MAM_OK); /* the heap's memory is not the first block */
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct mam_heap *heap = objects_of(pool, rows[i].bytes);
		struct mam_kheap *head = mam_heap_device(heap);

		ck_assert_uint_eq(head->blocks, rows[i].blocks);
		ck_assert_uint_eq(head->pages, 0);
		ck_assert_uint_eq(head->layout, MAM_HEAP_LAYOUT);
		ck_assert_uint_eq((uintptr_t)head->space % MAM_HEAP_BLOCK, 0);
		ck_assert_ptr_eq((unsigned char *)head,
				 head->space + (size_t)rows[i].blocks * MAM_HEAP_BLOCK);
		ck_assert_uint_eq(stats_of(heap).pages, rows[i].blocks * (uint64_t)64);
		heap_end(heap);
	}
	ck_assert_int_eq(mam_free(pool, before), MAM_OK);
	pool_end(pool);
}
END_TEST

START_TEST(each_class_is_counted_separately)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, 32 * MIB);
	struct mam_heap_info info;
	uint64_t before;

	(void)cuda;
	for (uint32_t class_ = 1; class_ <= MAM_CLASSES; class_++)
		for (uint32_t i = 0; i < class_; i++)
			ck_assert(take(heap, mam_class_bytes(class_)));
	ck_assert(take(heap, 8193) && take(heap, 63 * 1024) && take(heap, 64 * 1024) &&
		  take(heap, 300 * 1024));
	info = counted(heap);
	for (uint32_t class_ = 1; class_ <= MAM_CLASSES; class_++)
		ck_assert_uint_eq(info.classes[class_ - 1].objects, class_);
	ck_assert_uint_eq(info.large_objects, 4);
	ck_assert_uint_eq(info.large_bytes, 9 * 1024 + 127 * 1024 + 300 * 1024);
	ck_assert_uint_eq(info.idle_slabs, 0);
	ck_assert_uint_eq(info.closed, 0);
	compare(heap);
	walk_and_compare(heap);

	/* After all frees, idle slabs stay in place until a request needs their units. */
	while (held.count != 0)
		give(heap, 0);
	compare(heap);
	walk_and_compare(heap);
	info = counted(heap);
	ck_assert_uint_eq(info.idle_slabs, info.slabs);
	ck_assert_uint_gt(info.slabs, 0);
	before = info.slabs;
	ck_assert(take(heap, 32 * MIB));
	info = counted(heap);
	ck_assert_uint_eq(info.slabs, 0);
	ck_assert_uint_eq(info.closed, before);
	ck_assert_uint_eq(info.large_objects, 1);
	ck_assert_uint_eq(info.free, 0);
	ck_assert(!take(heap, 1));
	info = counted(heap);
	ck_assert_uint_eq(info.full, 1);
	ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
	held.count = 0;
	compare(heap);
	info = counted(heap);
	ck_assert_uint_eq(info.slabs + info.full + info.opened + info.searches + info.looks, 0);
	ck_assert_uint_eq(info.free, 32 * 1024);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(random_objects_match_statistics_and_walk)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, 20 * MIB);

	(void)cuda;
	for (unsigned int round = 0; round < 60; round++) {
		unsigned int wanted = any(round % 3 ? 2000 : 200);

		for (unsigned int i = 0; i < 400; i++)
			if (held.count < wanted)
				(void)take(heap, any_bytes());
			else if (held.count != 0)
				give(heap, any(held.count));
		compare(heap);
		walk_and_compare(heap);
	}
	heap_end(heap); /* with live objects */
	pool_end(pool);
}
END_TEST

/* Objects of one word of each class; and the last word of the last block. */
START_TEST(heap_fills_to_last_slot)
{
	static const size_t sizes[] = { 16, 48, 160, 1024, 1152, 8192, 9216 };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();

	(void)cuda;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct mam_heap *heap = objects_of(pool, 3 * MAM_HEAP_BLOCK);

		held.count = 0;
		while (take(heap, sizes[i]))
			;
		ck_assert_uint_ge(held.count * usable(sizes[i]), 3 * MAM_HEAP_BLOCK * 8 / 10);
		compare(heap);
		walk_and_compare(heap);
		heap_end(heap);
	}
	pool_end(pool);
}
END_TEST

/* More blocks than are read at a time: objects on both sides, and runs across. */
START_TEST(large_heap_is_scanned_in_pieces)
{
	struct cuda cuda;
	struct mam_pool *pool;
	struct mam_heap *heap;
	struct mam_heap_info info;

	setenv("FAKE_CUDA_MEMORY", "2G", 1); /* only written memory is backed */
	cuda = load();
	(void)cuda;
	pool = pool_new();
	heap = objects_of(pool, (size_t)2050 * MAM_HEAP_BLOCK);
	ck_assert(take(heap, 70 * MIB));
	for (unsigned int i = 0; i < 300; i++)
		ck_assert(take(heap, any_bytes()));
	compare(heap);
	walk_and_compare(heap);
	while (take(heap, MIB))
		;
	compare(heap);
	walk_and_compare(heap);
	info = counted(heap);
	ck_assert_uint_eq(info.pages, 2050 * 64);
	ck_assert_uint_lt(info.longest_free, 1024);
	ck_assert_uint_eq(walk(heap, 3).count, 3); /* of the first of three pieces */
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(walk_stops_when_visitor_returns_false)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, 4 * MIB);

	(void)cuda;
	for (unsigned int i = 0; i < 100; i++)
		ck_assert(take(heap, 1 + 100 * i));
	for (unsigned int stop_at = 1; stop_at <= 100; stop_at++)
		ck_assert_uint_eq(walk(heap, stop_at).count, stop_at);
	ck_assert_uint_eq(walk(heap, 101).count, 100);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(errors_are_counted_by_cause)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct mam_kheap *device = mam_heap_device(heap);
	struct mam_heap_info info;
	unsigned char *object, *large;

	(void)cuda;
	object = mam_objects_alloc(device, 100);
	large = mam_objects_alloc(device, 10000);
	ck_assert_ptr_nonnull(object);
	ck_assert_ptr_nonnull(large);
	ck_assert(!mam_objects_free(device, object + 16));  /* interior 1 */
	ck_assert(!mam_objects_free(device, large + 1024)); /* 2 */
	ck_assert(!mam_objects_free(device, large + 16));   /* 3 */
	ck_assert(!mam_objects_free(device, device));       /* foreign 1 */
	ck_assert(!mam_objects_free(device, &info));        /* 2 */
	ck_assert(mam_objects_free(device, object));
	ck_assert(!mam_objects_free(device, object)); /* double 1 */
	ck_assert_ptr_null(mam_objects_alloc(device, 0));
	ck_assert_ptr_null(mam_objects_alloc(device, 0));
	ck_assert_ptr_null(mam_objects_alloc(device, MIB + 1));
	ck_assert_ptr_null(mam_objects_alloc(device, MIB)); /* `large` is still live */
	info = counted(heap);
	ck_assert_uint_eq(info.interior_frees, 3);
	ck_assert_uint_eq(info.foreign_frees, 2);
	ck_assert_uint_eq(info.double_frees, 1);
	ck_assert_uint_eq(info.zero_sizes, 2);
	ck_assert_uint_eq(info.bad_sizes, 1);
	ck_assert_uint_eq(info.full, 1);
	ck_assert_uint_eq(info.contended + info.no_run + info.wrong_heaps, 0);
	device->tallies->of[MAM_OBJECT_CONTENDED].value = (uint64_t)7 << 32;
	info = counted(heap);
	ck_assert_uint_eq(info.contended, (uint64_t)7 << 32);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Objects of other classes between those of a slab, whose idle parts were closed. */
START_TEST(walk_shows_parts_of_slabs)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MAM_HEAP_BLOCK);
	struct mam_heap_info info;

	(void)cuda;
	while (take(heap, 1024))
		;
	ck_assert_uint_eq(held.count, 64);
	ck_assert_uint_eq(counted(heap).slabs, 64);
	/* Every second unit of the block, as the objects are in it by address. */
	for (unsigned int i = held.count; i-- > 0;)
		if ((held.address[i] - mam_heap_device(heap)->space) / 1024 % 2)
			give(heap, i);
	info = counted(heap);
	ck_assert_uint_eq(info.slabs, 64);
	ck_assert_uint_eq(info.idle_slabs, 32);
	ck_assert(!take(heap, 16 * 1024));
	info = counted(heap);
	ck_assert_uint_eq(info.slabs, 32);
	ck_assert_uint_eq(info.idle_slabs, 0);
	ck_assert_uint_eq(info.free, 32);
	/* 20 units of 16-byte slots, 8 of 64-byte slots. */
	for (unsigned int i = 0; i < 20 * 64; i++)
		ck_assert(take(heap, 16));
	for (unsigned int i = 0; i < 8 * 16; i++)
		ck_assert(take(heap, 64));
	compare(heap);
	walk_and_compare(heap);
	info = counted(heap);
	/* Lanes that search for room may open a slab before the last one is full. */
	ck_assert_uint_ge(info.slabs, 32 + 20 + 8);
	ck_assert_uint_le(info.slabs, 64);
	ck_assert_uint_eq(info.large_objects, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* The memory that objects of each size can use, in heaps of known contents. */
START_TEST(reachable_memory_shows_fragmentation)
{
	static const uint64_t all[] = { 640, 640, 640, 640, 640, 640, 640, 640, 512, 512, 0 };
	static const uint64_t half[] = { 320, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	static const uint64_t rest[] = { 575, 574, 572, 568, 560, 544, 512, 512, 512, 512, 0 };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, 10 * MAM_HEAP_BLOCK);
	struct mam_kheap *device = mam_heap_device(heap);
	struct mam_heap_info info = counted(heap);

	(void)cuda;
	for (unsigned int i = 0; i < MAM_HEAP_REACHABLE; i++)
		ck_assert_uint_eq(info.reachable[i], all[i] * 1024);
	while (take(heap, 1024))
		;
	ck_assert_uint_eq(held.count, 640);
	info = counted(heap);
	for (unsigned int i = 0; i < MAM_HEAP_REACHABLE; i++)
		ck_assert_uint_eq(info.reachable[i], 0);
	/* Every second unit: its slab is idle, but still open. */
	for (unsigned int i = held.count; i-- > 0;)
		if ((held.address[i] - device->space) / 1024 % 2)
			give(heap, i);
	info = counted(heap);
	ck_assert_uint_eq(info.free, 0);
	for (unsigned int i = 0; i < MAM_HEAP_REACHABLE; i++)
		ck_assert_uint_eq(info.reachable[i], half[i] * 1024);
	/* Filled again; then all except unit 0 and those of the last block: one run of 575 units. */
	while (take(heap, 1024))
		;
	for (unsigned int i = held.count; i-- > 0;)
		if (held.address[i] > device->space + 1023 &&
		    held.address[i] < device->space + 576 * 1024)
			give(heap, i);
	info = counted(heap);
	for (unsigned int i = 0; i < MAM_HEAP_REACHABLE; i++)
		ck_assert_uint_eq(info.reachable[i], rest[i] * 1024);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Small objects that have units of their own, as no slab fits. */
START_TEST(short_runs_are_large_objects)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MAM_HEAP_BLOCK);
	struct mam_heap_info info;

	(void)cuda;
	/* 14 units are left, at least 7 of them in a row; slabs of this class have 21. */
	ck_assert(take(heap, 50 * 1024));
	ck_assert(take(heap, 5300));
	info = counted(heap);
	ck_assert_uint_eq(info.slabs, 0);
	ck_assert_uint_eq(info.large_objects, 2);
	ck_assert_uint_eq(info.large_bytes, 56 * 1024);
	ck_assert_uint_eq(info.objects, 2);
	ck_assert_uint_eq(info.free, 8);
	ck_assert_uint_eq(walk(heap, 0).bytes, 56 * 1024);
	compare(heap);
	walk_and_compare(heap);
	give(heap, 1);
	ck_assert_uint_eq(counted(heap).free, 14);
	walk_and_compare(heap);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Claimed units without an owner are counted: a warp was stopped there. */
START_TEST(slabs_in_transition_are_counted)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct mam_kheap *device = mam_heap_device(heap);
	unsigned char *owners = (unsigned char *)device->owners;
	struct mam_heap_info info;
	size_t unit;

	(void)cuda;
	ck_assert(take(heap, 7680)); /* a slab that is one of four groups of 15 units */
	ck_assert(take(heap, 16));
	mam_pages_bits(device->units)[15] |= 6;
	info = stats_of(heap);
	ck_assert_uint_eq(info.moving, 2);
	ck_assert_uint_eq(info.objects, 2);
	unit = (size_t)(held.address[0] - device->space) / 1024;
	owners[unit - unit % 64 % 15] |= MAM_OWNER_MOVING;
	info = stats_of(heap);
	ck_assert_uint_eq(info.moving, 2 + 15);
	ck_assert_uint_eq(info.objects, 1);
	ck_assert_uint_eq(info.slabs, 1);
	ck_assert_uint_eq(walk(heap, 0).count, 1);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* The work of searches is counted in many columns. */
START_TEST(search_counters_are_summed)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct mam_kheap *device = mam_heap_device(heap);
	struct mam_heap_info before, after;

	(void)cuda;
	for (unsigned int i = 0; i < 3; i++)
		ck_assert(take(heap, 16u << 2 * i));
	before = stats_of(heap);
	ck_assert_uint_eq(before.slabs, 3);
	for (uint32_t row = 0; row <= device->columns; row++) {
		device->steps[row].searches += 1;
		device->steps[row].looks += 2;
		device->steps[row].passes += (uint64_t)4 << 32;
	}
	after = stats_of(heap);
	ck_assert_uint_eq(after.searches - before.searches, device->columns + 1);
	ck_assert_uint_eq(after.looks - before.looks, 2 * (device->columns + 1));
	ck_assert_uint_eq(after.passes - before.passes, (uint64_t)4 * (device->columns + 1) << 32);
	device->closes[0] = 5;
	device->closes[15] = UINT32_MAX;
	ck_assert_uint_eq(stats_of(heap).closed, (uint64_t)UINT32_MAX + 5);
	ck_assert_uint_eq(stats_of(heap).opened, (uint64_t)UINT32_MAX + 5 + 3);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* Impossible lengths in metadata that was overwritten: no object, and no harm. */
START_TEST(corrupted_metadata_is_harmless)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = objects_of(pool, MIB);
	struct mam_kheap *device = mam_heap_device(heap);
	unsigned char *owners = (unsigned char *)device->owners;

	(void)cuda;
	owners[5] = MAM_OWNER_LONG;
	owners[1023] = MAM_OWNER_RUN + 9;
	owners[200] = MAM_OWNER_LONG;
	owners[300] = 72; /* where no slab of the class can start */
	device->longs[0] = UINT32_MAX;
	device->longs[3] = 1024 - 200 + 1;
	ck_assert_uint_eq(stats_of(heap).objects, 0);
	ck_assert_uint_eq(walk(heap, 0).count, 0);
	device->longs[3]--;
	ck_assert_uint_eq(stats_of(heap).large_bytes, (1024 - 200) * 1024);
	/* Random bytes. */
	for (unsigned int i = 0; i < 1024; i++) {
		owners[i] = (unsigned char)any(256);
		device->longs[i / 64] = any(UINT32_MAX);
	}
	for (size_t i = 0; i < (size_t)16 * MAM_BLOCK_WORDS; i++)
		device->words[i] = (uint64_t)any(UINT32_MAX) << 32 | any(UINT32_MAX);
	ck_assert_uint_le(stats_of(heap).objects, 1024 * 64);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(every_device_source_works)
{
	static const char *const sources[] = { "cudamalloc", "vmm", "managed", "pinned" };
	struct cuda cuda = load();

	(void)cuda;
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		struct mam_pool *pool = pool_on(sources[i], MAM_FREE_DEFAULT);
		struct mam_heap *heap = objects_of(pool, MIB);

		held.count = 0;
		ck_assert(take(heap, 100) && take(heap, 20000));
		compare(heap);
		walk_and_compare(heap);
		ck_assert_int_eq(mam_heap_reset(heap, NULL), MAM_OK);
		held.count = 0;
		compare(heap);
		heap_end(heap);
		pool_end(pool);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, new_heap_is_empty);
	tcase_add_test(tests, bytes_are_rounded_up_to_blocks);
	tcase_add_test(tests, each_class_is_counted_separately);
	tcase_add_test(tests, random_objects_match_statistics_and_walk);
	tcase_add_test(tests, heap_fills_to_last_slot);
	tcase_add_test(tests, large_heap_is_scanned_in_pieces);
	tcase_add_test(tests, walk_stops_when_visitor_returns_false);
	tcase_add_test(tests, errors_are_counted_by_cause);
	tcase_add_test(tests, walk_shows_parts_of_slabs);
	tcase_add_test(tests, reachable_memory_shows_fragmentation);
	tcase_add_test(tests, short_runs_are_large_objects);
	tcase_add_test(tests, slabs_in_transition_are_counted);
	tcase_add_test(tests, search_counters_are_summed);
	tcase_add_test(tests, corrupted_metadata_is_harmless);
	tcase_add_test(tests, every_device_source_works);
}

int main(void)
{
	return run_suite("heap/heap_objects", add);
}
