/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.c - the bench's watchdog (watch.h).
 *
 * One mutex for everything: the thread holds it except while it sleeps on the condition, and never
 * releases it once the limit has passed. So a call that returns too late waits for the process's
 * end.
 */
#include "watch.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static bool running;                /* there is a thread; of bench_watch_begin() and _end() */
static bool over;                   /* lock: lock; bench_watch_end() was called */
static struct timespec until;       /* lock: none, set before the thread is made */
static int (*late_one)(void *user); /* lock: none, set before the thread is made */
static void *late_user;             /* lock: none, set before the thread is made */

static void *watch(void *unused)
{
	int status = 0;

	pthread_mutex_lock(&lock);
	while (!over && status == 0)
		status = pthread_cond_timedwait(&ended, &lock, &until);
	if (!over) {
		status = late_one(late_user);
		fflush(NULL);
		_exit(status);
	}
	pthread_mutex_unlock(&lock);
	return unused;
}

void bench_watch_begin(uint64_t limit_ns, int (*late)(void *user), void *user)
{
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(limit_ns / 1000000000u);
	until.tv_nsec += (long)(limit_ns % 1000000000u);
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	late_one = late;
	late_user = user;
	over = false;
	running = pthread_create(&thread, NULL, watch, NULL) == 0;
}

void bench_watch_end(void)
{
	if (!running)
		return;
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_signal(&ended);
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	running = false;
}

void bench_watch_take(void)
{
	pthread_mutex_lock(&lock);
}

void bench_watch_release(void)
{
	pthread_mutex_unlock(&lock);
}
