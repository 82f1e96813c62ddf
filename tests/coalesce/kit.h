/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kit.h - test helpers for coalescers: a base that checks its callers, and a shadow of the owner of
 * each byte.
 *
 * 1. The base allocates from an arena, at the lowest address that fits, so freed memory is reused
 *    at once; or it refuses as the test specifies. It orders no more than a base promises: a
 *    free before a later allocation.
 * 2. Each byte of the arena has an owner; 0: no owner. A lane that gets a part owns its bytes
 *    (ckit_own), writes them with plain stores, and must find them unchanged when it frees the part
 *    (ckit_disown).
 * 3. A block that is freed to the base while one of its bytes has an owner was freed too early. A
 *    block that is never freed to the base is a leak (ckit_check_empty).
 */
#ifndef MAM_TESTS_COALESCE_KIT_H
#define MAM_TESTS_COALESCE_KIT_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/base.h"
#include "simt/explore.h"
#include "simt/suite.h"

#ifdef SIMT_HOOKS
#define CKIT_RACE true
#else
#define CKIT_RACE false
#endif

#define CKIT_KEPT 4096u

/* Hidden from the race checker: the shadow, which orders nothing. */
#define CKIT_UNSEEN static __attribute__((noinline, unused, no_sanitize("thread")))

struct ckit {
	unsigned char *arena;
	uint32_t quanta;  /* of MAM_BASE_ALIGN bytes */
	uint32_t *extent; /* per unit: units of the block that begins there; 0: none begins there */
	uint32_t *block;  /* per unit: number of the block that contains it; 0: none */
	uint32_t *owner;  /* per byte: number of the part that contains it; 0: none */
	uint32_t *length; /* per byte: bytes of the part that begins there; 0: none begins there */
	uint64_t turn;    /* atomic: orders calls of the base */
	uint32_t number;  /* of the newest block or part */
	uint32_t allocs, frees, refusals; /* calls of the base that had an effect */
	uint32_t parts;                   /* live */
	uint32_t failed;                  /* failed allocations of parts, counted by ckit_fail() */
	uint64_t kept[CKIT_KEPT];         /* addresses that a lane left for other lanes; atomic */

	/* The test's own settings; set before a run, kept between runs. */
	uint32_t refuse_after; /* refuse this call of the base and all later ones; 0: never */
	uint32_t refuse_every; /* or every n-th call; 0: never */
	size_t max_bytes;      /* or requests for more bytes than this; 0: none */
	const void *plan;
	void *own;
	void (*begin)(struct ckit *kit); /* called after the base is initialized; may be NULL */
	uint64_t steps_max;
	bool whole; /* blocks consist of these lanes only */
};

/* ---- the base ------------------------------------------------------------------------------ */

/* A block of `quanta` units begins at unit `at`, which was free. */
CKIT_UNSEEN void ckit_enter(struct ckit *kit, uint32_t at, uint32_t quanta)
{
	uint32_t i;

	MAM_KASSERT(quanta && at < kit->quanta && quanta <= kit->quanta - at);
	kit->allocs++;
	kit->number++;
	kit->extent[at] = quanta;
	for (i = at; i < at + quanta; i++) {
		MAM_KASSERT(!kit->block[i]);
		kit->block[i] = kit->number;
	}
}

CKIT_UNSEEN void *ckit_carve(struct ckit *kit, size_t bytes)
{
	uint32_t want, at, run = 0, call = kit->allocs + kit->refusals + 1;

	MAM_KASSERT(bytes);
	if ((kit->refuse_after && call >= kit->refuse_after) ||
	    (kit->refuse_every && call % kit->refuse_every == 0) ||
	    (kit->max_bytes && bytes > kit->max_bytes) ||
	    bytes > (size_t)kit->quanta * MAM_BASE_ALIGN) {
		kit->refusals++;
		return NULL;
	}
	want = (uint32_t)((bytes + MAM_BASE_ALIGN - 1) / MAM_BASE_ALIGN);
	for (at = 0; at < kit->quanta && run < want; at++)
		run = kit->block[at] ? 0 : run + 1;
	if (run < want) {
		kit->refusals++;
		return NULL;
	}
	at -= want;
	ckit_enter(kit, at, want);
	return kit->arena + (size_t)at * MAM_BASE_ALIGN;
}

CKIT_UNSEEN void ckit_uncarve(struct ckit *kit, const unsigned char *block)
{
	size_t offset = (size_t)(block - kit->arena), i;
	uint32_t at = (uint32_t)(offset / MAM_BASE_ALIGN), end;

	MAM_KASSERT(block >= kit->arena && at < kit->quanta && offset % MAM_BASE_ALIGN == 0);
	MAM_KASSERT(kit->extent[at]); /* a block begins there: no double free */
	end = at + kit->extent[at];
	for (i = offset; i < (size_t)end * MAM_BASE_ALIGN; i++)
		MAM_KASSERT(!kit->owner[i]); /* no part contains it */
	kit->extent[at] = 0;
	for (; at < end; at++)
		kit->block[at] = 0;
	kit->frees++;
}

static inline void *ckit_base_alloc(void *heap, size_t bytes)
{
	struct ckit *kit = heap;
	void *block = ckit_carve(kit, bytes);

	(void)mam_atomic_add64(&kit->turn, 1, MAM_ACQUIRE, MAM_AT_DEVICE);
	return block;
}

static inline bool ckit_base_free(void *heap, void *block)
{
	struct ckit *kit = heap;

	(void)mam_atomic_add64(&kit->turn, 1, MAM_RELEASE, MAM_AT_DEVICE);
	ckit_uncarve(kit, block);
	return true;
}

static inline struct mam_kbase ckit_base(struct ckit *kit)
{
	struct mam_kbase base = { ckit_base_alloc, ckit_base_free, kit, 0 };

	return base;
}

/* ---- owners -------------------------------------------------------------------------------- */

CKIT_UNSEEN uint32_t ckit_note(struct ckit *kit, const unsigned char *part, size_t bytes)
{
	size_t at = (size_t)(part - kit->arena), i;
	uint32_t block;

	MAM_KASSERT(part >= kit->arena && bytes &&
		    at + bytes <= (size_t)kit->quanta * MAM_BASE_ALIGN);
	block = kit->block[at / MAM_BASE_ALIGN];
	MAM_KASSERT(block);
	kit->number++;
	for (i = at; i < at + bytes; i++) {
		MAM_KASSERT(kit->block[i / MAM_BASE_ALIGN] ==
			    block);          /* all of it is in one block */
		MAM_KASSERT(!kit->owner[i]); /* and has no other owner */
		kit->owner[i] = kit->number;
	}
	kit->length[at] = (uint32_t)bytes;
	kit->parts++;
	return kit->number;
}

CKIT_UNSEEN uint32_t ckit_noted(struct ckit *kit, const unsigned char *part, size_t *bytes)
{
	size_t at = (size_t)(part - kit->arena);

	MAM_KASSERT(part >= kit->arena && at < (size_t)kit->quanta * MAM_BASE_ALIGN);
	MAM_KASSERT(kit->length[at]);
	*bytes = kit->length[at];
	return kit->owner[at];
}

CKIT_UNSEEN void ckit_forget(struct ckit *kit, const unsigned char *part)
{
	size_t at = (size_t)(part - kit->arena), i;

	for (i = at; i < at + kit->length[at]; i++)
		kit->owner[i] = 0;
	kit->length[at] = 0;
	kit->parts--;
}

CKIT_UNSEEN void ckit_fail(struct ckit *kit)
{
	kit->failed++;
}

/* The value of byte `i` of part `number`. */
static inline unsigned char ckit_pattern(uint32_t number, size_t i)
{
	return (unsigned char)(number * 31 + i * 7 + 1);
}

/* The caller has just allocated `bytes` at `part`, and writes all of them. */
static inline void ckit_own(struct ckit *kit, void *part, size_t bytes)
{
	uint32_t number = ckit_note(kit, part, bytes);
	size_t i;

	for (i = 0; i < bytes; i++)
		((unsigned char *)part)[i] = ckit_pattern(number, i);
}

/* A lane, which need not be the one that allocated the part, is about to free it. */
static inline void ckit_disown(struct ckit *kit, void *part)
{
	size_t bytes, i;
	uint32_t number = ckit_noted(kit, part, &bytes);

	for (i = 0; i < bytes; i++)
		MAM_KASSERT(((unsigned char *)part)[i] == ckit_pattern(number, i));
	ckit_forget(kit, part);
}

/* Leaves a part, or NULL, for any lane, also of a later kernel. */
static inline void ckit_keep(struct ckit *kit, uint32_t i, void *part)
{
	MAM_KASSERT(i < CKIT_KEPT);
	mam_atomic_store64(&kit->kept[i], (uintptr_t)part, MAM_RELEASE, MAM_AT_DEVICE);
}

/* NULL if the slot is empty. */
static inline void *ckit_take(struct ckit *kit, uint32_t i)
{
	MAM_KASSERT(i < CKIT_KEPT);
	return (void *)(uintptr_t)mam_atomic_xchg64(&kit->kept[i], 0, MAM_ACQ_REL, MAM_AT_DEVICE);
}

/* ---- setup, and checks after a run --------------------------------------------------------- */

static inline void ckit_begin(void *argument)
{
	struct ckit *kit = argument;
	size_t bytes = (size_t)kit->quanta * MAM_BASE_ALIGN;

	memset(kit->arena, 0xa5, bytes);
	memset(kit->extent, 0, kit->quanta * sizeof(*kit->extent));
	memset(kit->block, 0, kit->quanta * sizeof(*kit->block));
	memset(kit->owner, 0, bytes * sizeof(*kit->owner));
	memset(kit->length, 0, bytes * sizeof(*kit->length));
	memset(kit->kept, 0, sizeof(kit->kept));
	kit->turn = 0;
	kit->number = kit->allocs = kit->frees = kit->refusals = kit->parts = kit->failed = 0;
	if (kit->begin)
		kit->begin(kit);
}

/* `bytes`: size of the arena. */
static inline struct ckit *ckit_create(size_t bytes, const void *plan)
{
	struct ckit *kit = calloc(1, sizeof(*kit));

	ck_assert_ptr_nonnull(kit);
	kit->quanta = (uint32_t)(bytes / MAM_BASE_ALIGN);
	bytes = (size_t)kit->quanta * MAM_BASE_ALIGN;
	kit->plan = plan;
	kit->arena = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	kit->extent = calloc(kit->quanta, sizeof(*kit->extent));
	kit->block = calloc(kit->quanta, sizeof(*kit->block));
	kit->owner = calloc(bytes, sizeof(*kit->owner));
	kit->length = calloc(bytes, sizeof(*kit->length));
	ck_assert(kit->arena && kit->extent && kit->block && kit->owner && kit->length);
	return kit;
}

static inline void ckit_destroy(struct ckit *kit)
{
	free(kit->length);
	free(kit->owner);
	free(kit->block);
	free(kit->extent);
	free(kit->arena);
	free(kit);
}

/* After a run: all parts were freed, and all blocks were freed to the base. */
static inline const char *ckit_check_empty(void *argument)
{
	const struct ckit *kit = argument;

	if (kit->parts)
		return "a part is still allocated";
	if (kit->allocs != kit->frees)
		return "a block was not freed to the base";
	return NULL;
}

/* The same, and no allocation failed. */
static inline const char *ckit_check_served(void *argument)
{
	const struct ckit *kit = argument;

	return kit->failed ? "an allocation failed" : ckit_check_empty(argument);
}

/* Explores `kernel`, on a new base in each run; a `check` of NULL means ckit_check_empty(). */
static inline void ckit_explore(struct ckit *kit, const char *name, simt_kernel *kernel,
				uint32_t grid, uint32_t block, uint32_t seeds,
				const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.kernel = kernel,
		.grid = grid,
		.block = block,
		.argument = kit,
		.begin = ckit_begin,
		.check = check ? check : ckit_check_empty,
		.seeds = seeds,
		.config = { .race = CKIT_RACE,
			    .strict = true,
			    .steps_max = kit->steps_max,
			    .whole = kit->whole },
	};

	simt_must_pass(&test);
}

/* The same for a world of several kernels, which `build` launches. */
static inline void ckit_explore_world(struct ckit *kit, const char *name,
				      bool (*build)(struct simt_world *world, void *argument),
				      uint32_t seeds, const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.build = build,
		.argument = kit,
		.begin = ckit_begin,
		.check = check ? check : ckit_check_empty,
		.seeds = seeds,
		.config = { .race = CKIT_RACE,
			    .strict = true,
			    .steps_max = kit->steps_max,
			    .whole = kit->whole },
	};

	simt_must_pass(&test);
}

static inline int ckit_run(TCase *tcase, const char *name)
{
	return simt_run_case(tcase, name);
}

#endif
