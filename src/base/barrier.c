/* SPDX-License-Identifier: Apache-2.0 */
/* barrier.c - implements barrier.h. */
#include "base/barrier.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Atomic bool refused; /* atomic */

static bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

static void ask_system(void)
{
	if (!membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		atomic_store(&refused, true);
}

bool mam_barrier_prepare(void)
{
	pthread_once(&once, ask_system);
	return !atomic_load(&refused);
}

void mam_barrier_all(void)
{
	/* Fails only if threads use their own fences, or in a forked child, which may register. */
	if (!membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) &&
	    membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		(void)membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

void mam_barrier_refuse(bool refuse)
{
	(void)mam_barrier_prepare();
	atomic_store(&refused, refuse);
}
