/* SPDX-License-Identifier: Apache-2.0 */
/* handshake.c - handshake.h: the side that stops others. */
#include "cache/handshake.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPINS 200 /* looks before the first sleep: an owner is inside for less than a microsecond */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool fences; /* atomic; owners made from now on fence by themselves */

static bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void ask_system(void)
{
	if (!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		atomic_store(&fences, true);
}

void mam_handshake_prepare(void)
{
	pthread_once(&once, ask_system);
}

void mam_handshake_init(struct mam_handshake *hand)
{
	mam_handshake_prepare();
	atomic_store_explicit(&hand->busy, 0, memory_order_relaxed);
	atomic_store_explicit(&hand->request, 0, memory_order_relaxed);
	hand->fences = atomic_load(&fences);
}

void mam_handshake_fence(void)
{
	/* Refused only where owners fence by themselves, or in a fork's child, which may register. */
	if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
	    membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		(void)membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void mam_handshake_stop_end(struct mam_handshake *hand)
{
	const struct timespec a_moment = { 0, 20000 };

	for (unsigned look = 0; atomic_load(&hand->busy) != 0; look++) {
		if (look < SPINS)
			sched_yield();
		else
			nanosleep(&a_moment, NULL);
	}
}

void mam_handshake_use_fences(bool use)
{
	mam_handshake_prepare();
	atomic_store(&fences, use);
}
