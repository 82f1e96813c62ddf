/* SPDX-License-Identifier: Apache-2.0 */
/*
 * statpages.h - a folder for the pages of each test, and the figures of a page.
 */
#ifndef MAM_TESTS_STATPAGES_H
#define MAM_TESTS_STATPAGES_H

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mam/pools.h>
#include <mam/statpage.h>
#include <mam/stats.h>

#include "suite.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

static char folder[64]; /* XDG_RUNTIME_DIR */

static inline void set_up(void)
{
	snprintf(folder, sizeof(folder), "/tmp/mam-statpage-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("XDG_RUNTIME_DIR", folder, 1);
}

static inline void remove_files(const char *from)
{
	DIR *files = opendir(from);
	struct dirent *entry;

	while (files != NULL && (entry = readdir(files)) != NULL)
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(files), entry->d_name, 0);
	if (files != NULL)
		closedir(files);
}

static inline void tear_down(void)
{
	char pages[PATH_MAX];

	snprintf(pages, sizeof(pages), "%s/mam", folder);
	remove_files(pages);
	rmdir(pages);
	rmdir(folder);
}

/* The number of pages in the folder; the path of one of this process, if `path` is not NULL. */
static inline int count_pages(pid_t process, char path[PATH_MAX])
{
	char pages[PATH_MAX / 2], prefix[32];
	struct dirent *entry;
	DIR *files;
	int count = 0;

	snprintf(pages, sizeof(pages), "%s/mam", folder);
	snprintf(prefix, sizeof(prefix), "%ld-", (long)process);
	files = opendir(pages);
	while (files != NULL && (entry = readdir(files)) != NULL) {
		if (entry->d_name[0] == '.' ||
		    (process != 0 && strncmp(entry->d_name, prefix, strlen(prefix)) != 0))
			continue;
		count++;
		if (path != NULL)
			snprintf(path, PATH_MAX, "%s/%s", pages, entry->d_name);
	}
	if (files != NULL)
		closedir(files);
	return count;
}

/* Another mapping of a process's page, as another process has it. */
static inline const struct mam_statpage *map_page(pid_t process)
{
	char path[PATH_MAX];
	struct stat status;
	void *page;
	int file;

	ck_assert_int_eq(count_pages(process, path), 1);
	file = open(path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(file, 0);
	ck_assert_int_eq(fstat(file, &status), 0);
	ck_assert_uint_eq(status.st_mode & 07777, 0600);
	page = mmap(NULL, MAM_STATPAGE_BYTES, PROT_READ, MAP_SHARED, file, 0);
	ck_assert_ptr_ne(page, MAP_FAILED);
	ck_assert(mam_statpage_is_sound(page, (size_t)status.st_size));
	close(file);
	return page;
}

static inline struct mam_statpage_figures figures_of(pid_t process)
{
	const struct mam_statpage *page = map_page(process);
	struct mam_statpage_figures figures;

	ck_assert_uint_eq(page->pid, (uint64_t)process);
	mam_statpage_sum(page, -1, &figures);
	munmap((void *)(uintptr_t)page, MAM_STATPAGE_BYTES);
	return figures;
}

static inline struct mam_pool *make(enum mam_cache_mode cache)
{
	struct mam_pool_attr attr = MAM_POOL_ATTR_INIT;
	struct mam_pool *pool = NULL;

	attr.source = "host";
	attr.growth_bytes = 4 * MIB;
	attr.cache = cache;
	ck_assert_int_eq(mam_pool_create(&attr, &pool), MAM_OK);
	return pool;
}

static inline void check_equal(const struct mam_statpage_figures *figures, struct mam_pool *pool)
{
	struct mam_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(mam_pool_stats(pool, &stats), MAM_OK);
	ck_assert_uint_eq(figures->pools, 1);
	ck_assert_uint_eq(figures->allocs, stats.allocs);
	ck_assert_uint_eq(figures->frees, stats.frees);
	ck_assert_uint_eq(figures->failures, stats.failures);
	ck_assert_uint_eq(figures->live_blocks, stats.live_blocks);
	ck_assert_uint_eq(figures->live_bytes, stats.live_bytes);
	ck_assert_uint_eq(figures->peak_live_bytes, stats.peak_live_bytes);
	ck_assert_uint_eq(figures->cached_bytes, stats.cached_bytes);
	ck_assert_uint_eq(figures->retired_bytes, stats.retired_bytes);
	ck_assert_uint_eq(figures->peak_retired_bytes, stats.peak_retired_bytes);
	ck_assert_uint_eq(figures->reserved_bytes, stats.reserved_bytes);
	ck_assert_uint_eq(figures->peak_reserved_bytes, stats.peak_reserved_bytes);
	ck_assert_uint_eq(figures->driver_calls, stats.driver_calls);
}

static inline void in_child(void (*act)(struct mam_pool *pool), struct mam_pool *pool)
{
	int status = 0;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		act(pool);
		exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %#x",
		      (unsigned int)status);
}

#endif
