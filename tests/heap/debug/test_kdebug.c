/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_kdebug.c - a debug heap: the properties of its objects, and each kind of error, which is
 * detected where it happens, reported with all that is known, and counted.
 */
#include "heap/debug/debug_kit.h"

/* ---- guarantees ---------- */

/* One lane requests all sizes in turn: alignment, length, contents. */
static MAM_KERNEL(promises)
{
	struct dkit *dkit = argument;
	struct mam_kheap *heap = dkit->kit->heap;
	size_t bytes, usable, i;
	unsigned char *object;

	for (bytes = 1; bytes < 40000; bytes += 1 + bytes / 24) {
		usable = okit_usable(bytes);
		object = mam_kmalloc(heap, bytes);
		MAM_KASSERT(object);
		if (usable > MAM_CLASS_BYTES_MAX)
			MAM_KASSERT((uintptr_t)object % 1024 == 0);
		else if (!(usable & (usable - 1)))
			MAM_KASSERT((uintptr_t)object % usable == 0);
		MAM_KASSERT((uintptr_t)object % 16 == 0);
		MAM_KASSERT(mam_kusable(heap, object) == bytes);
		MAM_KASSERT(!mam_kusable(heap, object + 16));
		for (i = 0; i < bytes; i++)
			MAM_KASSERT(object[i] == MAM_GUARD_FRESH);
		/* The overhead of large objects is less than one half. */
		if (bytes > MAM_CLASS_BYTES_MAX)
			MAM_KASSERT(mam_guard_gross(dkit_guard(dkit, object)) < bytes + bytes / 2);
		memset(object, 0, bytes);
		MAM_KASSERT(mam_kfree(heap, object));
		MAM_KASSERT(!mam_kusable(heap, object));
		for (i = 0; i < bytes; i++)
			MAM_KASSERT(object[i] == MAM_GUARD_POISON);
		object = mam_kcalloc(heap, bytes, 1);
		for (i = 0; i < bytes; i++)
			MAM_KASSERT(object[i] == 0);
		memset(object, 0xff, bytes);
		MAM_KASSERT(mam_kfree(heap, object));
	}
	MAM_KASSERT(!mam_kmalloc(heap, 0) && !mam_kcalloc(heap, 0, 3));
	MAM_KASSERT(!mam_kmalloc(heap, SIZE_MAX) && !mam_kmalloc(heap, SIZE_MAX - 1100));
	MAM_KASSERT(!mam_kcalloc(heap, SIZE_MAX / 2, 3));
	MAM_KASSERT(!mam_kmalloc(NULL, 3) && !mam_kfree(NULL, heap) && !mam_kusable(NULL, heap));
	MAM_KASSERT(mam_kfree(heap, NULL) && !mam_kusable(heap, NULL));
	dkit->kit->failed = 5;
}

START_TEST(objects_are_as_guaranteed)
{
	struct dkit *dkit = dkit_create(8, 1);

	dkit_explore(dkit, "guarantees", promises, 1, 1, 1, true, dkit_check_quiet);
	dkit_destroy(dkit);
}
END_TEST

/* Code with red zones on a plain heap: nothing is allocated, changed or reported. */
static MAM_KERNEL(other_layout)
{
	struct dkit *dkit = argument;
	struct mam_kheap *heap = dkit->kit->heap;

	heap->layout = MAM_HEAP_LAYOUT_PLAIN;
	MAM_KASSERT(!mam_kmalloc(heap, 100) && !mam_kcalloc(heap, 1, 100));
	MAM_KASSERT(!mam_krealloc(heap, NULL, 100) && !mam_krealloc(heap, dkit->kit->space, 100));
	MAM_KASSERT(!mam_kfree(heap, dkit->kit->space + 96));
	MAM_KASSERT(!mam_kusable(heap, dkit->kit->space + 96));
	heap->layout = MAM_HEAP_LAYOUT_DEBUG;
}

START_TEST(plain_heap_is_rejected)
{
	struct dkit *dkit = dkit_create(2, 1);

	dkit_explore(dkit, "layout", other_layout, 1, 1, 1, true, dkit_check_quiet);
	dkit_destroy(dkit);
}
END_TEST

/* ---- single errors ------- */

static const size_t sizes[] = { 1, 40, 64, 100, 1000, 1024, 4096, 8192, 9000, 70000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* An error made by one lane. */
struct plan {
	void (*make)(struct dkit *dkit, size_t bytes);
	size_t bytes;
};

static MAM_KERNEL(one_error)
{
	struct dkit *dkit = argument;
	const struct plan *plan = dkit->plan;

	plan->make(dkit, plan->bytes);
}

/* Checks that the only report has these values and names the only lane. */
static void expect(const struct dkit *dkit, uint32_t kind, const void *address, size_t bytes,
		   int64_t offset, bool gone)
{
	const struct mam_report *report = dkit_only(dkit);
	const struct mam_who me = mam_kdebug_me();

	MAM_KASSERT(report->kind == kind);
	MAM_KASSERT(report->address == (uintptr_t)address);
	MAM_KASSERT(report->bytes == bytes);
	MAM_KASSERT((int64_t)report->offset == offset);
	MAM_KASSERT(!memcmp(&report->finder, &me, sizeof(me)));
	if (bytes)
		MAM_KASSERT(!memcmp(&report->holder, &me, sizeof(me)));
	MAM_KASSERT(!!report->giver.word[1] == gone);
	dkit->growth->told.value = 0;
	dkit->reports->report[0].stamp = 0;
}

static void overrun(struct dkit *dkit, size_t bytes)
{
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *object, was;
	size_t at;

	for (at = bytes; at < bytes + MAM_GUARD_REAR; at++) {
		object = mam_kmalloc(heap, bytes);
		was = object[at]++;
		MAM_KASSERT(was == MAM_GUARD_ZONE_REAR);
		MAM_KASSERT(mam_kfree(heap, object));
		expect(dkit, MAM_HEAP_OVERRUN, object, bytes, (int64_t)at, false);
	}
}

static void underrun(struct dkit *dkit, size_t bytes)
{
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *object;
	int at;

	for (at = -1; at >= (int)MAM_GUARD_BYTES - (int)MAM_GUARD_FRONT; at--) {
		object = mam_kmalloc(heap, bytes);
		object[at]++;
		object[-1] = 1;
		MAM_KASSERT(mam_kfree(heap, object));
		expect(dkit, MAM_HEAP_UNDERRUN, object, bytes, at, false);
	}
}

/* A write so far before the object that the object is unknown: it stays where it is. */
static void far_underrun(struct dkit *dkit, size_t bytes)
{
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *object, *guard;
	uint32_t at, tries;

	for (at = 0; at < MAM_GUARD_BYTES; at++) {
		object = mam_kmalloc(heap, bytes);
		guard = (unsigned char *)dkit_guard(dkit, object);
		guard[at] ^= 64;
		for (tries = 0; tries < 2; tries++) {
			MAM_KASSERT(!mam_kfree(heap, object));
			expect(dkit, MAM_HEAP_UNDERRUN, object, 0, guard - object, false);
			MAM_KASSERT(!mam_kusable(heap, object));
		}
		guard[at] ^= 64;
		MAM_KASSERT(mam_kfree(heap, object));
	}
	MAM_KASSERT(okit_tally(dkit->kit, MAM_OBJECT_FOREIGN) == 2 * MAM_GUARD_BYTES);
}

/* In free units, too: closes all empty slabs. */
static void close_slabs(struct mam_kheap *heap)
{
	struct mam_kwanted nothing = { { { 0, 0 } }, { { 0, 0 } }, MAM_PASS_SILENT };
	uint32_t block;

	for (block = 0; block < heap->blocks; block++)
		(void)mam_pass_block(heap, &nothing, block);
}

static void double_free(struct dkit *dkit, size_t bytes)
{
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *object = mam_kmalloc(heap, bytes);

	MAM_KASSERT(mam_kfree(heap, object));
	MAM_KASSERT(!mam_kfree(heap, object));
	expect(dkit, MAM_HEAP_DOUBLE_FREE, object, bytes, 0, true);
	MAM_KASSERT(!mam_krealloc(heap, object, 10));
	expect(dkit, MAM_HEAP_DOUBLE_FREE, object, bytes, 0, true);
	close_slabs(heap);
	MAM_KASSERT(!mam_kfree(heap, object));
	expect(dkit, MAM_HEAP_DOUBLE_FREE, object, bytes, 0, true);
	MAM_KASSERT(okit_tally(dkit->kit, MAM_OBJECT_TWICE) == 3);
	MAM_KASSERT(!mam_kfree(heap, object + 16));
	expect(dkit, MAM_HEAP_FOREIGN_FREE, object + 16, 0, 0, false);
	MAM_KASSERT(!mam_kfree(heap, object + 1));
	expect(dkit, MAM_HEAP_FOREIGN_FREE, object + 1, 0, 0, false);
}

static void interior(struct dkit *dkit, size_t bytes)
{
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *object = mam_kmalloc(heap, bytes), *guard;
	const uint64_t gross = mam_guard_gross(dkit_guard(dkit, object));
	int64_t at, step;

	guard = (unsigned char *)dkit_guard(dkit, object);
	for (at = guard - object; at < (int64_t)gross + (guard - object); at += step) {
		step = at < 128 ? 5 : bytes / 7 + 1;
		if (!at)
			continue;
		MAM_KASSERT(!mam_kfree(heap, object + at));
		expect(dkit, MAM_HEAP_INTERIOR_FREE, object + at, bytes, at, false);
		MAM_KASSERT(!mam_kusable(heap, object + at));
		dkit->failed++;
	}
	MAM_KASSERT(okit_tally(dkit->kit, MAM_OBJECT_INTERIOR) == dkit->failed);
	dkit->failed = 0;
	MAM_KASSERT(mam_kusable(heap, object) == bytes);
	MAM_KASSERT(mam_kfree(heap, object));
}

static void foreign(struct dkit *dkit, size_t bytes)
{
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *end = dkit->kit->space + ((size_t)dkit->kit->blocks << MAM_BLOCK_SHIFT);
	/* clang-format off */
	unsigned char *const addresses[] = {
		dkit->kit->space - 1,     dkit->kit->space - 96,    end,
		end + 1024,                (unsigned char *)heap,     (unsigned char *)&heap,
		(unsigned char *)16,       (unsigned char *)~(uintptr_t)15,
		dkit->kit->space,         dkit->kit->space + 96,    end - 1,
		end - 16,
	};
	/* clang-format on */
	size_t i;

	(void)bytes;
	for (i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		MAM_KASSERT(!mam_kfree(heap, addresses[i]));
		expect(dkit, MAM_HEAP_FOREIGN_FREE, addresses[i], 0, 0, false);
		MAM_KASSERT(!mam_krealloc(heap, addresses[i], 100));
		expect(dkit, MAM_HEAP_FOREIGN_FREE, addresses[i], 0, 0, false);
		MAM_KASSERT(!mam_kusable(heap, addresses[i]));
	}
	MAM_KASSERT(okit_tally(dkit->kit, MAM_OBJECT_FOREIGN) == 2 * i);
}

/* No object is in the space after the last slot of a slab. */
static void tail(struct dkit *dkit, size_t bytes)
{
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *object = mam_kmalloc(heap, 4200), *end;

	(void)bytes;
	end = dkit->kit->space +
	      ((((size_t)(object - dkit->kit->space) >> MAM_BLOCK_SHIFT) + 1) << MAM_BLOCK_SHIFT);
	MAM_KASSERT(!mam_kfree(heap, end - 16));
	expect(dkit, MAM_HEAP_FOREIGN_FREE, end - 16, 0, 0, false);
	MAM_KASSERT(mam_kfree(heap, object));
}

/*
 * The memory is reused at once, as no other lane allocates: first as the same slot, the lane's home,
 * which the first object opened; then inside a larger object.
 */
static void after_free(struct dkit *dkit, size_t bytes)
{
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *object, *again;
	size_t at;

	MAM_KASSERT(mam_kfree(heap, mam_kmalloc(heap, bytes)));
	for (at = 0; at < bytes; at += 1 + bytes / 9) {
		object = mam_kmalloc(heap, bytes);
		MAM_KASSERT(mam_kfree(heap, object));
		object[at] ^= 1;
		again = mam_kmalloc(heap, bytes);
		MAM_KASSERT(again == object);
		expect(dkit, MAM_HEAP_WRITTEN_AFTER_FREE, object, bytes, (int64_t)at, true);
		MAM_KASSERT(mam_kfree(heap, again));
	}
	object = mam_kmalloc(heap, bytes);
	MAM_KASSERT(mam_kfree(heap, object));
	object[bytes - 1] = 1;
	close_slabs(heap);
	again = mam_kmalloc(heap, ((size_t)dkit->kit->blocks << MAM_BLOCK_SHIFT) - 1040);
	MAM_KASSERT(again);
	if ((size_t)(object - dkit->kit->space) + bytes <= MAM_GUARD_LOOK)
		expect(dkit, MAM_HEAP_WRITTEN_AFTER_FREE, object, bytes, (int64_t)bytes - 1, true);
	dkit->growth->told.value = 0;
	dkit->reports->report[0].stamp = 0;
	MAM_KASSERT(mam_kfree(heap, again));
}

/* Formats the metadata anew, as a reset does, and leaves the memory unchanged. */
static void begin_anew(struct dkit *dkit)
{
	struct mam_kheap *heap = dkit->kit->heap;

	memset(heap, 0, mam_metadata_plan_of(dkit->kit->blocks, dkit->kit->columns).end);
	mam_metadata_format(heap, dkit->kit->space, dkit->kit->blocks, dkit->kit->columns);
	heap->growth = dkit->growth;
}

/* Makes one unit unavailable, without a write to its memory. */
static void block_unit(struct mam_kheap *heap, const unsigned char *address)
{
	uint32_t unit = (uint32_t)((address - heap->space) >> MAM_UNIT_SHIFT);

	mam_pages_bits(heap->units)[unit / 64] |= (uint64_t)1 << unit % 64;
	mam_spans_own(heap, unit, 1);
}

/*
 * Freed memory is partly reused, and the new object is live during a reset: there was no invalid
 * write.
 */
static void reset_between(struct dkit *dkit, size_t bytes)
{
	struct mam_kheap *heap = dkit->kit->heap;
	const size_t all = (size_t)dkit->kit->blocks << MAM_BLOCK_SHIFT;
	unsigned char *object, *last;
	uint64_t was;
	size_t i;

	(void)bytes;
	MAM_KASSERT(mam_kmalloc(heap, 1000));
	object = mam_kmalloc(heap, MAM_GUARD_LOOK / 2);
	MAM_KASSERT(object);
	last = (unsigned char *)dkit_guard(dkit, object);
	MAM_KASSERT(mam_kfree(heap, object));
	object = last;
	was = ((struct mam_guard *)object)->state;
	begin_anew(dkit);
	/* Until one is in the checked range; the guard of the first stays intact. */
	block_unit(heap, object);
	do {
		last = mam_kmalloc(heap, 1000);
		MAM_KASSERT(last);
		memset(last, 1, 1000);
	} while (last < object || last > object + MAM_GUARD_LOOK / 2 - 2000);
	MAM_KASSERT(((struct mam_guard *)object)->state == was);
	begin_anew(dkit);
	for (i = 0; i < 2; i++) {
		object = mam_kmalloc(heap, all - 1040);
		MAM_KASSERT(object && mam_kfree(heap, object));
	}
	MAM_KASSERT(!dkit->growth->told.value);
}

static const char *check_all_freed(void *argument)
{
	const struct dkit *dkit = argument;

	if (dkit->growth->told.value)
		return "an unexpected report";
	return okit_check_empty(dkit->kit);
}

static void try_each(const char *name, void (*make)(struct dkit *dkit, size_t bytes))
{
	struct dkit *dkit = dkit_create(2, 1);
	struct plan plan = { make, 0 };

	dkit->plan = &plan;
	for (size_t i = 0; i < SIZES; i++) {
		plan.bytes = sizes[i];
		dkit_explore(dkit, name, one_error, 1, 1, 1, true, check_all_freed);
	}
	dkit_destroy(dkit);
}

#define EACH(test, make)               \
	START_TEST(test)               \
	{                              \
		try_each(#make, make); \
	}                              \
	END_TEST

EACH(overrun_is_reported, overrun)
EACH(underrun_is_reported, underrun)
EACH(underrun_of_guard_is_reported, far_underrun)
EACH(double_free_is_reported, double_free)
EACH(free_of_interior_pointer_is_reported, interior)
EACH(free_of_foreign_address_is_reported, foreign)
EACH(write_after_free_is_reported, after_free)
EACH(write_before_reset_is_not_reported, reset_between)
EACH(free_in_slab_tail_is_reported, tail)

/* ---- realloc -------- */

static MAM_KERNEL(resized)
{
	struct dkit *dkit = argument;
	struct mam_kheap *heap = dkit->kit->heap;
	unsigned char *object = mam_krealloc(heap, NULL, 1), *moved, *rest[64];
	size_t bytes = 1, next, i, n = 0;

	object[0] = 1;
	for (i = 0; i < 60; i++) {
		next = 1 + (bytes * 7919 + i * 31) % 3000;
		moved = mam_krealloc(heap, object, next);
		MAM_KASSERT(moved && moved != object);
		for (n = 0; n < next; n++)
			MAM_KASSERT(moved[n] ==
				    (n < bytes ? (unsigned char)(n + 1) : MAM_GUARD_FRESH));
		for (n = 0; n < next; n++)
			moved[n] = (unsigned char)(n + 1);
		object = moved;
		bytes = next;
	}
	/* No room: a shrunk object stays in place, with a red zone at its new end. */
	moved = mam_krealloc(heap, object, 3000);
	memset(moved, 3, 3000);
	for (n = 0; n < 64; n++)
		rest[n] = mam_kmalloc(heap, n < 4 ? 30000 >> n : 1100);
	MAM_KASSERT(!rest[63]);
	MAM_KASSERT(mam_krealloc(heap, moved, 2900) == moved && mam_kusable(heap, moved) == 2900);
	MAM_KASSERT(!mam_krealloc(heap, moved, 2901) && mam_kusable(heap, moved) == 2900);
	moved[2900] = 3;
	MAM_KASSERT(mam_kfree(heap, moved));
	expect(dkit, MAM_HEAP_OVERRUN, moved, 2900, 2900, false);
	for (n = 0; n < 64; n++)
		MAM_KASSERT(mam_kfree(heap, rest[n]));
	MAM_KASSERT(!mam_krealloc(heap, mam_kmalloc(heap, 5), 0));
	dkit->kit->failed = (uint32_t)okit_tally(dkit->kit, MAM_OBJECT_FULL);
}

START_TEST(realloc_moves_red_zone)
{
	struct dkit *dkit = dkit_create(2, 1);

	dkit_explore(dkit, "resized", resized, 1, 1, 1, true, check_all_freed);
	dkit_destroy(dkit);
}
END_TEST

SIMT_SUITE("kdebug", objects_are_as_guaranteed, plain_heap_is_rejected, overrun_is_reported,
	   underrun_is_reported, underrun_of_guard_is_reported, double_free_is_reported,
	   free_of_interior_pointer_is_reported, free_of_foreign_address_is_reported,
	   write_after_free_is_reported, write_before_reset_is_not_reported,
	   free_in_slab_tail_is_reported, realloc_moves_red_zone)
