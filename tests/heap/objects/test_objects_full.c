/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects_full.c - fills a heap of objects to its last slot, empties it and fills it again: as
 * many objects each time as there is room for, also of another class, and finally one run of the
 * whole heap. A freed slot can be allocated at once.
 */
#include "heap/objects/objects_kit.h"

/* Of a run: filling a heap takes many steps. */
#define STEPS 20000000

struct plan {
	size_t bytes, then; /* first size, and the size that the memory is reused for */
	uint32_t blocks, block;
	uint32_t seeds;
};

/* Number of live objects. */
OKIT_UNSEEN uint32_t live(const struct okit *kit)
{
	return kit->live;
}

OKIT_UNSEEN uint32_t failed(const struct okit *kit)
{
	return kit->failed;
}

/* How many objects of `bytes` an empty heap has room for. */
static uint32_t capacity(const struct okit *kit, size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes);

	return kit->blocks * mam_class_words(class_) * mam_class_slots(class_);
}

/* Where an object of `bytes` is kept: each at its own index. */
static uint32_t place_of(const struct okit *kit, const void *object, size_t bytes)
{
	uint32_t shift = 63 - mam_clz64(okit_usable(bytes));
	uint64_t place = (uint64_t)((const unsigned char *)object - kit->space) >> shift;

	MAM_KASSERT(place < OKIT_KEPT);
	return (uint32_t)place;
}

/* Each lane allocates until a request fails. */
static void fill(struct okit *kit, size_t bytes)
{
	void *object;

	while ((object = okit_alloc(kit, bytes)) != NULL)
		okit_keep(kit, place_of(kit, object, bytes), object);
}

/* Each lane frees its share of the objects, whichever lane allocated them. */
static void empty(struct okit *kit)
{
	uint32_t i;

	for (i = simt_thread(); i < OKIT_KEPT; i += simt_block_threads())
		if (mam_atomic_load64(&kit->kept[i], MAM_RELAXED, MAM_AT_DEVICE))
			okit_free(kit, okit_take(kit, i));
}

/* Fills and empties the heap with one size three times: exactly as many objects each time. */
static MAM_KERNEL(fill_and_empty)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round;

	for (round = 0; round < 3; round++) {
		fill(kit, plan->bytes);
		mam_syncthreads();
		MAM_KASSERT(live(kit) == capacity(kit, plan->bytes));
		MAM_KASSERT(failed(kit) == (round + 1) * simt_block_threads());
		mam_syncthreads();
		empty(kit);
		mam_syncthreads();
		MAM_KASSERT(!live(kit));
		mam_syncthreads();
	}
}

static const struct plan fills[] = {
	{ 16, 0, 1, 64, 1 },    { 48, 0, 1, 64, 2 },   { 100, 0, 2, 40, 2 },  { 128, 0, 1, 33, 3 },
	{ 500, 0, 3, 32, 3 },   { 1024, 0, 4, 32, 4 }, { 1050, 0, 4, 32, 4 }, { 2100, 0, 5, 31, 6 },
	{ 3400, 0, 3, 7, 10 },  { 4100, 0, 4, 32, 6 }, { 8192, 0, 5, 32, 8 }, { 5120, 0, 1, 1, 2 },
	{ 8192, 0, 70, 64, 1 },
};
#define FILLS ((int)(sizeof(fills) / sizeof(fills[0])))

START_TEST(heap_fills_to_last_slot_repeatedly)
{
	const struct plan *plan = &fills[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);
	char name[80];

	kit->steps_max = STEPS;
	kit->only_taken = true;
	snprintf(name, sizeof(name), "%zu bytes until full, %u blocks", plan->bytes, plan->blocks);
	okit_explore(kit, name, fill_and_empty, 1, plan->block, plan->seeds, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/* ---- between classes ----------------------------------------------------------------------- */

/*
 * Fills with one size, empties, fills with the other, empties, allocates all in one run, and fills
 * with the first again.
 */
static MAM_KERNEL(move)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	size_t everything = (size_t)plan->blocks << MAM_BLOCK_SHIFT;
	void *run;

	fill(kit, plan->bytes);
	mam_syncthreads();
	empty(kit);
	mam_syncthreads();
	fill(kit, plan->then);
	mam_syncthreads();
	MAM_KASSERT(live(kit) == capacity(kit, plan->then));
	mam_syncthreads();
	empty(kit);
	mam_syncthreads();
	if (simt_thread() == simt_block_threads() - 1) {
		run = okit_alloc(kit, everything);
		MAM_KASSERT(run == kit->space);
		MAM_KASSERT(!okit_alloc(kit, 16));
		MAM_KASSERT(!okit_alloc(kit, 9000));
		okit_free(kit, run);
	}
	mam_syncthreads();
	fill(kit, plan->bytes);
	mam_syncthreads();
	MAM_KASSERT(live(kit) == capacity(kit, plan->bytes));
	mam_syncthreads();
	empty(kit);
}

static const struct plan moves[] = {
	{ 64, 80, 1, 40, 3 },      { 1024, 512, 2, 32, 4 },  { 256, 8192, 3, 32, 4 },
	{ 4100, 300, 2, 32, 4 },   { 2000, 2100, 3, 33, 6 }, { 5120, 160, 1, 5, 6 },
	{ 4096, 8192, 65, 32, 1 },
};
#define MOVES ((int)(sizeof(moves) / sizeof(moves[0])))

START_TEST(memory_moves_between_classes)
{
	const struct plan *plan = &moves[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);
	char name[80];

	kit->steps_max = STEPS;
	kit->only_taken = true;
	snprintf(name, sizeof(name), "%zu bytes to %zu", plan->bytes, plan->then);
	okit_explore(kit, name, move, 1, plan->block, plan->seeds, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

/* Objects of the smallest class fill the rest that slabs of one class leave, to the last unit. */
static MAM_KERNEL(fill_the_rest)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t class_ = mam_class_of(plan->bytes), units;

	fill(kit, plan->bytes);
	mam_syncthreads();
	MAM_KASSERT(live(kit) == capacity(kit, plan->bytes));
	mam_syncthreads();
	while (okit_alloc(kit, 16))
		;
	mam_syncthreads();
	units = kit->blocks * (64 - mam_class_words(class_) * mam_class_units(class_));
	MAM_KASSERT(live(kit) == capacity(kit, plan->bytes) + units * 64);
}

static const struct plan rests[] = {
	{ 5120, 0, 3, 40, 4 },
	{ 1152, 0, 2, 32, 4 },
	{ 7424, 0, 2, 32, 4 },
	{ 3456, 0, 2, 8, 4 },
};
#define RESTS ((int)(sizeof(rests) / sizeof(rests[0])))

START_TEST(smallest_class_fills_last_unit)
{
	const struct plan *plan = &rests[_i];
	struct okit *kit = okit_create(plan->blocks, 4, plan);
	char name[80];

	kit->steps_max = STEPS;
	kit->only_taken = true;
	snprintf(name, sizeof(name), "the rest beside %zu bytes", plan->bytes);
	okit_explore(kit, name, fill_the_rest, 1, plan->block, plan->seeds, okit_check_full);
	okit_destroy(kit);
}
END_TEST

/* All lanes allocate all sizes at the same time, each in its own order, until none fits. */
static MAM_KERNEL(fill_mixed)
{
	static const size_t bytes[] = { 24, 100, 450, 1000, 1050, 3000, 5000, 8000, 9000, 20000 };
	struct okit *kit = argument;
	uint32_t first = mam_lane(), i;

	for (i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
		while (okit_alloc(kit, bytes[(first + i) % (sizeof(bytes) / sizeof(bytes[0]))]))
			;
}

/* Warps, lone lanes, and several blocks of them. */
START_TEST(mixed_sizes_fill_heap)
{
	static const struct {
		uint32_t blocks, grid, block, columns;
	} rows[] = { { 1, 1, 32, 1 }, { 2, 2, 40, 2 }, { 3, 4, 1, 1 }, { 5, 3, 32, 4 } };
	struct okit *kit = okit_create(rows[_i].blocks, rows[_i].columns, NULL);
	char name[80];

	kit->steps_max = STEPS;
	kit->only_taken = true;
	snprintf(name, sizeof(name), "mixed until full, %u blocks", rows[_i].blocks);
	okit_explore(kit, name, fill_mixed, rows[_i].grid, rows[_i].block, 6, okit_check_full);
	okit_destroy(kit);
}
END_TEST

/* ---- the last slot ------------------------------------------------------------------------- */

/*
 * There is one slab with as many slots as there are lanes, and no lane owns more than one object.
 * So a slot is free whenever a lane requests one, and it must be found whatever the others do.
 */
static MAM_KERNEL(one_slot_each)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round;
	void *object;

	for (round = 0; round < 4; round++) {
		object = okit_alloc(kit, plan->bytes);
		MAM_KASSERT(object);
		if (simt_random() & 1)
			MAM_KASSERT(!round || mam_objects_usable(kit->heap, object));
		okit_free(kit, object);
	}
}

static const struct plan lasts[] = {
	{ 1024, 0, 1, 64, 20 }, { 1050, 0, 1, 60, 20 }, { 2048, 0, 1, 32, 30 },
	{ 4096, 0, 1, 16, 40 }, { 6000, 0, 1, 10, 40 }, { 8192, 0, 1, 8, 60 },
};
#define LASTS ((int)(sizeof(lasts) / sizeof(lasts[0])))

START_TEST(lanes_with_a_slot_each_never_fail)
{
	const struct plan *plan = &lasts[_i / 2];
	struct okit *kit = okit_create(1, 1 + _i % 2, plan);
	char name[80];

	kit->steps_max = STEPS;
	kit->only_taken = true;
	snprintf(name, sizeof(name), "a slot of %zu bytes each%s", plan->bytes,
		 _i % 2 ? ", lone lanes" : "");
	okit_explore(kit, name, one_slot_each, _i % 2 ? plan->block : 1, _i % 2 ? 1 : plan->block,
		     plan->seeds, okit_check_served);
	okit_destroy(kit);
}
END_TEST

/*
 * In a full heap, one lane after the other frees an object and allocates again: it gets the same
 * one.
 */
static MAM_KERNEL(at_once)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t turn, i;
	void *object, *again;

	fill(kit, plan->bytes);
	mam_syncthreads();
	for (turn = 0; turn < simt_block_threads(); turn += 1 + simt_block_threads() / 8) {
		if (simt_thread() == turn) {
			i = (uint32_t)simt_random() % OKIT_KEPT;
			while (!(object = okit_take(kit, i)))
				i = (i + 1) % OKIT_KEPT;
			MAM_KASSERT(!okit_alloc(kit, plan->bytes));
			okit_free(kit, object);
			again = okit_alloc(kit, plan->bytes);
			MAM_KASSERT(again == object);
			MAM_KASSERT(!okit_alloc(kit, plan->bytes));
			okit_keep(kit, i, again);
		}
		mam_syncthreads();
	}
	empty(kit);
}

START_TEST(freed_slot_is_reusable_at_once)
{
	const struct plan *plan = &fills[_i];
	struct okit *kit = okit_create(plan->blocks, 2, plan);
	char name[80];

	kit->steps_max = STEPS;
	kit->only_taken = true;
	snprintf(name, sizeof(name), "%zu bytes reused at once, %u blocks", plan->bytes,
		 plan->blocks);
	okit_explore(kit, name, at_once, 1, plan->block, plan->seeds, okit_check_empty);
	okit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects_full");

	tcase_add_loop_test(tcase, heap_fills_to_last_slot_repeatedly, 0, FILLS);
	tcase_add_loop_test(tcase, memory_moves_between_classes, 0, MOVES);
	tcase_add_loop_test(tcase, smallest_class_fills_last_unit, 0, RESTS);
	tcase_add_loop_test(tcase, mixed_sizes_fill_heap, 0, 4);
	tcase_add_loop_test(tcase, lanes_with_a_slot_each_never_fail, 0, 2 * LASTS);
	tcase_add_loop_test(tcase, freed_slot_is_reusable_at_once, 0, FILLS);
	return kit_run(tcase, "heap/objects_full");
}
