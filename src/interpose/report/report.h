/* SPDX-License-Identifier: Apache-2.0 */
/* report.h - the statistics, and their two forms. */
#ifndef MAM_INTERPOSE_REPORT_H
#define MAM_INTERPOSE_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "interpose/memory/account.h"
#include "interpose/memory/chunks.h"
#include "interpose/memory/pools.h"
#include "interpose/process/file.h"
#include "interpose/watch/count.h"

/* The numbers of one device, or of all together. */
struct mam_report_part {
	uint64_t caught;               /* calls; of a device: those that are known to concern it */
	uint64_t fate[MAM_FATE_COUNT]; /* the same calls */
	uint64_t bytes_asked;
	struct mam_pools_sums pools;
	struct mam_account_sums account;
	struct mam_chunks_costs costs;
	double ratio;    /* peak reserved / peak live bytes; 0: there were no live bytes */
	double call_ns;  /* average time of a driver call */
	double saved_ns; /* approximate; 0: too few driver calls were timed */
};

/* All numbers of a report, from one moment. */
struct mam_report {
	uint64_t road[MAM_ROAD_COUNT]; /* calls */
	struct mam_count_sums counts;
	struct mam_report_part all;
	uint64_t devices; /* a bit per device whose memory the process used */
};

/*
 * mam_report_next_device - compute the numbers of the next device whose memory the process used,
 * from *device up, and set *device to it. Returns false if there is none, and if the process used
 * one device only: `all` has its numbers then. Start with 0; add 1 for the next.
 */
bool mam_report_next_device(const struct mam_report *report, int *device,
			    struct mam_report_part *part);

/* The same names in both forms. */
const char *mam_report_road_key(enum mam_road road);          /* "runtime" */
const char *mam_report_kind_key(enum mam_account_kind kind);  /* "chunks" */
const char *mam_report_kind_text(enum mam_account_kind kind); /* "chunks of pools" */

/*
 * Writes the statistics to standard error or MAM_STATS_FILE. Writes nothing if no call was
 * intercepted, unless this is the process that mam run started.
 */
void mam_report_statistics(void);

/* Computes the numbers of this moment. */
void mam_report_collect(struct mam_report *report);

void mam_report_table(struct mam_file_text *text, const struct mam_report *report);
void mam_report_keys(struct mam_file_text *text, const struct mam_report *report);

#endif
