/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ipc.c - the parts of sharing between processes: notes, which are accepted only if every
 * field is valid; the list of open blocks; the option.
 *
 * Each test has a process and two folders of its own.
 */
#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "interpose/memory/dedicated.h"
#include "interpose/share/ipc_note.h"
#include "interpose/share/ipc_opened.h"

#define MIB ((uint64_t)1 << 20)

static char first[] = "/tmp/mam-test-ipc-XXXXXX", second[] = "/tmp/mam-test-ipc-XXXXXX";
static struct mam_ipc_note note, got;

static void empty(const char *name)
{
	char path[512];
	struct dirent *entry;
	DIR *folder = opendir(name);

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", name, entry->d_name);
		unlink(path);
	}
	if (folder != NULL)
		closedir(folder);
	rmdir(name);
}

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(first));
	ck_assert_ptr_nonnull(mkdtemp(second));
	mam_ipc_note_folder = first;
	setenv("TMPDIR", second, 1);
	ck_assert(mam_ipc_note_begin(&note));
	memset(&note.chunk, 0x5a, sizeof(note.chunk));
	note.offset = MIB;
	note.bytes = 1000;
	note.chunk_bytes = 64 * MIB;
}

static void tear_down(void)
{
	empty(first);
	empty(second);
}

static const char *path_in(const char *folder)
{
	static char path[256];
	int length =
		snprintf(path, sizeof(path), "%s/mam-ipc-%u-", folder, (unsigned int)geteuid());

	for (size_t i = 0; i < sizeof(note.token); i++)
		length += snprintf(path + length, sizeof(path) - (size_t)length, "%02x",
				   note.token[i]);
	return path;
}

static bool is_there(const char *folder)
{
	struct stat status;

	return lstat(path_in(folder), &status) == 0;
}

/* Replaces the file that exists. */
static void put(const void *bytes, size_t count)
{
	int file = open(path_in(first), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(write(file, bytes, count), (ssize_t)count);
	ck_assert_int_eq(close(file), 0);
}

START_TEST(written_note_is_read_back)
{
	struct stat status;

	ck_assert(!mam_ipc_note_read(note.token, &got));
	ck_assert(mam_ipc_note_write(&note));
	ck_assert_int_eq(stat(path_in(first), &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	ck_assert(mam_ipc_note_read(note.token, &got));
	ck_assert_int_eq(memcmp(&got, &note, sizeof(note)), 0);
	note.offset = 0;
	ck_assert(mam_ipc_note_write(&note)); /* in the other folder: no note is overwritten */
	ck_assert(is_there(second));
	ck_assert(mam_ipc_note_read(note.token, &got));
	ck_assert_uint_eq(got.offset, MIB);
	mam_ipc_note_remove(note.token);
	ck_assert(!is_there(first));
	mam_ipc_note_remove(note.token);
	ck_assert(!mam_ipc_note_read(note.token, &got));
}
END_TEST

START_TEST(each_note_has_a_unique_token)
{
	struct mam_ipc_note other;

	ck_assert(mam_ipc_note_begin(&other));
	ck_assert_int_ne(memcmp(other.token, note.token, sizeof(note.token)), 0);
}
END_TEST

START_TEST(note_goes_to_another_folder_if_the_first_fails)
{
	mam_ipc_note_folder = "/nowhere/at/all";
	ck_assert(mam_ipc_note_write(&note));
	ck_assert(is_there(second));
	ck_assert(mam_ipc_note_read(note.token, &got));
	mam_ipc_note_remove(note.token);
	ck_assert(!is_there(second));
	setenv("TMPDIR", "/nowhere/either", 1);
	ck_assert(mam_ipc_note_write(&note));
	ck_assert(is_there("/tmp"));
	mam_ipc_note_remove(note.token);
	ck_assert(!is_there("/tmp"));
	setenv("TMPDIR", ".", 1); /* another process may have another working folder */
	ck_assert_int_eq(chdir(second), 0);
	ck_assert(mam_ipc_note_write(&note));
	ck_assert(!is_there(second));
	mam_ipc_note_remove(note.token);
}
END_TEST

START_TEST(only_private_files_of_this_user_are_accepted)
{
	char aside[300];

	ck_assert(mam_ipc_note_write(&note));
	ck_assert_int_eq(chmod(path_in(first), 0640), 0);
	ck_assert(!mam_ipc_note_read(note.token, &got));
	ck_assert_int_eq(chmod(path_in(first), 0602), 0);
	ck_assert(!mam_ipc_note_read(note.token, &got));
	ck_assert_int_eq(chmod(path_in(first), 0600), 0);
	ck_assert(mam_ipc_note_read(note.token, &got));
	if (geteuid() == 0) {
		ck_assert_int_eq(chown(path_in(first), 1, (gid_t)-1), 0);
		ck_assert(!mam_ipc_note_read(note.token, &got));
		ck_assert_int_eq(chown(path_in(first), 0, (gid_t)-1), 0);
	}
	snprintf(aside, sizeof(aside), "%s/aside", first);
	ck_assert_int_eq(rename(path_in(first), aside), 0);
	ck_assert_int_eq(symlink(aside, path_in(first)), 0);
	ck_assert(!mam_ipc_note_read(note.token, &got));
	ck_assert_int_eq(unlink(path_in(first)), 0);
	ck_assert_int_eq(mkdir(path_in(first), 0700), 0);
	ck_assert(!mam_ipc_note_read(note.token, &got));
	ck_assert_int_eq(rmdir(path_in(first)), 0);
	ck_assert_int_eq(mkfifo(path_in(first), 0600), 0);
	ck_assert(!mam_ipc_note_read(note.token, &got));
}
END_TEST

START_TEST(block_must_fit_in_its_chunk)
{
	static const struct {
		uint64_t offset, bytes, chunk_bytes;
		bool good;
	} cases[] = {
		{ 0, 1, 1, true },
		{ 63 * MIB, MIB, 64 * MIB, true },
		{ 63 * MIB, MIB + 1, 64 * MIB, false },
		{ 64 * MIB, 1, 64 * MIB, false },
		{ 0, 0, 64 * MIB, false },
		{ 64 * MIB, 0, 64 * MIB, false },
		{ UINT64_MAX, 2, 64 * MIB, false },
		{ 2, UINT64_MAX, 64 * MIB, false },
		{ 0, 1, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		note.offset = cases[i].offset;
		note.bytes = cases[i].bytes;
		note.chunk_bytes = cases[i].chunk_bytes;
		put(&note, sizeof(note));
		ck_assert_msg(mam_ipc_note_read(note.token, &got) == cases[i].good, "case %zu", i);
	}
}
END_TEST

/* Every length except the right one, and every bit of the fields that identify the note. */
START_TEST(changed_note_is_refused)
{
	const size_t named = offsetof(struct mam_ipc_note, owner);
	unsigned char bytes[2 * sizeof(note)] = { 0 };

	memcpy(bytes, &note, sizeof(note));
	for (size_t length = 0; length < sizeof(bytes); length++) {
		put(bytes, length);
		ck_assert_msg(mam_ipc_note_read(note.token, &got) == (length == sizeof(note)),
			      "%zu bytes", length);
	}
	for (size_t bit = 0; bit < 8 * sizeof(note); bit++) {
		bool in_token = bit / 8 >= offsetof(struct mam_ipc_note, token) &&
				bit / 8 < offsetof(struct mam_ipc_note, chunk);

		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		put(bytes, sizeof(note));
		memset(&got, 0, sizeof(got));
		if (mam_ipc_note_read(note.token, &got)) {
			ck_assert_msg(bit / 8 >= named && !in_token, "bit %zu", bit);
			ck_assert_uint_le(got.offset, got.chunk_bytes);
			ck_assert_uint_le(got.bytes, got.chunk_bytes - got.offset);
		} else {
			ck_assert_uint_eq(got.version, 0);
		}
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
}
END_TEST

/* Random bytes after a header that is valid in most notes. */
START_TEST(random_notes_stay_within_their_chunk)
{
	unsigned char bytes[sizeof(note)];
	unsigned int believed = 0;

	srand(1);
	for (int round = 0; round < 20000; round++) {
		memcpy(bytes, &note, sizeof(note));
		for (int changes = rand() % 12; changes > 0; changes--)
			bytes[(size_t)rand() % sizeof(bytes)] = (unsigned char)rand();
		put(bytes, sizeof(bytes));
		if (!mam_ipc_note_read(note.token, &got))
			continue;
		believed++;
		ck_assert_uint_ne(got.bytes, 0);
		ck_assert(got.offset + got.bytes > got.offset);
		ck_assert_uint_le(got.offset + got.bytes, got.chunk_bytes);
	}
	ck_assert_uint_gt(believed, 100);
}
END_TEST

START_TEST(owner_must_be_running)
{
	pid_t ended = fork();
	int status;

	if (ended == 0)
		_exit(0);
	ck_assert_int_eq(waitpid(ended, &status, 0), ended);
	note.started++;
	put(&note, sizeof(note)); /* its process ID was reused */
	ck_assert(!mam_ipc_note_read(note.token, &got));
	note.started--;
	note.owner = (int32_t)ended;
	put(&note, sizeof(note));
	ck_assert(!mam_ipc_note_read(note.token, &got));
	note.names_space++;
	put(&note, sizeof(note)); /* in another PID namespace, where that process ID means
				   * nothing here */
	ck_assert(mam_ipc_note_read(note.token, &got));
}
END_TEST

START_TEST(sweep_removes_notes_without_an_owner)
{
	struct timespec old[2] = { { .tv_sec = time(NULL) - 3600 },
				   { .tv_sec = time(NULL) - 3600 } };

	put(&note, sizeof(note));
	mam_ipc_note_sweep();
	ck_assert(is_there(first));
	note.started++;
	put(&note, sizeof(note));
	mam_ipc_note_sweep();
	ck_assert(!is_there(first));
	note.names_space++;
	put(&note, sizeof(note));
	mam_ipc_note_sweep();
	ck_assert(is_there(first));
	put(&note, 0);
	mam_ipc_note_sweep();
	ck_assert(is_there(first));
	ck_assert_int_eq(utimensat(AT_FDCWD, path_in(first), old, 0), 0);
	mam_ipc_note_sweep();
	ck_assert(!is_there(first));
	put(&note, 10); /* may be from a later version of mam */
	ck_assert_int_eq(utimensat(AT_FDCWD, path_in(first), old, 0), 0);
	mam_ipc_note_sweep();
	ck_assert(is_there(first));
}
END_TEST

/* --- open blocks --- */

static bool add(unsigned long long address, unsigned long long chunk, size_t bytes)
{
	const struct mam_ipc_opened opened = { .address = address, .chunk = chunk, .bytes = bytes };

	return mam_ipc_opened_add(&opened);
}

static bool by_driver; /* of the last take() */

static bool take(unsigned long long address, struct mam_ipc_opened *opened)
{
	return mam_ipc_opened_take(address, opened, &by_driver);
}

START_TEST(block_is_closed_as_often_as_opened)
{
	struct mam_ipc_opened opened;

	ck_assert(!take(5000, &opened));
	ck_assert(add(5000, 4096, 10));
	ck_assert(add(5000, 4096, 10));
	ck_assert(add(6000, 4096, 10));
	ck_assert(!take(4096, &opened));
	ck_assert(!take(5001, &opened));
	ck_assert(take(5000, &opened));
	ck_assert_uint_eq(opened.chunk, 4096);
	ck_assert_uint_eq(opened.count, 1);
	ck_assert(take(5000, &opened));
	ck_assert_uint_eq(opened.count, 0);
	ck_assert(!take(5000, &opened));
	ck_assert(take(6000, &opened));
}
END_TEST

/* A block in mapped memory in any context, other blocks in their own only. */
START_TEST(block_is_opened_again_by_its_token)
{
	struct mam_ipc_opened opened = { .address = 5000, .chunk = 4096, .bytes = 10 }, again;

	opened.mapped_bytes = _i == 0 ? 8192 : 0;
	opened.context = &note;
	opened.context_id = 3;
	memset(opened.token, 7, sizeof(opened.token));
	again = opened;
	again.address = 0;
	ck_assert(!mam_ipc_opened_again(&again));
	ck_assert(mam_ipc_opened_add(&opened));
	ck_assert(mam_ipc_opened_again(&again));
	ck_assert_uint_eq(again.address, 5000);
	ck_assert_uint_eq(again.mapped_bytes, opened.mapped_bytes);
	again.context_id = 4;
	ck_assert(mam_ipc_opened_again(&again) == (_i == 0));
	again.context_id = 3;
	again.context = NULL;
	ck_assert(mam_ipc_opened_again(&again) == (_i == 0));
	again.context = &note;
	again.token[0]++;
	ck_assert(!mam_ipc_opened_again(&again));
	for (int left = _i == 0 ? 3 : 1; left >= 0; left--) {
		ck_assert(take(5000, &opened));
		ck_assert_int_eq(opened.count, left);
		ck_assert(by_driver == (_i == 1 && left == 0));
	}
	again.token[0]--;
	ck_assert(!mam_ipc_opened_again(&again));
}
END_TEST

/* Opens of the driver and of the list in any order: the driver closes as often as it opened. */
START_TEST(driver_closes_as_often_as_it_opened)
{
	struct mam_ipc_opened opened = { .address = 5000, .chunk = 4096, .bytes = 10 }, again;
	int driver = 0, all = 0;

	opened.context = &note;
	srand(7);
	for (int step = 0; step < 10000; step++) {
		int kind = rand() % 4;

		again = opened;
		if (kind == 0) {
			ck_assert(mam_ipc_opened_add(&opened));
			driver++;
			all++;
		} else if (kind == 1) {
			ck_assert(mam_ipc_opened_again(&again) == (all != 0));
			all += all != 0;
		} else {
			ck_assert(take(5000, &again) == (all != 0));
			driver -= all != 0 && by_driver;
			all -= all != 0;
		}
		ck_assert_int_ge(driver, all != 0);
		ck_assert_int_le(driver, all);
	}
	ck_assert_int_eq(driver != 0, all != 0);
}
END_TEST

START_TEST(one_address_in_two_chunks)
{
	struct mam_ipc_opened opened;

	ck_assert(add(5000, 4096, 10));
	ck_assert(add(5000, 1024, 10));
	ck_assert(add(5000, 4096, 10));
	for (unsigned long long sum = 0, i = 0; i < 3; i++) {
		ck_assert(take(5000, &opened));
		sum += opened.chunk;
		if (i == 2)
			ck_assert_uint_eq(sum, 4096 + 4096 + 1024);
	}
	ck_assert(!take(5000, &opened));
}
END_TEST

START_TEST(block_is_found_by_any_interior_address)
{
	struct mam_ipc_opened opened;

	for (unsigned long long i = 0; i < 300; i++) /* not in order */
		ck_assert(add(10000 + 100 * (i * 7 % 300), 8192, 50));
	for (unsigned long long at = 9990; at < 10000 + 300 * 100; at++) {
		bool is_inside = at >= 10000 && (at - 10000) % 100 < 50;

		ck_assert(mam_ipc_opened_find(at, &opened) == is_inside);
		if (is_inside)
			ck_assert_uint_eq(opened.address, at - at % 100);
	}
	mam_ipc_opened_restart();
	ck_assert(!mam_ipc_opened_find(10000, &opened));
	ck_assert(!take(10000, &opened));
}
END_TEST

/* --- the option --- */

static const struct {
	const char *text;
	size_t from; /* SIZE_MAX: none */
	bool refused;
} options[] = {
	{ "", SIZE_MAX, false },
	{ "share", SIZE_MAX, false },
	{ "dedicated", (size_t)1 << 20, false },
	{ "dedicated:1", 1, false },
	{ "dedicated:3145728", 3145728, false },
	{ "dedicated:64K", 65536, false },
	{ "dedicated:2m", 2 << 20, false },
	{ "dedicated:1GiB", (size_t)1 << 30, false },
	{ "dedicated:1T", (size_t)1 << 40, false },
	{ "dedicated:18446744073709551615", SIZE_MAX, false },
	{ "dedicated:18446744073709551616", SIZE_MAX, true },
	{ "dedicated:99999999999999G", SIZE_MAX, true },
	{ "dedicated:0", SIZE_MAX, true },
	{ "dedicated:", SIZE_MAX, true },
	{ "dedicated:-1", SIZE_MAX, true },
	{ "dedicated: 1", SIZE_MAX, true },
	{ "dedicated:1X", SIZE_MAX, true },
	{ "dedicated:1iB", SIZE_MAX, true },
	{ "dedicated:1MM", SIZE_MAX, true },
	{ "dedicatedly", SIZE_MAX, true },
	{ "alone", SIZE_MAX, true },
};

START_TEST(option_values)
{
	char path[64], text[512] = "";
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "%s/log", first);
	setenv("MAM_LOG_FILE", path, 1);
	setenv("MAM_IPC", options[_i].text, 1);
	for (int twice = 0; twice < 2; twice++) {
		ck_assert(!mam_dedicated_serves(options[_i].from - 1));
		ck_assert(mam_dedicated_serves(options[_i].from) || options[_i].from == SIZE_MAX);
	}
	file = open(path, O_RDONLY);
	length = file < 0 ? 0 : read(file, text, sizeof(text) - 1);
	ck_assert_msg((length > 0) == options[_i].refused, "'%s': '%s'", options[_i].text, text);
	if (options[_i].refused) {
		ck_assert_ptr_nonnull(strstr(text, options[_i].text));
		ck_assert_ptr_eq(strchr(text, '\n'), text + length - 1);
	}
}
END_TEST

/* Sizes from 1 to 64 and their order do not matter; one more is not remembered. */
START_TEST(shared_sizes_are_remembered)
{
	setenv("MAM_IPC", _i ? "dedicated" : "share", 1);
	setenv("MAM_LOG", "error", 1);
	for (size_t size = 1; size <= 65; size++) {
		ck_assert(!mam_dedicated_serves(size));
		mam_dedicated_note(size);
		mam_dedicated_note(size);
		ck_assert(mam_dedicated_serves(size) == (_i && size <= 64));
	}
	ck_assert(mam_dedicated_serves(1) == _i);
	ck_assert(!mam_dedicated_serves(66));
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("ipc");
	Suite *suite = suite_create("ipc");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, written_note_is_read_back);
	tcase_add_test(cases, each_note_has_a_unique_token);
	tcase_add_test(cases, note_goes_to_another_folder_if_the_first_fails);
	tcase_add_test(cases, only_private_files_of_this_user_are_accepted);
	tcase_add_test(cases, block_must_fit_in_its_chunk);
	tcase_add_test(cases, changed_note_is_refused);
	tcase_add_test(cases, random_notes_stay_within_their_chunk);
	tcase_add_test(cases, owner_must_be_running);
	tcase_add_test(cases, sweep_removes_notes_without_an_owner);
	tcase_add_test(cases, block_is_closed_as_often_as_opened);
	tcase_add_loop_test(cases, block_is_opened_again_by_its_token, 0, 2);
	tcase_add_test(cases, driver_closes_as_often_as_it_opened);
	tcase_add_test(cases, one_address_in_two_chunks);
	tcase_add_test(cases, block_is_found_by_any_interior_address);
	tcase_add_loop_test(cases, shared_sizes_are_remembered, 0, 2);
	tcase_add_loop_test(cases, option_values, 0, sizeof(options) / sizeof(options[0]));
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
