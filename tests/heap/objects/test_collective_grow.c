/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_collective_grow.c - objects in parts of a growing heap: in the root, in its grants, and as
 * blocks of the pool. Other lanes, also of a later kernel, free the parts, or all at once. Also:
 * invalid frees of parts.
 */
#include "heap/growth/growth_kit.h"

#include "heap/objects/collective_kit.h"

#ifdef SIMT_HOOKS
#define SEEDS 40
#else
#define SEEDS 150
#endif

/* Bytes per lane in each round: from slabs, from runs, and from the host. */
#define ROUNDS 5
static size_t bytes_of(uint32_t round, uint32_t lane)
{
	static const size_t sizes[ROUNDS] = { 16, 700, 5000, 15000, 20 };

	return sizes[round] + (round % 2 ? 4 * lane : 0);
}

static uint32_t parts_left[256]; /* number of parts that each object still has; atomic */

struct label {
	uint32_t number;
	uint32_t front; /* distance from the object's start */
	uint32_t bytes;
};

static void drop(struct gkit *kit, struct label *part)
{
	if (!part)
		return;
	MAM_KASSERT(mam_kusable(kit->o.heap, part) == part->bytes);
	ckit_look((unsigned char *)(part + 1), part->bytes - sizeof(*part), part->number);
	if (mam_atomic_add32(&parts_left[part->number], ~0u, MAM_RELAXED, MAM_AT_DEVICE) == 1)
		okit_forget(&kit->o, (unsigned char *)part - part->front);
	MAM_KASSERT(mam_kfree(kit->o.heap, part));
}

static struct label *make(struct gkit *kit, uint32_t mask, uint32_t number, uint32_t round)
{
	uint32_t lane = mam_lane(), lanes = mam_popc32(mask), k;
	struct label *part = mam_kmalloc_lanes(kit->o.heap, mask, bytes_of(round, lane));
	size_t front = ckit_front(lanes, round % 2), before = 0, total = 0;
	unsigned char *first;

	for (k = 0; k < lanes; k++) {
		before += k < lane ? bytes_of(round, k) : 0;
		total += bytes_of(round, k);
	}
	first = (unsigned char *)(uintptr_t)mam_warp_shuffle64(mask, (uintptr_t)part, 0);
	MAM_KASSERT(part && (unsigned char *)part == first + before);
	if (lane == 0) {
		okit_note(&kit->o, first - front, front + total);
		mam_atomic_store32(&parts_left[number], lanes, MAM_RELAXED, MAM_AT_DEVICE);
	}
	mam_warp_sync(mask);
	part->number = number;
	part->front = (uint32_t)(front + before);
	part->bytes = (uint32_t)bytes_of(round, lane);
	ckit_fill((unsigned char *)(part + 1), part->bytes - sizeof(*part), number);
	return part;
}

/* Parts of others: frees what other lanes left. */
static MAM_KERNEL(exchange)
{
	struct gkit *kit = argument;
	uint32_t lanes = simt_block_threads(), mask = (1u << lanes) - 1, round;
	uint32_t place = mam_block() * lanes + simt_thread(), all = mam_grid_blocks() * lanes;
	struct label *part;

	for (round = 0; round < ROUNDS; round++) {
		part = make(kit, mask, mam_block() * 8 + round, round);
		drop(kit, okit_take(&kit->o, (round % 2) * 64 + (place * 5 + round) % all));
		drop(kit, okit_take(&kit->o, (round % 2) * 64 + place));
		okit_keep(&kit->o, (round % 2) * 64 + place, part);
	}
}

static MAM_KERNEL(empty)
{
	struct gkit *kit = argument;

	for (uint32_t at = simt_thread(); at < 128; at += simt_block_threads())
		drop(kit, okit_take(&kit->o, at));
}

static bool build_exchange(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, exchange, 3, 7, argument) &&
	       simt_world_launch(world, 1, empty, 1, 20, argument) && gkit_hosts(world, argument);
}

static uint64_t parts; /* total of all runs of a case */

static const char *check_exchange(void *argument)
{
	const struct gkit *kit = argument;

	parts += gkit_parts(kit);
	if (gkit_tally(kit, MAM_OBJECT_FOREIGN) + gkit_tally(kit, MAM_OBJECT_INTERIOR) +
	    gkit_tally(kit, MAM_OBJECT_TWICE))
		return "a valid free was counted as an error";
	return gkit_check_served(argument);
}

START_TEST(other_lanes_may_free_parts)
{
	struct gkit *kit = gkit_create(1, 1, NULL, NULL);
	struct simt_case test = gkit_case(kit, "parts in grants, freed by others", SEEDS,
					  build_exchange, check_exchange);

	parts = 0;
	simt_must_pass(&test);
	ck_assert(parts || getenv("SIMT_CASE"));
	gkit_destroy(kit);
}
END_TEST

/* Frees of all parts at once alternate with invalid frees; live objects fill the root. */
static MAM_KERNEL(errors)
{
	struct gkit *kit = argument;
	struct mam_kheap *heap = kit->o.heap;
	uint32_t mask = 0x7f, lane = mam_lane(), round;
	uint64_t wrong = 0;
	struct label *part, *again, *large = make(kit, mask, 40, 3);

	MAM_KASSERT(!mam_parts_of(heap, large));
	for (round = 0; round < 2 * ROUNDS; round++) {
		part = make(kit, mask, round, round % ROUNDS);
		again = make(kit, mask, 20 + round, round % ROUNDS);
		if (lane == round % 5) {
			MAM_KASSERT(!mam_kfree(heap, (char *)part + 1));
			MAM_KASSERT(!mam_kfree_parts(heap, (char *)part - 1));
			MAM_KASSERT(!mam_kusable(heap, (char *)part + 1));
			MAM_KASSERT(!mam_objects_free_lone(heap, (char *)part + 2));
			drop(kit, again);
			MAM_KASSERT(!mam_kfree(heap, again) && !mam_kusable(heap, again));
			MAM_KASSERT(!mam_objects_free_lone(heap, again));
			MAM_KASSERT(!mam_kfree_parts(heap, again));
		}
		wrong += 6;
		mam_warp_sync(mask);
		if (lane == (round + 1) % 5) {
			okit_forget(&kit->o, (unsigned char *)part - part->front);
			MAM_KASSERT(mam_kfree_parts(heap, part));
		}
		if (lane != round % 5)
			drop(kit, again);
		mam_warp_sync(mask);
	}
	/* The first object is unchanged. */
	drop(kit, large);
	mam_warp_sync(mask);
	MAM_KASSERT(gkit_tally(kit, MAM_OBJECT_FOREIGN) + gkit_tally(kit, MAM_OBJECT_INTERIOR) +
			    gkit_tally(kit, MAM_OBJECT_TWICE) ==
		    wrong);
	mam_warp_sync(mask);
	/* An ordinary object of the same size has no parts. */
	if (lane == 0) {
		large = gkit_alloc(kit, 120000);
		MAM_KASSERT(large && !mam_parts_of(heap, large));
		MAM_KASSERT(!mam_kfree(heap, (char *)large + 16));
		MAM_KASSERT(!mam_kfree_parts(heap, large));
		gkit_free(kit, large);
	}
}

START_TEST(invalid_free_of_part_fails)
{
	struct gkit *kit = gkit_create(1, 1, NULL, NULL);

	gkit_explore(kit, "invalid frees in grants", errors, 1, 7, 0, SEEDS, NULL);
	gkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("collective_grow");

	tcase_add_test(tcase, other_lanes_may_free_parts);
	tcase_add_test(tcase, invalid_free_of_part_fails);
	return kit_run(tcase, "heap/collective_grow");
}
