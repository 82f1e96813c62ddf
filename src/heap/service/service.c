/* SPDX-License-Identifier: Apache-2.0 */
/*
 * service.c - the thread that serves mailboxes.
 *
 * A round:
 * 1. Each client's `look`, one after the other, without the lock: `inside` alone shows which client
 *    the thread is in, and a caller that removes that client waits until the thread has left it.
 * 2. If there was nothing in any of them, one client's `spare`.
 * 3. If there was nothing at all for MAM_SERVICE_HOT_NS, it sleeps, twice as long each time, up to
 *    MAM_SERVICE_SHARE times the cost of one look that follows a sleep.
 *
 * The lock is held for the few instructions between looks, and never across a call out of this file
 * except pthread_create(). It does not use base/lock.h, since threads wait here for a condition. No
 * other lock is taken under it, and it is taken under no other lock.
 *
 * The end. The caller that removes the last client clears the thread's number, which makes it
 * stop, and joins the thread, without the lock. Each thread has a number, and stops when it is
 * not the current one. So a client that is added meanwhile starts another thread, and for a moment
 * there are two. The number changes only while the thread is in no client, and a thread that is not
 * current changes nothing: `inside`, `at` and `spare` belong to the current thread. Otherwise a
 * caller that removes a client would not wait for the thread in it. At exit the thread is stopped
 * by a handler that was registered after the driver's own, so it runs before that: no driver call
 * runs during the driver's shutdown.
 *
 * Around a fork the lock is held, so the child gets a consistent list; there the list is emptied.
 * It is taken after all other locks of mam (api/init.h): the thread continues while a fork waits
 * for one of those.
 */
#include "heap/service/service.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "api/init.h"
#include "base/clock.h"
#include "base/log.h"

/* Driver calls need some; the program's static thread storage is added to that. */
#define STACK_BYTES ((size_t)512 << 10)
#define SLACK_NS 1000ul
#define ROUNDS_A_YIELD 64u
#define SLEEPS_A_MEASURE 32u

static struct {
	pthread_mutex_t lock;
	pthread_cond_t moved; /* `inside` has changed */
	/* lock: `lock`, all below */
	struct mam_service_client *first;
	struct mam_service_client *inside; /* the client that the thread is in */
	struct mam_service_client *at;     /* the next one of this round */
	struct mam_service_client *spare;  /* the next one for spare work */
	pthread_t thread;
	uint64_t number;  /* of the current thread; 0: there is none */
	uint64_t threads; /* total count */
	pid_t process;    /* the process of the thread */
	bool paused;
	bool minds_exit; /* its handler is registered */
} service = { .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER };

/* ---- the thread ---- */

static bool is_current(uint64_t number)
{
	bool current;

	pthread_mutex_lock(&service.lock);
	current = service.number == number;
	pthread_mutex_unlock(&service.lock);
	return current;
}

/*
 * The next client to look at, which the thread then is in. NULL: there is none, or the thread must
 * stop; `inside` of a later thread is not changed.
 */
static struct mam_service_client *enter_next(uint64_t number)
{
	struct mam_service_client *client = NULL;

	pthread_mutex_lock(&service.lock);
	if (service.number == number && !service.paused) {
		client = service.at;
		service.inside = client;
	}
	if (client)
		service.at = client->next;
	pthread_mutex_unlock(&service.lock);
	return client;
}

static void leave(void)
{
	pthread_mutex_lock(&service.lock);
	service.inside = NULL;
	pthread_cond_broadcast(&service.moved);
	pthread_mutex_unlock(&service.lock);
}

/* Step 1. */
static bool look_at_all(uint64_t number)
{
	struct mam_service_client *client;
	bool any = false;

	pthread_mutex_lock(&service.lock);
	if (service.number == number)
		service.at = service.first;
	pthread_mutex_unlock(&service.lock);
	while ((client = enter_next(number)) != NULL) {
		any = client->look(client) || any;
		leave();
	}
	return any;
}

/* Step 2: the next client for spare work. */
static bool do_spare_work(uint64_t number)
{
	struct mam_service_client *client;
	bool any;

	pthread_mutex_lock(&service.lock);
	if (service.number == number) {
		service.at = service.spare ? service.spare : service.first;
		service.spare = service.at ? service.at->next : NULL;
	}
	pthread_mutex_unlock(&service.lock);
	client = enter_next(number);
	if (!client)
		return false;
	any = client->spare && client->spare(client);
	leave();
	return any;
}

static inline void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ __volatile__("yield");
#endif
}

/* Raised by callers that expect requests soon; the thread sleeps on it. */
static _Atomic uint32_t stirs;

void mam_service_stir(void)
{
	atomic_fetch_add_explicit(&stirs, 1, memory_order_relaxed);
	(void)syscall(SYS_futex, &stirs, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* The sleep state of the thread. */
struct pace {
	uint64_t awake_to;   /* no sleep before this time */
	uint32_t stirs;      /* as last seen */
	uint64_t sleep_ns;   /* the next one */
	uint64_t max_ns;     /* the longest one */
	unsigned int sleeps; /* in a row */
	uint64_t cpu_ns;     /* of the thread, SLEEPS_A_MEASURE sleeps ago or less */
};

static uint64_t clock_of_thread(void)
{
	struct timespec time = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Computes the longest sleep from the cost of each of the last ones with its look. */
static void measure(struct pace *pace)
{
	const uint64_t before = pace->cpu_ns;
	uint64_t max;

	if (pace->sleeps++ % SLEEPS_A_MEASURE != 0)
		return;
	pace->cpu_ns = clock_of_thread();
	if (pace->sleeps == 1)
		return;
	max = (pace->cpu_ns - before) / SLEEPS_A_MEASURE * MAM_SERVICE_SHARE;
	max = max > MAM_SERVICE_SLEEP_MAX_NS ? MAM_SERVICE_SLEEP_MAX_NS : max;
	pace->max_ns = max < MAM_SERVICE_SLEEP_LONG_NS ? MAM_SERVICE_SLEEP_LONG_NS : max;
}

/* Step 3. */
static void rest(bool any, struct pace *pace)
{
	const uint32_t stirred = atomic_load_explicit(&stirs, memory_order_relaxed);
	const uint64_t now = mam_clock_ns();
	const uint64_t to =
		now + (stirred != pace->stirs ? MAM_SERVICE_STIR_NS : MAM_SERVICE_HOT_NS);
	struct timespec time;

	if (any || stirred != pace->stirs) {
		pace->awake_to = pace->awake_to < to ? to : pace->awake_to;
		pace->stirs = stirred;
		pace->sleep_ns = MAM_SERVICE_SLEEP_MIN_NS;
		pace->sleeps = 0;
		if (any)
			return;
	}
	if (now < pace->awake_to) {
		pause_a_little();
		return;
	}
	measure(pace);
	time = (struct timespec){ .tv_nsec = (long)pace->sleep_ns };
	(void)syscall(SYS_futex, &stirs, FUTEX_WAIT_PRIVATE, stirred, &time, NULL, 0);
	pace->sleep_ns = pace->sleep_ns * 2 < pace->max_ns ? pace->sleep_ns * 2 : pace->max_ns;
}

static void *serve(void *argument)
{
	const uint64_t number = (uint64_t)(uintptr_t)argument;
	struct pace pace = { .awake_to = mam_clock_ns() + MAM_SERVICE_HOT_NS,
			     .sleep_ns = MAM_SERVICE_SLEEP_MIN_NS,
			     .max_ns = (MAM_SERVICE_SLEEP_LONG_NS + MAM_SERVICE_SLEEP_MAX_NS) / 2 };
	bool any;

	(void)pthread_setname_np(pthread_self(), "mam-service");
	/* Otherwise the kernel makes each sleep 50 us longer. */
	(void)prctl(PR_SET_TIMERSLACK, SLACK_NS, 0ul, 0ul, 0ul);
	for (unsigned int round = 1; is_current(number); round++) {
		any = look_at_all(number);
		any = any || do_spare_work(number);
		rest(any, &pace);
		/* Threads that share the core get a turn. */
		if (round % ROUNDS_A_YIELD == 0)
			sched_yield();
	}
	return NULL;
}

/* ---- start and end ---- --- */

/* pre: the lock. The thread gets no signals: the program's handlers do not expect it. */
static int start_locked(void)
{
	const uint64_t number = service.threads + 1;
	sigset_t all, before;
	pthread_attr_t attr;
	int result;

	sigfillset(&all);
	if (pthread_attr_init(&attr) != 0)
		return EAGAIN;
	(void)pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(&service.thread, &attr, serve, (void *)(uintptr_t)number);
	/* Such a small stack may not fit the thread storage of all libraries. */
	if (result == EINVAL)
		result = pthread_create(&service.thread, NULL, serve, (void *)(uintptr_t)number);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (result == 0) {
		service.threads = number;
		service.number = number;
		service.process = getpid();
	}
	return result;
}

/* Also false in a child that was forked without the handlers. pre: the lock. */
static bool runs_locked(void)
{
	return service.number != 0 && service.process == getpid();
}

/* pre: the lock, which it releases. */
static void stop_and_unlock(void)
{
	const pthread_t thread = service.thread;
	const bool runs = runs_locked();

	service.number = 0;
	pthread_mutex_unlock(&service.lock);
	if (runs)
		pthread_join(thread, NULL);
}

/* The thread enters no client any more, and has left the one it was in. pre: the lock. */
static void wait_outside_locked(void)
{
	service.paused = true;
	while (service.inside != NULL && runs_locked())
		pthread_cond_wait(&service.moved, &service.lock);
}

static void at_exit(void)
{
	pthread_mutex_lock(&service.lock);
	/* The thread itself may end the process, out of a driver call. */
	if (runs_locked() && !pthread_equal(pthread_self(), service.thread))
		wait_outside_locked();
	service.paused = false; /* a later exit handler may still start another one */
	stop_and_unlock();
}

static void before_fork(void)
{
	pthread_mutex_lock(&service.lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&service.lock);
}

static void in_child(void)
{
	struct mam_service_client *client = service.first, *next;

	pthread_mutex_init(&service.lock, NULL);
	pthread_cond_init(&service.moved, NULL);
	service.first = NULL;
	service.inside = NULL;
	service.at = NULL;
	service.spare = NULL;
	service.number = 0;
	service.paused = false;
	for (; client; client = next) {
		next = client->next;
		client->served = false;
		if (client->forked)
			client->forked(client);
	}
}

static const struct mam_above around_fork = { before_fork, after_fork, in_child };

/* pre: the lock. Without the exit handler no thread is started. */
static bool prepare_locked(void)
{
	if (!service.minds_exit)
		service.minds_exit = atexit(at_exit) == 0;
	return service.minds_exit;
}

enum mam_status mam_service_add(struct mam_service_client *client)
{
	bool starts;

	mam_init_above(&around_fork);
	pthread_mutex_lock(&service.lock);
	starts = runs_locked() || (prepare_locked() && start_locked() == 0);
	if (starts) {
		client->served = true;
		client->next = service.first;
		service.first = client;
	}
	pthread_mutex_unlock(&service.lock);
	if (starts)
		return MAM_OK;
	mam_log(MAM_LOG_WARN, "cannot start the thread that serves growing heaps; raise the "
			      "limit on threads, or create the heap without max_bytes");
	return MAM_ERROR_OUT_OF_HOST_MEMORY;
}

/* pre: the lock. */
static void unlink_locked(struct mam_service_client *client)
{
	struct mam_service_client **link = &service.first;

	while (*link != client)
		link = &(*link)->next;
	*link = client->next;
	if (service.at == client)
		service.at = client->next;
	if (service.spare == client)
		service.spare = client->next;
	client->served = false;
}

void mam_service_remove(struct mam_service_client *client)
{
	pthread_mutex_lock(&service.lock);
	if (client->served)
		unlink_locked(client);
	while (service.inside == client && runs_locked())
		pthread_cond_wait(&service.moved, &service.lock);
	/* It may be in a client that another caller removes, which waits for it. */
	while (service.first == NULL && service.inside != NULL && runs_locked())
		pthread_cond_wait(&service.moved, &service.lock);
	if (service.first == NULL)
		stop_and_unlock();
	else
		pthread_mutex_unlock(&service.lock);
}

void mam_service_pause(void)
{
	pthread_mutex_lock(&service.lock);
	wait_outside_locked();
	pthread_mutex_unlock(&service.lock);
}

void mam_service_resume(void)
{
	pthread_mutex_lock(&service.lock);
	service.paused = false;
	pthread_mutex_unlock(&service.lock);
}

uint64_t mam_service_cpu_ns(void)
{
	struct timespec time = { 0 };
	clockid_t clock;

	pthread_mutex_lock(&service.lock);
	if (service.number != 0 && pthread_getcpuclockid(service.thread, &clock) == 0)
		(void)clock_gettime(clock, &time);
	pthread_mutex_unlock(&service.lock);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
