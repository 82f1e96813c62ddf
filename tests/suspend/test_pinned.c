/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pinned memory in units: each is touched before the driver gets it, in the order of addresses, no
 * thread remains, and each failure leaves only what the driver refused to release.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/mam.h>

#include "api/suite.h"
#include "suspend/pinned.h"

#define MIB ((size_t)1 << 20)
#define UNIT (2 * MIB)
#define UNITS 40
#define PAGE ((size_t)4096)
#define ALL (UNITS * UNIT - 3 * PAGE) /* the last unit is shorter */

static struct mam_pinned pinned;
static char *registered[UNITS];
static size_t count, untouched;
static size_t fails_at = UNITS, refuses_at = UNITS;

static int populate_error; /* of the system's call that touches a unit; 0: it works */

/* In place of the C library's. */
int madvise(void *address, size_t bytes, int advice)
{
	if (advice == 23 && populate_error != 0) { /* MADV_POPULATE_WRITE */
		errno = populate_error;
		return -1;
	}
	return (int)syscall(SYS_madvise, address, bytes, advice);
}

static unsigned int record(void *address, size_t bytes, unsigned int flags)
{
	static unsigned char present[UNIT / PAGE];

	ck_assert_uint_eq(bytes, count < UNITS - 1 ? UNIT : UNIT - 3 * PAGE);
	ck_assert_uint_eq(flags, 1);
	if (count == fails_at)
		return MAM_DRIVER_OUT_OF_MEMORY;
	ck_assert_int_eq(mincore(address, bytes, present), 0);
	for (size_t i = 0; i < bytes / PAGE; i++)
		untouched += !(present[i] & 1);
	registered[count++] = address;
	return MAM_DRIVER_SUCCESS;
}

static unsigned int erase(void *address)
{
	if (address == registered[0] + refuses_at * UNIT)
		return MAM_DRIVER_INVALID_VALUE;
	ck_assert_uint_gt(count, 0);
	count--;
	return MAM_DRIVER_SUCCESS;
}

static struct mam_driver driver = { .mem_host_register = record, .mem_host_unregister = erase };

static size_t threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	size_t found = 0;

	ck_assert_ptr_nonnull(tasks);
	for (struct dirent *entry; (entry = readdir(tasks)) != NULL;)
		found += entry->d_name[0] != '.';
	closedir(tasks);
	return found;
}

/* A thread that was joined may be listed for a moment. */
static void expect_one_thread(void)
{
	for (int i = 0; i < 10000 && threads() > 1; i++)
		usleep(1000);
	ck_assert_uint_eq(threads(), 1);
}

static bool is_mapped(const char *at)
{
	unsigned char present;

	return mincore((void *)at, PAGE, &present) == 0;
}

static void open_units(void)
{
	ck_assert_int_eq(mam_pinned_open(&pinned, ALL - 5, UNIT), MAM_OK);
	ck_assert_uint_eq(pinned.bytes, ALL);
}

static unsigned int reach(size_t offset, size_t *room)
{
	return mam_pinned_reach(&pinned, &driver, offset, room);
}

START_TEST(units_are_touched_and_in_order)
{
	char *memory;
	size_t room;

	open_units();
	memory = pinned.memory;
	ck_assert_int_eq(reach(0, &room), MAM_DRIVER_SUCCESS);
	ck_assert_uint_eq(room, UNIT);
	ck_assert_uint_eq(count, 1);
	ck_assert_int_eq(reach(3 * UNIT + 100, &room), MAM_DRIVER_SUCCESS);
	ck_assert_uint_eq(room, UNIT - 100);
	ck_assert_uint_eq(count, 4);
	ck_assert_int_eq(reach(UNIT, &room), MAM_DRIVER_SUCCESS);
	ck_assert_uint_eq(count, 4);
	ck_assert_int_eq(reach(ALL - 1, &room), MAM_DRIVER_SUCCESS);
	ck_assert_uint_eq(room, 3 * PAGE + 1); /* to the end of a whole unit */
	ck_assert_uint_eq(count, UNITS);
	for (size_t i = 0; i < UNITS; i++)
		ck_assert_ptr_eq(registered[i], memory + i * UNIT);
	ck_assert_uint_eq(untouched, 0);
	expect_one_thread();
	mam_pinned_close(&pinned, &driver);
	ck_assert_uint_eq(count, 0);
	ck_assert(!is_mapped(memory));
}
END_TEST

START_TEST(works_without_threads)
{
	size_t room;

	open_units();
	/* As if none had started: the first one to come took all units. */
	for (unsigned i = 0; i < pinned.count; i++)
		pthread_join(pinned.threads[i], NULL);
	pinned.count = 0;
	madvise(pinned.memory, pinned.bytes, MADV_DONTNEED);
	for (size_t i = 0; i < UNITS; i++)
		pinned.touched[i] = false;
	pinned.begun = 0;
	ck_assert_int_eq(reach(ALL - 1, &room), MAM_DRIVER_SUCCESS);
	ck_assert_uint_eq(untouched, 0);
	mam_pinned_close(&pinned, &driver);
}
END_TEST

/*
 * A system without the call: each page is written. If there is no memory, or none that works, a write
 * would end the process.
 */
START_TEST(memory_that_cannot_be_touched)
{
	static const int errors[] = { EINVAL, ENOMEM, EHWPOISON };
	size_t room;

	populate_error = errors[_i];
	open_units();
	ck_assert_int_eq(reach(ALL - 1, &room), MAM_DRIVER_SUCCESS);
	ck_assert_uint_eq(untouched, _i == 0 ? 0 : ALL / PAGE);
	mam_pinned_close(&pinned, &driver);
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(failures_leave_nothing)
{
	char *memory;
	size_t room;

	fails_at = (size_t)_i;
	open_units();
	memory = pinned.memory;
	ck_assert_int_eq(reach(ALL - 1, &room), MAM_DRIVER_OUT_OF_MEMORY);
	mam_pinned_close(&pinned, &driver);
	ck_assert_uint_eq(count, 0);
	ck_assert(!is_mapped(memory));
	expect_one_thread();
	/* Unused, and closed immediately. */
	open_units();
	mam_pinned_drop(&pinned, false);
	expect_one_thread();
	mam_pinned_drop(&pinned, false);
}
END_TEST

/* The driver regards the memory as registered, so its addresses are not for others. */
START_TEST(refused_memory_stays_mapped)
{
	char *memory;
	size_t room;

	setenv("MAM_LOG_FILE", "/dev/null", 1);
	refuses_at = 7;
	open_units();
	memory = pinned.memory;
	ck_assert_int_eq(reach(ALL - 1, &room), MAM_DRIVER_SUCCESS);
	if (_i == 0) {
		mam_pinned_close(&pinned, &driver);
		ck_assert_uint_eq(count, 1);
		ck_assert(is_mapped(memory + 7 * UNIT));
	} else {
		mam_pinned_drop(&pinned, _i == 2);
		ck_assert_uint_eq(count, UNITS);
		ck_assert(is_mapped(memory) == (_i == 1));
	}
}
END_TEST

START_TEST(children_do_not_have_it)
{
	int status = 0;
	size_t room;
	pid_t child;

	open_units();
	ck_assert_int_eq(reach(ALL - 1, &room), MAM_DRIVER_SUCCESS);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		char *memory = pinned.memory;

		if (is_mapped(memory))
			_exit(1);
		/* By now something else may be there. */
		if (mmap(memory, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
		    memory)
			_exit(2);
		mam_pinned_drop(&pinned, true);
		_exit(is_mapped(memory) ? 0 : 3);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	mam_pinned_close(&pinned, &driver);
}
END_TEST

START_TEST(more_than_the_host_has)
{
	ck_assert_int_eq(mam_pinned_open(&pinned, (size_t)1 << 46, 0),
			 MAM_ERROR_OUT_OF_HOST_MEMORY);
	ck_assert_ptr_null(pinned.memory);
	driver.mem_host_unregister = NULL;
	ck_assert(!mam_pinned_is_possible(&driver));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("suspend/pinned");
	TCase *tests = suite_case(suite, "pinned");

	tcase_add_test(tests, units_are_touched_and_in_order);
	tcase_add_test(tests, works_without_threads);
	tcase_add_loop_test(tests, memory_that_cannot_be_touched, 0, 3);
	tcase_add_loop_test(tests, failures_leave_nothing, 0, 3);
	tcase_add_loop_test(tests, refused_memory_stays_mapped, 0, 3);
	tcase_add_test(tests, children_do_not_have_it);
	tcase_add_test(tests, more_than_the_host_has);
	return suite_run(suite);
}
