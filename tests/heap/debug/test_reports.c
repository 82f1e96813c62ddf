/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host side of a debug heap, on the fake driver: how it is created, which reports a reader
 * gets, what is logged when it is destroyed, and what the heap walk shows.
 *
 * Device functions that are called outside of a launch run as the only lane of the only block, in
 * the memory of the fake driver.
 */
#define MAM_KDEBUG
#include <mam/heap.cuh>

#include <stdio.h>

#include "heap/growth/growing.h"

static struct mam_heap *debugged(struct mam_pool *pool, size_t bytes, size_t max)
{
	struct mam_heap_attr attr = MAM_HEAP_ATTR_INIT;

	attr.bytes = bytes;
	attr.max_bytes = max;
	attr.debug = 1;
	return made(pool, &attr);
}

/* The reports that a visitor has seen, and how many it wants. */
struct shown {
	struct mam_heap_report report[2048];
	size_t count, max;
};

static bool show(void *argument, const struct mam_heap_report *report)
{
	struct shown *shown = argument;

	ck_assert_uint_lt(shown->count, sizeof(shown->report) / sizeof(shown->report[0]));
	ck_assert_uint_eq(report->size, sizeof(*report));
	shown->report[shown->count++] = *report;
	return shown->count < shown->max;
}

/* The new reports, at most `max`; valid until the next call. */
static const struct shown *new_reports(struct mam_heap *heap, size_t max)
{
	static struct shown shown;

	shown.count = 0;
	shown.max = max;
	ck_assert_int_eq(mam_heap_reports(heap, show, &shown), MAM_OK);
	return &shown;
}

/* An invalid free with a number that identifies it. */
static void mistake(struct mam_heap *heap, uintptr_t number)
{
	ck_assert(!mam_kfree(mam_heap_device(heap), (void *)(16 * number)));
}

START_TEST(only_debug_heaps_have_reports)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *plain = objects_of(pool, MIB), *heap = debugged(pool, MIB, 0);
	struct mam_kheap *head = mam_heap_device(heap);
	struct shown shown = { .max = 1 };
	uint64_t salt;

	(void)cuda;
	ck_assert_int_eq(mam_heap_reports(plain, show, &shown), MAM_ERROR_UNSUPPORTED);
	ck_assert_int_eq(mam_heap_reports(NULL, show, &shown), MAM_ERROR_INVALID_VALUE);
	ck_assert_int_eq(mam_heap_reports(heap, NULL, &shown), MAM_ERROR_INVALID_VALUE);
	ck_assert_uint_eq(head->layout, MAM_HEAP_LAYOUT_DEBUG);
	ck_assert_ptr_nonnull(head->growth->reports);
	ck_assert_ptr_null(head->growth->mail);
	salt = head->growth->salt;
	ck_assert_uint_ne(salt, 0);
	ck_assert_ptr_null(mam_kmalloc(mam_heap_device(plain), 10));
	ck_assert_uint_eq(new_reports(heap, 9)->count, 0);
	heap_end(heap);
	heap = debugged(pool, MIB, 0);
	ck_assert_uint_ne(mam_heap_device(heap)->growth->salt, salt);
	heap_end(heap);
	heap_end(plain);
	pool_end(pool);
}
END_TEST

START_TEST(each_report_is_delivered_once_and_in_order)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = debugged(pool, MIB, 0);
	const struct shown *shown;

	(void)cuda;
	for (uintptr_t i = 1; i <= 5; i++)
		mistake(heap, i);
	shown = new_reports(heap, 2);
	ck_assert_uint_eq(shown->count, 2);
	ck_assert_int_eq(shown->report[0].kind, MAM_HEAP_FOREIGN_FREE);
	ck_assert_uint_eq((uintptr_t)shown->report[1].address, 32);
	ck_assert(shown->report[0].finder.known && !shown->report[0].holder.known);
	shown = new_reports(heap, 99);
	ck_assert_uint_eq(shown->count, 3);
	ck_assert_uint_eq((uintptr_t)shown->report[0].address, 48);
	ck_assert_uint_eq(new_reports(heap, 99)->count, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

START_TEST(lost_reports_are_counted)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = debugged(pool, MIB, 0);
	const struct shown *shown;

	(void)cuda;
	for (uintptr_t i = 1; i <= MAM_REPORTS + 7; i++)
		mistake(heap, i);
	shown = new_reports(heap, 2048);
	ck_assert_uint_eq(shown->count, MAM_REPORTS + 1);
	for (size_t i = 0; i < MAM_REPORTS; i++)
		ck_assert_uint_eq((uintptr_t)shown->report[i].address, 16 * (i + 1));
	ck_assert_int_eq(shown->report[MAM_REPORTS].kind, MAM_HEAP_UNTOLD);
	ck_assert_uint_eq(shown->report[MAM_REPORTS].bytes, 7);
	/* There is room again, and lost reports are not counted again. */
	for (uintptr_t i = 1; i <= MAM_REPORTS; i++)
		mistake(heap, i);
	shown = new_reports(heap, 2048);
	ck_assert_uint_eq(shown->count, MAM_REPORTS);
	ck_assert_uint_eq((uintptr_t)shown->report[3].address, 64);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* A lane that died after it got a report number delays only its own report. */
START_TEST(missing_report_does_not_delay_others)
{
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = debugged(pool, MIB, 0);
	struct mam_reports *reports = mam_heap_device(heap)->growth->reports;
	const struct shown *shown;

	(void)cuda;
	for (uintptr_t i = 1; i <= 5; i++)
		mistake(heap, i);
	reports->report[2].stamp = 0;
	shown = new_reports(heap, 99);
	ck_assert_uint_eq(shown->count, 4);
	ck_assert_uint_eq((uintptr_t)shown->report[2].address, 64);
	ck_assert_uint_eq(reports->taken, 2);
	ck_assert_uint_eq(new_reports(heap, 99)->count, 0);
	for (uintptr_t i = 6; i <= MAM_REPORTS + 3; i++)
		mistake(heap, i);
	shown = new_reports(heap, 2048);
	ck_assert_uint_eq(shown->count, MAM_REPORTS + 2 - 5 + 1);
	ck_assert_uint_eq(shown->report[shown->count - 1].bytes, 1);
	reports->report[2].stamp = 3;
	shown = new_reports(heap, 99);
	ck_assert_uint_eq(shown->count, 1);
	ck_assert_uint_eq((uintptr_t)shown->report[0].address, 48);
	ck_assert_uint_eq(reports->taken, MAM_REPORTS + 2);
	/* The same in an entry that was used before. */
	for (uintptr_t i = 1; i <= 3; i++)
		mistake(heap, i);
	reports->report[3].stamp = 4;
	ck_assert_uint_eq(new_reports(heap, 99)->count, 2);
	ck_assert_uint_eq(reports->taken, MAM_REPORTS + 3);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- when the heap is destroyed --- */

static char log_name[64];
static char log_text[65536];

static void log_begin(void)
{
	snprintf(log_name, sizeof(log_name), "test_reports.%d.log", (int)getpid());
	setenv("MAM_LOG_FILE", log_name, 1);
	setenv("MAM_LOG", "warn", 1);
}

static const char *logged(void)
{
	FILE *file = fopen(log_name, "r");
	size_t bytes = 0;

	if (file) {
		bytes = fread(log_text, 1, sizeof(log_text) - 1, file);
		fclose(file);
		unlink(log_name);
	}
	log_text[bytes] = '\0';
	return log_text;
}

static unsigned int times(const char *text, const char *word)
{
	unsigned int count = 0;

	for (text = strstr(text, word); text; text = strstr(text + 1, word))
		count++;
	return count;
}

START_TEST(leaks_and_unread_reports_are_logged)
{
	struct mam_kheap *device;
	struct mam_pool *pool;
	struct mam_heap *heap;
	unsigned char *object;
	const char *log;
	char line[200];

	log_begin();
	(void)load();
	pool = pool_new();
	heap = debugged(pool, MIB, 0);
	device = mam_heap_device(heap);
	/* All of one class; the list is in the order of addresses. */
	for (unsigned int i = 0; i < 34; i++)
		object = mam_kmalloc(device, 100 + i % 10);
	ck_assert_ptr_nonnull(object);
	mistake(heap, 1);
	ck_assert_uint_eq(new_reports(heap, 99)->count, 1);
	mistake(heap, 2);
	heap_end(heap);
	log = logged();
	ck_assert_msg(times(log, "is not an object of the heap") == 1, "%s", log);
	ck_assert_msg(strstr(log, "invalid free: 0x20 ") != NULL, "%s", log);
	ck_assert_uint_eq(times(log, " was never freed"), 32);
	ck_assert_uint_eq(
		times(log, ", allocated by block (0,0,0) thread (0,0,0)) was never freed"), 32);
	ck_assert_uint_eq(times(log, "memory leak: 2 more objects were never freed"), 1);
	snprintf(line, sizeof(line), "a %d-byte object (0x", 107);
	ck_assert_uint_ge(times(log, line), 1);
	pool_end(pool);
}
END_TEST

START_TEST(corrupted_object_is_listed_by_address)
{
	struct mam_kheap *device;
	struct mam_pool *pool;
	struct mam_heap *heap;
	unsigned char *object;
	const char *log;

	log_begin();
	(void)load();
	pool = pool_new();
	heap = debugged(pool, MIB, 0);
	device = mam_heap_device(heap);
	object = mam_kmalloc(device, 1000);
	object -= MAM_GUARD_FRONT;
	while (((struct mam_guard *)object)->bytes != 1000)
		object -= 16;
	((struct mam_guard *)object)->bytes = 77;
	heap_end(heap);
	log = logged();
	ck_assert_msg(times(log, "an object of unknown size (0x") == 1, "%s", log);
	ck_assert_msg(times(log, "allocated by an unknown thread) was never freed") == 1, "%s",
		      log);
	pool_end(pool);
}
END_TEST

START_TEST(leak_list_can_be_disabled)
{
	struct mam_pool *pool;
	struct mam_heap *heap;

	log_begin();
	setenv("MAM_HEAP_LEAKS", "no", 1);
	(void)load();
	pool = pool_new();
	heap = debugged(pool, MIB, 0);
	ck_assert_ptr_nonnull(mam_kmalloc(mam_heap_device(heap), 10));
	mistake(heap, 2);
	heap_end(heap);
	ck_assert_uint_eq(times(logged(), "never freed"), 0);
	ck_assert_uint_eq(times(log_text, "not an object of the heap"), 1);
	unsetenv("MAM_HEAP_LEAKS");
	pool_end(pool);
}
END_TEST

/* ---- the heap walk, and frees by the host ------ */

struct walked {
	void *address[64];
	size_t bytes[64], count;
};

static bool note(void *argument, void *address, size_t bytes)
{
	struct walked *walked = argument;

	walked->address[walked->count] = address;
	walked->bytes[walked->count++] = bytes;
	return true;
}

START_TEST(walk_visits_program_addresses)
{
	static const size_t sizes[] = { 1, 40, 64, 1000, 9000, 500000 };
	struct cuda cuda = load();
	struct mam_pool *pool = pool_new();
	struct mam_heap *heap = debugged(pool, MIB, 64 * MIB);
	struct mam_kheap *device = mam_heap_device(heap);
	struct walked walked = { .count = 0 };
	void *objects[6];
	size_t taken;

	(void)cuda;
	for (size_t i = 0; i < 6; i++) {
		objects[i] = mam_kmalloc(device, sizes[i]);
		ck_assert_ptr_nonnull(objects[i]);
	}
	ck_assert_int_eq(mam_heap_walk(heap, NULL, note, &walked), MAM_OK);
	ck_assert_uint_eq(walked.count, 6);
	for (size_t i = 0; i < 6; i++) {
		size_t at = 0;

		while (at < 6 && walked.address[at] != objects[i])
			at++;
		ck_assert_uint_lt(at, 6);
		ck_assert_uint_eq(walked.bytes[at], sizes[i]);
	}
	ck_assert_int_eq(mam_heap_free(heap, NULL, walked.address, 6, &taken), MAM_OK);
	mam_kdrain(device);
	ck_assert_uint_eq(new_reports(heap, 9)->count, 0);
	walked.count = 0;
	ck_assert_int_eq(mam_heap_walk(heap, NULL, note, &walked), MAM_OK);
	ck_assert_uint_eq(walked.count, 0);
	heap_end(heap);
	pool_end(pool);
}
END_TEST

/* ---- report texts --- */

#define ADDRESS "0x7f0000000040"
#define FINDER "block (1,2,3) thread (4,5,6)"
#define HOLDER "block (7,8,9) thread (10,11,12)"
#define GIVER "block (13,14,15) thread (16,17,18)"
#define OBJECT "a 40-byte object (" ADDRESS ", allocated by " HOLDER ")"

START_TEST(report_text_names_error_and_threads)
{
	static const char *const wanted[MAM_HEAP_MISTAKES] = {
		[MAM_HEAP_OVERRUN] =
			"out-of-bounds write: byte -3 of " OBJECT "; detected at free by " FINDER,
		[MAM_HEAP_UNDERRUN] =
			"out-of-bounds write: byte -3 of " OBJECT "; detected at free by " FINDER,
		[MAM_HEAP_WRITTEN_AFTER_FREE] =
			"write after free: byte -3 of " OBJECT ", freed by " GIVER
			"; detected at allocation by " FINDER,
		[MAM_HEAP_DOUBLE_FREE] =
			"double free: " OBJECT ", freed by " GIVER "; freed again by " FINDER,
		[MAM_HEAP_FOREIGN_FREE] =
			"invalid free: " ADDRESS " is not an object of the heap; freed by " FINDER,
		[MAM_HEAP_INTERIOR_FREE] =
			"invalid free: " ADDRESS " is byte -3 of a 40-byte "
			"object (0x7f0000000043, allocated by " HOLDER "); freed by " FINDER,
		[MAM_HEAP_LEAK] = "memory leak: " OBJECT " was never freed",
		[MAM_HEAP_UNTOLD] = "40 more errors were lost, because the report buffer was full",
	};
	struct mam_heap_report report = {
		.size = sizeof(report),
		.address = (void *)0x7f0000000040,
		.bytes = 40,
		.offset = -3,
		.finder = { true, { 1, 2, 3 }, { 4, 5, 6 } },
		.holder = { true, { 7, 8, 9 }, { 10, 11, 12 } },
		.giver = { true, { 13, 14, 15 }, { 16, 17, 18 } },
	};
	char text[512];

	for (unsigned int kind = 0; kind < MAM_HEAP_MISTAKES; kind++) {
		report.kind = (enum mam_heap_mistake)kind;
		ck_assert_uint_eq(mam_heap_report_text(&report, text, sizeof(text)),
				  strlen(wanted[kind]));
		ck_assert_str_eq(text, wanted[kind]);
		/* Truncated at any length, and nothing after that is written. */
		for (size_t bytes = 0; bytes < strlen(wanted[kind]); bytes++) {
			memset(text, 'x', sizeof(text));
			ck_assert_uint_eq(mam_heap_report_text(&report, text, bytes),
					  strlen(wanted[kind]));
			if (bytes)
				ck_assert(!strncmp(text, wanted[kind], bytes - 1) &&
					  !text[bytes - 1]);
			ck_assert_int_eq(text[bytes], 'x');
		}
		ck_assert_uint_eq(mam_heap_report_text(&report, NULL, 0), strlen(wanted[kind]));
	}
	report.kind = MAM_HEAP_DOUBLE_FREE;
	report.bytes = 0;
	report.holder.known = report.giver.known = false;
	(void)mam_heap_report_text(&report, text, sizeof(text));
	ck_assert_str_eq(text, "double free: an object of unknown size (" ADDRESS
			       ", allocated by an unknown thread), freed by an unknown thread; "
			       "freed again by " FINDER);
	report.bytes = 1;
	report.kind = MAM_HEAP_UNTOLD;
	ck_assert_uint_ne(mam_heap_report_text(&report, text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "1 more error was lost"));
	report.kind = MAM_HEAP_MISTAKES;
	ck_assert_uint_eq(mam_heap_report_text(&report, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "");
	report.kind = MAM_HEAP_LEAK;
	report.size--;
	ck_assert_uint_eq(mam_heap_report_text(&report, text, sizeof(text)), 0);
	ck_assert_uint_eq(mam_heap_report_text(NULL, text, sizeof(text)), 0);
}
END_TEST

START_TEST(article_fits_its_number)
{
	static const struct {
		uint64_t bytes;
		const char *article;
	} rows[] = {
		{ 1, "a" },      { 8, "an" },     { 10, "a" },       { 11, "an" },
		{ 18, "an" },    { 19, "a" },     { 80, "an" },      { 89, "an" },
		{ 100, "a" },    { 111, "a" },    { 180, "a" },      { 800, "an" },
		{ 900, "a" },    { 1100, "a" },   { 8192, "an" },    { 11000, "an" },
		{ 81920, "an" }, { 118000, "a" }, { 8388608, "an" },
	};
	struct mam_heap_report report = { .size = sizeof(report), .kind = MAM_HEAP_LEAK };
	char text[512], wanted[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		report.bytes = rows[i].bytes;
		snprintf(wanted, sizeof(wanted), "memory leak: %s %llu-byte object (",
			 rows[i].article, (unsigned long long)rows[i].bytes);
		(void)mam_heap_report_text(&report, text, sizeof(text));
		ck_assert_msg(!strncmp(text, wanted, strlen(wanted)), "%s", text);
	}
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_checked_fixture(tests, set_up, NULL);
	tcase_add_test(tests, only_debug_heaps_have_reports);
	tcase_add_test(tests, each_report_is_delivered_once_and_in_order);
	tcase_add_test(tests, lost_reports_are_counted);
	tcase_add_test(tests, missing_report_does_not_delay_others);
	tcase_add_test(tests, leaks_and_unread_reports_are_logged);
	tcase_add_test(tests, corrupted_object_is_listed_by_address);
	tcase_add_test(tests, leak_list_can_be_disabled);
	tcase_add_test(tests, walk_visits_program_addresses);
	tcase_add_test(tests, report_text_names_error_and_threads);
	tcase_add_test(tests, article_fits_its_number);
}

int main(void)
{
	return run_suite("heap/reports", add);
}
