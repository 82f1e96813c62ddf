/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels.h - the kernels of `mam bench model` that `mam bench pages` does not have.
 *
 *   model_atomic        job->rounds atomics of each asker on one word, each dependent on the last;
 *                       their mean goes to job->steps in clocks, to job->got in nanoseconds
 *   model_found_corw    each asker probes one random word, as CoRW's lanes do, without taking a page:
 *                       job->steps are the free pages it saw there
 *   model_again_NAME    each asker takes job->rounds pages, one after another, with one search: CRW
 *                       remembers the last. Pages and steps of asker i start at i * rounds
 *   model_give_NAME     each asker frees job->got: job->steps are the clocks that takes
 *
 * Written with port.h's primitives, so that tests run them under the simulator.
 */
#ifndef MAM_TOOLS_BENCH_MODEL_KERNELS_H
#define MAM_TOOLS_BENCH_MODEL_KERNELS_H

#include "bench/pages/pages_kernels.h"
#include "heap/pages/pages.h"
#include "bench/papers/walk/corw.h"
#include "bench/papers/walk/crw.h"
#include "bench/papers/walk/queue.h"
#include "bench/papers/walk/rw.h"
#include "bench/papers/walk/rwbm.h"

#define MODEL_SEED 5 /* arbitrary; job->seed differs between passes */

/*
 * The word is job->shadow[0], at an address that a compiler cannot prove to be the same in all
 * lanes: otherwise it would combine a warp's atomics into one. Words 64 to 95 are zeros.
 */
MAM_KFN void model_atomic_one(const struct pages_job *job)
{
	uint32_t asker, round, *word, before = 0;
	uint64_t clock, time;

	if (!pages_asks(job, &asker))
		return;
	word = job->shadow + job->shadow[64 + mam_lane()];
	time = mam_timer();
	clock = mam_clock();
	for (round = 0; round < job->rounds; round++)
		before = mam_atomic_add32(word + (before == UINT32_MAX), 1, MAM_RELAXED,
					  MAM_AT_DEVICE);
	clock = mam_clock() - clock + (before == UINT32_MAX);
	time = mam_timer() - time;
	job->steps[asker] = (uint32_t)(clock / job->rounds);
	job->got[asker] = (uint32_t)(time / job->rounds);
}

MAM_KFN void model_found(const struct pages_job *job)
{
	struct mam_corw *corw = (struct mam_corw *)job->heap;
	struct mam_published_walk walk;
	uint32_t asker, word;

	if (!pages_asks(job, &asker))
		return;
	mam_published_start(&walk, MODEL_SEED);
	word = mam_published_below(&walk, corw->bits.words);
	job->steps[asker] = mam_popc32(~(uint32_t)mam_atomic_load64(
		mam_bitlock_word(&corw->bits, word), MAM_RELAXED, MAM_AT_DEVICE));
}

#define MODEL_AGAIN(name)                                                                       \
	MAM_KFN void model_again_of_##name(const struct pages_job *job)                         \
	{                                                                                       \
		struct mam_##name *heap = (struct mam_##name *)job->heap;                       \
		struct mam_published_walk walk;                                                 \
		uint32_t asker, round, before;                                                  \
                                                                                                \
		if (!pages_asks(job, &asker))                                                   \
			return;                                                                 \
		mam_published_start(&walk, MODEL_SEED);                                         \
		walk.state += bench_mix(job->seed);                                             \
		for (round = 0; round < job->rounds; round++) {                                 \
			before = walk.steps;                                                    \
			job->got[asker * job->rounds + round] = mam_##name##_take(heap, &walk); \
			job->steps[asker * job->rounds + round] = walk.steps - before;          \
		}                                                                               \
	}                                                                                       \
	PAGES_KERNEL(model_again_##name, model_again_of_##name)

#define MODEL_GIVE(name, type, give)                                   \
	MAM_KFN void model_give_of_##name(const struct pages_job *job) \
	{                                                              \
		type *heap = (type *)job->heap;                        \
		uint64_t clock;                                        \
		uint32_t asker;                                        \
                                                                       \
		if (!pages_asks(job, &asker))                          \
			return;                                        \
		clock = mam_clock();                                   \
		if (job->got[asker] != PAGES_NONE)                     \
			(void)give(heap, job->got[asker]);             \
		job->steps[asker] = (uint32_t)(mam_clock() - clock);   \
	}                                                              \
	PAGES_KERNEL(model_give_##name, model_give_of_##name)

#endif
