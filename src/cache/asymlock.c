/* SPDX-License-Identifier: Apache-2.0 */
/* asymlock.c - the stopping side of asymlock.h. */
#include "cache/asymlock.h"

#include <sched.h>
#include <time.h>

#include "base/barrier.h"

#define SPINS 200 /* polls before the first sleep: an owner is inside for less than a microsecond */

void mam_asymlock_prepare(void)
{
	(void)mam_barrier_prepare();
}

void mam_asymlock_init(struct mam_asymlock *hand)
{
	atomic_store_explicit(&hand->busy, 0, memory_order_relaxed);
	atomic_store_explicit(&hand->request, 0, memory_order_relaxed);
	hand->fences = !mam_barrier_prepare();
}

void mam_asymlock_fence(void)
{
	mam_barrier_all();
}

void mam_asymlock_stop_end(struct mam_asymlock *hand)
{
	const struct timespec a_moment = { 0, 20000 };

	for (unsigned look = 0; atomic_load(&hand->busy) != 0; look++) {
		if (look < SPINS)
			sched_yield();
		else
			nanosleep(&a_moment, NULL);
	}
}

void mam_asymlock_use_fences(bool use)
{
	mam_barrier_refuse(use);
}
