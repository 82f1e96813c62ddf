/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report.h - what the statistics say, and its two forms.
 */
#ifndef MAM_INTERPOSE_REPORT_H
#define MAM_INTERPOSE_REPORT_H

#include <stdint.h>

#include "interpose/memory/account.h"
#include "interpose/memory/chunks.h"
#include "interpose/memory/pools.h"
#include "interpose/process/file.h"
#include "interpose/watch/count.h"

/* All that a report says, of one moment. */
struct mam_report {
	uint64_t caught;               /* calls */
	uint64_t road[MAM_ROAD_COUNT]; /* calls */
	uint64_t fate[MAM_FATE_COUNT]; /* calls */
	uint64_t bytes_asked;
	struct mam_count_sums counts;
	struct mam_pools_sums pools;
	struct mam_account_sums account;
	struct mam_chunks_costs costs;
	double ratio;      /* peak reserved to peak live; 0: nothing lived */
	double call_ns;    /* what a call would have taken, on average */
	double saved_ns;   /* about; 0: too few calls of the driver's were timed to say */
};

/* The same names in both forms. */
const char *mam_report_road_key(enum mam_road road);           /* "runtime" */
const char *mam_report_kind_key(enum mam_account_kind kind);   /* "chunks" */
const char *mam_report_kind_text(enum mam_account_kind kind);  /* "chunks of pools" */

/* All of it, to where MAM_STATS_FILE says; nothing where no call was caught and none was to be. */
void mam_report_statistics(void);

void mam_report_table(struct mam_file_text *text, const struct mam_report *report);
void mam_report_keys(struct mam_file_text *text, const struct mam_report *report);

#endif
