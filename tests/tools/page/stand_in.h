/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in.h - statistics pages with chosen contents, in the folder of $XDG_RUNTIME_DIR.
 */
#ifndef TESTS_TOOLS_PAGE_STAND_IN_H
#define TESTS_TOOLS_PAGE_STAND_IN_H

#include <stdbool.h>
#include <sys/types.h>

#include <mam/statpage.h>

#define STAND_IN_PATH 4096

/* stand_in_folder - make a new folder and set $XDG_RUNTIME_DIR to it. Returns false on an error. */
bool stand_in_folder(char folder[STAND_IN_PATH]);
/* stand_in_remove - remove that folder with its pages. */
void stand_in_remove(const char *folder);

/* stand_in_begin - a page without pools; `start` 0: the process's start time. */
void stand_in_begin(struct mam_statpage *page, pid_t process, uint64_t start, const char *program);

/* stand_in_pool - the next pool; the caller fills its counts[0]. */
struct mam_statpage_counts *stand_in_pool(struct mam_statpage *page, const char *name,
					  const char *source, int device);

/*
 * stand_in_write - write the page as a file, and its path. An existing file is overwritten.
 * Returns false on an error.
 */
bool stand_in_write(const struct mam_statpage *page, unsigned int copy, char path[STAND_IN_PATH]);

#endif
