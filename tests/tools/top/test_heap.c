/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap of a process in mam top: one that replies in pieces, wrongly, late or not at all, the cells
 * that its blocks fill, and the tags or call sites that hold them.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "top/heap.h"

#define SECOND UINT64_C(1000000000)
#define START (100 * SECOND)

static char folder[] = "/tmp/mam-test-top-heap.XXXXXX";
static struct page_entry process;
static int listening, peer;
static uint64_t cells[8];
static struct top_strip strip;

static void setup(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	static char path[64];

	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/1-2-0", folder);
	process.path = path;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s.ctl", path);
	listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	ck_assert_int_eq(bind(listening, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listening, 8), 0);
	top_heap_show(&process);
}

static void teardown(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void say(const char *text)
{
	ck_assert_int_eq(send(peer, text, strlen(text), MSG_NOSIGNAL), (int)strlen(text));
}

static void take(char request[16])
{
	memset(request, 0, 16);
	peer = accept(listening, NULL, NULL);
	ck_assert_int_ge(peer, 0);
	ck_assert_int_gt(recv(peer, request, 15, 0), 0);
}

/* A request for the blocks was sent, perhaps after one to sample, whose reply it follows at once. */
static void take_request(uint64_t now_ns)
{
	char request[16];

	take(request);
	if (strcmp(request, "sites 60\n") == 0) {
		say("working\ndone\n");
		close(peer);
		ck_assert(!top_heap_poll(now_ns));
		take(request);
	}
	ck_assert_str_eq(request, "dump\n");
}

static bool is_asked(void)
{
	int number = accept(listening, NULL, NULL);

	if (number >= 0)
		close(number);
	return number >= 0;
}

/* A whole reply at that time; returns whether there is a new list. */
static bool reply(uint64_t now_ns, const char *text)
{
	bool is_new;

	ck_assert(!top_heap_poll(now_ns));
	take_request(now_ns);
	say(text);
	close(peer);
	is_new = top_heap_poll(now_ns);
	ck_assert(!top_heap_is_busy());
	return is_new;
}

static void check_cells(int gpu, size_t count, const uint64_t *wanted)
{
	ck_assert(top_heap_strip(gpu, cells, count, &strip));
	for (size_t i = 0; i < count; i++)
		ck_assert_msg(cells[i] == wanted[i], "cell %zu: %llu", i,
			      (unsigned long long)cells[i]);
}

static const char two_chunks[] = "working\n"
				 "chunk 0 cudamalloc 9000 400\n"
				 "block 9000 100 100\n"
				 "block 9350 50 1\n"
				 "chunk 1 vmm 100 100\n"
				 "block 100 100 100\n"
				 "chunk 0 cudamalloc 1000 400\n"
				 "block 1150 100 0\n"
				 "done\n";

START_TEST(cells_follow_the_addresses)
{
	static const uint64_t eight[] = { 0, 50, 50, 0, 100, 0, 0, 50 };
	static const uint64_t three[] = { 100, 100, 50 };
	static const uint64_t one[] = { 100 };

	ck_assert(reply(START, two_chunks));
	check_cells(0, 8, eight);
	ck_assert_uint_eq(strip.chunks, 2);
	ck_assert_uint_eq(strip.blocks, 3);
	ck_assert_uint_eq(strip.bytes, 800);
	ck_assert_uint_eq(strip.used_bytes, 250);
	ck_assert_uint_eq(strip.largest_free_bytes, 250);
	ck_assert_uint_eq(strip.cell_bytes, 100);
	check_cells(0, 3, three);
	ck_assert_uint_eq(strip.cell_bytes, 267);
	check_cells(1, 1, one);
	ck_assert(!top_heap_strip(2, cells, 8, &strip));
	ck_assert(!top_heap_strip(0, cells, 0, &strip));
}
END_TEST

START_TEST(free_memory_at_an_end_counts)
{
	ck_assert(reply(START, "working\nchunk 0 vmm 0 1000\nblock 700 10 10\ndone\n"));
	ck_assert(top_heap_strip(0, cells, 8, &strip));
	ck_assert_uint_eq(strip.largest_free_bytes, 700);
	ck_assert(reply(START + SECOND, "working\nchunk 0 vmm 0 1000\nblock 100 10 10\ndone\n"));
	ck_assert(top_heap_strip(0, cells, 8, &strip));
	ck_assert_uint_eq(strip.largest_free_bytes, 890);
	ck_assert(reply(START + 2 * SECOND, "working\nchunk 0 vmm 0 1000\ndone\n"));
	ck_assert(top_heap_strip(0, cells, 8, &strip));
	ck_assert_uint_eq(strip.largest_free_bytes, 1000);
}
END_TEST

/* Lines of bytes, blocks and name. */
static const char *origins_of(int gpu, size_t room)
{
	static char text[512];
	struct top_origin origins[8];
	size_t count = top_heap_origins(gpu, origins, room), length = 0;

	text[0] = '\0';
	for (size_t i = 0; i < count; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%llu %zu %s\n",
					   (unsigned long long)origins[i].bytes, origins[i].blocks,
					   origins[i].name == NULL ? "(others)" : origins[i].name);
	return text;
}

static const char named[] = "working\n"
			    "chunk 0 vmm 0 10000\n"
			    "block 0 100 90 a\n"
			    "block 100 100 100 main@x\n"
			    "block 200 1000 7\n"
			    "block 1200 100 60 main@x\n"
			    "block 1300 100 0\n"
			    "block 1400 100 95 kv%20cache\n"
			    "block 1500 100 4 tiny\n"
			    "chunk 1 vmm 20000 100\n"
			    "block 20000 100 100 a\n"
			    "chunk 2 vmm 30000 100\n"
			    "block 30000 100 100\n"
			    "done\n";

START_TEST(origins_are_sorted_by_bytes)
{
	ck_assert_uint_eq(top_heap_origins(0, (struct top_origin[1]){ { 0 } }, 1), 0);
	ck_assert(reply(START, two_chunks));
	ck_assert_str_eq(origins_of(0, 8), "");
	ck_assert(reply(START + SECOND, named));
	ck_assert_str_eq(origins_of(0, 8),
			 "160 2 main@x\n95 1 kv cache\n90 1 a\n4 1 tiny\n7 1 (others)\n");
	ck_assert_str_eq(origins_of(0, 4), "160 2 main@x\n95 1 kv cache\n90 1 a\n11 2 (others)\n");
	ck_assert_str_eq(origins_of(0, 2), "160 2 main@x\n196 4 (others)\n");
	ck_assert_str_eq(origins_of(0, 1), "");
	ck_assert_str_eq(origins_of(1, 8), "100 1 a\n");
	ck_assert_str_eq(origins_of(2, 8), "");
	ck_assert_str_eq(origins_of(3, 8), "");
	top_heap_show(NULL);
	ck_assert_str_eq(origins_of(0, 8), "");
}
END_TEST

START_TEST(one_request_per_second)
{
	ck_assert(reply(START, two_chunks));
	ck_assert(!top_heap_poll(START + SECOND - 1));
	ck_assert(!is_asked());
	ck_assert(!top_heap_poll(START + SECOND));
	ck_assert(is_asked());
}
END_TEST

START_TEST(reply_may_come_in_pieces)
{
	ck_assert(!top_heap_poll(START));
	take_request(START);
	for (const char *at = two_chunks; *at != '\0'; at++) {
		const char one[] = { *at, '\0' };

		ck_assert(top_heap_is_busy());
		say(one);
		ck_assert_int_eq(top_heap_poll(START + 1), at[1] == '\0');
	}
	ck_assert(!top_heap_is_busy());
	ck_assert(top_heap_strip(0, cells, 8, &strip));
}
END_TEST

START_TEST(wrong_replies_leave_the_strip)
{
	static const char *const wrong[] = { "",
					     "working\n",
					     "working\nchunk 0 vmm 0 1000\n",
					     "working\nerror none\n",
					     "working\nblock 0 1 1\ndone\n",
					     "working\nchunk 0 vmm 0 1000\nblock 990 20 1\ndone\n",
					     "working\nchunk 0 vmm 0 1000\nhello\ndone\n",
					     "working\nchunk 0 vm" };
	char line[MAM_STATPAGE_POOLS * 100];
	uint64_t now_ns = START;

	ck_assert(reply(now_ns, two_chunks));
	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = '\0';
	ck_assert(!reply(now_ns += SECOND, line));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert(!reply(now_ns += SECOND, wrong[i]));
	ck_assert(top_heap_strip(0, cells, 8, &strip));
	ck_assert_uint_eq(strip.blocks, 3);
	ck_assert(reply(now_ns += SECOND, two_chunks));
}
END_TEST

START_TEST(silent_process_is_given_up)
{
	ck_assert(!top_heap_poll(START));
	take_request(START);
	ck_assert(!top_heap_poll(START + 5 * SECOND - 1));
	ck_assert(top_heap_is_busy());
	ck_assert(!is_asked());
	ck_assert(!top_heap_poll(START + 5 * SECOND));
	ck_assert(!top_heap_is_busy());
	ck_assert(reply(START + 6 * SECOND, two_chunks));
}
END_TEST

START_TEST(other_process_has_another_heap)
{
	struct page_entry none = { .path = (char[]){ "/tmp/mam-test-top-heap.none/1-2-0" } };

	ck_assert(reply(START, two_chunks));
	top_heap_show(&process);
	ck_assert(top_heap_strip(0, cells, 8, &strip));
	top_heap_show(&none);
	ck_assert(!top_heap_strip(0, cells, 8, &strip));
	ck_assert(!top_heap_poll(START + 1));
	ck_assert(!top_heap_is_busy());
	top_heap_show(NULL);
	ck_assert(!top_heap_poll(START + 2));
	top_heap_show(&process); /* at once */
	ck_assert(reply(START + 2, two_chunks));
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("heap");
	Suite *suite = suite_create("heap");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, cells_follow_the_addresses);
	tcase_add_test(cases, free_memory_at_an_end_counts);
	tcase_add_test(cases, origins_are_sorted_by_bytes);
	tcase_add_test(cases, one_request_per_second);
	tcase_add_test(cases, reply_may_come_in_pieces);
	tcase_add_test(cases, wrong_replies_leave_the_strip);
	tcase_add_test(cases, silent_process_is_given_up);
	tcase_add_test(cases, other_process_has_another_heap);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
