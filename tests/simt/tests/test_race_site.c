/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sites: one text per program counter, the same each time; human-readable sites have no folders.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "simt/race/race_site.h"

#define MANY 3000

static char code[MANY]; /* only the addresses, which must be in this program, are used */

START_TEST(each_place_has_one_text)
{
	static const char *sites[MANY];
	static char first[MANY][64];

	for (size_t i = 0; i < MANY; i++) {
		sites[i] = race_site_of(&code[i] + 1);
		ck_assert_msg(strstr(sites[i], "+0x"), "%s", sites[i]);
		strncpy(first[i], sites[i], sizeof(first[i]) - 1);
	}
	for (size_t i = 0; i < MANY; i++) {
		ck_assert_ptr_eq(race_site_of(&code[i] + 1), sites[i]);
		ck_assert_str_eq(sites[i], first[i]);
		ck_assert(!i || strcmp(sites[i], sites[i - 1]));
	}
}
END_TEST

START_TEST(unknown_places_have_a_text)
{
	ck_assert_str_eq(race_site_of(NULL), "an unknown place");
	ck_assert_str_eq(race_site_text(NULL), "an unknown place");
}
END_TEST

START_TEST(folders_are_omitted)
{
	ck_assert_str_eq(race_site_text("file.c:1"), "file.c:1");
	ck_assert_str_eq(race_site_text("heap/file.c:1"), "heap/file.c:1");
	ck_assert_str_eq(race_site_text("../src/heap/file.c:1"), "heap/file.c:1");
	ck_assert_str_eq(race_site_text("/file.c:1"), "/file.c:1");
}
END_TEST

static __attribute__((noinline)) const char *here(void)
{
	return race_site_of(__builtin_return_address(0));
}

/* Without addr2line, or debug information, the offset remains. */
START_TEST(addr2line_adds_lines)
{
	const char *site = here();
	const char *text = race_site_text(site), *flags = getenv("CFLAGS");

	ck_assert_msg(strstr(text, "test_race_site"), "%s", text);
	ck_assert_msg(strstr(text, "test_race_site.c:") || strstr(text, "+0x"), "%s", text);
	if (flags && strstr(flags, "-g") && !system("addr2line --version >/dev/null 2>&1"))
		ck_assert_msg(strstr(text, "tests/test_race_site.c:"), "%s", text);
	ck_assert_str_eq(race_site_text(site), text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("simt/race_site");
	TCase *sites = tcase_create("sites");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, sites);
	tcase_set_timeout(sites, 60);
	tcase_add_test(sites, each_place_has_one_text);
	tcase_add_test(sites, unknown_places_have_a_text);
	tcase_add_test(sites, folders_are_omitted);
	tcase_add_test(sites, addr2line_adds_lines);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
