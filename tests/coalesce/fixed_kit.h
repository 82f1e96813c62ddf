/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed_kit.h - helpers for tests of fixed.h: a plan that selects how parts are allocated, and a
 * map that is new for each run and must be unchanged at its end.
 */
#ifndef MAM_TESTS_COALESCE_FIXED_KIT_H
#define MAM_TESTS_COALESCE_FIXED_KIT_H

#include "coalesce/kit.h"
#include "coalesce/fixed.h"

/* A method is two bits. */
#define BY_BLOCK 1u
#define WITH_MAP 2u
#define WAYS 4

struct plan {
	uint32_t way;
	uint32_t bytes;
	uint32_t rounds;
	uint32_t mask;    /* participating lanes */
	uint32_t order;   /* in which parts are freed */
	uint32_t entries; /* of the map; 0: enough for all parts */
	uint32_t before;  /* entries that are occupied from the start */
	struct mam_kmap *map;
};

static inline struct mam_kmap *map_of(const struct plan *plan)
{
	return plan->way & WITH_MAP ? plan->map : NULL;
}

static inline void *fixed_alloc(struct ckit *kit, size_t bytes)
{
	const struct plan *plan = kit->plan;

	return plan->way & BY_BLOCK ? mam_fixed_alloc_block(ckit_base(kit), map_of(plan), bytes)
				    : mam_fixed_alloc_warp(ckit_base(kit), map_of(plan), bytes);
}

static inline bool fixed_free(struct ckit *kit, void *part)
{
	return mam_fixed_free(ckit_base(kit), map_of(kit->plan), part);
}

/* The caller allocated the part, or another lane passed it to the caller. */
static inline void fixed_release(struct ckit *kit, void *part)
{
	ckit_disown(kit, part);
	MAM_KASSERT(fixed_free(kit, part));
}

static inline uint32_t fixed_self(void)
{
	return mam_block() * simt_block_threads() + simt_thread();
}

static inline void fixed_begin(struct ckit *kit)
{
	const struct plan *plan = kit->plan;
	uint32_t i;

	memset(plan->map, 0, mam_map_bytes(plan->entries));
	mam_map_format(plan->map, plan->entries);
	for (i = 0; i < plan->before; i++)
		(void)mam_map_insert(plan->map, 0x1000 + i * 256, 1);
}

static inline const char *fixed_check(void *argument)
{
	const struct ckit *kit = argument;
	const struct plan *plan = kit->plan;

	if (mam_map_count(plan->map) != plan->before)
		return "map has leftover or missing entries";
	return ckit_check_empty(argument);
}

static inline struct ckit *fixed_create(struct plan *plan, size_t arena)
{
	struct ckit *kit = ckit_create(arena, plan);

	if (!plan->entries)
		plan->entries = 512;
	plan->map = aligned_alloc(128, (mam_map_bytes(plan->entries) + 127) / 128 * 128);
	ck_assert_ptr_nonnull(plan->map);
	kit->begin = fixed_begin;
	kit->whole = plan->way & BY_BLOCK;
	kit->steps_max = 4000000;
	return kit;
}

static inline void fixed_destroy(struct ckit *kit, struct plan *plan)
{
	free(plan->map);
	ckit_destroy(kit);
}

static inline uint32_t fixed_seeds(uint32_t plain)
{
	return CKIT_RACE ? (plain + 3) / 4 : plain;
}

#endif
