/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_page.h - read the statistics page of a process that runs or was killed
 * (<mam/statpage.h>).
 */
#ifndef TOOLS_STATS_PAGE_H
#define TOOLS_STATS_PAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "info/stats_read.h"

#define STATS_PAGES_MAX 8 /* of one process */
#define STATS_PAGE_BYTES 4352

/*
 * stats_page_find - write the paths of the pages of a process; if there were several of that ID,
 * those of the last one. Returns their number. 0: there are none (reported).
 */
int stats_page_find(pid_t process, char paths[STATS_PAGES_MAX][STATS_PAGE_BYTES]);

/* Whether the file exists and starts like a page. */
bool stats_page_is(const char *path);

/* stats_page_read - read the page at `path`. False: it cannot be read or is not valid (reported). */
bool stats_page_read(const char *path, struct stats_file *file);

#endif
