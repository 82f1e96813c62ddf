/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that crashes or hangs, and long replies. The files here are stand-ins: their names
 * determine what happens to the reader.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/symbols.h"
#include "symbols/symbols_module.h"

struct symbols_module {
	char path[64];
	bool dwarf;
};

static struct symbols *symbols;
static struct symbol found[400];
static char warnings[4096];
static FILE *real_stderr;

/* ---- the stand-in for symbols_module.c, in the reader ---- */

static void perish(const struct symbols_module *module, const char *moment)
{
	if (strstr(module->path, moment) == NULL ||
	    (strstr(module->path, "dwarf") != NULL && !module->dwarf))
		return;
	if (strstr(module->path, "hang") != NULL)
		pause();
	else
		raise(SIGSEGV);
}

struct symbols_module *symbols_module_open(const char *path, const char *build_id, bool dwarf)
{
	struct symbols_module *module = calloc(1, sizeof(*module));

	(void)build_id;
	snprintf(module->path, sizeof(module->path), "%s", path);
	module->dwarf = dwarf;
	perish(module, "open");
	return module;
}

void symbols_module_close(struct symbols_module *module)
{
	free(module);
}

bool symbols_module_changed(const struct symbols_module *module)
{
	return strstr(module->path, "changed") != NULL;
}

size_t symbols_module_find(struct symbols_module *module, uint64_t offset, struct symbol *frames,
			   size_t max)
{
	static char huge[100000], score[32];
	FILE *file = fopen("/proc/self/oom_score_adj", "r");
	size_t count = offset < max ? (size_t)offset : max;

	perish(module, "find");
	memset(huge, 'h', sizeof(huge) - 1);
	if (file == NULL || fgets(score, sizeof(score), file) == NULL)
		score[0] = '\0';
	if (file != NULL)
		fclose(file);
	for (size_t i = 0; i < count; i++) {
		frames[i].function = strstr(module->path, "huge")    ? huge
				     : strstr(module->path, "score") ? score
								     : module->path;
		frames[i].file = module->dwarf ? "file.c" : "";
		frames[i].line = module->dwarf ? (unsigned int)(i + 1) : 0;
	}
	return count;
}

/* ---- the tests ---- */

static void begin(void)
{
	symbols = symbols_create();
	ck_assert_ptr_nonnull(symbols);
	real_stderr = stderr;
	memset(warnings, 0, sizeof(warnings));
	stderr = fmemopen(warnings, sizeof(warnings), "w");
	ck_assert_ptr_nonnull(stderr);
	setbuf(stderr, NULL);
}

static void end(void)
{
	fclose(stderr);
	stderr = real_stderr;
	symbols_destroy(symbols);
	ck_assert_int_eq(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
}

static size_t find(const char *path, uint64_t offset)
{
	return symbols_find(symbols, path, NULL, offset, found, sizeof(found) / sizeof(found[0]));
}

static int warned(void)
{
	int lines = 0;

	for (const char *at = warnings; *at; at++)
		lines += *at == '\n';
	return lines;
}

START_TEST(texts_live_as_long_as_the_symbols)
{
	const char *function, *file;

	ck_assert_uint_eq(find("/good", 2), 2);
	function = found[1].function;
	file = found[1].file;
	ck_assert_uint_eq(found[1].line, 2);
	for (int i = 0; i < 2000; i++) {
		char path[64];

		snprintf(path, sizeof(path), "/good%d", i);
		ck_assert_uint_eq(find(path, 1), 1);
		ck_assert_str_eq(found[0].function, path);
	}
	ck_assert_str_eq(function, "/good");
	ck_assert_str_eq(file, "file.c");
	ck_assert_uint_eq(find("/good", 1), 1);
	ck_assert_ptr_eq(found[0].function, function);
	ck_assert_int_eq(warned(), 0);
}
END_TEST

START_TEST(at_most_max_frames)
{
	ck_assert_uint_eq(symbols_find(symbols, "/good", "ab", 5, found, 3), 3);
	ck_assert_uint_eq(symbols_find(symbols, "/good", "ab", 5, found, 0), 0);
	ck_assert_uint_eq(find("/good", 1000), 256);
}
END_TEST

/* Where the reply is full, the outer frames are missing; long names are truncated. */
START_TEST(long_names_are_truncated)
{
	ck_assert_uint_eq(find("/huge", 1), 1);
	ck_assert_uint_eq(strlen(found[0].function), 16384);
	ck_assert_uint_eq(find("/huge", 10), 3);
}
END_TEST

static const char *const dwarf_crashes[] = { "/open-dwarf", "/find-dwarf", "/hang-find-dwarf" };

START_TEST(crash_in_dwarf_leaves_the_symbol_table)
{
	const char *path = dwarf_crashes[_i];
	char wanted[256];

	ck_assert_uint_eq(find("/good", 1), 1);
	ck_assert_uint_eq(find(path, 1), 1);
	ck_assert_str_eq(found[0].function, path);
	ck_assert_str_eq(found[0].file, "");
	ck_assert_uint_eq(find(path, 2), 2);
	snprintf(wanted, sizeof(wanted),
		 "mam: warning: debug information of '%s' is damaged; its lines are unknown\n",
		 path);
	ck_assert_str_eq(warnings, wanted);
	ck_assert_uint_eq(find("/good", 1), 1);
	ck_assert_str_eq(found[0].file, "file.c");
}
END_TEST

static const char *const crashes[] = { "/open", "/find", "/hang-find" };

START_TEST(crash_in_the_symbol_table_leaves_nothing)
{
	ck_assert_uint_eq(find(crashes[_i], 1), 0);
	ck_assert_int_eq(warned(), 1);
	ck_assert_uint_eq(find(crashes[_i], 1), 0);
	ck_assert_int_eq(warned(), 1);
	ck_assert_uint_eq(find("/good", 1), 1);
}
END_TEST

START_TEST(one_warning_per_file)
{
	for (int i = 0; i < 3; i++) {
		find("/changed", 0);
		find("/changed-too", 0);
	}
	ck_assert_str_eq(
		warnings,
		"mam: warning: '/changed' changed after the recording; its functions are "
		"unknown\n"
		"mam: warning: '/changed-too' changed after the recording; its functions are "
		"unknown\n");
}
END_TEST

/* If memory runs out, the system ends the reader first. */
START_TEST(reader_is_ended_first)
{
	ck_assert_uint_eq(find("/score", 1), 1);
	ck_assert_str_eq(found[0].function, "1000\n");
}
END_TEST

START_TEST(path_that_is_too_long_is_unknown)
{
	static char path[10000];

	memset(path, '/', sizeof(path) - 1);
	ck_assert_uint_eq(find(path, 1), 0);
	ck_assert_uint_eq(find("/good", 1), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("symbols");
	TCase *tests = tcase_create("reader");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, begin, end);
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, texts_live_as_long_as_the_symbols);
	tcase_add_test(tests, at_most_max_frames);
	tcase_add_test(tests, long_names_are_truncated);
	tcase_add_loop_test(tests, crash_in_dwarf_leaves_the_symbol_table, 0, 3);
	tcase_add_loop_test(tests, crash_in_the_symbol_table_leaves_nothing, 0, 3);
	tcase_add_test(tests, one_warning_per_file);
	tcase_add_test(tests, reader_is_ended_first);
	tcase_add_test(tests, path_that_is_too_long_is_unknown);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
