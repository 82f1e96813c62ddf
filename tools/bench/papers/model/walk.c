/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.c - simulates the paper's searches on the host: their behavior without a GPU's influence,
 * and without the simplifications of the equations.
 *
 * 1. The initial heap state is that of the kernels (pages_ask.h): the same pages are free.
 * 2. All lanes advance one step at a time. RW's probe one page each; the others probe a word of 32,
 *    of which they take the lowest free page. A lane that is not the first at a word in a step
 *    finds it locked, which counts as full. Lanes go in the order of their numbers.
 * 3. CoRW's lanes of a warp pool the pages they found, the lowest page of each word first, until
 *    each lane has a page.
 * 4. CRW's first probe is the word that has the page after their last one.
 * 5. A lane that finds nothing for as long as the kernels' searches last gives up as they do,
 *    although the paper's never does. CoRW's lanes give up together, after the number of steps in
 *    which none found any.
 * A lane that got its page begins its next one in the next step.
 *
 * Source: model.h, algorithms 1, 2, 3 and 5. Bound: that of 5.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/pages/pages_ask.h"
#include "bench/pages/pages_job.h"
#include "heap/pages/layout.h"
#include "model.h"

#define LOW 1 /* thousandths: pages_allocators.c */

const char *const model_walker_names[MODEL_WALKERS] = { "rw", "rw-bm", "crw", "corw" };

struct lane {
	uint32_t last;   /* page; or PAGES_NONE */
	uint32_t round;  /* the page of the lane that it searches for */
	uint32_t steps;  /* for this one */
	uint32_t barren; /* a warp's first lane, CoRW: steps in a row without a page found */
	bool first;      /* probe after the last page */
};

struct walk {
	enum model_walker walker;
	uint32_t askers, lanes, rounds, pages, words;
	uint32_t *free, *start; /* one bit per page: free ones; the initial state */
	uint32_t *locked;       /* per word: the step of its last probe */
	struct lane *lane;
	uint32_t *max;   /* of warp and round */
	uint32_t *needy; /* lanes, or warps, that still need pages */
	uint32_t step;
	struct bench_random random;
	double sum, requests, max_sum, warps;
};

static void fini(struct walk *walk)
{
	free(walk->free);
	free(walk->start);
	free(walk->locked);
	free(walk->lane);
	free(walk->max);
	free(walk->needy);
}

static uint32_t warps_of(const struct walk *walk)
{
	return (walk->askers + walk->lanes - 1) / walk->lanes;
}

static bool init(struct walk *walk, const struct pages_space *space)
{
	const struct pages_job job = { .pages = space->pages, .group = space->group };
	const uint32_t free_pages = pages_plan_free(space);
	uint32_t i, page;

	walk->pages = space->pages;
	walk->words = (space->pages + 31) / 32;
	walk->random.state = 7;
	walk->free = calloc(walk->words, 4);
	walk->start = calloc(walk->words, 4);
	walk->locked = calloc(walk->words, 4);
	walk->lane = calloc(walk->askers, sizeof(*walk->lane));
	walk->max = calloc((size_t)warps_of(walk) * walk->rounds, 4);
	walk->needy = calloc(walk->askers, 4);
	if (walk->free == NULL || walk->start == NULL || walk->locked == NULL ||
	    walk->lane == NULL || walk->max == NULL || walk->needy == NULL) {
		fini(walk);
		return false;
	}
	for (i = 0; i < free_pages; i++) {
		page = space->free_tenths < 1000 ? pages_opened(&job, i) : i;
		walk->start[page / 32] |= UINT32_C(1) << page % 32;
	}
	return true;
}

/*
 * The free pages of a word that the caller sees in this step; 0: none, or another lane was first.
 */
static uint32_t enter(struct walk *walk, uint32_t word)
{
	if (walk->locked[word] == walk->step)
		return 0;
	walk->locked[word] = walk->step;
	return walk->free[word];
}

static uint32_t take_lowest(struct walk *walk, uint32_t word)
{
	const uint32_t bit = walk->free[word] & (0u - walk->free[word]);

	walk->free[word] ^= bit;
	return word * 32 + (uint32_t)__builtin_ctz(bit);
}

/* One step of a lane that searches alone: returns a page, or PAGES_NONE. */
static uint32_t look(struct walk *walk, struct lane *lane)
{
	uint32_t word, page;

	if (walk->walker == MODEL_RW) {
		page = (uint32_t)bench_random_below(&walk->random, walk->pages);
		if (!(walk->free[page / 32] >> page % 32 & 1))
			return PAGES_NONE;
		walk->free[page / 32] ^= UINT32_C(1) << page % 32;
		return page;
	}
	if (lane->first)
		word = (lane->last + 1 < walk->pages ? lane->last + 1 : 0) / 32;
	else
		word = (uint32_t)bench_random_below(&walk->random, walk->words);
	lane->first = false;
	return enter(walk, word) != 0 ? take_lowest(walk, word) : PAGES_NONE;
}

/* A lane has its page: records its steps, and starts the next round. */
static void note_page(struct walk *walk, uint32_t asker, uint32_t page)
{
	struct lane *lane = &walk->lane[asker];
	uint32_t *max = &walk->max[asker / walk->lanes * walk->rounds + lane->round];

	if (lane->round > 0 || walk->rounds == 1) {
		walk->sum += lane->steps;
		walk->requests++;
	}
	*max = lane->steps > *max ? lane->steps : *max;
	lane->last = page;
	lane->first = walk->walker == MODEL_CRW && page != PAGES_NONE;
	lane->steps = 0;
	lane->round++;
}

/* One step of each lane; returns how many still search. */
static uint32_t step_alone(struct walk *walk, uint32_t count)
{
	uint32_t i, left = 0, page;

	for (i = 0; i < count; i++) {
		struct lane *lane = &walk->lane[walk->needy[i]];

		lane->steps++;
		page = look(walk, lane);
		if (page != PAGES_NONE || lane->steps >= mam_layout_patience(LOW))
			note_page(walk, walk->needy[i], page);
		if (lane->round < walk->rounds)
			walk->needy[left++] = walk->needy[i];
	}
	return left;
}

/* One joint step of a warp's lanes; returns false once all have their pages. */
static bool step_warp(struct walk *walk, uint32_t first, uint32_t end)
{
	uint32_t words[32], count = 0, i, k, need = first;
	bool any = true;

	for (i = first; i < end; i++) {
		const uint32_t word = (uint32_t)bench_random_below(&walk->random, walk->words);

		walk->lane[i].steps++;
		if (enter(walk, word) != 0)
			words[count++] = word;
	}
	while (need < end && walk->lane[need].round > 0)
		need++;
	walk->lane[first].barren = count > 0 ? 0 : walk->lane[first].barren + 1;
	while (any && need < end) {
		for (k = 0, any = false; k < count && need < end; k++) {
			if (walk->free[words[k]] == 0)
				continue;
			any = true;
			walk->lane[need].round = 1;
			(void)take_lowest(walk, words[k]);
			need++;
		}
	}
	if (need < end && walk->lane[first].barren < mam_layout_patience(LOW))
		return true;
	for (i = first; i < end; i++) { /* all of them searched as long as the last */
		walk->lane[i].round = 0;
		note_page(walk, i, PAGES_NONE);
	}
	return false;
}

static uint32_t step_together(struct walk *walk, uint32_t count)
{
	uint32_t i, left = 0, first, end;

	for (i = 0; i < count; i++) {
		first = walk->needy[i] * walk->lanes;
		end = first + walk->lanes < walk->askers ? first + walk->lanes : walk->askers;
		if (step_warp(walk, first, end))
			walk->needy[left++] = walk->needy[i];
	}
	return left;
}

static void pass(struct walk *walk)
{
	uint32_t count = walk->walker == MODEL_CORW ? warps_of(walk) : walk->askers, i, r;

	memcpy(walk->free, walk->start, walk->words * (size_t)4);
	memset(walk->lane, 0, walk->askers * sizeof(*walk->lane));
	memset(walk->max, 0, (size_t)warps_of(walk) * walk->rounds * 4);
	for (i = 0; i < count; i++)
		walk->needy[i] = i;
	while (count > 0) {
		walk->step++;
		count = walk->walker == MODEL_CORW ? step_together(walk, count)
						   : step_alone(walk, count);
	}
	for (i = 0; i < warps_of(walk); i++) {
		for (r = walk->rounds > 1 ? 1 : 0; r < walk->rounds; r++) {
			walk->max_sum += walk->max[i * walk->rounds + r];
			walk->warps++;
		}
	}
}

bool model_walk(enum model_walker walker, const struct pages_space *space, uint32_t askers,
		uint32_t lanes, uint32_t rounds, uint32_t walks, struct model_steps *steps)
{
	struct walk walk = { .walker = walker, .askers = askers, .lanes = lanes, .rounds = rounds };

	if (!init(&walk, space))
		return false;
	do
		pass(&walk);
	while (walk.requests < walks);
	steps->tas = walk.sum / walk.requests;
	steps->was = walk.max_sum / walk.warps;
	fini(&walk);
	return true;
}
