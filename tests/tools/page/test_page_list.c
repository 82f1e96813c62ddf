/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of statistics pages: which files are on it, in which order, and what is reported about
 * the others; and copies of a page while it changes.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/statpage.h>

#include "page/page_list.h"
#include "tools/page/stand_in.h"

static char folder[STAND_IN_PATH], path[STAND_IN_PATH], messages[STAND_IN_PATH];
static struct mam_statpage page, copy;

/* stderr is a file, whose lines are counted. */
static void begin(void)
{
	ck_assert(stand_in_folder(folder));
	snprintf(messages, sizeof(messages), "%.4000s/messages", folder);
	ck_assert_ptr_nonnull(freopen(messages, "w", stderr));
}

static void end(void)
{
	unlink(messages);
	stand_in_remove(folder);
}

static int message_count(void)
{
	FILE *file;
	int count = 0;

	fflush(stderr);
	file = fopen(messages, "r");
	ck_assert_ptr_nonnull(file);
	for (int c; (c = getc(file)) != EOF;)
		count += c == '\n';
	fclose(file);
	return count;
}

static void add(pid_t process, uint64_t start, const char *program, unsigned int number)
{
	stand_in_begin(&page, process, start, program);
	ck_assert(stand_in_write(&page, number, path));
}

static pid_t start_child(void)
{
	pid_t child = fork();

	while (child == 0)
		pause();
	ck_assert_int_gt(child, 0);
	return child;
}

static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

START_TEST(pages_are_sorted_by_process)
{
	struct page_list list = { .count = 0 };
	pid_t children[3];

	for (int i = 0; i < 3; i++)
		children[i] = start_child();
	add(children[2], 0, "c", 0);
	add(children[0], 0, "a", 1);
	add(children[1], 0, "b", 0);
	add(children[0], 0, "a", 0);
	for (int round = 0; round < 2; round++) {
		ck_assert(page_list_refresh(&list));
		ck_assert_uint_eq(list.count, 4);
		for (size_t i = 1; i < list.count; i++)
			ck_assert(list.entries[i - 1].pid < list.entries[i].pid ||
				  (list.entries[i - 1].pid == list.entries[i].pid &&
				   list.entries[i - 1].copy < list.entries[i].copy));
		for (size_t i = 0; i < list.count; i++) {
			const struct page_entry *entry = &list.entries[i];
			const char *wanted = entry->pid == children[0]   ? "a"
					     : entry->pid == children[1] ? "b"
									 : "c";

			ck_assert_str_eq(entry->program, wanted);
			ck_assert(!entry->has_ended);
			ck_assert(page_read(entry->path, &copy));
			ck_assert_uint_eq(copy.pid, (uint64_t)entry->pid);
		}
	}
	end_child(children[1]);
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 3);
	list.with_ended = true;
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 4);
	for (size_t i = 0; i < list.count; i++)
		ck_assert_int_eq(list.entries[i].has_ended, list.entries[i].pid == children[1]);
	ck_assert_uint_eq(list.skipped_count, 0);
	ck_assert_int_eq(message_count(), 0);
	page_list_fini(&list);
	end_child(children[0]);
	end_child(children[2]);
}
END_TEST

START_TEST(reused_process_id_is_another_process)
{
	struct page_list list = { .count = 0 };

	add(getpid(), 5, "before", 0);
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 0);
	add(getpid(), 0, "now", 0);
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 1);
	ck_assert_str_eq(list.entries[0].program, "now");
	page_list_fini(&list);
}
END_TEST

START_TEST(name_of_any_bytes_is_printable)
{
	struct page_list list = { .count = 0 };
	char name[65];

	memset(name, 'x', 64);
	name[64] = '\0';
	name[1] = '\033';
	name[2] = '\n';
	name[3] = '\x7f';
	add(getpid(), 0, name, 0);
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 1);
	ck_assert_uint_eq(strlen(list.entries[0].program), 64);
	ck_assert_int_eq(strncmp(list.entries[0].program, "x???x", 5), 0);
	page_list_fini(&list);
}
END_TEST

static void spoil(int how)
{
	struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	char target[STAND_IN_PATH + 8];

	switch (how) {
	case 0: ck_assert_int_eq(truncate(path, 8), 0); break;
	case 1: ck_assert_int_eq(truncate(path, MAM_STATPAGE_BYTES + 1), 0); break;
	case 2: page.magic++; break;
	case 3: page.bytes++; break;
	case 4: page.pid++; break;
	case 5: page.start++; break;
	case 6: /* empty, and not being created */
		ck_assert_int_eq(truncate(path, 0), 0);
		ck_assert_int_eq(utimensat(AT_FDCWD, path, long_ago, 0), 0);
		break;
	case 7:
		snprintf(target, sizeof(target), "%s.t", path);
		ck_assert_int_eq(rename(path, target), 0);
		ck_assert_int_eq(mkdir(path, 0700), 0);
		ck_assert_int_eq(utimensat(AT_FDCWD, path, long_ago, 0), 0);
		break;
	}
	if (how >= 2 && how <= 5) {
		int file = open(path, O_WRONLY | O_CLOEXEC);

		ck_assert_int_eq(pwrite(file, &page, sizeof(page), 0), sizeof(page));
		close(file);
	}
}
#define SPOILED 8

START_TEST(invalid_page_is_reported_once)
{
	struct page_list list = { .count = 0 };
	char bad_path[STAND_IN_PATH];

	add(getpid(), 0, "bad", 0);
	memcpy(bad_path, path, sizeof(bad_path));
	spoil(_i);
	add(getpid(), 0, "good", 1);
	for (int round = 0; round < 3; round++) {
		ck_assert(page_list_refresh(&list));
		ck_assert_uint_eq(list.count, 1);
		ck_assert_str_eq(list.entries[0].program, "good");
		ck_assert_uint_eq(list.skipped_count, 1);
		ck_assert_int_eq(list.skipped[0].pid, getpid());
		ck_assert_int_eq(message_count(), 1);
	}
	page_list_fini(&list);
	list.is_quiet = true;
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.skipped_count, 1);
	ck_assert_int_eq(message_count(), 1);
	page_list_fini(&list);
	rmdir(bad_path);
}
END_TEST

START_TEST(link_is_not_followed)
{
	struct page_list list = { .count = 0 };
	char target[STAND_IN_PATH + 8];

	add(getpid(), 0, "target", 0);
	snprintf(target, sizeof(target), "%s.t", path);
	ck_assert_int_eq(rename(path, target), 0);
	ck_assert_int_eq(symlink(target, path), 0);
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 0);
	page_list_fini(&list);
}
END_TEST

START_TEST(page_that_is_being_created_is_not_reported)
{
	struct page_list list = { .count = 0 };

	add(getpid(), 0, "new", 0);
	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 0);
	ck_assert_uint_eq(list.skipped_count, 0);
	ck_assert_int_eq(truncate(path, MAM_STATPAGE_BYTES), 0);
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 0);
	ck_assert(stand_in_write(&page, 0, path));
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 1);
	ck_assert_int_eq(message_count(), 0);
	page_list_fini(&list);
}
END_TEST

static const char *const other_names[] = { "1",           "0-1-0",       "-1-1-0",
					   "%ld-%llu",    "%ld-%llu-00", "0%ld-%llu-0",
					   "%ld-%llu-0x", ".%ld-%llu-0", "4294967297-1-0" };

START_TEST(file_of_another_name_is_not_a_page)
{
	struct page_list list = { .count = 0 };
	char name[128], to[STAND_IN_PATH + 200];

	add(getpid(), 0, "other", 0);
	snprintf(name, sizeof(name), other_names[_i], (long)getpid(),
		 (unsigned long long)page.start);
	snprintf(to, sizeof(to), "%.4000s/mam/%s", folder, name);
	ck_assert_int_eq(rename(path, to), 0);
	list.with_ended = true;
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count + list.skipped_count, 0);
	ck_assert_int_eq(message_count(), 0);
	unlink(to);
}
END_TEST

START_TEST(folder_that_does_not_exist_has_no_pages)
{
	struct page_list list = { .count = 0 };

	setenv("XDG_RUNTIME_DIR", "/no/such/folder", 1);
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 0);
	setenv("XDG_RUNTIME_DIR", folder, 1);
}
END_TEST

START_TEST(page_that_becomes_invalid_is_reported_once)
{
	struct page_list list = { .count = 0 };

	add(getpid(), 0, "first", 0);
	add(getpid(), 0, "second", 1);
	ck_assert(page_list_refresh(&list));
	ck_assert_uint_eq(list.count, 2);
	ck_assert_int_eq(truncate(path, 4096), 0);
	ck_assert(page_list_skip(&list, 1));
	for (int round = 0; round < 2; round++) {
		ck_assert_uint_eq(list.count, 1);
		ck_assert_str_eq(list.entries[0].program, "first");
		ck_assert_uint_eq(list.skipped_count, 1);
		ck_assert_str_eq(list.skipped[0].path, path);
		ck_assert_int_eq(message_count(), 1);
		ck_assert(page_list_refresh(&list));
	}
	ck_assert(page_list_skip(&list, 0));
	ck_assert_uint_eq(list.count, 0);
	ck_assert_uint_eq(list.skipped_count, 2);
	page_list_fini(&list);
}
END_TEST

START_TEST(page_that_disappears_has_a_reason)
{
	add(getpid(), 0, "gone", 0);
	ck_assert(page_read(path, &copy));
	ck_assert_int_eq(truncate(path, 4096), 0);
	ck_assert(!page_read(path, &copy));
	ck_assert_int_eq(errno, 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert(!page_read(path, &copy));
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

/* ---- a page that changes ---- */

#define READS 5000

static _Atomic bool is_done;
static _Atomic uint64_t completed; /* count: allocations that the page has */

static void set(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/*
 * A thread allocates once, and flushes its tally to the pool: during the flush, the counts and the
 * tally both have the allocation.
 */
static void *flush_again_and_again(void *argument)
{
	struct mam_statpage *mapped = (struct mam_statpage *)argument;
	struct mam_statpage_pool *pool = &mapped->pools[0];
	struct mam_tally *tally = &mapped->tallies[0];
	struct timespec pause = { .tv_nsec = 10000 };

	for (uint64_t i = 0; !atomic_load(&is_done); i++) {
		struct mam_statpage_counts *next = &pool->counts[(i + 1) & 1];

		__atomic_store_n(&tally->allocs, 1, __ATOMIC_RELEASE);
		atomic_store(&completed, i + 1);
		nanosleep(&pause, NULL);
		set(&next->allocs, i + 1);
		set(&next->flushed, 1);
		set(&next->flushed_generation, i);
		set(&pool->sequence, i + 1);
		__atomic_store_n(&tally->allocs, 0, __ATOMIC_RELEASE);
		set(&tally->generation, i + 1);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

START_TEST(copy_is_of_one_moment)
{
	struct mam_statpage_figures figures;
	void *mapped;
	pthread_t writer;
	int file;

	stand_in_begin(&page, getpid(), 0, "changing");
	stand_in_pool(&page, "pool", "host", 0);
	page.tallies[0].pool = 1;
	page.tallies[0].number = 1;
	ck_assert(stand_in_write(&page, 0, path));
	file = open(path, O_RDWR | O_CLOEXEC);
	mapped = mmap(NULL, MAM_STATPAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	ck_assert_ptr_ne(mapped, MAP_FAILED);
	close(file);
	ck_assert_int_eq(pthread_create(&writer, NULL, flush_again_and_again, mapped), 0);
	for (int i = 0; i < READS; i++) {
		uint64_t before = atomic_load(&completed), after;

		ck_assert(page_read(path, &copy));
		after = atomic_load(&completed) + 1;
		mam_statpage_sum(&copy, -1, &figures);
		ck_assert_uint_ge(figures.allocs, before);
		ck_assert_uint_le(figures.allocs, after);
	}
	atomic_store(&is_done, true);
	pthread_join(writer, NULL);
	munmap(mapped, MAM_STATPAGE_BYTES);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("page_list");
	TCase *tests = tcase_create("list"), *moment = tcase_create("copy");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, begin, end);
	tcase_add_test(tests, pages_are_sorted_by_process);
	tcase_add_test(tests, reused_process_id_is_another_process);
	tcase_add_test(tests, name_of_any_bytes_is_printable);
	tcase_add_loop_test(tests, invalid_page_is_reported_once, 0, SPOILED);
	tcase_add_test(tests, link_is_not_followed);
	tcase_add_test(tests, page_that_is_being_created_is_not_reported);
	tcase_add_loop_test(tests, file_of_another_name_is_not_a_page, 0,
			    sizeof(other_names) / sizeof(other_names[0]));
	tcase_add_test(tests, folder_that_does_not_exist_has_no_pages);
	tcase_add_test(tests, page_that_becomes_invalid_is_reported_once);
	tcase_add_test(tests, page_that_disappears_has_a_reason);
	tcase_add_checked_fixture(moment, begin, end);
	tcase_add_test(moment, copy_is_of_one_moment);
	suite_add_tcase(suite, tests);
	suite_add_tcase(suite, moment);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
