/* SPDX-License-Identifier: Apache-2.0 */
/* One request of mam ctl to a process that stops before it replies, or during its reply. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctl/ctl_link.h"

#define PATIENCE 20 /* seconds; a process that runs has 30 */

static char folder[] = "/tmp/mam-test-ctl-link.XXXXXX";
static char path[64];
static struct page_entry process = { .program = "(T) stand-in", .path = path };
static struct ctl_link request;

/* Accepts one request, sends a part of the reply, stops itself, and sends the rest. */
static void serve(int listening, const char *first, const char *rest)
{
	int peer = accept(listening, NULL, NULL);
	char line[16];

	if (recv(peer, line, sizeof(line), 0) <= 0 ||
	    send(peer, first, strlen(first), MSG_NOSIGNAL) != (ssize_t)strlen(first))
		_exit(1);
	raise(SIGSTOP);
	_exit(send(peer, rest, strlen(rest), MSG_NOSIGNAL) != (ssize_t)strlen(rest));
}

static void start(const char *first, const char *rest)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listening = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(path, sizeof(path), "%s/1-2-0", folder);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s.ctl", path);
	ck_assert_int_eq(bind(listening, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(listening, 8), 0);
	process.pid = fork();
	if (process.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		serve(listening, first, rest);
	}
	close(listening);
	ck_assert(ctl_link_open(&request, &process, "trim\n", false));
}

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
	char command[96];

	ctl_link_close(&request);
	kill(process.pid, SIGKILL);
	waitpid(process.pid, NULL, 0);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static void fails_soon(void)
{
	struct timespec from, now;

	clock_gettime(CLOCK_MONOTONIC, &from);
	ck_assert_int_eq(ctl_link_read(&request), CTL_FAILED);
	clock_gettime(CLOCK_MONOTONIC, &now);
	ck_assert_int_lt(now.tv_sec - from.tv_sec, PATIENCE);
}

START_TEST(process_stops_before_it_replies)
{
	start("", "working\ndone 1 2\n");
	fails_soon();
}
END_TEST

START_TEST(process_stops_during_the_request)
{
	start("working\n", "done 1 2\n");
	fails_soon();
}
END_TEST

START_TEST(process_stops_between_lines)
{
	start("working\nblock", " 1\ndone\n");
	fails_soon();
}
END_TEST

START_TEST(process_that_continues_finishes)
{
	int status;

	start("working\n", "done 1 2\n");
	ck_assert_int_eq(waitpid(process.pid, &status, WUNTRACED), process.pid);
	ck_assert(WIFSTOPPED(status));
	kill(process.pid, SIGCONT);
	ck_assert_int_eq(ctl_link_read(&request), CTL_DONE);
	ck_assert_str_eq(request.line, " 1 2");
}
END_TEST

int main(void)
{
	TCase *cases = tcase_create("ctl_link");
	Suite *suite = suite_create("ctl_link");
	SRunner *runner = srunner_create(suite);
	int failed;

	suite_add_tcase(suite, cases);
	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, setup, teardown);
	tcase_add_test(cases, process_stops_before_it_replies);
	tcase_add_test(cases, process_stops_during_the_request);
	tcase_add_test(cases, process_stops_between_lines);
	tcase_add_test(cases, process_that_continues_finishes);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
