/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crash.c - the handler runs on its own stack, as the lane's stack may have overflowed. It writes
 * its text, restores the previous handler and returns: the same instruction then reaches the
 * previous handler (for example a sanitizer's) or ends the program.
 */
#include "simt/crash.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "simt/hooks_core.h"

static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
#define SIGNALS (sizeof(signals) / sizeof(signals[0]))

static struct sigaction before[SIGNALS];
static stack_t stack_before;
static char stack[64 << 10];
static const struct simt_case *now;
static struct simt_search search;

static void describe(int number)
{
	static char text[2 * SIMT_TEXT_BYTES + 4096];
	size_t length;

	search.failed = true;
	search.result.verdict = SIMT_FAILED;
	snprintf(search.result.text, sizeof(search.result.text), "a lane crashes: signal %d",
		 number);
	simt_describe(now, &search, text, sizeof(text) - 1);
	length = strlen(text);
	text[length++] = '\n';
	if (write(STDERR_FILENO, text, length) < 0)
		return;
}

static void crashed(int number)
{
	if (simt_inside())
		describe(number);
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
	if (number == SIGABRT) /* would not be raised again on return */
		raise(number);
}

void simt_crash_begin(const struct simt_case *test, uint64_t seed, enum simt_policy policy)
{
	search.seed = seed;
	search.policy = policy;
	search.result.steps = 0;
	if (!now) {
		struct sigaction action = { .sa_handler = crashed, .sa_flags = SA_ONSTACK };
		stack_t own = { .ss_sp = stack, .ss_size = sizeof(stack) };

		sigaltstack(&own, &stack_before);
		for (size_t i = 0; i < SIGNALS; i++)
			sigaction(signals[i], &action, &before[i]);
	}
	now = test;
}

void simt_crash_end(void)
{
	if (!now)
		return;
	now = NULL;
	for (size_t i = 0; i < SIGNALS; i++)
		sigaction(signals[i], &before[i], NULL);
	sigaltstack(&stack_before, NULL);
}
