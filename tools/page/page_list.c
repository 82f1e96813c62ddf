/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_list.c - see page_list.h.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* asprintf */
#endif
#include "page/page_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "kit/message.h"

#define TRIES_MAX 100
#define FOLDERS_MAX 2
#define NEW_SECONDS 2 /* a file is incomplete while it is created */

/* ---- one page ---- */

/* The bytes from `from` up to `to`. */
static bool copy_part(int file, struct mam_statpage *page, size_t from, size_t to)
{
	return pread(file, (char *)page + from, to - from, (off_t)from) == (ssize_t)(to - from);
}

static uint64_t sequence_of(const struct mam_statpage *page, unsigned int pool)
{
	return *(const uint64_t *)&page->pools[pool].sequence;
}

static bool is_unchanged(const struct mam_statpage *before, const struct mam_statpage *after)
{
	for (unsigned int i = 0; i < MAM_STATPAGE_POOLS; i++)
		if (sequence_of(before, i) != sequence_of(after, i))
			return false;
	return true;
}

/*
 * The reader's part of the protocol in <mam/statpage.h>: the pools, the tallies, and the pools
 * again, until no pool published its counts meanwhile.
 */
static bool copy_page(int file, struct mam_statpage *page)
{
	static const size_t pools_end = offsetof(struct mam_statpage, tallies);
	static const size_t tallies_end = offsetof(struct mam_statpage, devices);
	static struct mam_statpage again; /* its pools */

	if (!copy_part(file, page, 0, pools_end))
		return false;
	for (int i = 0; i < TRIES_MAX; i++) {
		if (!copy_part(file, page, pools_end, tallies_end) ||
		    !copy_part(file, &again, 0, pools_end))
			return false;
		if (is_unchanged(page, &again))
			break;
		memcpy(page, &again, pools_end);
	}
	return copy_part(file, page, tallies_end, sizeof(*page));
}

static int open_page(const char *path, int flags)
{
	return open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
}

bool page_read_file(int file, struct mam_statpage *page)
{
	struct stat status;

	return fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
	       status.st_size == (off_t)MAM_STATPAGE_BYTES && copy_page(file, page) &&
	       mam_statpage_is_sound(page, (size_t)status.st_size);
}

bool page_read(const char *path, struct mam_statpage *page)
{
	int file = open_page(path, 0);
	bool good;

	if (file < 0)
		return false;
	good = page_read_file(file, page);
	close(file);
	errno = 0;
	return good;
}

/* ---- the list ---- */

struct entries {
	struct page_entry *entries;
	size_t count;
};

static void free_entries(struct page_entry *entries, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(entries[i].path);
	free(entries);
}

/* Takes over the path. */
static bool append(struct entries *to, const struct page_entry *entry)
{
	struct page_entry *more =
		(struct page_entry *)realloc(to->entries, (to->count + 1) * sizeof(*to->entries));

	if (more == NULL)
		return false;
	to->entries = more;
	to->entries[to->count++] = *entry;
	return true;
}

/* Whether it is the name of a page, without leading zeros and the like. */
bool page_parse(const char *name, struct page_entry *entry)
{
	char again[NAME_MAX + 1];
	unsigned long long start;
	long process;

	if (sscanf(name, "%ld-%llu-%u", &process, &start, &entry->copy) != 3 || process <= 0 ||
	    process > INT_MAX)
		return false;
	entry->pid = (pid_t)process;
	entry->start = start;
	snprintf(again, sizeof(again), "%ld-%llu-%u", process, start, entry->copy);
	return strcmp(name, again) == 0;
}

static void set_program(struct page_entry *entry, const char program[64])
{
	size_t bytes = sizeof(entry->program) - 1;

	memcpy(entry->program, program, bytes);
	entry->program[bytes] = '\0';
	for (char *c = entry->program; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?'; /* a terminal might interpret it */
}

enum verdict { VALID, INVALID, IGNORED };

/* A page that is being created is empty, or its magic number is 0. */
static bool is_being_created(const struct stat *status, uint64_t magic)
{
	struct timespec now;

	return magic == 0 && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
	       now.tv_sec - status->st_mtim.tv_sec < NEW_SECONDS;
}

/* Reads the heading of a page that is not on the list yet. */
static enum verdict inspect(struct page_entry *entry)
{
	static struct mam_statpage page; /* its heading */
	enum verdict verdict = IGNORED;
	int file = open_page(entry->path, O_NOFOLLOW);
	struct stat status;

	memset(&page, 0, offsetof(struct mam_statpage, past));
	if (file >= 0 && fstat(file, &status) == 0) {
		bool is_filled = copy_part(file, &page, 0, offsetof(struct mam_statpage, past));

		if (is_filled && status.st_uid == geteuid() && S_ISREG(status.st_mode) &&
		    mam_statpage_is_sound(&page, (size_t)status.st_size) &&
		    page.pid == (uint64_t)entry->pid && page.start == entry->start) {
			set_program(entry, page.program);
			verdict = VALID;
		} else if (!is_being_created(&status, page.magic)) {
			verdict = INVALID;
		}
	}
	if (file >= 0)
		close(file);
	return verdict;
}

static int compare(const void *one, const void *other)
{
	const struct page_entry *a = (const struct page_entry *)one;
	const struct page_entry *b = (const struct page_entry *)other;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->copy < b->copy ? -1 : a->copy > b->copy;
}

static const struct page_entry *find(const struct page_entry *entries, size_t count,
				     const struct page_entry *entry)
{
	for (size_t i = 0; i < count; i++)
		if (compare(&entries[i], entry) == 0 && strcmp(entries[i].path, entry->path) == 0)
			return &entries[i];
	return NULL;
}

static void report(const struct page_list *list, const struct page_entry *entry)
{
	if (!list->is_quiet)
		message_warning("'%s' is not a valid statistics page of this version of mam; it "
				"is skipped",
				entry->path);
}

/* Adds the entry to `good` or `bad`, or frees its path. False: out of memory. */
static bool sort_in(const struct page_list *list, struct page_entry *entry, struct entries *good,
		    struct entries *bad)
{
	const struct page_entry *known = find(list->entries, list->count, entry);
	enum verdict verdict = VALID;

	if (known != NULL)
		memcpy(entry->program, known->program, sizeof(entry->program));
	else
		verdict = inspect(entry);
	if (verdict == INVALID && find(list->skipped, list->skipped_count, entry) == NULL)
		report(list, entry);
	if (verdict != IGNORED && append(verdict == VALID ? good : bad, entry))
		return true;
	free(entry->path);
	return verdict == IGNORED;
}

static bool search_folder(const struct page_list *list, DIR *folder, const char *name,
			  struct entries *good, struct entries *bad)
{
	struct dirent *found;
	bool done = true;

	while (done && (found = readdir(folder)) != NULL) {
		struct page_entry entry = { .path = NULL };

		if (!page_parse(found->d_name, &entry))
			continue;
		entry.has_ended = mam_statpage_start_of(entry.pid) != entry.start;
		if (entry.has_ended && !list->with_ended)
			continue;
		done = asprintf(&entry.path, "%s/%s", name, found->d_name) > 0 &&
		       sort_in(list, &entry, good, bad);
	}
	return done;
}

/* Another user may have created the folder. */
static DIR *open_folder(const char *name)
{
	DIR *folder = opendir(name);
	struct stat status;

	if (folder == NULL || (fstat(dirfd(folder), &status) == 0 && status.st_uid == geteuid()))
		return folder;
	closedir(folder);
	return NULL;
}

static int name_folders(char folders[FOLDERS_MAX][PATH_MAX])
{
	char own[PATH_MAX];

	snprintf(folders[0], PATH_MAX, "/run/user/%ld/mam", (long)geteuid());
	snprintf(folders[1], PATH_MAX, "/dev/shm/mam-%ld", (long)geteuid());
	if (!mam_statpage_folder(own, sizeof(own)) || strcmp(own, folders[0]) == 0 ||
	    strcmp(own, folders[1]) == 0)
		return 2;
	memcpy(folders[0], own, sizeof(own));
	return 1;
}

bool page_list_refresh(struct page_list *list)
{
	static char folders[FOLDERS_MAX][PATH_MAX];
	struct entries good = { .count = 0 }, bad = { .count = 0 };
	int count = name_folders(folders);
	bool done = true;

	for (int i = 0; i < count && done; i++) {
		DIR *folder = open_folder(folders[i]);

		if (folder == NULL)
			continue;
		done = search_folder(list, folder, folders[i], &good, &bad);
		closedir(folder);
	}
	if (!done) {
		message_error("out of memory");
		free_entries(good.entries, good.count);
		free_entries(bad.entries, bad.count);
		return false;
	}
	if (good.count > 1)
		qsort(good.entries, good.count, sizeof(*good.entries), compare);
	page_list_fini(list);
	list->entries = good.entries;
	list->count = good.count;
	list->skipped = bad.entries;
	list->skipped_count = bad.count;
	return true;
}

bool page_list_skip(struct page_list *list, size_t entry)
{
	struct entries bad = { list->skipped, list->skipped_count };

	if (!append(&bad, &list->entries[entry])) {
		message_error("out of memory");
		return false;
	}
	report(list, &list->entries[entry]);
	list->skipped = bad.entries;
	list->skipped_count = bad.count;
	list->count--;
	memmove(&list->entries[entry], &list->entries[entry + 1],
		(list->count - entry) * sizeof(*list->entries));
	return true;
}

void page_list_fini(struct page_list *list)
{
	free_entries(list->entries, list->count);
	free_entries(list->skipped, list->skipped_count);
	list->entries = list->skipped = NULL;
	list->count = list->skipped_count = 0;
}
