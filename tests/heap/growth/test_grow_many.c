/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_grow_many.c - a heap with 200 parts, in several tables: lanes use all of them to the last
 * object, and objects in each are found by their addresses.
 */
#define MAM_PARTS_FIRST 8u
#define GKIT_PIECES 200u
#define MAM_GRANT_BLOCKS 1u
#define MAM_LARGE_UNITS 60u

#include "heap/growth/growth_kit.h"

#define BYTES 50000u /* one object to a block */

static MAM_KERNEL(use_all)
{
	struct gkit *kit = argument;
	void *object[GKIT_PIECES], *next;
	uint32_t count = 0, i;

	while ((next = gkit_alloc(kit, BYTES)))
		object[count++] = next;
	mam_syncthreads();
	for (i = 0; i < count; i++) {
		MAM_KASSERT(mam_objects_usable(kit->o.heap, object[i]) >= BYTES);
		gkit_free(kit, object[i]);
	}
	mam_syncthreads();
	/* Freed memory is found again. */
	next = gkit_alloc(kit, BYTES);
	MAM_KASSERT(next);
	gkit_free(kit, next);
}

static const char *check_many(void *argument)
{
	const struct gkit *kit = argument;

	if (gkit_parts(kit) != GKIT_PIECES)
		return okit_wrong("%u parts", gkit_parts(kit));
	return gkit_check_empty(argument);
}

START_TEST(all_parts_are_used)
{
	struct gkit *kit = gkit_create(1, 1, NULL, NULL);

	gkit_explore(kit, "200 parts", use_all, 1, 4, 0, KIT_RACE ? 1 : 3, check_many);
	gkit_destroy(kit);
}
END_TEST

SIMT_SUITE("heap/grow_many", all_parts_are_used)
