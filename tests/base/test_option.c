/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options: the table is consistent, and values are accepted or rejected as it specifies. An error
 * is reported once, in one line, with the variable, the value and the permitted values.
 *
 * Options are read once per process, so each test sets its environment first and relies on Check
 * running it in its own process. Reports go to a file here.
 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/option.h"

static char log_path[64];
static char text[8192];

/* Each test starts without any variable of mam's prefix except MAM_LOG_FILE. */
static void set_up(void)
{
	char name[256];

	for (char **variable = environ; *variable;) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(*variable, "="), *variable);
		if (strncmp(name, "MAM_", 4) == 0 && getenv(name) && unsetenv(name) == 0)
			variable = environ;
		else
			variable++;
	}
	snprintf(log_path, sizeof(log_path), "/tmp/mam-option.%d", (int)getpid());
	unlink(log_path); /* left by a killed process with the same id */
	setenv("MAM_LOG_FILE", log_path, 1);
}

/* The reports so far, without "mam[N]: " if there is one line. */
static const char *reports(void)
{
	FILE *file = fopen(log_path, "r");
	size_t length = 0;

	if (file) {
		length = fread(text, 1, sizeof(text) - 1, file);
		fclose(file);
		unlink(log_path);
	}
	text[length] = '\0';
	return text;
}

static unsigned int lines_of(const char *report)
{
	unsigned int lines = 0;

	while ((report = strchr(report, '\n')) != NULL) {
		report++;
		lines++;
	}
	return lines;
}

START_TEST(option_table_is_consistent)
{
	size_t count;
	const struct mam_option_row *const *rows = mam_options(&count);

	ck_assert_uint_eq(count, MAM_OPTION_COUNT);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(rows[i]->size, sizeof(*rows[i]));
		ck_assert(strncmp(rows[i]->name, "MAM_", 4) == 0);
		ck_assert_ptr_nonnull(rows[i]->fallback);
		ck_assert_int_eq(rows[i]->doc[strlen(rows[i]->doc) - 1], '.');
		ck_assert_ptr_null(strchr(rows[i]->doc, '\n'));
		ck_assert_int_eq(strcmp(rows[i]->kind, "choice") == 0,
				 rows[i]->values && strchr(rows[i]->values, '|'));
		for (size_t j = 0; j < i; j++)
			ck_assert_str_ne(rows[i]->name, rows[j]->name);
		/* Each default, read with an empty environment, matches its text. */
		if (i != MAM_OPTION_LOG_FILE)
			ck_assert_str_eq(mam_option_value(rows[i]->name), rows[i]->fallback);
	}
	mam_options(NULL);
	ck_assert_str_eq(reports(), "");
}
END_TEST

START_TEST(defaults_apply_without_environment)
{
	ck_assert(!mam_option_bool(MAM_OPTION_DISABLE));
	ck_assert_str_eq(mam_option_text(MAM_OPTION_SOURCE), "cudamalloc");
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_CHUNK), 0);
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_GROWTH), 0);
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_LIMIT), 0);
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_GRANULE), 512);
	ck_assert_uint_eq(mam_option_choice(MAM_OPTION_FREE), MAM_FREE_DEFAULT);
	ck_assert(!mam_option_bool(MAM_OPTION_STATS));
}
END_TEST

START_TEST(valid_values_are_used)
{
	setenv("MAM_DISABLE", "On", 1);
	setenv("MAM_SOURCE", "host", 1);
	setenv("MAM_CHUNK", "largest", 1);
	setenv("MAM_GROWTH", "None", 1);
	setenv("MAM_LIMIT", "2GiB", 1);
	setenv("MAM_GRANULE", "2M", 1);
	setenv("MAM_FREE", "stream", 1);
	setenv("MAM_FOOTPRINT", "1000", 1);
	setenv("MAM_STATS", "1", 1);
	ck_assert_uint_eq(mam_option_percent(MAM_OPTION_FOOTPRINT), 1000);
	ck_assert(mam_option_bool(MAM_OPTION_DISABLE));
	ck_assert_str_eq(mam_option_text(MAM_OPTION_SOURCE), "host");
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_CHUNK), SIZE_MAX);
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_GROWTH), SIZE_MAX);
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_LIMIT), UINT64_C(2) << 30);
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_GRANULE), 2 << 20);
	ck_assert_uint_eq(mam_option_choice(MAM_OPTION_FREE), MAM_FREE_STREAM);
	ck_assert(mam_option_bool(MAM_OPTION_STATS));
	ck_assert_str_eq(mam_option_value("MAM_DISABLE"), "yes");
	ck_assert_str_eq(mam_option_value("MAM_STATS"), "yes");
	ck_assert_str_eq(mam_option_value("MAM_GROWTH"), "none");
	ck_assert_str_eq(mam_option_value("MAM_LIMIT"), "2GiB");
	ck_assert_uint_eq(mam_option_number("MAM_LIMIT"), UINT64_C(2) << 30);
	ck_assert_uint_eq(mam_option_number("MAM_FREE"), MAM_FREE_STREAM);
	ck_assert_str_eq(reports(), "");
}
END_TEST

START_TEST(origins_are_reported)
{
	setenv("MAM_LIMIT", "0", 1); /* equals the default */
	setenv("MAM_STATS", "on", 1);
	setenv("MAM_FREE", "never", 1);
	setenv("MAM_CHUNK", "", 1);
	ck_assert_str_eq(mam_option_origin("MAM_LIMIT"), "environment");
	ck_assert_str_eq(mam_option_origin("MAM_STATS"), "environment");
	ck_assert_str_eq(mam_option_origin("MAM_FREE"), "default, refused");
	ck_assert_str_eq(mam_option_origin("MAM_CHUNK"), "default");
	ck_assert_str_eq(mam_option_origin("MAM_GROWTH"), "default");
	ck_assert_ptr_null(mam_option_origin("MAM_NONE"));
	ck_assert_ptr_null(mam_option_origin(NULL));
}
END_TEST

/* The words of a bool come in pairs: no, yes. */
START_TEST(bool_has_several_spellings)
{
	static const char *const words[] = { "0", "1", "no", "yes", "off", "on", "false", "TRUE" };

	setenv("MAM_STATS", words[_i], 1);
	ck_assert_int_eq(mam_option_bool(MAM_OPTION_STATS), _i % 2);
}
END_TEST

START_TEST(free_policies_match_header)
{
	static const char *const words[] = {
		[MAM_FREE_DEFAULT] = "default",
		[MAM_FREE_STRICT] = "strict",
		[MAM_FREE_STREAM] = "stream",
	};

	setenv("MAM_FREE", words[_i], 1);
	ck_assert_uint_eq(mam_option_choice(MAM_OPTION_FREE), (unsigned int)_i);
}
END_TEST

START_TEST(empty_value_means_unset)
{
	setenv("MAM_CHUNK", "", 1);
	setenv("MAM_DISABLE", "", 1);
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_CHUNK), 0);
	ck_assert(!mam_option_bool(MAM_OPTION_DISABLE));
	ck_assert_str_eq(reports(), "");
}
END_TEST

static const struct {
	const char *name, *value, *allowed;
} refused[] = {
	{ "MAM_DISABLE", "maybe", "yes or no" },
	{ "MAM_SOURCE", "disk", "vmm|cudamalloc|pinned|managed|host" },
	{ "MAM_SOURCE", "hos", "managed|host" },
	{ "MAM_SOURCE", "cudamalloc|pinned", "cudamalloc|pinned|managed" },
	{ "MAM_CHUNK", "-1", "or largest" },
	{ "MAM_GROWTH", "64Q", "or none" },
	{ "MAM_LIMIT", "16E", "a size such as" },
	{ "MAM_LIMIT", "largest", "a size such as" },
	{ "MAM_GRANULE", "500", "power of two" },
	{ "MAM_GRANULE", "8", "from 16" },
	{ "MAM_GRANULE", "4M", "to 2M" },
	{ "MAM_GRANULE", "0", "power of two" },
	{ "MAM_FOOTPRINT", "5%", "from 0 to 1000" },
	{ "MAM_FOOTPRINT", "-1", "from 0 to 1000" },
	{ "MAM_FOOTPRINT", "1001", "from 0 to 1000" },
	{ "MAM_FOOTPRINT", "18446744073709551621", "from 0 to 1000" },
	{ "MAM_FREE", "Strict", "default|strict|stream|deferred" },
	{ "MAM_LOG", "loud", "error|warn|info|debug" },
};

START_TEST(invalid_value_is_reported_and_default_used)
{
	char quoted[64];
	size_t count;
	const struct mam_option_row *const *rows = mam_options(&count);

	setenv(refused[_i].name, refused[_i].value, 1);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i]->name, refused[_i].name) == 0)
			ck_assert_str_eq(mam_option_value(rows[i]->name), rows[i]->fallback);
	}
	reports();
	ck_assert_uint_eq(lines_of(text), 1);
	snprintf(quoted, sizeof(quoted), "'%s'", refused[_i].value);
	ck_assert_ptr_nonnull(strstr(text, refused[_i].name));
	ck_assert_ptr_nonnull(strstr(text, quoted));
	ck_assert_ptr_nonnull(strstr(text, refused[_i].allowed));
	mam_option_bool(MAM_OPTION_DISABLE);
	ck_assert_str_eq(reports(), "");
}
END_TEST

START_TEST(similar_name_is_reported)
{
	static const char *const misses[][2] = {
		{ "MAM_CHUNKS", "MAM_CHUNK" },     { "MAM_LIMTI", "MAM_LIMIT" },
		{ "MAM_GRANUL", "MAM_GRANULE" },   { "MAM_FREE_POLICY", "MAM_FREE" },
		{ "MAM_LOG_LEVEL", "MAM_LOG" },    { "MAM_LOGFILE", "MAM_LOG_FILE" },
		{ "MAM_DISABLED", "MAM_DISABLE" },
	};
	char question[64];

	setenv(misses[_i][0], "1", 1);
	mam_option_bool(MAM_OPTION_DISABLE);
	snprintf(question, sizeof(question), "did you mean %s?\n", misses[_i][1]);
	reports();
	ck_assert_uint_eq(lines_of(text), 1);
	ck_assert_ptr_nonnull(strstr(text, misses[_i][0]));
	ck_assert_ptr_nonnull(strstr(text, question));
}
END_TEST

START_TEST(dissimilar_names_are_not_warnings)
{
	setenv("MAM_AND_DAUGHTER_OF_A_LONG_AND_STRANGE_NAME", "1", 1);
	mam_option_bool(MAM_OPTION_DISABLE);
	ck_assert_str_eq(reports(), "");
}
END_TEST

START_TEST(dissimilar_names_are_infos)
{
	setenv("MAM_LOG", "info", 1);
	setenv("MAM_AND_DAUGHTER", "1", 1);
	setenv("MAMMOTH", "1", 1);
	mam_option_bool(MAM_OPTION_DISABLE);
	reports();
	ck_assert_uint_ge(lines_of(text), 1);
	ck_assert_ptr_nonnull(strstr(text, "unknown variable MAM_AND_DAUGHTER ignored"));
	ck_assert_ptr_null(strstr(text, "MAMMOTH"));
}
END_TEST

START_TEST(value_outlives_environment)
{
	char value[] = "MAM_LIMIT=64K";

	putenv(value);
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_LIMIT), 65536);
	memset(value, 'x', sizeof(value) - 1);
	ck_assert_str_eq(mam_option_value("MAM_LIMIT"), "64K");
	setenv("MAM_LIMIT", "1", 1);
	ck_assert_uint_eq(mam_option_bytes(MAM_OPTION_LIMIT), 65536);
}
END_TEST

START_TEST(unknown_option_is_null)
{
	ck_assert_ptr_null(mam_option_value("MAM_NOTHING"));
	ck_assert_ptr_null(mam_option_value(""));
	ck_assert_ptr_null(mam_option_value(NULL));
	ck_assert_uint_eq(mam_option_number("MAM_NOTHING"), 0);
	ck_assert_uint_eq(mam_option_number(NULL), 0);
}
END_TEST

static void *read_option(void *bytes)
{
	*(uint64_t *)bytes = mam_option_bytes(MAM_OPTION_LIMIT);
	return NULL;
}

START_TEST(concurrent_threads_see_same_value_and_one_report)
{
	pthread_t threads[8];
	uint64_t seen[8];

	setenv("MAM_LIMIT", "64K", 1);
	setenv("MAM_CHUNK", "no", 1);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_option, &seen[i]), 0);
	for (int i = 0; i < 8; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_uint_eq(seen[i], 65536);
	}
	ck_assert_uint_eq(lines_of(reports()), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/option");
	TCase *taking = tcase_create("taking");
	TCase *refusing = tcase_create("refusing");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(taking, set_up, NULL);
	tcase_add_test(taking, option_table_is_consistent);
	tcase_add_test(taking, defaults_apply_without_environment);
	tcase_add_test(taking, valid_values_are_used);
	tcase_add_test(taking, origins_are_reported);
	tcase_add_loop_test(taking, bool_has_several_spellings, 0, 8);
	tcase_add_loop_test(taking, free_policies_match_header, 0, 3);
	tcase_add_test(taking, empty_value_means_unset);
	tcase_add_test(taking, value_outlives_environment);
	tcase_add_test(taking, unknown_option_is_null);
	suite_add_tcase(suite, taking);
	tcase_add_checked_fixture(refusing, set_up, NULL);
	tcase_add_loop_test(refusing, invalid_value_is_reported_and_default_used, 0,
			    sizeof(refused) / sizeof(refused[0]));
	tcase_add_loop_test(refusing, similar_name_is_reported, 0, 7);
	tcase_add_test(refusing, dissimilar_names_are_not_warnings);
	tcase_add_test(refusing, dissimilar_names_are_infos);
	tcase_add_test(refusing, concurrent_threads_see_same_value_and_one_report);
	suite_add_tcase(suite, refusing);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
