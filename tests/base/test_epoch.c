/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Epochs: an object is reusable after every section that began before it was retired has ended, and
 * only then; sections nest; records of ended threads are reused.
 *
 * Each test runs with membarrier() and without. A process with one thread needs no sections, so
 * each test begins with another thread, which sleeps.
 */
#include <check.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/barrier.h"
#include "base/epoch.h"
#include "membarrier.h"

#define GET_REGISTRATIONS 512 /* MEMBARRIER_CMD_GET_REGISTRATIONS */

static pthread_mutex_t asleep = PTHREAD_MUTEX_INITIALIZER;

static void *sleep_on(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&asleep);
	pthread_mutex_unlock(&asleep);
	return NULL;
}

static void begin(int refused)
{
	pthread_t thread;

	mam_barrier_refuse(refused != 0);
	pthread_mutex_lock(&asleep);
	ck_assert_int_eq(pthread_create(&thread, NULL, sleep_on, NULL), 0);
}

static bool may_be_reused(uint64_t number)
{
	return number < mam_epoch_oldest();
}

/*
 * Later, when there are threads, it would take the first allocation 10 to 60 ms. Only Linux 6.3 and
 * later report what is registered; the bits are those of the commands.
 */
START_TEST(process_registers_when_code_is_loaded)
{
	long registered = syscall(SYS_membarrier, GET_REGISTRATIONS, 0, 0);

	if (registered >= 0)
		ck_assert_int_ne(registered & MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0);
}
END_TEST

START_TEST(objects_are_reusable_without_section)
{
	uint64_t number;

	begin(_i);
	number = mam_epoch_retire();
	ck_assert(may_be_reused(number));
}
END_TEST

START_TEST(section_keeps_objects_retired_after_its_start)
{
	struct mam_section section, inner;
	uint64_t before, during, later;

	begin(_i);
	before = mam_epoch_retire();
	section = mam_epoch_enter();
	during = mam_epoch_retire();
	ck_assert(may_be_reused(before));
	ck_assert(!may_be_reused(during));
	inner = mam_epoch_enter();
	later = mam_epoch_retire();
	mam_epoch_leave(inner); /* the outer one continues */
	ck_assert(!may_be_reused(during));
	ck_assert(!may_be_reused(later));
	mam_epoch_leave(section);
	ck_assert(may_be_reused(during));
	ck_assert(may_be_reused(later));
	section = mam_epoch_enter();
	ck_assert(may_be_reused(later)); /* it began afterwards */
	mam_epoch_leave(section);
}
END_TEST

struct reader {
	pthread_barrier_t inside, done;
};

static void *read_long(void *argument)
{
	struct reader *reader = argument;
	struct mam_section section = mam_epoch_enter();

	pthread_barrier_wait(&reader->inside);
	pthread_barrier_wait(&reader->done);
	mam_epoch_leave(section);
	return NULL;
}

START_TEST(section_of_other_thread_keeps_objects)
{
	struct reader reader;
	pthread_t thread;
	uint64_t number;

	begin(_i);
	pthread_barrier_init(&reader.inside, NULL, 2);
	pthread_barrier_init(&reader.done, NULL, 2);
	ck_assert_int_eq(pthread_create(&thread, NULL, read_long, &reader), 0);
	pthread_barrier_wait(&reader.inside);
	number = mam_epoch_retire();
	ck_assert(!may_be_reused(number));
	pthread_barrier_wait(&reader.done);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(may_be_reused(number));
}
END_TEST

static void *read_once(void *record)
{
	struct mam_section section = mam_epoch_enter();

	*(struct mam_epoch_record **)record = section.record;
	mam_epoch_leave(section);
	return NULL;
}

START_TEST(records_of_ended_threads_are_reused)
{
	struct mam_epoch_record *first = NULL, *next = NULL;
	pthread_t thread;

	begin(_i);
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, read_once, i ? &next : &first), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		ck_assert_ptr_nonnull(first);
		ck_assert(i == 0 || next == first);
	}
}
END_TEST

static struct mam_epoch_record *late_reader;
static uint64_t late_since;

static void show_reader(void)
{
	atomic_store(&late_reader->since, late_since);
}

/* Its store becomes visible at the barrier, not earlier. */
START_TEST(reader_visible_at_barrier_keeps_objects)
{
	pthread_t thread;
	uint64_t number;

	begin(_i);
	ck_assert_int_eq(pthread_create(&thread, NULL, read_once, &late_reader), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_ptr_nonnull(late_reader);
	late_since = atomic_load(&mam_epoch_now);
	number = mam_epoch_retire();
	at_barrier = show_reader;
	ck_assert(!may_be_reused(number));
	at_barrier = NULL;
	atomic_store(&late_reader->since, 0);
	ck_assert(may_be_reused(number));
}
END_TEST

static pthread_key_t late;

static void read_late(void *record)
{
	read_once(record);
}

static void *end_late(void *record)
{
	pthread_setspecific(late, record);
	return read_once(record);
}

/* A destructor of the program may run after ours, and use the library once more. */
START_TEST(thread_can_enter_section_while_it_ends)
{
	struct mam_epoch_record *record = NULL;
	pthread_t thread;

	begin(_i);
	mam_epoch_leave(mam_epoch_enter()); /* our key is older */
	ck_assert_int_eq(pthread_key_create(&late, read_late), 0);
	for (int i = 0; i < 50; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, end_late, &record), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	ck_assert(may_be_reused(mam_epoch_retire()));
}
END_TEST

#define READERS 3
#define OBJECTS 4
#define TURNS 500

static struct {
	/* Objects found through it stay valid while the reader is inside. */
	_Atomic uint64_t version;
	_Atomic uint64_t content;
} objects[OBJECTS];
static _Atomic unsigned current; /* the reachable object */
static atomic_bool over;

static void *look(void *unused)
{
	(void)unused;
	while (!atomic_load(&over)) {
		struct mam_section section = mam_epoch_enter();
		unsigned at = atomic_load_explicit(&current, memory_order_acquire);
		uint64_t version = atomic_load_explicit(&objects[at].version, memory_order_relaxed);

		for (int i = 0; i < 20; i++)
			ck_assert_uint_eq(
				atomic_load_explicit(&objects[at].content, memory_order_relaxed),
				version);
		mam_epoch_leave(section);
	}
	return NULL;
}

START_TEST(readers_never_see_reused_object)
{
	uint64_t numbers[OBJECTS] = { 0 }, version = 0;
	pthread_t threads[READERS];
	unsigned at = 0;

	begin(_i);
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, look, NULL), 0);
	for (int turn = 0; turn < TURNS; turn++) {
		unsigned next = (at + 1) % OBJECTS;

		while (numbers[next] != 0 && !may_be_reused(numbers[next]))
			sched_yield();
		version++;
		atomic_store_explicit(&objects[next].content, version, memory_order_relaxed);
		atomic_store_explicit(&objects[next].version, version, memory_order_relaxed);
		atomic_store_explicit(&current, next, memory_order_release);
		numbers[at] = mam_epoch_retire();
		at = next;
	}
	atomic_store(&over, true);
	for (int i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/epoch");
	TCase *tests = tcase_create("epoch");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, process_registers_when_code_is_loaded);
	tcase_add_loop_test(tests, objects_are_reusable_without_section, 0, 2);
	tcase_add_loop_test(tests, section_keeps_objects_retired_after_its_start, 0, 2);
	tcase_add_loop_test(tests, section_of_other_thread_keeps_objects, 0, 2);
	tcase_add_loop_test(tests, reader_visible_at_barrier_keeps_objects, 0, 2);
	tcase_add_loop_test(tests, records_of_ended_threads_are_reused, 0, 2);
	tcase_add_loop_test(tests, thread_can_enter_section_while_it_ends, 0, 2);
	tcase_add_loop_test(tests, readers_never_see_reused_object, 0, 2);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* each test leaves a thread asleep */
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
