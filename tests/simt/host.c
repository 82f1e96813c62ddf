/* SPDX-License-Identifier: Apache-2.0 */
/* host.c - implements host.h. A thread that waits lets the others run until its condition holds. */
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/lock.h" /* MAM_HAVE_SINGLE_THREADED */
#include "simt/hooks_core.h"
#include "simt/host.h"
#include "simt/lane.h"
#include "simt/step.h"

#undef syscall
#undef sched_yield
#undef nanosleep
#undef clock_gettime

#define HOSTS_MAX 16
#define OWN_MAX 256 /* bytes of thread-local variables */

/* Set by the linker if there is such a section. */
extern char own_begin[] __asm__("__start_simt_own") __attribute__((weak));
extern char own_end[] __asm__("__stop_simt_own") __attribute__((weak));

bool simt_host_lacks_membarrier;

static char own_first[OWN_MAX]; /* the values of the program */
static struct {
	uint32_t lane;
	char own[OWN_MAX];
	const volatile uint32_t *sleeps_at; /* NULL: awake */
} hosts[HOSTS_MAX];
static uint32_t host_count;
static uint32_t own_host; /* whose values the section has; HOSTS_MAX: the program's */
static uint64_t now_ms;

void simt_host_init(void)
{
#ifdef MAM_HAVE_SINGLE_THREADED
	__libc_single_threaded = 0;
#endif
}

static size_t own_bytes(void)
{
	return (size_t)(own_end - own_begin);
}

void simt_host_begin(void)
{
	static bool begun;

	if (own_bytes() > OWN_MAX)
		abort();
	if (!begun && own_bytes() != 0)
		memcpy(own_first, own_begin, own_bytes());
	else if (own_bytes() != 0)
		memcpy(own_begin, own_first, own_bytes());
	begun = true;
	host_count = 0;
	own_host = HOSTS_MAX;
	now_ms = 0;
}

/* The index in hosts[] of the running one. */
static uint32_t host_of(const struct simt_lane *lane)
{
	uint32_t i = 0;

	while (i < host_count && hosts[i].lane != lane->number)
		i++;
	if (i == HOSTS_MAX)
		simt_stop(SIMT_NO_MEMORY, "more than %d host threads", HOSTS_MAX);
	if (i == host_count) {
		hosts[i].lane = lane->number;
		hosts[i].sleeps_at = NULL;
		memcpy(hosts[i].own, own_first, sizeof(own_first));
		host_count++;
	}
	return i;
}

bool simt_host_own(const volatile void *where)
{
	uint32_t host;

	if ((uintptr_t)where - (uintptr_t)own_begin >= own_bytes())
		return false;
	if (!simt_here)
		return true;
	host = host_of(simt_here);
	if (host == own_host)
		return true;
	if (own_host != HOSTS_MAX)
		memcpy(hosts[own_host].own, own_begin, own_bytes());
	memcpy(own_begin, hosts[host].own, own_bytes());
	own_host = host;
	return true;
}

/* With a timeout: other threads run once, then the time is over. */
static void sleep_at(const volatile uint32_t *word, uint32_t expected, bool timeout)
{
	uint32_t host = host_of(simt_here);

	simt_step(simt_here, "futex wait");
	if (*word != expected)
		return;
	hosts[host].sleeps_at = word;
	do
		simt_host_yield("futex wait");
	while (hosts[host].sleeps_at && !timeout);
	hosts[host].sleeps_at = NULL;
}

static void wake_at(const volatile uint32_t *word)
{
	simt_step(simt_here, "futex wake");
	for (uint32_t i = 0; i < host_count; i++) {
		if (hosts[i].sleeps_at == word) {
			hosts[i].sleeps_at = NULL;
			return;
		}
	}
}

/* A private futex that wakes one thread, and membarrier. */
long simt_host_syscall(long number, ...)
{
	const volatile uint32_t *word = NULL;
	uint32_t expected = 0;
	bool timeout = false;
	int command;
	va_list list;

	va_start(list, number);
	if (number == SYS_futex)
		word = va_arg(list, const volatile uint32_t *);
	command = va_arg(list, int);
	if (number == SYS_futex) {
		expected = (uint32_t)va_arg(list, int);
		timeout = va_arg(list, const struct timespec *) != NULL;
	}
	va_end(list);
	if (!simt_here)
		return 0;
	if (number == SYS_futex && command == FUTEX_WAIT_PRIVATE)
		sleep_at(word, expected, timeout);
	else if (number == SYS_futex && command == FUTEX_WAKE_PRIVATE)
		wake_at(word);
	else if (number == SYS_membarrier && simt_host_lacks_membarrier)
		return -1;
	else if (number == SYS_membarrier && command == MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		simt_host_barrier("membarrier");
	return 0;
}

int simt_host_sched_yield(void)
{
	simt_host_yield("sched_yield");
	return 0;
}

int simt_host_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time, (void)left;
	simt_host_yield("nanosleep");
	return 0;
}

int simt_host_clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now_ms++;
	*now = (struct timespec){ .tv_sec = (time_t)(now_ms / 1000),
				  .tv_nsec = (long)(now_ms % 1000) * 1000000 };
	return 0;
}

void simt_host_barrier(const char *site)
{
	struct simt_world *world = simt_now;
	uint32_t count = 0;

	if (!simt_here)
		return;
	simt_step(simt_here, site);
	if (!world->race_on)
		return;
	/* A thread that has ended has stored all that it wrote, too. */
	for (uint32_t i = 0; i < world->launches; i++)
		if (world->launch[i]->host)
			world->meeting[count++] = world->launch[i]->first;
	race_meet(world->race, world->meeting, count);
}
