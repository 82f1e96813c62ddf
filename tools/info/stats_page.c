/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_page.c - see stats_page.h.
 */
#include "info/stats_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mam/statpage.h>

#include "kit/message.h"
#include "page/page_list.h"

/* Writes the paths of those entries that are of the process. Returns their number. */
static int take(const struct page_entry *entries, size_t count, pid_t process, uint64_t start,
		char paths[][STATS_PAGE_BYTES], int used)
{
	for (size_t i = 0; i < count; i++)
		if (entries[i].pid == process && entries[i].start == start &&
		    used < STATS_PAGES_MAX)
			snprintf(paths[used++], STATS_PAGE_BYTES, "%s", entries[i].path);
	return used;
}

static void find_last(const struct page_entry *entries, size_t count, pid_t process,
		      uint64_t *start)
{
	for (size_t i = 0; i < count; i++)
		if (entries[i].pid == process && entries[i].start > *start)
			*start = entries[i].start;
}

/* Invalid pages are included: reading them reports the error. */
int stats_page_find(pid_t process, char paths[STATS_PAGES_MAX][STATS_PAGE_BYTES])
{
	struct page_list list = { .with_ended = true, .is_quiet = true };
	uint64_t start = 0;
	int count;

	if (!page_list_refresh(&list))
		return 0;
	find_last(list.entries, list.count, process, &start);
	find_last(list.skipped, list.skipped_count, process, &start);
	count = take(list.entries, list.count, process, start, paths, 0);
	count = take(list.skipped, list.skipped_count, process, start, paths, count);
	page_list_fini(&list);
	if (count == 0)
		message_error("there are no statistics of a process %ld, and no file '%ld'; a "
			      "process that exits normally removes its page",
			      (long)process, (long)process);
	return count;
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
	file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
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
	static struct mam_statpage page;

	memset(file, 0, sizeof(*file));
	if (page_read(path, &page)) {
		fill(&page, file);
		return true;
	}
	if (errno != 0)
		message_error("cannot open '%s': %s", path, strerror(errno));
	else
		message_error("'%s' is not a complete statistics page of this version of mam",
			      path);
	return false;
}
