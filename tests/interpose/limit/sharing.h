/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sharing.h - the frame of the tests of a shared limit (test_shared*.c): a driver that only
 * identifies devices, a file per test, and children.
 *
 * Each test runs in a process of its own. The children of that process charge, and in some tests so
 * does the process itself.
 */
#ifndef MAM_TESTS_SHARING_H
#define MAM_TESTS_SHARING_H

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/statpage.h>

#include "interpose/memory/account.h"
#include "interpose/memory/shared.h"
#include "interpose/process/say.h"
#include "interpose/routes/real.h"

#define LIMIT ((uint64_t)1 << 30)
#define PARTS 8
#define PART (LIMIT / PARTS)

static char path[PATH_MAX];
static unsigned char first_byte; /* of the UUID of device 0 */
static bool uuid_fails;
static int messages;

void mam_say(enum mam_say_level level, const char *format, ...)
{
	(void)level;
	(void)format;
	messages++;
}

static int uuid_of(void *uuid, int device)
{
	memset(uuid, 7, 16);
	((unsigned char *)uuid)[0] = (unsigned char)(first_byte + device);
	return uuid_fails ? 999 : 0;
}

const struct mam_real_driver *_Atomic mam_real_driver_known;

const struct mam_real_driver *mam_real_driver_slow(void)
{
	static const struct mam_real_driver driver = { .device_uuid = uuid_of };

	return &driver;
}

static inline void set_up(void)
{
	const char *folder = getenv("TMPDIR");

	snprintf(path, sizeof(path), "%s/mam-test-shared-%d", folder != NULL ? folder : "/tmp",
		 (int)getpid());
	unlink(path);
	setenv("MAM_LIMIT", "1G", 1);
	setenv("MAM_LIMIT_FILE", path, 1);
}

static inline void tear_down(void)
{
	unlink(path);
}

/* Runs `play` in a child and returns its exit status. */
static inline int in_child(int (*play)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		mam_statpage_fork_child();
		mam_account_restart();
		status = play();
		mam_shared_finish();
		_exit(status);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static inline int count_parts(void)
{
	int parts = 0;

	while (mam_account_charge(0, MAM_ACCOUNT_DIRECT, PART))
		parts++;
	return parts;
}

#endif
