/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collective_kdebug.c - objects in parts of a debug heap: they behave as in any heap, red
 * zones surround the whole object, and errors are reported.
 */
#include "heap/debug/debug_kit.h"

#include "heap/objects/collective_kit.h"

#define LANES 0xffffffffu

/* Checks the last report, whose number is `*count`, and increments that. */
OKIT_UNSEEN void expect(const struct dkit *dkit, uint64_t *count, uint32_t kind,
			const void *address)
{
	const struct mam_report *report = &dkit->reports->report[*count % MAM_REPORTS];

	++*count;
	MAM_KASSERT(dkit->growth->told.value == *count && !dkit->growth->untold.value);
	MAM_KASSERT(report->kind == kind);
	MAM_KASSERT(!address || report->address == (uintptr_t)address);
}

static ckit_sizes *const kinds[] = { ckit_word, ckit_rising, ckit_gaps, ckit_wide };

/* Valid calls: nothing is reported. */
static MAM_KERNEL(right)
{
	struct dkit *dkit = argument;
	struct mam_kheap *heap = dkit->kit->heap;
	ckit_sizes *sizes = *(ckit_sizes *const *)dkit->plan;
	uint32_t lane = mam_lane(), round, other;
	struct ckit_want want = ckit_want(sizes, ~0u, 32, lane);
	unsigned char *part, *first;

	for (round = 0; round < 4; round++) {
		part = round % 2 ? mam_kmalloc_block(heap, sizes(lane))
				 : mam_kmalloc_lanes(heap, LANES, sizes(lane));
		MAM_KASSERT(!part == !sizes(lane));
		first = (unsigned char *)(uintptr_t)mam_warp_shuffle64(LANES, (uintptr_t)part, 0);
		MAM_KASSERT(first || !sizes(0));
		MAM_KASSERT(!part || !sizes(0) || part == first + want.before);
		MAM_KASSERT(mam_kusable(heap, part) == sizes(lane));
		ckit_fill(part, sizes(lane), lane);
		mam_warp_sync(LANES);
		other = (lane + 1 + round * 5) % 32;
		part = (unsigned char *)(uintptr_t)mam_warp_shuffle64(LANES, (uintptr_t)part,
								      other);
		ckit_look(part, sizes(other), other);
		mam_warp_sync(LANES);
		if (round < 2)
			MAM_KASSERT(mam_kfree(heap, part));
		else if (lane == 0)
			MAM_KASSERT(mam_kfree_parts(heap, first));
		mam_warp_sync(LANES);
		MAM_KASSERT(!mam_kusable(heap, part));
		mam_warp_sync(LANES);
	}
}

START_TEST(valid_use_reports_nothing)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct dkit *dkit = dkit_create(6, 1);

		dkit->plan = &kinds[i];
		dkit->kit->whole = true;
		dkit_explore(dkit, "valid calls", right, 1, 32, KIT_RACE ? 8 : 40, true,
			     dkit_check_quiet);
		dkit_destroy(dkit);
	}
}
END_TEST

/* One error after the other, by one lane. */
static MAM_KERNEL(errors)
{
	struct dkit *dkit = argument;
	struct mam_kheap *heap = dkit->kit->heap;
	ckit_sizes *sizes = *(ckit_sizes *const *)dkit->plan;
	uint32_t lane = mam_lane();
	unsigned char *part = mam_kmalloc_lanes(heap, 7, sizes(lane + 1)), *first, *last, *moved;
	uint64_t reported = 0, i;

	MAM_KASSERT(part);
	first = (unsigned char *)(uintptr_t)mam_warp_shuffle64(7, (uintptr_t)part, 0);
	last = (unsigned char *)(uintptr_t)mam_warp_shuffle64(7, (uintptr_t)part, 2);
	mam_warp_sync(7);
	if (lane == 1) {
		MAM_KASSERT(!mam_kfree(heap, part + 1));
		expect(dkit, &reported, MAM_HEAP_INTERIOR_FREE, part + 1);
		MAM_KASSERT(!mam_kfree(heap, first - 8));
		expect(dkit, &reported, MAM_HEAP_INTERIOR_FREE, first - 8);
		MAM_KASSERT(!mam_kfree_parts(heap, part + 1));
		expect(dkit, &reported, MAM_HEAP_INTERIOR_FREE, part + 1);
		MAM_KASSERT(!mam_kfree_parts(heap, heap));
		expect(dkit, &reported, MAM_HEAP_FOREIGN_FREE, heap);
		ckit_fill(part, sizes(2), 1);
		moved = mam_krealloc(heap, part, sizes(2) + 9);
		MAM_KASSERT(moved && mam_kusable(heap, moved) == sizes(2) + 9);
		for (i = 0; i < 32 && i < sizes(2); i++)
			MAM_KASSERT(moved[i] == (unsigned char)(31 + i));
		MAM_KASSERT(mam_kfree(heap, moved));
		MAM_KASSERT(!mam_kfree(heap, part));
		expect(dkit, &reported, MAM_HEAP_DOUBLE_FREE, part);
		MAM_KASSERT(!mam_kdebug_free_lone(heap, part));
		expect(dkit, &reported, MAM_HEAP_DOUBLE_FREE, part);
		MAM_KASSERT(!mam_kfree_parts(heap, part));
		expect(dkit, &reported, MAM_HEAP_DOUBLE_FREE, part);
		MAM_KASSERT(mam_kdebug_free_lone(heap, first));
		/* A write past the end of the last part: detected when the last part is freed. */
		last[sizes(3)] = 1;
		MAM_KASSERT(mam_kusable(heap, last) == sizes(3));
		MAM_KASSERT(mam_kfree(heap, last));
		expect(dkit, &reported, MAM_HEAP_OVERRUN, NULL);
		MAM_KASSERT(!mam_kfree(heap, last) && !mam_kusable(heap, last));
		MAM_KASSERT(dkit->growth->told.value == ++reported);
		/* An object without parts. */
		part = mam_kmalloc(heap, 100);
		MAM_KASSERT(!mam_kfree_parts(heap, part));
		expect(dkit, &reported, MAM_HEAP_INTERIOR_FREE, part);
		MAM_KASSERT(mam_kfree(heap, part));
	}
	mam_warp_sync(7);
}

static const char *check_all_freed(void *argument)
{
	const struct dkit *dkit = argument;

	return okit_check_empty(dkit->kit);
}

START_TEST(errors_are_reported)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct dkit *dkit;

		if (kinds[i] == ckit_gaps)
			continue;
		dkit = dkit_create(6, 1);
		dkit->plan = &kinds[i];
		dkit_explore(dkit, "errors", errors, 1, 3, 3, false, check_all_freed);
		dkit_destroy(dkit);
	}
}
END_TEST

SIMT_SUITE("collective_kdebug", valid_use_reports_nothing, errors_are_reported)
