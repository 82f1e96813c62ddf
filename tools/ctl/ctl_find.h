/* SPDX-License-Identifier: Apache-2.0 */
/* ctl_find.h - find the process that a user specifies by its ID or name. */
#ifndef TOOLS_CTL_FIND_H
#define TOOLS_CTL_FIND_H

#include <stdbool.h>

#include "page/page_list.h"

/*
 * ctl_find - select the pages of the process with this ID, if `text` consists of digits, or of the
 * only process with this name. They are adjacent in the list: *count from the returned index on.
 * Returns -1 if there is none, or if several processes have the name (reported).
 */
long ctl_find(const struct page_list *list, const char *text, size_t *count);

/* Whether it is a process ID, not a name. */
bool ctl_find_is_id(const char *text);

#endif
