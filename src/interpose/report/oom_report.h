/* SPDX-License-Identifier: Apache-2.0 */
/* oom_report.h - writes the two files of an out-of-memory report (oom.h). */
#ifndef MAM_INTERPOSE_OOM_REPORT_H
#define MAM_INTERPOSE_OOM_REPORT_H

#include <stdbool.h>

#include <mam/stats.h>

#include "interpose/watch/watch.h"

/* The pool whose memory the request would have used. */
struct mam_oom_pool {
	struct mam_pool *pool;  /* NULL: none */
	struct mam_stats stats; /* zeros if there is none */
	bool is_mapped;         /* its source is vmm */
};

/*
 * Writes the report with this number. Returns 0 or an errno value, and sets *path to the name of the
 * file that was written, or that could not be; it is valid until the next call. One thread at a
 * time.
 */
int mam_oom_report(const struct mam_watch_call *call, const struct mam_oom_pool *pool,
		   unsigned int number, const char **path);

#endif
