/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_objects.c - calls of the heap of objects: by whole warps, some lanes of a warp, lone lanes;
 * with one size for all or one per lane; from one place in the code or several; with sizes at class
 * boundaries, and invalid ones. In every test there is room for all, so no valid request may fail.
 */
#include "heap/objects/objects_kit.h"

struct plan {
	const char *name;
	uint32_t blocks, columns; /* of the heap */
	uint32_t grid, block;
	uint32_t lanes; /* of a warp, those that call */
	uint32_t rounds, seeds;
	uint32_t count; /* number of sizes */
	size_t bytes[8];
};

static bool asks(const struct plan *plan)
{
	return plan->lanes >> mam_lane() & 1;
}

/* Each calling lane repeatedly allocates one object and frees it. */
static MAM_KERNEL(alloc_and_free)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t round;
	size_t bytes;
	void *object;

	if (!asks(plan))
		return;
	for (round = 0; round < plan->rounds; round++) {
		bytes = plan->bytes[(mam_lane() + round) % plan->count];
		object = okit_alloc(kit, bytes);
		MAM_KASSERT(object);
		MAM_KASSERT(okit_fits(bytes, mam_objects_usable(kit->heap, object)));
		okit_free(kit, object);
	}
}

/* Objects of two rounds are live at a time. */
static MAM_KERNEL(keep_two)
{
	struct okit *kit = argument;
	const struct plan *plan = kit->plan;
	void *before = NULL, *object;
	uint32_t round;

	if (!asks(plan))
		return;
	for (round = 0; round < plan->rounds; round++) {
		object = okit_alloc(kit, plan->bytes[(simt_thread() * 5 + round) % plan->count]);
		MAM_KASSERT(object);
		okit_free(kit, before);
		before = object;
	}
	okit_free(kit, before);
}

#define ALL 0xffffffffu
#define ODD 0xaaaaaaaau

static const struct plan plans[] = {
	{ "16 B, whole warps", 1, 2, 2, 64, ALL, 3, 20, 1, { 1 } },
	{ "48 B, whole warps, one handle for all", 1, 1, 3, 64, ALL, 3, 20, 1, { 48 } },
	{ "64 B, half a warp", 1, 2, 2, 64, 0xffff0000, 3, 20, 1, { 64 } },
	{ "112 B, every other lane", 1, 2, 2, 96, ODD, 3, 20, 1, { 100 } },
	{ "256 B, three lanes", 2, 2, 4, 32, 0x80010002, 4, 20, 1, { 256 } },
	{ "512 B, lone lanes", 1, 2, 6, 32, 0x00000100, 6, 20, 1, { 512 } },
	{ "1 KiB, blocks that are not whole warps", 2, 2, 3, 40, ALL, 3, 20, 1, { 1024 } },
	{ "1050 B, the last lane", 1, 2, 4, 64, 0x80000000, 4, 20, 1, { 1050 } },
	{ "4100 B, every other lane", 4, 2, 1, 96, ODD, 4, 20, 1, { 4100 } },
	{ "8 KiB, whole warps", 8, 2, 1, 64, ALL, 3, 20, 1, { 8192 } },
	{ "two sizes", 2, 2, 2, 64, ALL, 3, 20, 2, { 16, 80 } },
	{ "two sizes, one lane does not call", 8, 2, 2, 64, ALL - 8, 3, 20, 2, { 500, 32 } },
	{ "eight sizes", 6, 4, 2, 64, ALL, 3, 15, 8, { 1, 24, 48, 100, 200, 300, 500, 16 } },
	{ "each size fills a block",
	  36,
	  2,
	  1,
	  64,
	  0x0f0f0f0f,
	  3,
	  20,
	  4,
	  { 1024, 1088, 2048, 8192 } },
};
#define PLANS ((int)(sizeof(plans) / sizeof(plans[0])))

static void explore_plan(const struct plan *plan, simt_kernel *kernel, const char *how)
{
	struct okit *kit = okit_create(plan->blocks, plan->columns, plan);
	char name[80];

	snprintf(name, sizeof(name), "%s, %s", plan->name, how);
	okit_explore(kit, name, kernel, plan->grid, plan->block, plan->seeds, okit_check_served);
	okit_destroy(kit);
}

START_TEST(lanes_alloc_and_free_one_object)
{
	explore_plan(&plans[_i], alloc_and_free, "one");
}
END_TEST

/* Some of these leave too little room for two per lane: only those that have enough. */
START_TEST(lanes_own_objects_of_two_rounds)
{
	static const int rows[] = { 0, 1, 2, 3, 4, 5, 7, 10, 11 };

	explore_plan(&plans[rows[_i]], keep_two, "two");
}
END_TEST

/* ---- from several call sites --------------------------------------------------------------- */

static __attribute__((noinline)) void *from_elsewhere(struct okit *kit, size_t bytes)
{
	return okit_alloc(kit, bytes);
}

/* Lanes diverge, and some converge again, at different allocation and free sites. */
static MAM_KERNEL(divergent)
{
	struct okit *kit = argument;
	uint32_t round, lane = mam_lane();
	void *object, *other;

	for (round = 0; round < 2 + lane % 3; round++) {
		if (lane % 3 == 0) {
			object = okit_alloc(kit, 40);
		} else if (lane % 3 == 1) {
			other = okit_alloc(kit, 200);
			object = from_elsewhere(kit, 40);
			okit_free(kit, other);
		} else {
			object = from_elsewhere(kit, lane < 16 ? 100 : 16);
		}
		MAM_KASSERT(object);
		if ((lane + round) % 2)
			okit_free(kit, object);
		else if (lane < 20)
			okit_free(kit, object);
		else
			okit_free(kit, object);
		if (lane == 7 && round == 1)
			return;
	}
}

START_TEST(divergent_call_sites_are_served)
{
	struct okit *kit = okit_create(3, 2, NULL);

	okit_explore(kit, "from several call sites", divergent, 2, 64, 20, okit_check_served);
	okit_destroy(kit);
}
END_TEST

/* ---- boundaries ---------------------------------------------------------------------------- */

/* One byte less than a class, the class, one byte more: 32 lanes have 32 of these at a time. */
static MAM_KERNEL(all_borders)
{
	struct okit *kit = argument;
	uint32_t i;
	size_t bytes;
	void *object;

	for (i = simt_thread(); i < 3 * MAM_CLASSES; i += simt_block_threads()) {
		bytes = mam_class_bytes(1 + i / 3) + i % 3 - 1;
		object = okit_alloc(kit, bytes);
		MAM_KASSERT(object);
		MAM_KASSERT(okit_fits(bytes, mam_objects_usable(kit->heap, object)));
		okit_free(kit, object);
	}
}

/* Each may pin a block; even then some blocks are left. */
START_TEST(class_boundary_sizes_are_served)
{
	struct okit *kit = okit_create(36, 2, NULL);

	okit_explore(kit, "class boundaries", all_borders, 1, 32, 4, okit_check_served);
	okit_destroy(kit);
}
END_TEST

/* In one warp, from one call site: zero bytes, too many, and just too many. */
static const struct {
	size_t bytes;
	bool fits;
} odd_sizes[] = {
	{ 0, false },
	{ 1, true },
	{ 8192, true },
	{ 8193, true },
	{ 1 << MAM_BLOCK_SHIFT, true },
	{ (40 << MAM_BLOCK_SHIFT) + 1, false },
	{ SIZE_MAX, false },
	{ SIZE_MAX - 15, false },
	{ SIZE_MAX / 2 + 1, false },
	{ 17, true },
};
#define ODD_SIZES (sizeof(odd_sizes) / sizeof(odd_sizes[0]))

static MAM_KERNEL(allocate_odd_sizes)
{
	struct okit *kit = argument;
	uint32_t which = (mam_lane() + mam_block()) % ODD_SIZES;
	void *object = okit_alloc(kit, odd_sizes[which].bytes);

	MAM_KASSERT(!object == !odd_sizes[which].fits);
	okit_free(kit, object);
}

/* A request for 0 or too many bytes is counted as that, once per lane. */
static const char *check_odd_sizes(void *argument)
{
	struct okit *kit = argument;
	uint32_t zero = 0, large = 0, i;

	for (i = 0; i < 2 * SIMT_WARP; i++) {
		zero += (i % SIMT_WARP + i / SIMT_WARP) % ODD_SIZES == 0;
		large += (i % SIMT_WARP + i / SIMT_WARP) % ODD_SIZES >= 5 &&
			 (i % SIMT_WARP + i / SIMT_WARP) % ODD_SIZES <= 8;
	}
	if (okit_tally(kit, MAM_OBJECT_ZERO) != zero)
		return "wrong number of zero-size requests";
	if (okit_tally(kit, MAM_OBJECT_TOO_LARGE) != large)
		return "wrong number of oversized requests";
	return okit_check_empty(kit);
}

START_TEST(invalid_size_returns_null)
{
	struct okit *kit = okit_create(40, 2, NULL);

	okit_explore(kit, "odd sizes", allocate_odd_sizes, 2, 32, 15, check_odd_sizes);
	okit_destroy(kit);
}
END_TEST

/* ---- invalid heaps ------------------------------------------------------------------------- */

static MAM_KERNEL(use_invalid_heaps)
{
	struct okit *kit = argument;
	struct mam_kheap pages = *kit->heap, other = *kit->heap;

	pages.blocks = 0;
	other.layout++;
	MAM_KASSERT(!mam_objects_alloc(NULL, 16));
	MAM_KASSERT(!mam_objects_alloc(&pages, 16));
	MAM_KASSERT(!mam_objects_alloc(&other, 16));
	MAM_KASSERT(!mam_objects_free(NULL, kit->space));
	MAM_KASSERT(!mam_objects_free(&pages, kit->space));
	MAM_KASSERT(!mam_objects_free(&other, kit->space));
	MAM_KASSERT(!mam_objects_usable(NULL, kit->space));
	MAM_KASSERT(!mam_objects_usable(&pages, kit->space));
	MAM_KASSERT(!mam_objects_usable(&other, kit->space));
}

START_TEST(invalid_heap_returns_null)
{
	struct okit *kit = okit_create(1, 1, NULL);

	okit_explore(kit, "no heap", use_invalid_heaps, 1, 32, 3, okit_check_served);
	okit_destroy(kit);
}
END_TEST

/* A heap of pages: requests for objects return NULL, cause no harm, and each is counted. */
struct of_pages {
	struct mam_kheap head;
	uint64_t metadata[sizeof(struct mam_pages) / 8 + 2];
};

static MAM_KERNEL(use_heap_of_pages)
{
	struct mam_kheap *heap = argument;

	MAM_KASSERT(!mam_objects_alloc(heap, mam_lane() * 700));
	MAM_KASSERT(!mam_objects_free(heap, heap->space + mam_lane() * 64));
	MAM_KASSERT(mam_objects_free(heap, NULL));
	MAM_KASSERT(!mam_objects_usable(heap, heap->space));
}

START_TEST(heap_of_pages_returns_null)
{
	static _Alignas(MAM_PAGES_LINE) struct of_pages heap;
	struct mam_pages *pages = (struct mam_pages *)heap.metadata;
	struct simt_config config = { .seed = 1, .race = KIT_RACE, .strict = true };
	struct simt_result result;

	heap.head.layout = MAM_HEAP_LAYOUT;
	heap.head.space = (unsigned char *)((uintptr_t)1 << MAM_BLOCK_SHIFT);
	heap.head.pages = 100;
	heap.head.shift = 10;
	mam_pages_format(pages, 100, 5);
	for (config.policy = 0; config.policy < SIMT_POLICIES; config.policy++) {
		simt_set_shape(&config, config.policy);
		ck_assert_msg(simt_launch(&config, use_heap_of_pages, 2, 40, &heap, &result) ==
				      SIMT_FINE,
			      "%s", result.text);
	}
	ck_assert_uint_eq(pages->tally[MAM_TALLY_WRONG], SIMT_POLICIES * 2 * 40 * 2);
	ck_assert_uint_eq(mam_pages_bits(pages)[0], 0);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("objects");

	tcase_add_loop_test(tcase, lanes_alloc_and_free_one_object, 0, PLANS);
	tcase_add_loop_test(tcase, lanes_own_objects_of_two_rounds, 0, 9);
	tcase_add_test(tcase, divergent_call_sites_are_served);
	tcase_add_test(tcase, class_boundary_sizes_are_served);
	tcase_add_test(tcase, invalid_size_returns_null);
	tcase_add_test(tcase, invalid_heap_returns_null);
	tcase_add_test(tcase, heap_of_pages_returns_null);
	return kit_run(tcase, "heap/objects");
}
