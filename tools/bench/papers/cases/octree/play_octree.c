/* SPDX-License-Identifier: Apache-2.0 */
/*
 * play_octree.c - a Barnes-Hut octree whose nodes are allocated on demand, compared with one whose
 * nodes are reserved.
 *
 * 1. `filled` bodies are generated; that is the input. `buffers` has their distribution (enum
 *    octree_kind).
 * 2. Some are inserted into an empty tree first, then all others: in a small tree, all lanes
 *    contend for the same few children.
 * 3. Sums are computed from the bodies up, the forces on some bodies are computed, and all nodes
 *    are freed. A separate row, build_us, has the time of 2 alone.
 * The nodes, their contents and the forces must match those of octree_reference.c.
 *
 * The reserved variant has one node per body, as in Burtscher and Pingali: if bodies are not in
 * very close pairs, half of them suffice, but this is not known in advance.
 */
#include <math.h>
#include <string.h>

#include "bench/harness/gpu.h"
#include "bench/papers/cases/cases.h"
#include "octree_bodies.h"
#include "octree_reference.h"

#define BLOCK 256u
#define FIRST 4096u    /* bodies that are inserted before the others */
#define USERS 4096u    /* whose forces are computed */
#define CHECKED 512u   /* of them */
#define NEED 64u       /* bytes of heap per body, with some reserve; half have a node */
#define RESERVED 1024u /* minimum nodes, as a few bodies may be very close */
#define PASSES DEVICE_REPEATS_MAX
#define OFF 1e-4 /* relative tolerance of forces: kernels compute in floats */

/* ---- the cells ---- */

static void add(struct device_plan *plan, uint32_t bodies, uint32_t share, bool fine)
{
	const struct device_cell cell = { .work = CASE_OCTREE,
					  .heap_bytes =
						  case_heap_bytes((uint64_t)bodies * NEED, share),
					  .askers = 1,
					  .lanes = 1,
					  .min = sizeof(struct octree_node),
					  .max = sizeof(struct octree_node),
					  .rounds = 1,
					  .share = share,
					  .filled = bodies,
					  .fine = fine };
	char number[24];

	device_plan_add(plan, cell, "%s %u%%", device_plan_number(bodies, number, sizeof(number)),
			share / 10);
}

void case_plan_octree(struct device_plan *plan)
{
	add(plan, 1u << 14, 1000, true);
	add(plan, 1u << 17, 1000, true);
	add(plan, 1u << 20, 1000, false);
	add(plan, 1u << 20, 500, true);
	add(plan, 1u << 20, 50, true);
	add(plan, 4u << 20, 1000, true);
	add(plan, 4u << 20, 500, true);
	add(plan, 4u << 20, 50, true);
}

/* ---- a pass ---- */

/* As in octree.h. */
struct pulled {
	float force[3];
	uint32_t count;
};

/* State of a cell over all passes. */
struct user {
	const struct octree_reference *wanted;
	uint64_t *places; /* in device memory, like the following */
	double build_us[PASSES];
	unsigned int passes; /* timed passes and warm-up passes */
	bool bad;            /* a pass failed, and no time is reported */
};

struct octree {
	struct case_play play;
	struct device_job job;
	uint32_t bodies;
	uint32_t *behind;
	uint64_t *root;
	struct pulled *pulled;
	struct octree_node *nodes; /* reserved */
	uint64_t *counter;
};

static uint32_t blocks_for(uint32_t lanes)
{
	return lanes > 0 ? (lanes + BLOCK - 1) / BLOCK : 1;
}

static bool launch(struct octree *octree, const char *kernel, uint32_t lanes)
{
	return case_launch(&octree->play, kernel, blocks_for(lanes), BLOCK, &octree->job);
}

static bool is_reserved(const struct octree *octree)
{
	return case_is_reserved(octree->play.heap->allocator);
}

/*
 * Allocates the case's memory, except for the input, which exists. Returns false if the device
 * failed.
 */
static bool take(struct octree *octree, const struct device_cell *cell)
{
	struct device_job *const job = &octree->job;
	struct case_play *const play = &octree->play;

	octree->behind = case_take(play, octree->bodies * sizeof(*octree->behind));
	octree->root = case_take(play, sizeof(*octree->root));
	octree->pulled = case_take(play, USERS * sizeof(*octree->pulled));
	job->own[1] = (uint64_t)(uintptr_t)octree->behind;
	job->own[2] = (uint64_t)(uintptr_t)octree->root;
	job->own[3] = (uint64_t)(uintptr_t)octree->pulled;
	job->lanes = cell->buffers;
	job->askers = octree->bodies < USERS ? octree->bodies : USERS;
	if (is_reserved(octree)) {
		job->rounds = octree->bodies > RESERVED ? octree->bodies : RESERVED;
		octree->nodes = case_take(play, job->rounds * sizeof(*octree->nodes));
		octree->counter = case_take(play, sizeof(*octree->counter));
		job->got = (uint64_t *)(void *)octree->nodes;
		job->more = octree->counter;
		if (octree->counter != NULL &&
		    !bench_gpu_fill(octree->counter, 0, sizeof(*octree->counter)))
			return false;
	}
	return play->none || bench_gpu_fill(octree->root, 0, sizeof(*octree->root));
}

static void give(struct octree *octree)
{
	struct case_play *const play = &octree->play;

	case_give(play, octree->behind, octree->bodies * sizeof(*octree->behind));
	case_give(play, octree->root, sizeof(*octree->root));
	case_give(play, octree->pulled, USERS * sizeof(*octree->pulled));
	case_give(play, octree->nodes, octree->job.rounds * sizeof(*octree->nodes));
	case_give(play, octree->counter, sizeof(*octree->counter));
}

static bool build(struct octree *octree)
{
	struct device_job *const job = &octree->job;

	job->seed = 0;
	job->count = octree->bodies < FIRST ? octree->bodies : FIRST;
	if (!launch(octree, "octree_build", job->count))
		return false;
	job->seed = job->count;
	job->count = octree->bodies;
	return job->seed == job->count || launch(octree, "octree_build", job->count - job->seed);
}

/* Counts forces that differ from the reference. Returns false if the device failed. */
static bool compare_forces(struct octree *octree, const struct octree_reference *wanted,
			   uint64_t *wrong)
{
	struct pulled seen[CHECKED];
	uint32_t i, k;

	if (!bench_gpu_fetch(seen, octree->pulled, wanted->users * sizeof(*seen)))
		return false;
	for (i = 0; i < wanted->users; i++) {
		const struct octree_pulled *const one = &wanted->pulled[i];
		bool good = seen[i].count == one->count;

		for (k = 0; k < 3; k++)
			good = good && fabs(seen[i].force[k] - one->force[k]) <= OFF * one->size;
		*wrong += !good;
	}
	return true;
}

/*
 * Returns false if the device failed. If requests failed, bodies are missing, which is reported as
 * such.
 */
static bool compare(struct device_run *run, struct octree *octree, struct user *user,
		    uint64_t *wrong)
{
	const struct octree_reference *const wanted = user->wanted;
	struct device_found found;
	struct case_told told;

	if (!device_launch_as(octree->play.heap, "octree_look", blocks_for(octree->bodies), BLOCK,
			      &octree->job, NULL) ||
	    !device_count_end(run, &found))
		return false;
	memcpy(&told, &found, sizeof(told));
	user->bad = user->bad || told.none > 0;
	if (told.none > 0)
		return true;
	*wrong += (told.count != wanted->count) + (told.more != wanted->levels) +
		  (told.sum != wanted->sum);
	return compare_forces(octree, wanted, wrong);
}

/*
 * Frees all nodes; with CASE_COUNT none may be live afterwards. Returns false if the device failed.
 */
static bool clear(struct device_run *run, struct octree *octree, uint64_t *wrong)
{
	struct device_found found;
	struct case_told told;

	if (is_reserved(octree))
		return true;
	if (!launch(octree, "octree_clear", octree->bodies) || !device_count_end(run, &found))
		return false;
	memcpy(&told, &found, sizeof(told));
	*wrong += told.live != 0;
	return true;
}

static bool play_octree(struct device_run *run, struct octree *octree,
			const struct device_cell *cell, struct user *user, struct case_pass *pass)
{
	const uint64_t begin = bench_now();
	uint64_t looks, end;

	if (!take(octree, cell))
		return false;
	if (octree->play.none)
		return true;
	if (!build(octree))
		return false;
	if (!pass->counts && user->passes < PASSES)
		user->build_us[user->passes++] = octree->play.us;
	if (!launch(octree, "octree_sum", octree->bodies) ||
	    !launch(octree, "octree_use", octree->job.askers))
		return false;
	looks = bench_now();
	if (!compare(run, octree, user, &pass->wrong))
		return false;
	end = bench_now();
	if (!clear(run, octree, &pass->wrong))
		return false;
	pass->wall_us = (double)(looks - begin + bench_now() - end) / 1000;
	return true;
}

static bool once(struct device_run *run, struct device_heap *heap, const struct device_cell *cell,
		 struct case_pass *pass, void *user)
{
	struct octree octree = { .play = { .run = run, .heap = heap }, .bodies = cell->filled };
	bool good;

	octree.job = case_job(run, heap, cell);
	octree.job.flags = pass->counts ? CASE_COUNT : 0;
	octree.job.own[0] = (uint64_t)(uintptr_t)((struct user *)user)->places;
	good = play_octree(run, &octree, cell, user, pass);
	pass->us = octree.play.us;
	pass->peak = octree.play.peak;
	pass->none = octree.play.none;
	give(&octree);
	pass->wrong += octree.play.live != 0;
	((struct user *)user)->bad |= pass->wrong > 0;
	return good;
}

static bool deal(struct device_run *run, struct device_heap *heap, const struct device_cell *cell,
		 struct user *user)
{
	struct device_job job = case_job(run, heap, cell);

	job.own[0] = (uint64_t)(uintptr_t)user->places;
	job.count = cell->filled;
	job.lanes = cell->buffers;
	return device_launch_as(heap, "octree_deal", blocks_for(cell->filled), BLOCK, &job, NULL);
}

bool case_play_octree(struct device_run *run, struct device_heap *heap,
		      const struct device_cell *cell)
{
	struct user user = { .passes = 0 };
	unsigned int warm = run->warm;
	bool good;

	user.wanted = octree_reference_of(cell->filled, cell->buffers,
					  cell->filled < CHECKED ? cell->filled : CHECKED);
	user.places = bench_gpu_take(cell->filled * sizeof(*user.places) + 1);
	if (user.wanted == NULL || user.places == NULL) {
		device_note(run, heap, cell, "there is too little memory for that");
		bench_gpu_give(user.places);
		return bench_gpu_trouble()[0] == '\0';
	}
	good = deal(run, heap, cell, &user) && case_runs(run, heap, cell, once, &user);
	/*
	 * A pass that takes so long that it is the only one is reported, although it was a warm-up.
	 */
	warm = user.passes > warm ? warm : 0;
	if (good && user.passes > 0 && !user.bad)
		device_row(run, heap, cell, "build_us",
			   bench_measure_median(user.build_us + warm, user.passes - warm));
	if (bench_gpu_trouble()[0] == '\0')
		bench_gpu_give(user.places);
	return good;
}
