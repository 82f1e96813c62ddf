/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_grow_heaps.c - several heaps at a time: lanes of a warp that name different ones in one
 * call, growing or not; two growing heaps with one host; and one heap over time: objects freed by
 * the host between kernels, and a reset that keeps its parts.
 */
#include "heap/growth/growth_kit.h"

static const size_t sizes[] = { 100, 256, 1000, 3000, 8192, 12000, 24, 500 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static uint64_t runs, parts[2]; /* of one case */

/* The heap of number `n`, in chain order. */
static struct gkit *heap_of(struct gkit *kit, uint32_t n)
{
	while (n-- && kit->chained)
		kit = kit->chained;
	return kit;
}

static struct gkit *create_two(const struct gkit_host *first, const struct gkit_host *second,
			       const void *plan)
{
	struct gkit *kit = gkit_create(1, 1, first, plan);

	kit->chained = gkit_create(1, 1, second, plan);
	runs = parts[0] = parts[1] = 0;
	return kit;
}

static void destroy_two(struct gkit *kit)
{
	gkit_destroy(kit->chained);
	gkit_destroy(kit);
}

static void count_parts(const struct gkit *kit)
{
	runs++;
	parts[0] += gkit_parts(kit);
	if (kit->chained)
		parts[1] += gkit_parts(kit->chained);
}

static const char *check_all_served(void *argument)
{
	count_parts(argument);
	return gkit_check_served(argument);
}

/* ---- in one call ------------------------------------------------------------------------ */

/* Each lane chooses its heap; all allocate in one call, and free in one. */
static MAM_KERNEL(mixed_heaps)
{
	struct gkit *kit = argument, *mine, *yours;
	const uint32_t *alike = kit->o.plan;
	uint32_t round, chance;
	void *held[4];
	size_t bytes;

	for (round = 0; round < 4; round++) {
		chance = *alike ? mam_lane() : (uint32_t)simt_random();
		mine = heap_of(kit, chance % 2);
		bytes = sizes[*alike ? round : (chance >> 3) % SIZES];
		held[round] = gkit_alloc(mine, bytes);
		MAM_KASSERT(held[round]);
		MAM_KASSERT(okit_fits(bytes, mam_objects_usable(mine->o.heap, held[round])));
		yours = heap_of(kit, (chance + 1) % 2);
		/* The other heap does not know the object. */
		MAM_KASSERT(!mam_objects_usable(yours->o.heap, held[round]));
		if (round == 2 && mam_lane() % 5 == 0)
			MAM_KASSERT(!mam_objects_free(yours->o.heap, held[round]));
	}
	for (round = 0; round < 4; round++) {
		mine = heap_of(kit, mam_objects_usable(kit->o.heap, held[round]) == 0);
		okit_disown(&mine->o, held[round]);
		MAM_KASSERT(mam_objects_free(mine->o.heap, held[round]));
	}
}

static const char *check_mixed(void *argument)
{
	const struct gkit *kit = argument;
	uint64_t wrong =
		gkit_tally(kit, MAM_OBJECT_FOREIGN) + gkit_tally(kit->chained, MAM_OBJECT_FOREIGN);

	if (wrong != 2 * 7)
		return okit_wrong("14 frees to the wrong heap, %u counted", (uint32_t)wrong);
	return check_all_served(argument);
}

START_TEST(lanes_name_different_heaps_in_one_call)
{
	static const uint32_t alike[] = { 0, 1 };
	struct gkit *kit = create_two(NULL, NULL, &alike[_i]);

	gkit_explore(kit, _i ? "two heaps in one call, one size" : "two heaps in one call",
		     mixed_heaps, 2, 32, 0, KIT_RACE ? 4 : 12, check_mixed);
	ck_assert(!runs || (parts[0] && parts[1]));
	destroy_two(kit);
}
END_TEST

/* One of them does not grow, or neither does: its lanes request only sizes that it has. */
static MAM_KERNEL(mixed_kinds)
{
	struct gkit *kit = argument, *mine = heap_of(kit, mam_lane() % 2);
	void *held[3];
	uint32_t i;

	for (i = 0; i < 3; i++)
		held[i] =
			gkit_alloc(mine, mine->host.absent ? 100 : sizes[(mam_lane() + i) % SIZES]);
	for (i = 0; i < 3; i++) {
		MAM_KASSERT(held[i] || (kit->host.absent && mine == kit->chained));
		gkit_free(mine, held[i]);
	}
}

/* In a heap that does not grow, each NULL means that there was no room. */
static const char *check_kinds(void *argument)
{
	struct gkit *kit = argument, *fixed;

	for (fixed = kit; fixed; fixed = fixed->chained)
		if (fixed->host.absent && gkit_tally(fixed, MAM_OBJECT_FULL) != fixed->o.failed)
			return "a NULL was counted under another cause";
	count_parts(kit);
	return gkit_check_empty(argument);
}

START_TEST(fixed_heap_never_grows)
{
	static const struct gkit_host grows, fixed = { .absent = true };
	struct gkit *kit = create_two(&fixed, _i ? &fixed : &grows, NULL);

	gkit_explore(kit, _i ? "two fixed heaps" : "one fixed heap", mixed_kinds, 2, 32, 0,
		     KIT_RACE ? 5 : 15, check_kinds);
	ck_assert_uint_eq(parts[0], 0);
	ck_assert(!runs || !!parts[1] == !_i);
	destroy_two(kit);
}
END_TEST

/* ---- with one host ---------------------------------------------------------------------- */

static MAM_KERNEL(one_heap)
{
	struct gkit *kit = argument;
	void *held[4];
	uint32_t i;

	for (i = 0; i < 4; i++) {
		held[i] = gkit_alloc(kit, sizes[(mam_lane() + i) % SIZES]);
		MAM_KASSERT(held[i]);
	}
	for (i = 0; i < 4; i++)
		gkit_free(kit, held[i]);
}

static bool build_two(struct simt_world *world, void *argument)
{
	struct gkit *kit = argument;

	return simt_world_launch(world, 1, one_heap, 2, 20, kit) &&
	       simt_world_launch(world, 2, one_heap, 1, 32, kit->chained) &&
	       simt_world_launch(world, 3, one_heap, 6, 1, kit) && gkit_hosts(world, kit);
}

START_TEST(one_host_serves_two_heaps)
{
	static const struct gkit_host late = { .late = 300 }, ahead = { .ahead = 1 };
	struct gkit *kit = create_two(&late, &ahead, NULL);
	struct simt_case test = gkit_case(kit, "two heaps, one host", KIT_RACE ? 5 : 15, build_two,
					  check_all_served);

	simt_must_pass(&test);
	ck_assert(!runs || (parts[0] && parts[1]));
	destroy_two(kit);
}
END_TEST

/* ---- between kernels -------------------------------------------------------------------- */

#define RUN 20000u
#define RETURNED 6u

/* Allocates everything there is, and leaves it. */
static MAM_KERNEL(take_all)
{
	struct gkit *kit = argument;
	uint32_t i = simt_thread() * 64;
	void *object;

	while ((object = gkit_alloc(kit, RUN)))
		okit_keep(&kit->o, i++, object);
}

/* Allocates as many as were freed, and no more. */
static MAM_KERNEL(alloc_freed)
{
	struct gkit *kit = argument;
	uint32_t i;
	void *object;

	for (i = 0; i < RETURNED; i++) {
		object = gkit_alloc(kit, RUN);
		MAM_KASSERT(object);
		okit_keep(&kit->o, 3000 + i, object);
	}
	MAM_KASSERT(!gkit_alloc(kit, RUN));
}

/* Fills the next entry of the root's ring, if an object was left under this number. */
static uint64_t host_free_one(struct gkit *kit, uint32_t number, uint64_t told)
{
	void *object = okit_take(&kit->o, number);

	if (!object)
		return told;
	okit_disown(&kit->o, object);
	mam_atomic_store64(&kit->o.heap->returns->address[told % MAM_RETURNS], (uintptr_t)object,
			   MAM_RELAXED, MAM_AT_SYSTEM);
	return told + 1;
}

/* The host frees some of them, from any part: entries, then `told`. */
static void host_frees(void *argument)
{
	struct gkit *kit = argument;
	uint64_t told = 0;
	uint32_t i;

	simt_host_wait(1, "host");
	for (i = 0; i < OKIT_KEPT && told < RETURNED; i += 1 + (uint32_t)(simt_random() % 3))
		told = host_free_one(kit, i, told);
	for (i = 0; i < OKIT_KEPT && told < RETURNED; i++)
		told = host_free_one(kit, i, told);
	MAM_KASSERT(told == RETURNED);
	mam_atomic_store64(&kit->o.heap->returns->told, told, MAM_RELEASE, MAM_AT_SYSTEM);
	MAM_KASSERT(simt_host_launch(5, alloc_freed, 1, 1, kit));
	simt_host_wait(5, "host");
	(void)simt_atomic(&kit->over, 8, SIMT_STORE, 1, 0, MAM_RELEASE, MAM_AT_SYSTEM, "over");
}

static bool build_returns(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, take_all, 1, 5, argument) &&
	       simt_world_host(world, host_frees, argument) &&
	       simt_world_host(world, gkit_serve, argument);
}

static const char *check_returns(void *argument)
{
	const struct gkit *kit = argument;

	count_parts(kit);
	/* Once per lane of the first kernel, and once in the second. */
	if (kit->o.failed != 5 + 1 || gkit_tally(kit, MAM_OBJECT_AT_LIMIT) != kit->o.failed)
		return okit_wrong("%u requests failed", kit->o.failed);
	if (kit->o.heap->returns->taken != RETURNED)
		return "not all freed objects were drained";
	return gkit_check(argument);
}

START_TEST(memory_freed_by_host_is_reused)
{
	static const struct gkit_host host = { .grants = 3 };
	struct gkit *kit = gkit_create(1, 1, &host, NULL);
	struct simt_case test = gkit_case(kit, "freed by the host", KIT_RACE ? 10 : 40,
					  build_returns, check_returns);

	runs = parts[0] = 0;
	simt_must_pass(&test);
	ck_assert_uint_eq(parts[0], 3 * runs);
	gkit_destroy(kit);
}
END_TEST

/* ---- reset ------------------------------------------------------------------------------ */

static MAM_KERNEL(take_and_forget)
{
	struct gkit *kit = argument;
	uint32_t i;

	for (i = 0; i < 3; i++)
		MAM_KASSERT(gkit_alloc(kit, sizes[2 + (mam_lane() + i) % 4]));
}

/* As a reset between kernels: formats all metadata anew, keeps the parts; none is dry. */
OKIT_UNSEEN void make_new(struct gkit *kit)
{
	struct mam_growth *growth = kit->growth;
	uint32_t number, blocks, columns = kit->o.columns, i;
	struct mam_kheap *head;
	unsigned char *space;

	for (number = 0; number <= gkit_parts(kit); number++) {
		head = gkit_head(kit, number);
		space = head->space;
		blocks = head->blocks;
		memset(head, 0, mam_metadata_plan_of(blocks, columns).end);
		mam_metadata_format(head, space, blocks, columns);
	}
	kit->o.heap->growth = growth;
	memset(growth->dry, 0, sizeof(growth->dry));
	for (i = 0; i < kit->o.blocks * OKIT_BLOCK_GRAINS; i++) {
		kit->o.extent[i] = 0;
		kit->o.owner[i] = kit->o.owner[i] == UINT32_MAX ? UINT32_MAX : 0;
	}
	kit->o.live = kit->o.failed = 0;
}

static void reset(void *argument)
{
	struct gkit *kit = argument;

	simt_host_wait(1, "host");
	parts[0] += gkit_parts(kit);
	make_new(kit);
	MAM_KASSERT(simt_host_launch(5, take_and_forget, 2, 20, kit));
	simt_host_wait(5, "host");
	(void)simt_atomic(&kit->over, 8, SIMT_STORE, 1, 0, MAM_RELEASE, MAM_AT_SYSTEM, "over");
}

static bool build_reset(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, take_and_forget, 2, 20, argument) &&
	       simt_world_host(world, reset, argument) &&
	       simt_world_host(world, gkit_serve, argument);
}

static const char *check_reset(void *argument)
{
	const struct gkit *kit = argument;

	runs++;
	parts[1] += gkit_parts(kit);
	if (kit->o.failed || kit->o.live != 2 * 20 * 3)
		return "not every request succeeded";
	return gkit_check(argument);
}

START_TEST(reset_keeps_parts)
{
	struct gkit *kit = gkit_create(1, 1, NULL, NULL);
	struct simt_case test =
		gkit_case(kit, "reset", KIT_RACE ? 5 : 20, build_reset, check_reset);

	runs = parts[0] = parts[1] = 0;
	test.config.race = false; /* metadata is formatted where the race checker does not look */
	simt_must_pass(&test);
	/* The second kernel finds the memory that the first one needed, up to chance. */
	ck_assert(!runs || (parts[0] >= runs && parts[1] <= parts[0] * 3 / 2));
	gkit_destroy(kit);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("grow_heaps");

	tcase_add_loop_test(tcase, lanes_name_different_heaps_in_one_call, 0, 2);
	tcase_add_loop_test(tcase, fixed_heap_never_grows, 0, 2);
	tcase_add_test(tcase, one_host_serves_two_heaps);
	tcase_add_test(tcase, memory_freed_by_host_is_reused);
	tcase_add_test(tcase, reset_keeps_parts);
	return kit_run(tcase, "heap/grow_heaps");
}
