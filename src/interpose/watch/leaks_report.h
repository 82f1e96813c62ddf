/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaks_report.h - the list of blocks that are alive at the end.
 */
#ifndef MAM_INTERPOSE_LEAKS_REPORT_H
#define MAM_INTERPOSE_LEAKS_REPORT_H

#include <stddef.h>
#include <stdint.h>

#include "interpose/watch/ledger.h"

struct mam_leaks_left {
	struct mam_ledger_entry *entries; /* ids are struct mam_stack *, or 0; will be sorted */
	size_t count;
	uint64_t forgotten; /* blocks that nothing is known of */
	uint64_t now;       /* ns, on the entries' clock */
};

/* To a file, or standard error where path is NULL or "". */
void mam_leaks_report(const struct mam_leaks_left *left, const char *path);

#endif
