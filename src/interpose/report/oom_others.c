/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oom_others.c - see oom_others.h. Nothing here allocates memory: opendir() would.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_NOFOLLOW */
#endif
#include "interpose/report/oom_others.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <mam/statpage.h>

#include "interpose/report/oom_heap.h"

#define FIND_NS UINT64_C(20000000)

/* lock: the caller of mam_oom_others_find() is the only one */
static struct mam_statpage page;
static char entries[16384] __attribute__((aligned(8)));

/* mam run accounts for all memory, and the library for its pools. */
static uint64_t bytes_on_page(void)
{
	struct mam_statpage_figures figures;
	uint64_t accounted = 0;

	mam_statpage_sum(&page, -1, &figures);
	for (int i = 0; i < MAM_STATPAGE_DEVICES; i++)
		accounted += atomic_load(&page.devices[i].together);
	return accounted > figures.reserved_bytes ? accounted : figures.reserved_bytes;
}

/* Copies a page, which another process may change or truncate. */
static bool read_page(int folder, const char *name)
{
	int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat status;
	bool good;

	if (file < 0)
		return false;
	good = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
	       pread(file, &page, sizeof(page), 0) == (ssize_t)sizeof(page) &&
	       mam_statpage_is_sound(&page, (size_t)status.st_size);
	close(file);
	return good;
}

/* Whether it is the name of the page of another process, which runs. */
static bool is_other(const char *name, struct mam_oom_other *other)
{
	unsigned long long start;
	unsigned int copy;
	long process;
	int length = 0;

	sscanf(name, "%ld-%llu-%u%n", &process, &start, &copy, &length);
	if (length == 0 || name[length] != '\0' || process <= 0 || process > INT_MAX ||
	    process == (long)getpid() || mam_statpage_start_of((pid_t)process) != start)
		return false;
	other->process = (pid_t)process;
	return true;
}

/* The program's name may have any characters. */
static void name_program(struct mam_oom_other *other)
{
	snprintf(other->program, sizeof(other->program), "%.*s", (int)sizeof(page.program) - 1,
		 page.program);
	for (char *c = other->program; *c != '\0'; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

static size_t insert(struct mam_oom_other *others, size_t count, size_t room,
		     const struct mam_oom_other *other)
{
	size_t at = count;

	while (at > 0 && others[at - 1].bytes < other->bytes)
		at--;
	if (at == room)
		return count;
	if (count < room)
		count++;
	memmove(&others[at + 1], &others[at], (count - at - 1) * sizeof(*others));
	others[at] = *other;
	return count;
}

size_t mam_oom_others_find(struct mam_oom_other *others, size_t room)
{
	const uint64_t until = mam_oom_now() + FIND_NS;
	struct mam_oom_other other;
	char path[PATH_MAX];
	size_t count = 0;
	int folder = -1;
	long got;

	if (mam_statpage_folder(path, sizeof(path)))
		folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0)
		return 0;
	while ((got = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
		for (long at = 0; at < got && mam_oom_now() < until;) {
			const struct dirent64 *entry = (const struct dirent64 *)&entries[at];

			at += entry->d_reclen;
			if (!is_other(entry->d_name, &other) || !read_page(folder, entry->d_name))
				continue;
			other.bytes = bytes_on_page();
			name_program(&other);
			if (other.bytes != 0)
				count = insert(others, count, room, &other);
		}
		if (mam_oom_now() >= until)
			break;
	}
	close(folder);
	return count;
}
