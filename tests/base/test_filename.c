/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns in file names stand for the process, its rank and the host. Only a whole number is a
 * rank, and the variable of the inner launcher comes first. A Python program has its script's name.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mam/filename.h>

static const char *const variables[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					 "SLURM_PROCID" };

#define VARIABLES ((int)(sizeof(variables) / sizeof(variables[0])))

static void unset_all(void)
{
	for (int i = 0; i < VARIABLES; i++)
		unsetenv(variables[i]);
}

START_TEST(each_variable_is_a_rank)
{
	ck_assert_int_eq(mam_filename_rank(), -1);
	setenv(variables[_i], "7", 1);
	ck_assert_int_eq(mam_filename_rank(), 7);
	for (int after = _i + 1; after < VARIABLES; after++)
		setenv(variables[after], "8", 1);
	ck_assert_int_eq(mam_filename_rank(), 7);
}
END_TEST

START_TEST(only_numbers_are_ranks)
{
	static const char *const others[] = { "",   "x",   "-1",   "+1",  " 1",
					      "1 ", "1/2", "../1", "0x1", "1234567890" };

	setenv("SLURM_PROCID", "3", 1);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		setenv("RANK", others[i], 1);
		ck_assert_msg(mam_filename_rank() == 3, "'%s' is a rank", others[i]);
	}
	setenv("RANK", "123456789", 1);
	ck_assert_int_eq(mam_filename_rank(), 123456789);
	setenv("RANK", "007", 1);
	ck_assert_int_eq(mam_filename_rank(), 7);
}
END_TEST

/* Fortified C libraries reject a format that leaves out an argument before one that it uses. */
static void expect(const char *pattern, const char *format, int parts)
{
	char name[256], wanted[256], host[128];

	gethostname(host, sizeof(host));
	snprintf(wanted, sizeof(wanted), format, host, (int)getpid());
	ck_assert_int_eq(mam_filename_expand(pattern, sizeof(name), name), parts);
	ck_assert_str_eq(name, wanted);
}

START_TEST(patterns_are_expanded)
{
	setenv("RANK", "12", 1);
	expect("plain", "plain", 0);
	expect("a.%r", "a.12", MAM_FILENAME_RANK);
	expect("%p%r%h", "%2$d12%1$s", MAM_FILENAME_PROCESS | MAM_FILENAME_RANK);
	expect("%h%%r%%%r%q%", "%1$s%%r%%12%%q%%", MAM_FILENAME_RANK);
	unset_all();
	expect("a.%r", "a.pid%2$d%1$.0s", MAM_FILENAME_RANK);
}
END_TEST

START_TEST(long_names_are_rejected)
{
	char name[4];

	setenv("RANK", "123", 1);
	ck_assert_int_eq(mam_filename_expand("%r", sizeof(name), name), MAM_FILENAME_RANK);
	ck_assert_int_eq(mam_filename_expand("%rx", sizeof(name), name), -1);
	ck_assert_int_eq(mam_filename_expand("wide", sizeof(name), name), -1);
	ck_assert_int_eq(mam_filename_expand("", 0, name), -1);
}
END_TEST

START_TEST(script_names_a_python_program)
{
	static const struct {
		const char *arguments;
		size_t bytes;
		const char *script;
	} rows[] = {
#define ROW(text, script) { text, sizeof(text), script }
		ROW("python3\0train.py", "train.py"),
		ROW("/usr/bin/python3.12\0/home/a/train.py\0--lr\0001", "train.py"),
		ROW("python\0-u\0-B\0./train.py", "train.py"),
		ROW("python\0-W\0ignore\0-X\0dev\0a/b.py", "b.py"),
		ROW("python\0-m\0torch.distributed.run\0x", "torch.distributed.run"),
		ROW("pypy3\0x.py", "x.py"),
		ROW("/env/bin/python3\0tra", "tra"),
		ROW("python\0-c\0import x", NULL),
		ROW("python\0-cimport x", NULL),
		ROW("python\0-\0x", NULL),
		ROW("python\0\0x", NULL),
		ROW("python\0-m", NULL),
		ROW("python\0-W", NULL),
		ROW("python\0-X\0dev", NULL),
		ROW("python\0folder/", NULL),
		ROW("python", NULL),
		ROW("./app\0train.py", NULL),
		ROW("", NULL),
		{ "python\0x", 8, NULL }, /* no NUL at the end */
		{ "python", 0, NULL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *script = mam_filename_script(rows[i].arguments, rows[i].bytes);

		ck_assert_msg(rows[i].script == NULL ? script == NULL
						     : script && !strcmp(script, rows[i].script),
			      "row %zu: %s", i, script ? script : "NULL");
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("filename");
	TCase *all = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, all);
	tcase_add_checked_fixture(all, unset_all, NULL);
	tcase_add_loop_test(all, each_variable_is_a_rank, 0, VARIABLES);
	tcase_add_test(all, only_numbers_are_ranks);
	tcase_add_test(all, patterns_are_expanded);
	tcase_add_test(all, long_names_are_rejected);
	tcase_add_test(all, script_names_a_python_program);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
