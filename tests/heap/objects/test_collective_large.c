/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collective_large.c - objects in parts that are blocks of the pool, and such in grants, of a
 * debug heap that grows: a part is found although its object's first byte is far away.
 */
#define MAM_KDEBUG

#include "heap/growth/growth_kit.h"

#include "heap/objects/collective_kit.h"

static const size_t sizes[] = { 15004, 5000, 300, 16 };

static MAM_KERNEL(next_lane_frees)
{
	struct gkit *kit = argument;
	struct mam_kheap *heap = kit->o.heap;
	uint32_t mask = 0x7f, lane = mam_lane(), round, next = (lane + 1) % 7;
	unsigned char *part, *other, *first;
	size_t bytes, before;
	uint64_t wrong = 0;

	for (round = 0; round < 12; round++) {
		bytes = sizes[round % 4] + (round & 4 ? 8 * lane : 0);
		before = sizes[round % 4] * lane + (round & 4 ? 4 * lane * (lane - 1) : 0);
		part = mam_kmalloc_lanes(heap, mask, bytes);
		first = (unsigned char *)(uintptr_t)mam_warp_shuffle64(mask, (uintptr_t)part, 0);
		MAM_KASSERT(part && part == first + before);
		MAM_KASSERT(!mam_parts_of(heap, part) == (round % 4 == 0));
		MAM_KASSERT(mam_kusable(heap, part) == bytes && !mam_kusable(heap, part + 1));
		ckit_fill(part, bytes, lane);
		mam_warp_sync(mask);
		other = (unsigned char *)(uintptr_t)mam_warp_shuffle64(mask, (uintptr_t)part, next);
		ckit_look(other, sizes[round % 4] + (round & 4 ? 8 * next : 0), next);
		mam_warp_sync(mask);
		if (lane == 3) {
			MAM_KASSERT(!mam_kfree(heap, part + 1));
			MAM_KASSERT(mam_kfree(heap, other));
			MAM_KASSERT(!mam_kfree(heap, other) && !mam_kusable(heap, other));
			MAM_KASSERT(!mam_kfree_parts(heap, other));
		}
		wrong += 3;
		mam_warp_sync(mask);
		if (round == 9 || round == 4) {
			if (lane == 0)
				MAM_KASSERT(mam_kfree_parts(heap, part));
		} else if (lane != 3) {
			MAM_KASSERT(mam_kfree(heap, other));
		}
		mam_warp_sync(mask);
	}
	MAM_KASSERT(gkit_tally(kit, MAM_OBJECT_FOREIGN) + gkit_tally(kit, MAM_OBJECT_INTERIOR) +
			    gkit_tally(kit, MAM_OBJECT_TWICE) ==
		    wrong);
}

START_TEST(part_far_from_object_start_is_found)
{
	struct gkit *kit = gkit_create(1, 1, NULL, NULL);

	gkit_explore(kit, "large parts, debug heap", next_lane_frees, 1, 7, 0, KIT_RACE ? 12 : 60,
		     NULL);
	gkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("collective_large");

	tcase_add_test(tcase, part_far_from_object_start_is_found);
	return kit_run(tcase, "heap/collective_large");
}
