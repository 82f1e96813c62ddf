/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in.c - see stand_in.h.
 */
#include "tools/page/stand_in.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool stand_in_folder(char folder[STAND_IN_PATH])
{
	const char *parent = getenv("TMPDIR");
	char pages[STAND_IN_PATH + 8];

	snprintf(folder, STAND_IN_PATH, "%s/mam-pages.XXXXXX", parent ? parent : "/tmp");
	if (mkdtemp(folder) == NULL)
		return false;
	snprintf(pages, sizeof(pages), "%s/mam", folder);
	return mkdir(pages, 0700) == 0 && setenv("XDG_RUNTIME_DIR", folder, 1) == 0;
}

void stand_in_remove(const char *folder)
{
	char pages[STAND_IN_PATH + 8];
	struct dirent *entry;
	DIR *files;

	snprintf(pages, sizeof(pages), "%s/mam", folder);
	files = opendir(pages);
	while (files != NULL && (entry = readdir(files)) != NULL)
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(files), entry->d_name, 0);
	if (files != NULL)
		closedir(files);
	rmdir(pages);
	rmdir(folder);
}

void stand_in_begin(struct mam_statpage *page, pid_t process, uint64_t start, const char *program)
{
	memset(page, 0, sizeof(*page));
	page->magic = MAM_STATPAGE_MAGIC;
	page->bytes = MAM_STATPAGE_BYTES;
	page->pid = (uint64_t)process;
	page->start = start != 0 ? start : mam_statpage_start_of(process);
	memcpy(page->program, program,
	       strlen(program) < sizeof(page->program) ? strlen(program) : sizeof(page->program));
}

struct mam_statpage_counts *stand_in_pool(struct mam_statpage *page, const char *name,
					  const char *source, int device)
{
	struct mam_statpage_pool *pool = page->pools;

	while (pool->state != MAM_STATPAGE_FREE)
		pool++;
	pool->state = MAM_STATPAGE_READY;
	pool->device = device;
	snprintf(pool->name, sizeof(pool->name), "%s", name);
	snprintf(pool->source, sizeof(pool->source), "%s", source);
	return &pool->counts[0];
}

bool stand_in_write(const struct mam_statpage *page, unsigned int copy, char path[STAND_IN_PATH])
{
	bool good;
	int file;

	snprintf(path, STAND_IN_PATH, "%s/mam/%llu-%llu-%u", getenv("XDG_RUNTIME_DIR"),
		 (unsigned long long)page->pid, (unsigned long long)page->start, copy);
	file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (file < 0)
		return false;
	good = write(file, page, sizeof(*page)) == (ssize_t)sizeof(*page) &&
	       ftruncate(file, (off_t)MAM_STATPAGE_BYTES) == 0;
	close(file);
	return good;
}
