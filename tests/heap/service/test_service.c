/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service thread, which looks at mailboxes: when it exists; which clients it looks at, and that
 * it is elsewhere when it reports so; a mailbox whose device is another thread; forks.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "heap/service/service.h"
#include "post_kit.h"

#define CHILD_OK 42
#ifdef __SANITIZE_THREAD__
#define ASKS 1000u
#else
#define ASKS 3000u
#endif
/* These sanitizers need memory and threads of their own. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define UNDER_WATCH 1
#else
#define UNDER_WATCH 0
#endif

/* A client that counts its calls. */
struct counting {
	struct mam_service_client client; /* first */
	_Atomic uint64_t looks, spares;
	_Atomic bool busy;   /* the result of `look` */
	_Atomic bool inside; /* a look is in progress */
	_Atomic bool gone;   /* no look is permitted any more */
	_Atomic unsigned int forked;
	_Atomic unsigned int slow_us; /* duration of a look */
};

static bool count_look(struct mam_service_client *client)
{
	struct counting *counting = (struct counting *)client;

	if (counting->gone)
		abort();
	counting->inside = true;
	if (counting->slow_us != 0)
		usleep(counting->slow_us);
	counting->looks++;
	counting->inside = false;
	return counting->busy;
}

static bool count_spare(struct mam_service_client *client)
{
	((struct counting *)client)->spares++;
	return false;
}

static void note_fork(struct mam_service_client *client)
{
	((struct counting *)client)->forked++;
}

static void make(struct counting *counting)
{
	*counting = (struct counting){
		.client = { .look = count_look, .spare = count_spare, .forked = note_fork }
	};
}

static void add(struct counting *counting)
{
	make(counting);
	ck_assert_int_eq(mam_service_add(&counting->client), MAM_OK);
}

static void take_off(struct counting *counting)
{
	mam_service_remove(&counting->client);
	ck_assert(!counting->inside);
	counting->gone = true;
}

/* Waits for so many more looks, at most a few seconds. */
static void wait_for_looks(struct counting *counting, uint64_t more)
{
	const uint64_t until = counting->looks + more, begun = mam_clock_ns();

	while (counting->looks < until) {
		ck_assert_uint_lt(mam_clock_ns() - begun, 20000000000u);
		usleep(100);
	}
}

/* Number of threads of this process with that name. */
static unsigned int threads_named(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	unsigned int count = 0;
	struct dirent *entry;
	char path[300], text[32];
	FILE *file;

	ck_assert_ptr_nonnull(tasks);
	while ((entry = readdir(tasks)) != NULL) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		file = fopen(path, "r");
		if (!file)
			continue;
		if (fgets(text, sizeof(text), file)) {
			text[strcspn(text, "\n")] = '\0';
			count += strcmp(text, name) == 0;
		}
		fclose(file);
	}
	closedir(tasks);
	return count;
}

/* The kernel still lists a thread for a moment after it was joined. */
static bool no_thread_named(const char *name)
{
	const uint64_t begun = mam_clock_ns();

	while (threads_named(name) > 0) {
		if (mam_clock_ns() - begun > 20000000000u)
			return false;
		usleep(100);
	}
	return true;
}

START_TEST(thread_exists_while_there_are_clients)
{
	struct counting one, two;

	ck_assert_uint_eq(mam_service_cpu_ns(), 0);
	for (unsigned int i = 0; i < 5; i++) {
		ck_assert(no_thread_named("mam-service"));
		add(&one);
		wait_for_looks(&one, 3);
		ck_assert_uint_eq(threads_named("mam-service"), 1);
		add(&two);
		wait_for_looks(&two, 3);
		ck_assert_uint_eq(threads_named("mam-service"), 1); /* one thread for all clients */
		ck_assert_uint_gt(mam_service_cpu_ns(), 0);
		take_off(&one);
		wait_for_looks(&two, 3);
		take_off(&two);
	}
	ck_assert(no_thread_named("mam-service"));
	ck_assert_uint_eq(mam_service_cpu_ns(), 0);
	mam_service_remove(&one.client); /* removing a client that is not added is a no-op */
}
END_TEST

START_TEST(spare_work_runs_only_when_idle)
{
	struct counting one, two;
	uint64_t spares;

	add(&one);
	add(&two);
	wait_for_looks(&one, 20);
	ck_assert_uint_gt(one.spares, 0);
	ck_assert_uint_gt(two.spares, 0);
	one.busy = true;
	wait_for_looks(&one, 3);
	spares = one.spares + two.spares;
	wait_for_looks(&one, 1000);
	ck_assert_uint_eq(one.spares + two.spares, spares);
	take_off(&one);
	take_off(&two);
}
END_TEST

/* The thread polls after a request, and sleeps longer and longer without one. */
START_TEST(idle_thread_sleeps)
{
	struct counting one;
	uint64_t looks, cpu;

	add(&one);
	wait_for_looks(&one, 3);
	usleep(50000);
	looks = one.looks;
	cpu = mam_service_cpu_ns();
	usleep(500000);
	looks = one.looks - looks;
	/* Hundreds of sleeps, fewer on a slow machine; polling looks a million times. */
	ck_assert_uint_ge(looks, 20);
	ck_assert_uint_le(looks, 700);
	ck_assert_uint_le(mam_service_cpu_ns() - cpu, 100000000u);
	one.busy = true;
	wait_for_looks(&one, 5000); /* 5 s if it slept in between */
	/*
	 * It also polls for a while afterwards, unless other threads occupy the core; so try again.
	 */
	for (unsigned int tries = 0;; tries++) {
		ck_assert_uint_lt(tries, 200);
		one.busy = true;
		wait_for_looks(&one, 3);
		one.busy = false;
		looks = one.looks;
		usleep(5000);
		if (one.looks - looks >= 50) /* 7 if it slept at once */
			break;
	}
	take_off(&one);
}
END_TEST

START_TEST(remove_waits_for_look_in_progress)
{
	struct counting one,
		other; /* a second client, so that the thread goes on without the first */
	uint64_t begun;

	add(&other);
	add(&one);
	wait_for_looks(&one, 3);
	one.slow_us = 30000;
	for (unsigned int i = 0; i < 5; i++) {
		while (!one.inside)
			usleep(100);
		begun = mam_clock_ns();
		mam_service_remove(&one.client);
		ck_assert(!one.inside);
		ck_assert_uint_lt(mam_clock_ns() - begun, 10000000000u);
		ck_assert_int_eq(mam_service_add(&one.client), MAM_OK);
	}
	take_off(&one);
	take_off(&other);
}
END_TEST

START_TEST(paused_thread_does_not_look)
{
	struct counting one;
	uint64_t looks;

	add(&one);
	one.busy = true;
	wait_for_looks(&one, 3);
	one.slow_us = 5000;
	while (!one.inside)
		usleep(100);
	mam_service_pause();
	ck_assert(!one.inside);
	one.slow_us = 0;
	looks = one.looks;
	usleep(20000);
	ck_assert_uint_eq(one.looks, looks);
	mam_service_resume();
	wait_for_looks(&one, 3);
	mam_service_pause();
	take_off(&one); /* removing a client works, too */
	mam_service_resume();
}
END_TEST

/* Returns NULL if the thread was still inside the client when it was removed. */
static void *remove_it(void *argument)
{
	struct counting *counting = argument;

	mam_service_remove(&counting->client);
	return counting->inside ? NULL : argument;
}

/* Adds a client and removes it at once. */
static void *pass_by(void *argument)
{
	struct counting mine;

	make(&mine);
	if (mam_service_add(&mine.client) != MAM_OK)
		return NULL;
	return remove_it(&mine) ? argument : NULL;
}

static void in_thread(pthread_t *thread, void *(*what)(void *), void *argument)
{
	ck_assert_int_eq(pthread_create(thread, NULL, what, argument), 0);
	usleep(100000); /* by now it waits for the service thread */
}

/*
 * While a client that the thread is inside of is being removed, the last client of the list comes
 * and goes, which ends the thread, and a new one comes.
 */
START_TEST(removal_of_last_client_ends_thread_safely)
{
	struct counting slow, late, other;
	pthread_t thread[2];
	void *answer;

	make(&slow);
	slow.slow_us = 500000;
	ck_assert_int_eq(mam_service_add(&slow.client), MAM_OK);
	while (!slow.inside)
		usleep(100);
	in_thread(&thread[0], remove_it, &slow);
	in_thread(&thread[1], pass_by, &slow);
	make(&late);
	late.slow_us = 700000;
	ck_assert_int_eq(mam_service_add(&late.client), MAM_OK);
	while (!late.inside || slow.inside)
		usleep(100);
	usleep(20000); /* the thread has left the slow client */
	add(&other);   /* the caller that removes the last client joins the thread */
	ck_assert_ptr_nonnull(remove_it(&late));
	take_off(&other);
	for (unsigned int i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_join(thread[i], &answer), 0);
		ck_assert_ptr_eq(answer, &slow);
	}
	ck_assert(no_thread_named("mam-service"));
}
END_TEST

/* Several threads add and remove many clients while the service runs. */
static void *come_and_go(void *argument)
{
	struct counting mine;
	unsigned int seed = (unsigned int)(uintptr_t)argument;

	for (unsigned int i = 0; i < 300; i++) {
		make(&mine);
		if (mam_service_add(&mine.client) != MAM_OK)
			return NULL;
		mine.busy = i % 3 == 0;
		if (rand_r(&seed) % 2)
			usleep((unsigned int)rand_r(&seed) % 200);
		mam_service_remove(&mine.client);
		mine.gone = true;
		if (mine.inside)
			return NULL;
	}
	return argument;
}

START_TEST(clients_can_be_added_and_removed_concurrently)
{
	pthread_t thread[4];
	void *answer;

	for (uintptr_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, come_and_go, (void *)(i + 1)), 0);
	for (uintptr_t i = 0; i < 4; i++) {
		ck_assert_int_eq(pthread_join(thread[i], &answer), 0);
		ck_assert_ptr_eq(answer, (void *)(i + 1));
	}
	ck_assert(no_thread_named("mam-service"));
}
END_TEST

/* ---- a mailbox, with a thread as its device ------ */

struct posted {
	struct mam_service_client client; /* first */
	struct kit *kit;
};

static bool look(struct mam_service_client *client)
{
	struct mam_post_box *box = &((struct posted *)client)->kit->box;
	bool any = mam_post_look(box);
	uint64_t bytes = 0;

	/*
	 * Grants get larger with the heap: the oldest are dropped; the test's device does not use
	 * them any more.
	 */
	while (box->grants > 32)
		bytes += mam_post_drop_grant(box, 0);
	return any;
}

static bool spare(struct mam_service_client *client)
{
	return mam_post_ahead(&((struct posted *)client)->kit->box, mam_clock_ns(), true);
}

static uint64_t device_read(uint64_t *where)
{
	return __atomic_load_n(where, __ATOMIC_ACQUIRE);
}

static void device_write(uint64_t *where, uint64_t value)
{
	__atomic_store_n(where, value, __ATOMIC_RELEASE);
}

static void *device_of_grants(void *argument)
{
	struct mam_mail *mail = argument;
	uint64_t last = 0, space;

	for (uint64_t taken = 0; taken < ASKS; taken++) {
		device_write(&mail->asked, (taken + 1) << 32 | (taken + 1));
		while (device_read(&mail->posted) <= taken)
			sched_yield();
		/* As grow.h does: a relaxed load, after `posted`. */
		space = __atomic_load_n((uint64_t *)&mail->grant[taken % MAM_MAIL_GRANTS],
					__ATOMIC_RELAXED);
		if (space == 0 || space == last)
			return NULL;
		last = space;
	}
	return argument;
}

static void *device_of_objects(void *argument)
{
	struct mam_mail *mail = argument;
	uint64_t address[4];

	for (uint64_t i = 1; i < ASKS; i += 2) {
		for (uint64_t slot = 0; slot < 4; slot++) {
			__atomic_store_n(&mail->ask[slot].detail, 300 * KIB, __ATOMIC_RELAXED);
			device_write(&mail->ask[slot].stamp, i << 8 | MAM_MAIL_ALLOC);
			device_write(&mail->knock, i * 8 + slot);
		}
		for (uint64_t slot = 0; slot < 4; slot++) {
			while (device_read(&mail->answer[slot].stamp) != (i << 8 | MAM_MAIL_GIVEN))
				sched_yield();
			address[slot] = device_read(&mail->answer[slot].address);
			for (uint64_t other = 0; other < slot; other++)
				if (address[slot] == 0 || address[slot] == address[other])
					return NULL;
		}
		for (uint64_t slot = 0; slot < 4; slot++) {
			__atomic_store_n(&mail->ask[slot].detail, address[slot], __ATOMIC_RELAXED);
			device_write(&mail->ask[slot].stamp, (i + 1) << 8 | MAM_MAIL_FREE);
			device_write(&mail->knock, i * 8 + 4 + slot);
		}
		for (uint64_t slot = 0; slot < 4; slot++)
			while (device_read(&mail->answer[slot].stamp) !=
			       ((i + 1) << 8 | MAM_MAIL_GIVEN))
				sched_yield();
	}
	return argument;
}

START_TEST(thousands_of_requests_are_answered)
{
	const struct mam_post_config config = {
		.max_bytes = UINT64_MAX, .root_bytes = 2 * MIB, .grow_bytes = 2 * MIB, .ahead = 1
	};
	struct posted posted = { { .look = look, .spare = spare }, kit_new(&config) };
	pthread_t grants, objects;
	void *answer;

	ck_assert_int_eq(mam_service_add(&posted.client), MAM_OK);
	ck_assert_int_eq(pthread_create(&grants, NULL, device_of_grants, &posted.kit->mail), 0);
	ck_assert_int_eq(pthread_create(&objects, NULL, device_of_objects, &posted.kit->mail), 0);
	ck_assert_int_eq(pthread_join(grants, &answer), 0);
	ck_assert_ptr_nonnull(answer);
	ck_assert_int_eq(pthread_join(objects, &answer), 0);
	ck_assert_ptr_nonnull(answer);
	mam_service_remove(&posted.client);
	/* Of requests in quick succession the host may see only the last. */
	ck_assert_uint_le(posted.kit->box.counts.asks, ASKS + ASKS / 2 * 4);
	ck_assert_uint_gt(posted.kit->box.counts.asks, ASKS / 2 * 4);
	ck_assert_uint_ge(posted.kit->mail.posted, ASKS);
	ck_assert_uint_eq(posted.kit->box.counts.refusals, 0);
	ck_assert_uint_eq(posted.kit->box.counts.bad, 0);
	ck_assert_uint_eq(posted.kit->box.counts.large, 0);
	kit_end(posted.kit);
}
END_TEST

/* ---- forks, exits, and failures to create the thread --- */

static void must_end_well(pid_t child)
{
	int status = 0;

	ck_assert_int_gt(child, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == CHILD_OK,
		      "the child ended with %#x", (unsigned int)status);
}

/* In the child there are no looks, remaining clients can be removed, and exit() does not hang. */
static void be_a_child(struct counting *one)
{
	const uint64_t looks = one->looks;
	struct counting other;

	alarm(20);
	usleep(10000);
	if (one->looks != looks || one->forked != 1 || threads_named("mam-service") != 0)
		_exit(1);
	mam_service_remove(&one->client);
#ifndef __SANITIZE_THREAD__ /* it has no threads in a child */
	make(&other);
	if (mam_service_add(&other.client) != MAM_OK)
		_exit(2);
	while (other.looks < 3)
		usleep(100);
	mam_service_remove(&other.client);
#else
	(void)other;
#endif
	exit(CHILD_OK);
}

START_TEST(forked_child_has_no_service_thread)
{
	struct counting one;
	pid_t child;

	add(&one);
	one.busy = true;
	for (unsigned int i = 0; i < (UNDER_WATCH ? 3 : 20); i++) {
		wait_for_looks(&one, 2);
		child = fork();
		if (child == 0)
			be_a_child(&one);
		must_end_well(child);
	}
	ck_assert_uint_eq(one.forked, 0);
	wait_for_looks(&one, 3); /* the parent's service goes on */
	take_off(&one);
}
END_TEST

START_TEST(process_exits_with_active_client)
{
	static struct counting one; /* a client until the end */
	pid_t child = fork();

	if (child == 0) {
		alarm(20);
		make(&one);
		one.slow_us = 2000;
		if (mam_service_add(&one.client) != MAM_OK)
			_exit(1);
		while (one.looks < 3)
			usleep(100);
		exit(CHILD_OK);
	}
	must_end_well(child);
}
END_TEST

/* Signals go to the program's threads. */
START_TEST(thread_blocks_signals)
{
	char path[300], text[256];
	struct counting one;
	unsigned long long blocked = 0;
	DIR *tasks;
	struct dirent *entry;
	FILE *file;
	bool is_ours;

	add(&one);
	wait_for_looks(&one, 3);
	tasks = opendir("/proc/self/task");
	ck_assert_ptr_nonnull(tasks);
	while ((entry = readdir(tasks)) != NULL) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		file = fopen(path, "r");
		is_ours = false;
		while (file && fgets(text, sizeof(text), file)) {
			is_ours = is_ours || strcmp(text, "Name:\tmam-service\n") == 0;
			if (is_ours)
				(void)sscanf(text, "SigBlk: %llx", &blocked);
		}
		if (file)
			fclose(file);
	}
	closedir(tasks);
	ck_assert_uint_ne(blocked & 1ull << (SIGINT - 1), 0);
	ck_assert_uint_ne(blocked & 1ull << (SIGTERM - 1), 0);
	ck_assert_uint_ne(blocked & 1ull << (SIGPROF - 1), 0);
	take_off(&one);
}
END_TEST

START_TEST(add_fails_without_thread)
{
	struct rlimit before, none;
	struct counting one;
	enum mam_status status;

	if (UNDER_WATCH)
		return;
	setenv("MAM_LOG_FILE", "/dev/null", 1);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &before), 0);
	none = before;
	none.rlim_cur = 1; /* no stack can be mapped */
	make(&one);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	status = mam_service_add(&one.client);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
	ck_assert_int_eq(status, MAM_ERROR_OUT_OF_HOST_MEMORY);
	mam_service_remove(&one.client);
	add(&one); /* and later the thread can be created */
	wait_for_looks(&one, 3);
	take_off(&one);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("heap/service");
	TCase *service = tcase_create("service");
	SRunner *runner;
	int failed;

	tcase_set_timeout(service, 60);
	tcase_add_test(service, thread_exists_while_there_are_clients);
	tcase_add_test(service, spare_work_runs_only_when_idle);
	tcase_add_test(service, idle_thread_sleeps);
	tcase_add_test(service, remove_waits_for_look_in_progress);
	tcase_add_test(service, paused_thread_does_not_look);
	tcase_add_test(service, removal_of_last_client_ends_thread_safely);
	tcase_add_test(service, clients_can_be_added_and_removed_concurrently);
	tcase_add_test(service, thousands_of_requests_are_answered);
	tcase_add_test(service, forked_child_has_no_service_thread);
	tcase_add_test(service, process_exits_with_active_client);
	tcase_add_test(service, thread_blocks_signals);
	tcase_add_test(service, add_fails_without_thread);
	suite_add_tcase(suite, service);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
