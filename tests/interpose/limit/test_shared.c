/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_shared.c - processes that share a limit: it holds for their sum to the byte, and what a
 * process had charged is available after its end, whatever the end was.
 */
#include "sharing.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

START_TEST(processes_share_the_limit_to_the_byte)
{
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_CHUNK, 3 * PART - 1));
	ck_assert_uint_eq(mam_account_room(0), 5 * PART + 1);
	ck_assert_uint_eq(mam_account_others(0), 0);
	ck_assert_int_eq(in_child(count_parts), 5);
	/* That child has ended. */
	ck_assert_uint_eq(mam_account_room(0), 5 * PART + 1);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 5 * PART + 1));
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 1));
	ck_assert_int_eq(in_child(count_parts), 0);
	mam_account_refund(0, MAM_ACCOUNT_DIRECT, 5 * PART + 1);
	mam_account_refund(0, MAM_ACCOUNT_CHUNK, PART - 1);
	ck_assert_int_eq(in_child(count_parts), 6);
	mam_account_refund(0, MAM_ACCOUNT_CHUNK, 2 * PART);
	ck_assert_int_eq(in_child(count_parts), 8);
	ck_assert_int_eq(messages, 0);
}
END_TEST

static int child_with_other_numbers(void)
{
	int parts;

	first_byte = 1; /* device 0 is device 1 of the parent */
	parts = count_parts();
	while (mam_account_charge(1, MAM_ACCOUNT_DIRECT, PART))
		parts += 10;
	return parts;
}

START_TEST(devices_are_identified_by_their_uuid)
{
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	ck_assert(mam_account_charge(1, MAM_ACCOUNT_DIRECT, 5 * PART));
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 1));
	ck_assert(!mam_account_charge(-1, MAM_ACCOUNT_DIRECT, 1));
	ck_assert(!mam_account_charge(64, MAM_ACCOUNT_DIRECT, 1));
	ck_assert_int_eq(in_child(child_with_other_numbers), 83);
	ck_assert_uint_eq(mam_account_others(1), 0);
}
END_TEST

START_TEST(device_without_an_identity_gets_no_memory)
{
	uuid_fails = true;
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 1));
	ck_assert_uint_eq(mam_account_room(0), 0);
	mam_account_set_limit(0); /* none: no other process matters */
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 2 * LIMIT));
	mam_account_refund(0, MAM_ACCOUNT_DIRECT, 2 * LIMIT);
	mam_account_set_limit(LIMIT);
	uuid_fails = false;
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 1));
}
END_TEST

static int child_with_graphs(void)
{
	mam_account_set(0, MAM_ACCOUNT_GRAPH, 10 * PART);
	mam_account_set(0, MAM_ACCOUNT_GRAPH, 6 * PART);
	return count_parts();
}

START_TEST(memory_reported_by_the_driver_counts_for_all)
{
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, PART));
	ck_assert_int_eq(in_child(child_with_graphs), 1);
}
END_TEST

static int child_with_a_lower_limit(void)
{
	setenv("MAM_LIMIT", "512M", 1);
	return count_parts();
}

START_TEST(each_process_compares_the_sum_with_its_own_limit)
{
	ck_assert_int_eq(in_child(child_with_a_lower_limit), 4);
}
END_TEST

START_TEST(limit_may_change)
{
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 3 * PART));
	mam_account_set_limit(5 * PART);
	ck_assert_uint_eq(mam_account_room(0), 2 * PART);
	ck_assert_int_eq(in_child(count_parts), 2);
	mam_account_set_limit(2 * PART);
	ck_assert_int_eq(in_child(count_parts), 0);
	mam_account_set_limit(0);
	ck_assert_uint_eq(mam_account_room(0), SIZE_MAX);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 6 * PART));
	mam_account_set_limit(10 * PART);
	ck_assert_int_eq(in_child(count_parts), 1);
}
END_TEST

START_TEST(peak_is_that_of_all_processes)
{
	struct mam_account_sums sums;

	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, PART));
	mam_account_confirm(0, MAM_ACCOUNT_DIRECT);
	/* Bytes of a process that has ended do not count. */
	ck_assert_int_eq(in_child(count_parts), 7);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, PART));
	mam_account_confirm(0, MAM_ACCOUNT_DIRECT);
	mam_account_sum(-1, &sums);
	ck_assert_uint_eq(sums.peak_shared, 2 * PART);
	ck_assert_uint_eq(sums.peak_together, 2 * PART);
}
END_TEST

/* --- ends of processes --- */

/* A child that charges memory, and writes a letter to the pipe when it has done so. */
struct helper {
	pid_t process;
	int pipe;
};

static struct helper start_helper(int parts, void (*then)(void))
{
	struct helper helper;
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	helper.process = fork();
	if (helper.process == 0) {
		mam_account_restart();
		if (mam_account_charge(0, MAM_ACCOUNT_DIRECT, (uint64_t)parts * PART))
			while (write(ends[1], "y", 1) != 1)
				;
		if (then != NULL)
			then();
		for (;;)
			pause();
	}
	close(ends[1]);
	helper.pipe = ends[0];
	return helper;
}

static void kill_helper(const struct helper *helper)
{
	kill(helper->process, SIGKILL);
	waitpid(helper->process, NULL, 0);
	close(helper->pipe);
}

static void wait_for(const struct helper *helper)
{
	char letter;

	ck_assert_int_eq(read(helper->pipe, &letter, 1), 1);
}

START_TEST(killed_process_returns_its_bytes)
{
	struct helper helper = start_helper(6, NULL);

	wait_for(&helper);
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 3 * PART));
	ck_assert_uint_eq(mam_account_others(0), 6 * PART);
	ck_assert_uint_eq(mam_account_fullest(), 6 * PART);
	kill_helper(&helper);
	ck_assert_uint_eq(mam_account_others(0), 0);
	ck_assert_uint_eq(mam_account_fullest(), 0);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
}
END_TEST

START_TEST(zombie_has_no_bytes)
{
	struct helper helper = start_helper(6, NULL);
	siginfo_t info;

	wait_for(&helper);
	kill(helper.process, SIGKILL);
	waitid(P_PID, (id_t)helper.process, &info, WEXITED | WNOWAIT);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	kill_helper(&helper);
}
END_TEST

START_TEST(stopped_process_keeps_its_bytes_and_delays_no_other)
{
	struct helper helper = start_helper(6, NULL);

	wait_for(&helper);
	kill(helper.process, SIGSTOP);
	waitpid(helper.process, NULL, WUNTRACED);
	ck_assert_int_eq(in_child(count_parts), 2);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 2 * PART));
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 1));
	kill_helper(&helper);
}
END_TEST

static void execute(void)
{
	execlp("sleep", "sleep", "1000", (char *)NULL);
}

START_TEST(program_that_is_replaced_returns_its_bytes)
{
	struct helper helper = start_helper(6, execute);
	int tries = 0;

	wait_for(&helper);
	while (!mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT) && tries++ < 10000)
		usleep(1000);
	ck_assert_int_lt(tries, 10000);
	ck_assert_int_eq(kill(helper.process, 0), 0);
	kill_helper(&helper);
}
END_TEST

/* The child outlives its parent, which charged. */
static void leave_an_orphan(void)
{
	pid_t child = fork();

	if (child != 0)
		_exit(0);
	for (;;)
		pause();
}

START_TEST(child_of_a_fork_does_not_keep_the_bytes_of_its_parent)
{
	struct helper helper;

	setpgid(0, 0);
	helper = start_helper(6, leave_an_orphan);
	wait_for(&helper);
	waitpid(helper.process, NULL, 0);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	signal(SIGTERM, SIG_IGN);
	kill(0, SIGTERM);
	close(helper.pipe);
}
END_TEST

static int parent_of_a_child(void)
{
	pid_t child;
	int own, of_child, status;

	if (!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 3 * PART))
		return 100;
	child = fork();
	if (child == 0) {
		mam_account_restart();
		of_child = mam_account_charge(0, MAM_ACCOUNT_DIRECT, 4 * PART) &&
			   !mam_account_charge(0, MAM_ACCOUNT_DIRECT, 2 * PART);
		_exit(of_child);
	}
	waitpid(child, &status, 0);
	own = count_parts(); /* the child's bytes are gone; its parent's are not */
	return WEXITSTATUS(status) * 10 + own;
}

START_TEST(child_of_a_fork_has_counters_of_its_own)
{
	ck_assert_int_eq(in_child(parent_of_a_child), 15);
}
END_TEST

static uint64_t on_page(void)
{
	return atomic_load(&mam_statpage_own()->devices[0].together);
}

/* The counters on the page are those of the parent at the fork, and its counter is empty. */
static void play_child_with_a_page(void)
{
	mam_statpage_fork_child();
	mam_account_restart();
	ck_assert_uint_eq(on_page(), 3 * PART);
	ck_assert_uint_eq(mam_account_others(0), 3 * PART);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 4 * PART));
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 2 * PART));
	ck_assert_uint_eq(*mam_shared_counter(0), 4 * PART);
	ck_assert_uint_eq(on_page(), 7 * PART);
	ck_assert_uint_eq(mam_account_others(0), 3 * PART);
	mam_account_refund(0, MAM_ACCOUNT_DIRECT, PART);
	ck_assert_uint_eq(*mam_shared_counter(0), 3 * PART);
}

START_TEST(statistics_page_has_the_bytes_of_this_process)
{
	char folder[PATH_MAX + 16];
	pid_t child;
	int status;

	snprintf(folder, sizeof(folder), "%s.pages", path);
	ck_assert_int_eq(mkdir(folder, 0700), 0);
	setenv("XDG_RUNTIME_DIR", folder, 1);
	mam_statpage_open();
	ck_assert_str_ne(mam_statpage_path(), "");
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, 3 * PART));
	ck_assert_uint_eq(on_page(), 3 * PART);
	child = check_fork();
	if (child == 0) {
		play_child_with_a_page();
		_exit(0);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(on_page(), 3 * PART);
	ck_assert_uint_eq(*mam_shared_counter(0), 3 * PART);
	ck_assert_int_eq(in_child(count_parts), 5);
	mam_account_set(0, MAM_ACCOUNT_GRAPH, 4 * PART);
	mam_account_set(0, MAM_ACCOUNT_GRAPH, PART);
	ck_assert_uint_eq(on_page(), 4 * PART);
	ck_assert_uint_eq(*mam_shared_counter(0), 4 * PART);
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 5 * PART));
	mam_account_refund(0, MAM_ACCOUNT_DIRECT, 3 * PART);
	ck_assert_uint_eq(on_page(), PART);
	unlink(mam_statpage_path());
	strcat(folder, "/mam");
	rmdir(folder);
	folder[strlen(folder) - strlen("/mam")] = '\0';
	rmdir(folder);
}
END_TEST

/* --- the file --- */

START_TEST(last_process_removes_the_file)
{
	struct helper helper = start_helper(6, NULL);

	wait_for(&helper);
	ck_assert_int_eq(in_child(count_parts), 2);
	ck_assert_int_eq(access(path, F_OK), 0);
	kill_helper(&helper);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_int_eq(in_child(count_parts), 8);
	ck_assert_int_ne(access(path, F_OK), 0);
}
END_TEST

/* The file of another program is not touched; the process has its limit for itself. */
START_TEST(other_files_are_refused)
{
	static const char text[] = "not a table of counters";
	int file = open(path, O_RDWR | O_CREAT, 0600);
	struct stat status;

	ck_assert_int_eq(write(file, text, sizeof(text)), sizeof(text));
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	ck_assert(!mam_account_charge(0, MAM_ACCOUNT_DIRECT, 1));
	ck_assert_int_eq(messages, 1);
	mam_shared_finish();
	ck_assert_int_eq(fstat(file, &status), 0);
	ck_assert_int_eq(status.st_size, sizeof(text));
	ck_assert_int_eq(access(path, F_OK), 0);
	close(file);
}
END_TEST

START_TEST(link_is_refused)
{
	char other[PATH_MAX + 8];

	snprintf(other, sizeof(other), "%s.other", path);
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	ck_assert_int_eq(messages, 1);
	ck_assert_int_ne(access(other, F_OK), 0);
}
END_TEST

/* A process that locks the whole file removes it, but is stopped before it does so. */
START_TEST(stopped_removal_does_not_block_others)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	_Atomic bool *locked = mmap(NULL, sizeof(*locked), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int file, tries = 0;
	pid_t child = fork();

	if (child == 0) {
		file = open(path, O_RDWR | O_CREAT, 0600);
		fcntl(file, F_SETLK, &all);
		*locked = true;
		for (;;)
			pause();
	}
	while (!*locked && tries++ < 10000)
		usleep(1000);
	ck_assert(mam_account_charge(0, MAM_ACCOUNT_DIRECT, LIMIT));
	ck_assert_int_eq(messages, 1);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("shared");
	Suite *suite = suite_create("shared");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_add_test(cases, processes_share_the_limit_to_the_byte);
	tcase_add_test(cases, devices_are_identified_by_their_uuid);
	tcase_add_test(cases, device_without_an_identity_gets_no_memory);
	tcase_add_test(cases, memory_reported_by_the_driver_counts_for_all);
	tcase_add_test(cases, each_process_compares_the_sum_with_its_own_limit);
	tcase_add_test(cases, limit_may_change);
	tcase_add_test(cases, peak_is_that_of_all_processes);
	tcase_add_test(cases, killed_process_returns_its_bytes);
	tcase_add_test(cases, zombie_has_no_bytes);
	tcase_add_test(cases, stopped_process_keeps_its_bytes_and_delays_no_other);
	tcase_add_test(cases, program_that_is_replaced_returns_its_bytes);
	tcase_add_test(cases, child_of_a_fork_does_not_keep_the_bytes_of_its_parent);
	tcase_add_test(cases, child_of_a_fork_has_counters_of_its_own);
	tcase_add_test(cases, statistics_page_has_the_bytes_of_this_process);
	tcase_add_test(cases, last_process_removes_the_file);
	tcase_add_test(cases, other_files_are_refused);
	tcase_add_test(cases, link_is_refused);
	tcase_add_test(cases, stopped_removal_does_not_block_others);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
