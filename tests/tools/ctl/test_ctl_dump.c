/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines of a dump, as a running process sends them: which are accepted, and what they become.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "ctl/ctl_dump.h"

static struct ctl_dump dump;

static void end(void)
{
	ctl_dump_fini(&dump);
}

static void accepts(const char *line)
{
	ck_assert_msg(ctl_dump_add(&dump, line), "'%s' is refused", line);
}

static void refuses(const char *line)
{
	size_t chunks = dump.chunk_count, blocks = dump.block_count;

	ck_assert_msg(!ctl_dump_add(&dump, line), "'%s' is accepted", line);
	ck_assert_uint_eq(dump.chunk_count, chunks);
	ck_assert_uint_eq(dump.block_count, blocks);
}

START_TEST(chunks_have_their_blocks)
{
	accepts("chunk 0 cudamalloc 4096 8192");
	accepts("block 4096 512 500");
	accepts("block 5120 7168 0");
	accepts("chunk 1 vmm 1048576 512");
	accepts("block 1048576 512 512");
	accepts("chunk 63 vmm 0 1");
	ck_assert_uint_eq(dump.chunk_count, 3);
	ck_assert_uint_eq(dump.block_count, 3);
	ck_assert_uint_eq(dump.chunks[0].count, 2);
	ck_assert_str_eq(dump.chunks[1].source, "vmm");
	ck_assert_uint_eq(dump.chunks[1].device, 1);
	ck_assert_uint_eq(dump.chunks[1].first, 2);
	ck_assert_uint_eq(dump.chunks[2].count, 0);
	ck_assert_uint_eq(dump.blocks[0].requested, 500);
	ck_assert_uint_eq(dump.blocks[1].base, 5120);
	ck_assert_uint_eq(dump.sum, 8192 + 512 + 1);
}
END_TEST

START_TEST(blocks_are_inside_their_chunk_and_in_order)
{
	refuses("block 4096 512 500");
	accepts("chunk 0 cudamalloc 4096 8192");
	refuses("block 4095 1 1");
	refuses("block 12288 1 1");
	refuses("block 12287 2 1");
	refuses("block 4096 8193 1");
	refuses("block 4096 0 0");
	refuses("block 4096 512 513");
	refuses("block 4097 18446744073709551615 1");
	accepts("block 5120 512 512");
	refuses("block 5120 512 512");
	refuses("block 5631 512 512");
	refuses("block 4096 512 512");
	accepts("block 5632 6656 1");
	refuses("block 12288 1 1");
}
END_TEST

START_TEST(blocks_may_have_tags)
{
	char line[700];

	accepts("chunk 0 cudamalloc 4096 8192");
	accepts("block 4096 512 500");
	accepts("block 4608 512 500 serving/kv%20cache");
	accepts("block 5120 512 500 weights");
	accepts("block 5632 512 500 serving/kv%20cache");
	accepts("block 6144 512 500 \x01 \xff%00%");
	ck_assert_uint_eq(dump.blocks[0].tag, 0);
	ck_assert_str_eq(dump.tags.texts[dump.blocks[1].tag], "serving/kv cache");
	ck_assert_uint_eq(dump.blocks[3].tag, dump.blocks[1].tag);
	ck_assert_str_eq(dump.tags.texts[dump.blocks[2].tag], "weights");
	ck_assert_str_eq(dump.tags.texts[dump.blocks[4].tag], "\x01 \xff");
	refuses("block 8192 512 500 ");
	snprintf(line, sizeof(line), "block 8192 512 500 %0600d", 0);
	refuses(line);
	line[sizeof("block 8192 512 500 ") - 1 + CTL_DUMP_TAG_MAX] = '\0';
	accepts(line);
}
END_TEST

START_TEST(sums_do_not_overflow)
{
	refuses("chunk 64 vmm 4096 512");
	refuses("chunk 0 vmm 4096 0");
	refuses("chunk 0 vmm 18446744073709551615 2");
	refuses("chunk 0 vmm 0 1152921504606846977");
	accepts("chunk 0 vmm 0 1152921504606846976");
	refuses("chunk 0 vmm 0 1");
}
END_TEST

START_TEST(other_lines_are_refused)
{
	static const char *const lines[] = {
		"",
		"chunk",
		"chunk 0 vmm 4096",
		"chunk 0 vmm 4096 512 ",
		"chunk 0  4096 512",
		"chunk 0 VMM 4096 512",
		"chunk 0 abcdefghijklmnop 4096 512",
		"chunk 0 vmm 0x1000 512",
		"chunk 0 vmm -1 512",
		"chunk 0 vmm 4096 18446744073709551616",
		"chunks 0 vmm 4096 512",
		"done",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		refuses(lines[i]);
}
END_TEST

START_TEST(many_blocks_are_stored)
{
	char line[100];

	accepts("chunk 0 vmm 0 100000");
	for (int i = 0; i < 100000; i++) {
		snprintf(line, sizeof(line), "block %d 1 1", i);
		accepts(line);
	}
	ck_assert_uint_eq(dump.chunks[0].count, 100000);
	for (size_t i = 0; i < 100000; i++)
		ck_assert_uint_eq(dump.blocks[i].base, i);
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("ctl_dump");
	Suite *suite = suite_create("ctl_dump");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, NULL, end);
	tcase_add_test(cases, chunks_have_their_blocks);
	tcase_add_test(cases, blocks_are_inside_their_chunk_and_in_order);
	tcase_add_test(cases, blocks_may_have_tags);
	tcase_add_test(cases, sums_do_not_overflow);
	tcase_add_test(cases, other_lines_are_refused);
	tcase_add_test(cases, many_blocks_are_stored);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
