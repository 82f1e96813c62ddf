/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of processes become metrics: each figure, the labels with any bytes in them, pages that are
 * not read, and the limits of one user.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exporter/metrics.h"
#include "kit/utf8.h"
#include "tools/page/stand_in.h"

static char folder[STAND_IN_PATH], path[STAND_IN_PATH];
static struct mam_statpage page;
static struct collect_list list;

static void set_up(void)
{
	ck_assert(stand_in_folder(folder));
	stand_in_begin(&page, getpid(), 0, "app");
}

static void tear_down(void)
{
	collect_fini(&list);
	stand_in_remove(folder);
}

static struct collect_pool pool_new(void)
{
	struct collect_pool pool = {
		.uid = 7,
		.pid = 99,
		.id = 3,
		.device = 2,
		.program = "app",
		.name = "one",
		.source = "vmm",
	};

	return pool;
}

/* The text of the list; the caller frees it. */
static char *text_of(const struct collect_list *of)
{
	char *text;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	ck_assert_ptr_nonnull(file);
	metrics_put(file, of);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_uint_eq(strlen(text), bytes);
	return text;
}

/* Returns the value of the only sample with that name, up to the end of its line. */
static const char *sample(const char *text, const char *name, char value[64])
{
	const char *found = NULL;

	for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1)
		if (strncmp(line, name, strlen(name)) == 0 && strchr("{ ", line[strlen(name)])) {
			ck_assert_ptr_null(found);
			found = line;
		}
	ck_assert_ptr_nonnull(found);
	snprintf(value, 64, "%.*s", (int)strcspn(strstr(found, "} ") + 2, "\n"),
		 strstr(found, "} ") + 2);
	return value;
}

START_TEST(each_figure_has_a_metric)
{
	struct collect_pool pool = pool_new();
	struct collect_list one = { &pool, 1, 1, .pages = 5, .omitted = 6 };
	char *text, value[64];

	pool.figures = (struct mam_statpage_figures){
		.live_blocks = 1,
		.live_bytes = 2,
		.peak_live_bytes = 3,
		.cached_bytes = 4,
		.retired_bytes = 5,
		.peak_retired_bytes = 6,
		.reserved_bytes = 7,
		.peak_reserved_bytes = 8,
		.allocs = 9,
		.frees = 10,
		.failures = 11,
		.driver_calls = 12,
		.driver_ns = 13,
	};
	text = text_of(&one);
	ck_assert_str_eq(sample(text, "mam_live_blocks", value), "1");
	ck_assert_str_eq(sample(text, "mam_live_bytes", value), "2");
	ck_assert_str_eq(sample(text, "mam_peak_live_bytes", value), "3");
	ck_assert_str_eq(sample(text, "mam_cached_bytes", value), "4");
	ck_assert_str_eq(sample(text, "mam_retired_bytes", value), "5");
	ck_assert_str_eq(sample(text, "mam_peak_retired_bytes", value), "6");
	ck_assert_str_eq(sample(text, "mam_reserved_bytes", value), "7");
	ck_assert_str_eq(sample(text, "mam_peak_reserved_bytes", value), "8");
	ck_assert_str_eq(sample(text, "mam_allocations_total", value), "9");
	ck_assert_str_eq(sample(text, "mam_frees_total", value), "10");
	ck_assert_str_eq(sample(text, "mam_failures_total", value), "11");
	ck_assert_str_eq(sample(text, "mam_driver_calls_total", value), "12");
	ck_assert_str_eq(sample(text, "mam_driver_seconds_total", value), "0.000000013");
	ck_assert_ptr_nonnull(strstr(text, "\n# TYPE mam_live_bytes gauge\n"
					   "# UNIT mam_live_bytes bytes\n# HELP mam_live_bytes "));
	ck_assert_ptr_nonnull(strstr(text, "\n# TYPE mam_driver_seconds counter\n"
					   "# UNIT mam_driver_seconds seconds\n"));
	ck_assert_ptr_nonnull(strstr(text,
				     "\nmam_frees_total{uid=\"7\",pid=\"99\",program=\"app\","
				     "device=\"2\",pool=\"one\",source=\"vmm\",id=\"3\"} 10\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nmam_pages 5\n"));
	ck_assert_ptr_nonnull(strstr(text, "\nmam_omitted 6\n# EOF\n"));
	ck_assert_str_eq(strstr(text, "# EOF"), "# EOF\n");
	free(text);
}
END_TEST

START_TEST(largest_values)
{
	struct collect_pool pool = pool_new();
	struct collect_list one = { &pool, 1, 1, .pages = 0 };
	char *text, value[64];

	memset(&pool.figures, 0xff, sizeof(pool.figures));
	pool.device = -1;
	text = text_of(&one);
	ck_assert_str_eq(sample(text, "mam_live_bytes", value), "0"); /* below 0 */
	ck_assert_str_eq(sample(text, "mam_frees_total", value), "18446744073709551615");
	ck_assert_str_eq(sample(text, "mam_driver_seconds_total", value), "18446744073.709551615");
	ck_assert_ptr_nonnull(strstr(text, "device=\"none\""));
	free(text);
}
END_TEST

static const struct {
	const char *program, *label;
} labels[] = {
	{ "", "" },
	{ "a b", "a b" },
	{ "\"} 1\n# EOF\n", "\\\"} 1\\n# EOF\\n" },
	{ "a\\n\\", "a\\\\n\\\\" },
	{ "\x1b[31m\r\t\x7f", UTF8_UNKNOWN "[31m" UTF8_UNKNOWN UTF8_UNKNOWN UTF8_UNKNOWN },
	{ "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" },
	{ "a\xff\xc3", "a" UTF8_UNKNOWN UTF8_UNKNOWN },
	{ "\xc2\x9b\xc2\xa0", UTF8_UNKNOWN "\xc2\xa0" }, /* C1 control; no-break space */
	{ "0123456789012345678901234567890123456789012345678901234567890\xe2\x82\xac",
	  "0123456789012345678901234567890123456789012345678901234567890\xe2\x82\xac" },
	{ "01234567890123456789012345678901234567890123456789012345678901\xe2\x82\xac",
	  "01234567890123456789012345678901234567890123456789012345678901" UTF8_UNKNOWN
		  UTF8_UNKNOWN },
};

START_TEST(label_has_any_bytes)
{
	struct collect_pool pool = pool_new();
	struct collect_list one = { &pool, 1, 1, .pages = 0 };
	size_t bytes = strlen(labels[_i].program);
	char *text, wanted[256];

	memset(pool.program, 0, sizeof(pool.program));
	memcpy(pool.program, labels[_i].program, bytes < 64 ? bytes : 64);
	snprintf(wanted, sizeof(wanted),
		 "\nmam_live_bytes{uid=\"7\",pid=\"99\",program=\"%s\",device=", labels[_i].label);
	text = text_of(&one);
	ck_assert_ptr_nonnull(strstr(text, wanted));
	free(text);
}
END_TEST

START_TEST(pools_of_pages_are_collected)
{
	struct mam_statpage_counts *counts = stand_in_pool(&page, "one", "vmm", 1);

	counts->live_bytes = 100;
	counts->allocs = 3;
	counts = stand_in_pool(&page, "two", "host", -1);
	counts->live_bytes = 7;
	page.pools[1].state = MAM_STATPAGE_ENDED;
	page.tallies[5].pool = 1;
	page.tallies[5].bytes = 11;
	page.tallies[5].allocs = 2;
	ck_assert(stand_in_write(&page, 0, path));
	ck_assert(stand_in_write(&page, 2, path));
	ck_assert(collect_pages(&list));
	ck_assert_uint_eq(list.pages, 2);
	ck_assert_uint_eq(list.count, 4);
	for (size_t i = 0; i < list.count; i++) {
		const struct collect_pool *pool = &list.pools[i];
		bool is_first = strcmp(pool->name, "one") == 0;

		ck_assert_uint_eq(pool->uid, geteuid());
		ck_assert_int_eq(pool->pid, getpid());
		ck_assert_str_eq(pool->program, "app");
		ck_assert_str_eq(pool->source, is_first ? "vmm" : "host");
		ck_assert_int_eq(pool->device, is_first ? 1 : -1);
		ck_assert_uint_eq(pool->figures.live_bytes, is_first ? 111 : 0);
		ck_assert_uint_eq(pool->figures.allocs, is_first ? 5 : 0);
		for (size_t k = 0; k < i; k++)
			ck_assert_uint_ne(list.pools[k].id, pool->id);
	}
}
END_TEST

/* Renames the page that was written last. */
static void rename_to(const char *format, unsigned long long pid, unsigned long long start)
{
	char name[64], to[STAND_IN_PATH + 80];

	snprintf(name, sizeof(name), format, pid, start);
	snprintf(to, sizeof(to), "%s/mam/%s", folder, name);
	ck_assert_int_eq(rename(path, to), 0);
}

static void expect_none(void)
{
	ck_assert(collect_pages(&list));
	ck_assert_uint_eq(list.count, 0);
	ck_assert_uint_eq(list.pages, 0);
	stand_in_remove(folder);
	ck_assert(stand_in_folder(folder));
	ck_assert(stand_in_write(&page, 0, path));
}

START_TEST(other_files_are_not_read)
{
	unsigned long long pid = page.pid, start = page.start;
	char other[STAND_IN_PATH + 80], shm[STAND_IN_PATH + 80];

	stand_in_pool(&page, "one", "vmm", 1);
	ck_assert(stand_in_write(&page, 0, path));
	ck_assert(collect_pages(&list));
	ck_assert_uint_eq(list.count, 1);

	rename_to("%llu-%llu-00", pid, start);
	expect_none();
	rename_to("%llu-%llu-8", pid, start);
	expect_none();
	rename_to("%llu-%llu-0", pid, start + 1); /* an earlier process of that number */
	expect_none();
	ck_assert_int_eq(truncate(path, 100), 0);
	expect_none();
	ck_assert_int_eq(truncate(path, (off_t)MAM_STATPAGE_BYTES + 1), 0);
	expect_none();

	/* A link to a good page, and a folder that is a link to a good one. */
	snprintf(other, sizeof(other), "%s/other", folder);
	ck_assert_int_eq(rename(path, other), 0);
	ck_assert_int_eq(symlink(other, path), 0);
	ck_assert(collect_pages(&list));
	ck_assert_uint_eq(list.pages, 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rename(other, path), 0);
	snprintf(shm, sizeof(shm), "%s/mam", folder);
	ck_assert_int_eq(rename(shm, other), 0);
	ck_assert_int_eq(symlink(other, shm), 0);
	ck_assert(collect_pages(&list));
	ck_assert_uint_eq(list.pages, 0);
	ck_assert_int_eq(unlink(shm), 0);
	ck_assert_int_eq(rename(other, shm), 0);

	/* A pipe without a writer does not block. */
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert(collect_pages(&list));
	ck_assert_uint_eq(list.pages, 0);
}
END_TEST

START_TEST(file_of_another_user_is_not_read)
{
	stand_in_pool(&page, "one", "vmm", 1);
	ck_assert(stand_in_write(&page, 0, path));
	if (chown(path, 12345, (gid_t)-1) != 0)
		return; /* not root */
	expect_none();
}
END_TEST

/* Figures and places of any value. */
START_TEST(any_contents_become_text)
{
	char *text;
	size_t bytes;

	for (int seed = 0; seed < 20; seed++) {
		srand((unsigned int)seed);
		for (size_t i = offsetof(struct mam_statpage, program); i < sizeof(page); i++)
			((unsigned char *)&page)[i] = (unsigned char)rand();
		for (int i = 0; i < MAM_STATPAGE_POOLS; i++)
			page.pools[i].state = (uint32_t)rand() % 4;
		ck_assert(stand_in_write(&page, 0, path));
		text = metrics_text(&bytes);
		ck_assert_ptr_nonnull(text);
		ck_assert_uint_eq(strlen(text), bytes);
		for (size_t i = 0, length; i < bytes; i += length) {
			length = utf8_length(text + i, bytes - i);
			ck_assert_uint_ne(length, 0);
		}
		free(text);
	}
}
END_TEST

/* Three processes of 8 pages with 64 pools each: one more than the limit. */
START_TEST(user_has_a_limit)
{
	const unsigned int copies = 8;
	pid_t child = fork(), processes[] = { getpid(), getppid(), child };

	if (child == 0) {
		pause();
		_exit(1);
	}
	ck_assert_int_gt(child, 0);
	for (unsigned int i = 0; i < 3; i++) {
		stand_in_begin(&page, processes[i], 0, "app");
		for (int k = 0; k < MAM_STATPAGE_POOLS; k++)
			stand_in_pool(&page, "one", "vmm", 1);
		for (unsigned int k = 0; k < copies; k++)
			ck_assert(stand_in_write(&page, k, path));
		ck_assert(collect_pages(&list));
		ck_assert_uint_eq(list.pages, copies * (i + 1));
		ck_assert_uint_eq(list.count, copies * MAM_STATPAGE_POOLS * (i < 2 ? i + 1 : 2));
		ck_assert_uint_eq(list.omitted, i < 2 ? 0 : copies * MAM_STATPAGE_POOLS);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *text = tcase_create("text"), *pages = tcase_create("pages");
	SRunner *runner;
	int failed;

	tcase_add_test(text, each_figure_has_a_metric);
	tcase_add_test(text, largest_values);
	tcase_add_loop_test(text, label_has_any_bytes, 0, sizeof(labels) / sizeof(labels[0]));
	suite_add_tcase(suite, text);
	tcase_add_checked_fixture(pages, set_up, tear_down);
	tcase_add_test(pages, pools_of_pages_are_collected);
	tcase_add_test(pages, other_files_are_not_read);
	tcase_add_test(pages, file_of_another_user_is_not_read);
	tcase_add_test(pages, any_contents_become_text);
	tcase_add_test(pages, user_has_a_limit);
	suite_add_tcase(suite, pages);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
