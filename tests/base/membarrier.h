/* SPDX-License-Identifier: Apache-2.0 */
/*
 * membarrier.h - hooks around membarrier(2), for tests of data that owners write without a fence.
 *
 * The C library's syscall() and sched_yield(), as the program defines them here, call the test
 * first:
 *
 *   at_barrier   before each expedited membarrier. Until then an owner's last stores may be
 *                invisible. So a test makes such a store here: code that reads the owner's data
 *                before the barrier, or without one, cannot see it, whatever the processor and the
 *                scheduler do.
 *   at_yield     before each sched_yield(), by a thread that waits for an owner.
 *
 * Include it in one file of a program.
 */
#ifndef TESTS_BASE_MEMBARRIER_H
#define TESTS_BASE_MEMBARRIER_H

#include <check.h>
#include <dlfcn.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static void (*at_barrier)(void);
static void (*at_yield)(void);

static void *library_function(const char *name)
{
	void *function = dlsym(RTLD_NEXT, name);

	if (function == NULL)
		abort();
	return function;
}

long syscall(long number, ...)
{
	static long (*_Atomic next)(long number, ...);
	long arguments[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	if (next == NULL)
		next = (long (*)(long, ...))library_function("syscall");
	if (number == SYS_membarrier && arguments[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED &&
	    at_barrier != NULL)
		at_barrier();
	return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
		    arguments[5]);
}

int sched_yield(void)
{
	static int (*_Atomic next)(void);

	if (next == NULL)
		next = (int (*)(void))library_function("sched_yield");
	if (at_yield != NULL)
		at_yield();
	return next();
}

#endif
