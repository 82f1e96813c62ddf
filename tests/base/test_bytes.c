/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sizes are parsed exactly or rejected, and formatted so that people and the parser understand
 * them.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

static const struct {
	const char *text;
	uint64_t bytes;
} sizes[] = {
	{ "0", 0 },
	{ "512", 512 },
	{ "007", 7 },
	{ "512B", 512 },
	{ "512 B", 512 },
	{ "1K", 1024 },
	{ "64k", 65536 },
	{ "64KiB", 65536 },
	{ "64 KiB", 65536 },
	{ "64kib", 65536 },
	{ "64KB", 64000 },
	{ "1M", 1 << 20 },
	{ "2GiB", UINT64_C(2) << 30 },
	{ "80G", UINT64_C(80) << 30 },
	{ "80GB", UINT64_C(80000000000) },
	{ "3T", UINT64_C(3) << 40 },
	{ "1TB", UINT64_C(1000000000000) },
	{ "7P", UINT64_C(7) << 50 },
	{ "15E", UINT64_C(15) << 60 },
	{ "18446744073709551615", UINT64_MAX },
};

/* clang-format off */
static const char *const no_sizes[] = {
	"", " ", "K", "KiB", "-1", "+1", " 1", "1 ", "1  K", "1.5G", "1e9", "0x10", "1Ki", "1KK",
	"1KiBs", "1 K ", "1,0", "one", "1\n", "1K\n", "1Z", "16E", "18446744073709551616",
	"99999999999999999999", "18014398509481984K",
};
/* clang-format on */

START_TEST(sizes_are_parsed)
{
	uint64_t bytes = 1;

	ck_assert_msg(mam_parse_bytes(sizes[_i].text, &bytes), "'%s' was rejected", sizes[_i].text);
	ck_assert_uint_eq(bytes, sizes[_i].bytes);
}
END_TEST

START_TEST(invalid_sizes_are_rejected)
{
	uint64_t bytes = 4711;

	ck_assert_msg(!mam_parse_bytes(no_sizes[_i], &bytes), "'%s' was parsed as %llu",
		      no_sizes[_i], (unsigned long long)bytes);
	ck_assert_uint_eq(bytes, 4711);
}
END_TEST

START_TEST(counts_are_plain_numbers)
{
	uint64_t count = 4711;

	ck_assert(!mam_parse_count("", &count));
	ck_assert(!mam_parse_count("1K", &count));
	ck_assert(!mam_parse_count("-1", &count));
	ck_assert(!mam_parse_count("1 ", &count));
	ck_assert(!mam_parse_count("18446744073709551616", &count));
	ck_assert_uint_eq(count, 4711);
	ck_assert(mam_parse_count("18446744073709551615", &count));
	ck_assert_uint_eq(count, UINT64_MAX);
	ck_assert(mam_parse_count("0", &count));
	ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(sizes_are_formatted)
{
	char text[MAM_BYTES_TEXT];

	ck_assert_str_eq(mam_format_bytes(0, text), "0 B");
	ck_assert_str_eq(mam_format_bytes(1023, text), "1023 B");
	ck_assert_str_eq(mam_format_bytes(1024, text), "1 KiB");
	ck_assert_str_eq(mam_format_bytes(1536, text), "1.50 KiB");
	ck_assert_str_eq(mam_format_bytes((1 << 20) - 1, text), "1024.00 KiB");
	ck_assert_str_eq(mam_format_bytes(UINT64_C(80) << 30, text), "80 GiB");
	ck_assert_str_eq(mam_format_bytes(UINT64_C(1535000000), text), "1.43 GiB");
	ck_assert_str_eq(mam_format_bytes(UINT64_C(15) << 60, text), "15 EiB");
	ck_assert_str_eq(mam_format_bytes(UINT64_MAX, text), "16.00 EiB");
}
END_TEST

/* A power of two and its neighbors: they have the longest texts; exact ones are parsed back. */
START_TEST(formatted_sizes_fit_and_parse_back)
{
	char text[MAM_BYTES_TEXT + 1];
	uint64_t back;

	for (int around = -1; around <= 1; around++) {
		const uint64_t bytes = (UINT64_C(1) << _i) + (uint64_t)around;

		memset(text, '#', sizeof(text));
		mam_format_bytes(bytes, text);
		ck_assert_int_eq(text[MAM_BYTES_TEXT], '#');
		ck_assert_uint_lt(strnlen(text, MAM_BYTES_TEXT), MAM_BYTES_TEXT);
		if (strchr(text, '.'))
			continue;
		ck_assert(mam_parse_bytes(text, &back));
		ck_assert_uint_eq(back, bytes);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base/bytes");
	TCase *reading = tcase_create("reading");
	TCase *writing = tcase_create("writing");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(reading, sizes_are_parsed, 0, sizeof(sizes) / sizeof(sizes[0]));
	tcase_add_loop_test(reading, invalid_sizes_are_rejected, 0,
			    sizeof(no_sizes) / sizeof(no_sizes[0]));
	tcase_add_test(reading, counts_are_plain_numbers);
	suite_add_tcase(suite, reading);
	tcase_add_test(writing, sizes_are_formatted);
	tcase_add_loop_test(writing, formatted_sizes_fit_and_parse_back, 0, 64);
	suite_add_tcase(suite, writing);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
