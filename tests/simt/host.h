/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.h - mam's own host code under the simulator. Included before each of its files (-include),
 * which are compiled with access hooks and run in host threads.
 *
 * 1. Their atomics and plain accesses call the simulator (hooks.c).
 * 2. A thread-local variable is an ordinary one in a section of its own: host threads are fibers
 *    of one thread. Each has its own values of the section, initially those of the program. They
 *    are exchanged when another host thread accesses the section.
 * 3. Functions of the system are simulated: membarrier and futex, yield, sleep and the clock.
 *
 * An atomic may not be thread-local.
 */
#ifndef MAM_TESTS_SIMT_HOST_H
#define MAM_TESTS_SIMT_HOST_H

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>

/* Call it first: the C library no longer reports that the process has only one thread. */
void simt_host_init(void);

extern bool simt_host_lacks_membarrier; /* membarrier() fails in a run; false by default */

long simt_host_syscall(long number, ...);
int simt_host_sched_yield(void);
int simt_host_nanosleep(const struct timespec *time, struct timespec *left);
/* Each call is one millisecond later than the last one. */
int simt_host_clock_gettime(clockid_t clock, struct timespec *now);

#define _Thread_local __attribute__((section("simt_own")))
#define __thread _Thread_local
#define tls_model(model) unused
#define syscall(...) simt_host_syscall(__VA_ARGS__)
#define sched_yield() simt_host_sched_yield()
#define nanosleep(time, left) simt_host_nanosleep(time, left)
#define clock_gettime(clock, now) simt_host_clock_gettime(clock, now)

#endif
