/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.c - see thread.h.
 */
#include "interpose/process/thread.h"

#include <pthread.h>
#include <signal.h>

bool mam_thread_start(size_t stack_bytes, void *(*run)(void *unused))
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	bool good;

	if (pthread_attr_init(&attributes) != 0)
		return false;
	pthread_attr_setstacksize(&attributes, stack_bytes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* the new thread inherits it */
	good = pthread_create(&thread, &attributes, run, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return good;
}
