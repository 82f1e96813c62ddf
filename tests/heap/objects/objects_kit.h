/* SPDX-License-Identifier: Apache-2.0 */
/*
 * objects_kit.h - fixture of the tests of the heap of objects: a small heap over real memory, a
 * shadow of the owner of each 16-byte quantum, and a payload that its owner reads and writes with
 * plain accesses.
 *
 * 1. okit_own() detects memory with two owners, outside of the heap, or misaligned. The shadow is
 *    written between two steps of the simulator and orders nothing.
 * 2. The first and the last eight bytes of an object are its payload: they show the race checker
 *    whether the allocation of an object acquires what its free released.
 * 3. After a run the metadata must match the shadow: objects_check.h.
 */
#ifndef MAM_TESTS_HEAP_OBJECTS_KIT_H
#define MAM_TESTS_HEAP_OBJECTS_KIT_H

#include "heap/objects/objects.h"
#include "heap/kit.h"

#define OKIT_GRAIN (1u << MAM_GRAIN_SHIFT)
#define OKIT_BLOCK_GRAINS (1u << (MAM_BLOCK_SHIFT - MAM_GRAIN_SHIFT))
#define OKIT_UNIT_GRAINS (1u << (MAM_UNIT_SHIFT - MAM_GRAIN_SHIFT))
#define OKIT_KEPT 4096

/*
 * For the fixture's own metadata: no other lane runs in between, and the race checker does not see
 * it.
 */
#define OKIT_UNSEEN static __attribute__((noinline, unused, no_sanitize("thread")))

struct okit {
	struct mam_kheap *heap;
	unsigned char *space;
	uint32_t blocks, columns;
	uint32_t *owner;  /* of each quantum: the object's number, or 0 */
	uint32_t *extent; /* of an object's first quantum: its length in quanta; otherwise 0 */
	uint32_t number;  /* objects allocated so far */
	uint32_t live;    /* live objects */
	uint32_t max;     /* peak of live objects */
	uint32_t failed;  /* failed requests */
	bool refused[MAM_CLASSES + 1]; /* a request of this class failed */
	uint32_t refused_units;        /* the shortest run that failed; 0: none */
	uint64_t kept[OKIT_KEPT];      /* objects that lanes leave for others; atomic */
	bool only_taken;               /* nothing is freed while requests may fail */
	uint64_t steps_max;            /* of a run; 0: the simulator's default */
	bool fresh;                    /* loads return the newest values (simt.h) */
	bool whole;                    /* blocks have no other threads than these lanes */
	const void *plan;              /* test-specific */
};

/* Usable bytes of a request: its class's, or whole units. */
static inline size_t okit_usable(size_t bytes)
{
	uint32_t class_ = mam_class_of(bytes);

	if (class_)
		return mam_class_bytes(class_);
	return (bytes + (1u << MAM_UNIT_SHIFT) - 1) >> MAM_UNIT_SHIFT << MAM_UNIT_SHIFT;
}

/*
 * Returns whether an object of `bytes` may have so many usable bytes: more only in a short run, or in
 * a slot of a larger class, whose alignment okit_note() checks.
 */
static inline bool okit_fits(size_t bytes, size_t usable)
{
	size_t units = (bytes + (1u << MAM_UNIT_SHIFT) - 1) >> MAM_UNIT_SHIFT << MAM_UNIT_SHIFT;

	if (usable == okit_usable(bytes))
		return true;
	if (usable > okit_usable(bytes) && usable == okit_usable(usable) && mam_class_of(usable))
		return true;
	/* Not where the class is a power of two. */
	return okit_usable(bytes) & (okit_usable(bytes) - 1) && usable == units;
}

#include "heap/objects/objects_check.h"

/* ---- the shadow ---------------------------------------------------------------------------- */

OKIT_UNSEEN uint32_t okit_note(struct okit *kit, const unsigned char *object, size_t bytes)
{
	size_t usable = okit_usable(bytes);
	uint64_t at = (uint64_t)(object - kit->space);
	uint32_t quantum = (uint32_t)(at / OKIT_GRAIN), quanta = (uint32_t)(usable / OKIT_GRAIN), i;

	MAM_KASSERT(object >= kit->space);
	MAM_KASSERT(at + usable <= (uint64_t)kit->blocks << MAM_BLOCK_SHIFT);
	MAM_KASSERT(at % OKIT_GRAIN == 0);
	/* Powers of two have natural alignment; runs start at units. */
	if (usable > MAM_CLASS_BYTES_MAX)
		MAM_KASSERT(at % (1u << MAM_UNIT_SHIFT) == 0);
	else if (!(usable & (usable - 1)))
		MAM_KASSERT((uintptr_t)object % usable == 0);
	kit->number++;
	for (i = quantum; i < quantum + quanta; i++) {
		MAM_KASSERT(!kit->owner[i]);
		kit->owner[i] = kit->number;
	}
	kit->extent[quantum] = quanta;
	if (++kit->live > kit->max)
		kit->max = kit->live;
	return kit->number;
}

/* Returns the number of a live object, and its bytes. */
OKIT_UNSEEN uint32_t okit_noted(struct okit *kit, const unsigned char *object, size_t *bytes)
{
	uint32_t quantum = (uint32_t)((object - kit->space) / OKIT_GRAIN);

	MAM_KASSERT(kit->extent[quantum]);
	*bytes = (size_t)kit->extent[quantum] * OKIT_GRAIN;
	return kit->owner[quantum];
}

OKIT_UNSEEN void okit_forget(struct okit *kit, const unsigned char *object)
{
	uint32_t quantum = (uint32_t)((object - kit->space) / OKIT_GRAIN), i;

	for (i = quantum; i < quantum + kit->extent[quantum]; i++) {
		MAM_KASSERT(kit->owner[i] == kit->owner[quantum] || i == quantum);
		if (i != quantum)
			kit->owner[i] = 0;
	}
	kit->owner[quantum] = kit->extent[quantum] = 0;
	kit->live--;
}

/* Where nothing is freed meanwhile, a request that fails must leave no room, not even now. */
OKIT_UNSEEN void okit_count_failure(struct okit *kit, size_t bytes)
{
	uint32_t units = (uint32_t)(okit_usable(bytes) >> MAM_UNIT_SHIFT);
	uint32_t class_ = mam_class_of(bytes);

	kit->failed++;
	if (class_) {
		MAM_KASSERT(!kit->only_taken || !okit_room(kit, class_));
		kit->refused[class_] = true;
	} else if (bytes && bytes <= (size_t)kit->blocks << MAM_BLOCK_SHIFT) {
		MAM_KASSERT(!kit->only_taken || okit_longest(kit) < units);
		if (!kit->refused_units || units < kit->refused_units)
			kit->refused_units = units;
	}
}

/* ---- for kernels --------------------------------------------------------------------------- */

/* Records that the caller has just allocated an object of `bytes`. */
static inline void okit_own(struct okit *kit, void *object, size_t bytes)
{
	uint64_t number = okit_note(kit, object, bytes);

	((uint64_t *)object)[0] = number;
	((uint64_t *)object)[okit_usable(bytes) / 8 - 1] = ~number;
}

/* Records that the caller, which need not have allocated the object, is about to free it. */
static inline void okit_disown(struct okit *kit, void *object)
{
	size_t bytes;
	uint64_t number = okit_noted(kit, object, &bytes);

	MAM_KASSERT(((uint64_t *)object)[0] == number);
	MAM_KASSERT(((uint64_t *)object)[bytes / 8 - 1] == ~number);
	okit_forget(kit, object);
}

static inline void *okit_alloc(struct okit *kit, size_t bytes)
{
	void *object = mam_objects_alloc(kit->heap, bytes);

	if (object)
		okit_own(kit, object, bytes);
	else
		okit_count_failure(kit, bytes);
	return object;
}

static inline void okit_free(struct okit *kit, void *object)
{
	bool freed;

	if (object)
		okit_disown(kit, object);
	freed = mam_objects_free(kit->heap, object);
	MAM_KASSERT(freed);
}

/* Leaves an object, or NULL, to a lane that takes it, which may be in a later kernel. */
static inline void okit_keep(struct okit *kit, uint32_t i, void *object)
{
	mam_atomic_store64(&kit->kept[i], (uintptr_t)object, MAM_RELEASE, MAM_AT_DEVICE);
}

/* Returns NULL if there is none. */
static inline void *okit_take(struct okit *kit, uint32_t i)
{
	return (void *)(uintptr_t)mam_atomic_xchg64(&kit->kept[i], 0, MAM_ACQ_REL, MAM_AT_DEVICE);
}

/* ---- before and around a run ----------------------------------------------------------------- */

/* Creates a new heap before each run. */
static inline void okit_begin(void *argument)
{
	struct okit *kit = argument;

	memset(kit->heap, 0, mam_metadata_plan_of(kit->blocks, kit->columns).end);
	mam_metadata_format(kit->heap, kit->space, kit->blocks, kit->columns);
	memset(kit->owner, 0, (size_t)kit->blocks * OKIT_BLOCK_GRAINS * 4);
	memset(kit->extent, 0, (size_t)kit->blocks * OKIT_BLOCK_GRAINS * 4);
	memset(kit->kept, 0, sizeof(kit->kept));
	memset(kit->refused, 0, sizeof(kit->refused));
	kit->number = kit->live = kit->max = kit->failed = kit->refused_units = 0;
}

/* `columns`: columns of handles, a power of two; few, so that warps share them. */
static inline struct okit *okit_create(uint32_t blocks, uint32_t columns, const void *plan)
{
	struct okit *kit = calloc(1, sizeof(*kit));

	ck_assert_ptr_nonnull(kit);
	kit->blocks = blocks;
	kit->columns = columns;
	kit->plan = plan;
	kit->space = aligned_alloc((size_t)1 << MAM_BLOCK_SHIFT, (size_t)blocks << MAM_BLOCK_SHIFT);
	kit->heap = aligned_alloc(MAM_PAGES_LINE, mam_metadata_plan_of(blocks, columns).end);
	kit->owner = calloc((size_t)blocks * OKIT_BLOCK_GRAINS, 4);
	kit->extent = calloc((size_t)blocks * OKIT_BLOCK_GRAINS, 4);
	ck_assert(kit->space && kit->heap && kit->owner && kit->extent);
	okit_begin(kit);
	return kit;
}

static inline void okit_destroy(struct okit *kit)
{
	free(kit->extent);
	free(kit->owner);
	free(kit->heap);
	free(kit->space);
	free(kit);
}

/* Explores `kernel` with a new heap for each run; a NULL `check` stands for okit_check_empty(). */
static inline void okit_explore(struct okit *kit, const char *name, simt_kernel *kernel,
				uint32_t grid, uint32_t block, uint32_t seeds,
				const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.kernel = kernel,
		.grid = grid,
		.block = block,
		.argument = kit,
		.begin = okit_begin,
		.check = check ? check : okit_check_empty,
		.seeds = seeds,
		.config = { .race = KIT_RACE,
			    .strict = true,
			    .steps_max = kit->steps_max,
			    .whole = kit->whole },
	};

	simt_must_pass(&test);
}

/* The same for a world of several kernels, which `build` launches. */
static inline void okit_explore_world(struct okit *kit, const char *name,
				      bool (*build)(struct simt_world *world, void *argument),
				      uint32_t seeds, const char *(*check)(void *))
{
	struct simt_case test = {
		.name = name,
		.build = build,
		.argument = kit,
		.begin = okit_begin,
		.check = check ? check : okit_check_empty,
		.seeds = seeds,
		.config = { .race = KIT_RACE,
			    .strict = true,
			    .steps_max = kit->steps_max,
			    .whole = kit->whole },
	};

	simt_must_pass(&test);
}

#endif
