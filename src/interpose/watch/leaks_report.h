/* SPDX-License-Identifier: Apache-2.0 */
/* leaks_report.h - the report of blocks that are not freed when the process ends. */
#ifndef MAM_INTERPOSE_LEAKS_REPORT_H
#define MAM_INTERPOSE_LEAKS_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "interpose/watch/ledger.h"

struct mam_leaks_left {
	struct mam_ledger_entry *entries; /* ids are struct mam_stack *, or 0; sorted here */
	size_t count;
	uint64_t forgotten; /* blocks that were not recorded */
	uint64_t now;       /* ns, on the entries' clock */
};

/* Prints to a file, or to standard error if path is NULL or "". */
void mam_leaks_report(const struct mam_leaks_left *left, const char *path);

#endif
