/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_fixed.c - one block for a thread block's or a warp's parts, with headers and with a map:
 * where parts lie, whoever comes, in every order of frees, by anybody; and all or nothing when the
 * base or the map has no room.
 */
#include "coalesce/kit.h"
#include "coalesce/fixed.h"

/* A way is two bits. */
#define BY_BLOCK 1u
#define WITH_MAP 2u
#define WAYS 4

struct plan {
	uint32_t way;
	uint32_t bytes;
	uint32_t rounds;
	uint32_t mask;    /* lanes that come */
	bool ended;       /* those that do not have ended, else they come later */
	uint32_t order;   /* in which parts are freed */
	uint32_t entries; /* of the map */
	uint32_t before;  /* entries that are taken from the start */
	uint32_t wanted;  /* parts that come to be had in all; 0: not asked */
	struct mam_kmap *map;
};

static struct mam_kmap *map_of(const struct plan *plan)
{
	return plan->way & WITH_MAP ? plan->map : NULL;
}

static void *fixed_alloc(struct ckit *kit, size_t bytes)
{
	const struct plan *plan = kit->plan;

	return plan->way & BY_BLOCK ? mam_fixed_alloc_block(ckit_base(kit), map_of(plan), bytes)
				    : mam_fixed_alloc_warp(ckit_base(kit), map_of(plan), bytes);
}

static bool fixed_free(struct ckit *kit, void *part)
{
	return mam_fixed_free(ckit_base(kit), map_of(kit->plan), part);
}

/* The caller has it, or it was left to the caller. */
static void give(struct ckit *kit, void *part)
{
	ckit_disown(kit, part);
	MAM_KASSERT(fixed_free(kit, part));
}

static void begin(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	uint32_t i;

	memset(plan->map, 0, mam_map_bytes(plan->entries));
	mam_map_format(plan->map, plan->entries);
	for (i = 0; i < plan->before; i++)
		(void)mam_map_insert(plan->map, 0x1000 + i * 256, 1);
}

static const char *check(void *argument)
{
	const struct ckit *kit = argument;
	const struct plan *plan = kit->plan;

	if (mam_map_count(plan->map) != plan->before)
		return "something is left in the map";
	return ckit_check_empty(argument);
}

static const char *check_served(void *argument)
{
	const struct ckit *kit = argument;

	return kit->failed ? "somebody got nothing" : check(argument);
}

static struct ckit *create(struct plan *plan, size_t arena)
{
	struct ckit *kit = ckit_create(arena, plan);

	if (!plan->entries)
		plan->entries = 512;
	plan->map = aligned_alloc(128, (mam_map_bytes(plan->entries) + 127) / 128 * 128);
	ck_assert_ptr_nonnull(plan->map);
	kit->begin = begin;
	kit->steps_max = 4000000;
	return kit;
}

static void destroy(struct ckit *kit, struct plan *plan)
{
	free(plan->map);
	ckit_destroy(kit);
}

static uint32_t seeds(uint32_t plain)
{
	return CKIT_RACE ? (plain + 3) / 4 : plain;
}

/* ---- where parts lie ------------------------------------------------------------------------- */

/*
 * Parts of one block lie in their threads' order, a stride apart, from 16 on; their addresses are
 * in kit->kept. A block has the parts of a thread block, or of lanes of one warp.
 */
CKIT_UNSEEN void check_layout(struct ckit *kit, uint32_t from, uint32_t bytes)
{
	const struct plan *plan = kit->plan;
	uint64_t stride = plan->way & WITH_MAP ? bytes : (bytes + 8u + 15u) / 16u * 16u, at, before;
	uint32_t n = mam_block_threads(), warp = plan->way & BY_BLOCK ? n : 32, i, k;

	for (i = 0; i < n; i++) {
		at = kit->kept[from + i] - (uintptr_t)kit->arena;
		if (!kit->kept[from + i])
			continue;
		/* Back to the one before it in the block. */
		for (k = i; k-- > i / warp * warp;) {
			before = kit->kept[from + k] - (uintptr_t)kit->arena;
			if (kit->kept[from + k] && kit->block[before / 16] == kit->block[at / 16])
				break;
		}
		if (k + 1 > i / warp * warp) /* found */
			MAM_KASSERT(at == before + stride);
		else
			MAM_KASSERT(at % 16 == 0 && at && kit->extent[at / 16 - 1]);
		MAM_KASSERT(plan->way & WITH_MAP || at % 16 == 0);
	}
}

/* Each frees what another of its block got. */
static MAM_KERNEL(go)
{
	struct ckit *kit = argument;
	const struct plan *plan = kit->plan;
	uint32_t n = mam_block_threads(), round, from;
	void *part;

	for (round = 0; round < plan->rounds; round++) {
		from = (round % 2 * mam_grid_blocks() + mam_block()) * n;
		part = fixed_alloc(kit, plan->bytes);
		MAM_KASSERT(part);
		ckit_own(kit, part, plan->bytes);
		ckit_keep(kit, from + mam_thread(), part);
		mam_syncthreads();
		if (round == 0) {
			if (mam_thread() == 0)
				check_layout(kit, from, plan->bytes);
			mam_syncthreads();
		}
		give(kit, ckit_take(kit, from + (mam_thread() * 37 + 5 + round) % n));
	}
}

static const uint32_t threads[] = { 1, 2, 31, 33, 40, 70 };
static const uint32_t sizes[] = { 1, 3, 8, 9, 24, 100 };

START_TEST(each_size)
{
	struct plan plan = { .way = (uint32_t)_i % WAYS, .rounds = 3 };
	struct ckit *kit = create(&plan, 1 << 16);
	uint32_t i = (uint32_t)_i / WAYS, k;

	for (k = 0; k < 6; k++) {
		plan.bytes = sizes[k];
		ckit_explore(kit, "each size", go, 2, threads[i], seeds(threads[i] > 4 ? 4 : 40),
			     check_served);
	}
	destroy(kit, &plan);
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("fixed");

	tcase_add_loop_test(tcase, each_size, 0, WAYS * 6);
	return ckit_run(tcase, "coalesce/fixed");
}
