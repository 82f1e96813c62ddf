/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heap_kit.h - helpers for tests of coalescers over a heap of objects: lanes pass parts to one
 * another, while other lanes allocate from the heap directly, which coalesces requests as well; on
 * top of heap/objects/objects_kit.h.
 *
 * 1. In each of three rounds every lane allocates a part, and leaves it in a shared slot. A lane
 *    that finds a part there frees it.
 * 2. A third of the lanes also allocate from the heap directly, and free that memory at once.
 * 3. A second such kernel follows, and a third one frees the rest.
 */
#ifndef MAM_TESTS_COALESCE_HEAP_KIT_H
#define MAM_TESTS_COALESCE_HEAP_KIT_H

#include "heap/objects/objects_kit.h"

#define HKIT_KEPT 40u

/* The subject of the test: how a part is allocated in a round, and how it is checked and freed. */
struct hkit_way {
	unsigned char *(*get)(struct okit *kit, uint32_t round);
	void (*release)(struct okit *kit, unsigned char *part);
};

static const struct hkit_way *hkit_way;

static MAM_KERNEL(hkit_exchange)
{
	struct okit *kit = argument;
	unsigned char *part, *other;
	uint32_t round;
	void *object;

	for (round = 0; round < 3; round++) {
		part = hkit_way->get(kit, round);
		other = (unsigned char *)(uintptr_t)mam_atomic_xchg64(
			&kit->kept[simt_random() % HKIT_KEPT], (uintptr_t)part, MAM_ACQ_REL,
			MAM_AT_DEVICE);
		if (other)
			hkit_way->release(kit, other);
		if (mam_lane() % 3 == round) {
			object = okit_alloc(kit, 40);
			MAM_KASSERT(object);
			okit_free(kit, object);
		}
	}
}

static MAM_KERNEL(hkit_sweep)
{
	struct okit *kit = argument;
	unsigned char *part;
	uint32_t i;

	for (i = simt_thread(); i < HKIT_KEPT; i += simt_block_threads()) {
		part = okit_take(kit, i);
		if (part)
			hkit_way->release(kit, part);
	}
}

static bool hkit_build(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 0, hkit_exchange, 2, 9, argument) &&
	       simt_world_launch(world, 0, hkit_exchange, 1, 34, argument) &&
	       simt_world_launch(world, 0, hkit_sweep, 1, 7, argument);
}

/* Explores the kernels above on `kit`, which `begin` initializes for each run. */
static void hkit_explore(struct okit *kit, const struct hkit_way *way, void (*begin)(void *),
			 const char *(*check)(void *), uint32_t seeds)
{
	struct simt_case test = {
		.name = "over a heap",
		.build = hkit_build,
		.argument = kit,
		.begin = begin,
		.check = check,
		.seeds = seeds,
		.config = { .race = KIT_RACE,
			    .strict = true,
			    .steps_max = 4000000,
			    .whole = kit->whole },
	};

	hkit_way = way;
	simt_must_pass(&test);
}

#endif
