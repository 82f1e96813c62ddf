/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_kit.h - fixture of the tests of the heap that grows: a small root, a host that grants tiny
 * parts, and one shadow of all their owners, built on objects_kit.h.
 *
 * 1. The root's memory and everything that the host may grant are in one arena, so the shadow of
 *    objects_kit.h covers all of it. Memory that cannot contain objects (metadata, gaps, memory
 *    that is not granted yet) is fenced in the shadow: an object there is detected.
 * 2. A world has kernels in streams 1 to GKIT_STREAMS, the host and its watcher (growth_host.h).
 * 3. After a run the metadata of each part must match the shadow, and the root's tallies the failed
 *    requests: growth_check.h.
 */
#ifndef MAM_TESTS_HEAP_GROWTH_KIT_H
#define MAM_TESTS_HEAP_GROWTH_KIT_H

/* Small enough that a run of a few thousand steps reaches all of it. */
#ifndef MAM_MAIL_SLOTS
#define MAM_MAIL_SLOTS 64u
#endif
#ifndef MAM_RETURNS
#define MAM_RETURNS 8u
#endif
#ifndef MAM_GRANT_BLOCKS
#define MAM_GRANT_BLOCKS 2u
#endif
#ifndef MAM_LARGE_UNITS
#define MAM_LARGE_UNITS 100u
#endif
#ifndef MAM_GROW_PIECE
#define MAM_GROW_PIECE 2048u
#endif

#include "heap/growth/growth.h"
#include "heap/objects/resize.h"
#include "heap/objects/objects_kit.h"
#include "heap/growth/growth_host.h"
#include "heap/growth/growth_check.h"

/* ---- for kernels ------------------------------------------------------------------------ */

static inline void *gkit_alloc(struct gkit *kit, size_t bytes)
{
	void *object = mam_objects_alloc(kit->o.heap, bytes);

	if (object)
		okit_own(&kit->o, object, bytes);
	else
		gkit_fail(kit, bytes);
	return object;
}

static inline void gkit_free(struct gkit *kit, void *object)
{
	okit_free(&kit->o, object);
}

/* ---- before and around a run ------------------------------------------------------------ */

/* Creates a new heap and a new host before each run. */
static inline void gkit_begin(void *argument)
{
	struct gkit *kit = argument, *next = kit->chained;
	struct okit *o = &kit->o;
	uint64_t posted = 0;

	memset(o->heap, 0, kit->root_bytes);
	mam_metadata_format(o->heap, o->space, kit->root_blocks, o->columns);
	memset(kit->growth->large_free, 0xff, sizeof(kit->growth->large_free));
	kit->growth->mail = kit->mail;
	kit->growth->wait_ns = kit->wait_ns;
	o->heap->growth = kit->host.absent ? NULL : kit->growth;
	memset(kit->mail, 0, sizeof(*kit->mail));
	records_begin(&kit->records, kit->growth->large, kit->mail);
	memset(&kit->life, 0, sizeof(kit->life));
	memset(kit->piece, 0, sizeof(kit->piece));
	memset(kit->held, 0, sizeof(kit->held));
	kit->granted = kit->larges = 0;
	kit->over = 0;
	memset(o->owner, 0xff, (size_t)o->blocks * OKIT_BLOCK_GRAINS * 4);
	memset(o->extent, 0, (size_t)o->blocks * OKIT_BLOCK_GRAINS * 4);
	gkit_fence(kit, o->space, (size_t)kit->root_blocks << MAM_BLOCK_SHIFT, false);
	memset(o->kept, 0, sizeof(o->kept));
	o->number = o->live = o->max = o->failed = 0;
	while (posted < kit->host.ahead && gkit_post(kit, posted))
		posted++;
	if (next)
		gkit_begin(next);
}

static inline struct gkit *gkit_create(uint32_t blocks, uint32_t columns,
				       const struct gkit_host *host, const void *plan)
{
	static const struct gkit_host ordinary;
	struct gkit *kit = calloc(1, sizeof(*kit));
	struct okit *o;

	ck_assert_ptr_nonnull(kit);
	o = &kit->o;
	kit->host = host ? *host : ordinary;
	kit->host.max = kit->host.max ? kit->host.max : MAM_GRANT_BLOCKS;
	kit->host.min = kit->host.min ? kit->host.min : kit->host.max;
	kit->host.grants = kit->host.grants ? kit->host.grants : GKIT_PIECES;
	kit->host.larges = kit->host.larges ? kit->host.larges : GKIT_PIECES;
	kit->host.cause = kit->host.cause ? kit->host.cause : MAM_MAIL_LIMIT;
	kit->root_blocks = blocks;
	kit->wait_ns = (uint64_t)1 << 40;
	/* A gap after the root, and one after each piece, belong to no part. */
	o->blocks = blocks + 1 + GKIT_PIECES * gkit_piece_blocks(kit);
	o->columns = columns;
	o->plan = plan;
	o->space =
		aligned_alloc((size_t)1 << MAM_BLOCK_SHIFT, (size_t)o->blocks << MAM_BLOCK_SHIFT);
	kit->root_bytes = mam_growth_offset(blocks, columns) + sizeof(struct mam_growth);
	kit->root_bytes = mam_metadata_line(kit->root_bytes);
	o->heap = aligned_alloc(MAM_PAGES_LINE, kit->root_bytes);
	kit->mail = aligned_alloc(MAM_PAGES_LINE, mam_metadata_line(sizeof(*kit->mail)));
	o->owner = calloc((size_t)o->blocks * OKIT_BLOCK_GRAINS, 4);
	o->extent = calloc((size_t)o->blocks * OKIT_BLOCK_GRAINS, 4);
	kit->view = calloc(GKIT_PIECES + 1, sizeof(*kit->view));
	ck_assert(kit->view && o->space && o->heap && kit->mail && o->owner && o->extent);
	kit->growth = (struct mam_growth *)((unsigned char *)o->heap +
					    mam_growth_offset(blocks, columns));
	gkit_begin(kit);
	return kit;
}

static inline void gkit_destroy(struct gkit *kit)
{
	records_end(&kit->records);
	free(kit->view);
	free(kit->mail);
	free(kit->o.extent);
	free(kit->o.owner);
	free(kit->o.heap);
	free(kit->o.space);
	free(kit);
}

/* The host and its watcher: for a `build` of a test, and for those below. */
static inline bool gkit_hosts(struct simt_world *world, struct gkit *kit)
{
	return simt_world_host(world, gkit_serve, kit) && simt_world_host(world, gkit_watch, kit);
}

/* Creates a case; the test may change it before it runs. */
static inline struct simt_case gkit_case(struct gkit *kit, const char *name, uint32_t seeds,
					 bool (*build)(struct simt_world *world, void *argument),
					 const char *(*check)(void *))
{
	return (struct simt_case){
		.name = name,
		.build = build,
		.argument = kit,
		.begin = gkit_begin,
		.check = check ? check : gkit_check_empty,
		.seeds = seeds,
		.config = { .race = KIT_RACE, .strict = true, .steps_max = 20000000 },
	};
}

static struct {
	simt_kernel *kernel;
	unsigned int grid, block;
} gkit_one;

static inline bool gkit_build_one(struct simt_world *world, void *argument)
{
	return simt_world_launch(world, 1, gkit_one.kernel, gkit_one.grid, gkit_one.block,
				 argument) &&
	       gkit_hosts(world, argument);
}

/*
 * Explores one kernel with a new heap for each run; a NULL `check` stands for gkit_check_empty().
 */
static inline void gkit_explore(struct gkit *kit, const char *name, simt_kernel *kernel,
				uint32_t grid, uint32_t block, uint32_t resident, uint32_t seeds,
				const char *(*check)(void *))
{
	struct simt_case test = gkit_case(kit, name, seeds, gkit_build_one, check);

	gkit_one.kernel = kernel;
	gkit_one.grid = grid;
	gkit_one.block = block;
	test.config.resident = resident;
	simt_must_pass(&test);
}

#endif
