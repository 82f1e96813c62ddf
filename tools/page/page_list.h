/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_list.h - the statistics pages of this user's processes (<mam/statpage.h>): a list of them,
 * and copies of single pages.
 *
 * Nothing is written to a page or to its folder, and no process is interrupted. A page is copied
 * rather than mapped, so that a process that truncates its page cannot end the reader.
 */
#ifndef TOOLS_PAGE_LIST_H
#define TOOLS_PAGE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mam/statpage.h>

struct page_entry {
	pid_t pid;
	uint64_t start;    /* start time of the process, as the system counts it */
	unsigned int copy; /* of the library in that process */
	bool has_ended;    /* there is no such process anymore */
	char program[sizeof(((struct mam_statpage *)0)->program) + 1]; /* printable */
	char *path;
};

/* Set it to zeros, and the members under "in", before the first page_list_refresh(). */
struct page_list {
	/* in */
	bool with_ended; /* include the pages of processes that were killed */
	bool is_quiet;   /* report nothing: the caller uses `skipped` */
	/* out */
	struct page_entry *entries; /* sorted by pid, start and copy */
	size_t count;
	struct page_entry *skipped; /* files with the name of a page that are not valid */
	size_t skipped_count;
};

/*
 * page_list_refresh - search the folder again. A file that is not a valid page is reported the
 * first time, and skipped. False: out of memory (reported); the list is unchanged.
 *
 * The folders are /run/user/UID/mam and /dev/shm/mam-UID, as programs differ in whether
 * $XDG_RUNTIME_DIR is set; or only the one that it names, if that is another one.
 */
bool page_list_refresh(struct page_list *list);
void page_list_fini(struct page_list *list);

/*
 * page_list_skip - an entry turned out to be invalid: report it, and move it to the skipped ones.
 * False: out of memory (reported).
 */
bool page_list_skip(struct page_list *list, size_t entry);

/*
 * page_read - copy the page at `path`. The counts and the threads' tallies of a pool are of one
 * moment, unless the pool changes too often. False: it is not a complete page of this version, or
 * errno is not 0 and has the reason. Nothing is reported.
 */
bool page_read(const char *path, struct mam_statpage *page);

/* page_read_file - the same of an open file. False: it is not such a page, or cannot be read. */
bool page_read_file(int file, struct mam_statpage *page);

/*
 * page_parse - set pid, start and copy from the name of a page. False: it is not such a name. Then
 * these members may be changed too.
 */
bool page_parse(const char *name, struct page_entry *entry);

#endif
