/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_page.c - see stats_page.h.
 *
 * The page is mapped, as its process may be writing it. A page that its owner truncates meanwhile
 * ends this command with a signal: only the same user can do that.
 */
#include "info/stats_page.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mam/statpage.h>

#include "kit/message.h"

/* One entry of the folder. False: it is not a page of the process. */
static bool parse(const char *name, pid_t process, unsigned long long *start, unsigned int *copy)
{
	char again[NAME_MAX + 1];
	long pid;

	if (sscanf(name, "%ld-%llu-%u", &pid, start, copy) != 3 || pid != (long)process)
		return false;
	snprintf(again, sizeof(again), "%ld-%llu-%u", pid, *start, *copy);
	return strcmp(name, again) == 0;
}

static int search(DIR *pages, const char *folder, pid_t process,
		  char paths[STATS_PAGES_MAX][STATS_PAGE_BYTES])
{
	unsigned long long start, last = 0;
	struct dirent *entry;
	unsigned int copy;
	int count = 0;

	while ((entry = readdir(pages)) != NULL) {
		if (!parse(entry->d_name, process, &start, &copy) || start < last)
			continue;
		if (start > last)
			count = 0;
		last = start;
		if (count < STATS_PAGES_MAX)
			snprintf(paths[count++], STATS_PAGE_BYTES, "%s/%s", folder, entry->d_name);
	}
	return count;
}

int stats_page_find(pid_t process, char paths[STATS_PAGES_MAX][STATS_PAGE_BYTES])
{
	char folder[PATH_MAX];
	DIR *pages = NULL;
	int count = 0;

	if (mam_statpage_folder(folder, sizeof(folder)))
		pages = opendir(folder);
	if (pages != NULL) {
		count = search(pages, folder, process, paths);
		closedir(pages);
	}
	if (count == 0)
		message_error("there are no statistics of a process %ld, and no file '%ld'; a "
			      "process that exits normally removes its page",
			      (long)process, (long)process);
	return count;
}

static int open_page(const char *path)
{
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

bool stats_page_is(const char *path)
{
	static const uint64_t magic = MAM_STATPAGE_MAGIC;
	struct stat status;
	uint64_t first = 0;
	int file;

	/* Not a pipe: opening it may start its writer, and reading takes what it wrote. */
	if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
		return false;
	file = open_page(path);
	if (file < 0)
		return false;
	if (pread(file, &first, sizeof(first), 0) != (ssize_t)sizeof(first))
		first = 0;
	close(file);
	return first == magic;
}

static void fill_section(const struct mam_statpage_figures *figures, struct stats_section *section)
{
	section->values[STATS_CALLS] =
		figures->calls != 0 ? figures->calls
				    : figures->allocs + figures->frees + figures->failures;
	section->values[STATS_PEAK_LIVE] = figures->peak_live_bytes;
	section->values[STATS_PEAK_RESERVED] = figures->peak_reserved_bytes;
	section->values[STATS_PEAK_ALL] =
		figures->peak_together != 0 ? figures->peak_together : figures->peak_reserved_bytes;
	section->values[STATS_LIVE_BLOCKS] = figures->live_blocks;
	section->found = (1u << STATS_VALUES) - 1;
}

/* As in a file of mam run, sections of devices exist only if there are several. */
static void fill(const struct mam_statpage *page, struct stats_file *file)
{
	struct mam_statpage_figures figures;
	int used = 0;

	file->pid = page->pid;
	file->has_pid = true;
	file->has_rank = page->rank != 0;
	file->rank = page->rank - file->has_rank;
	mam_statpage_sum(page, -1, &figures);
	fill_section(&figures, &file->whole);
	for (int device = 0; device < MAM_STATPAGE_DEVICES; device++) {
		mam_statpage_sum(page, device, &figures);
		if (!figures.is_used)
			continue;
		fill_section(&figures, &file->devices[device]);
		used++;
	}
	if (used < 2)
		memset(file->devices, 0, sizeof(file->devices));
}

bool stats_page_read(const char *path, struct stats_file *file)
{
	int number = open_page(path);
	struct stat status;
	bool good = false;
	void *page;

	memset(file, 0, sizeof(*file));
	if (number < 0 || fstat(number, &status) != 0) {
		message_error("cannot open '%s': %s", path, strerror(errno));
		if (number >= 0)
			close(number);
		return false;
	}
	page = status.st_size != (off_t)MAM_STATPAGE_BYTES
		       ? MAP_FAILED
		       : mmap(NULL, MAM_STATPAGE_BYTES, PROT_READ, MAP_SHARED, number, 0);
	close(number);
	if (page != MAP_FAILED) {
		good = mam_statpage_is_sound((const struct mam_statpage *)page,
					     (size_t)status.st_size);
		if (good)
			fill((const struct mam_statpage *)page, file);
		munmap(page, MAM_STATPAGE_BYTES);
	}
	if (!good)
		message_error("'%s' is not a complete statistics page of this version of mam",
			      path);
	return good;
}
