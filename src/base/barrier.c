/* SPDX-License-Identifier: Apache-2.0 */
/*
 * barrier.c - implements barrier.h.
 *
 * To register a process with several threads, the kernel waits until all CPUs have passed a point
 * where none of them may still use the old state: 10 to 60 ms, which the first allocation of a
 * program that uses CUDA would take. With one thread it does not wait. So a process registers when
 * this code is loaded, if it has one thread then.
 */
#include "base/barrier.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
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

/* A folder has two links, and one more for each folder in it: one per thread. */
__attribute__((constructor)) static void prepare_early(void)
{
	struct stat threads;

	if (stat("/proc/self/task", &threads) == 0 && threads.st_nlink == 3)
		(void)mam_barrier_prepare();
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
