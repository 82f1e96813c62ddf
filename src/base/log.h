/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - messages to the user: whole sentences, one line each.
 *
 * A line goes to standard error as "mam: ..." or, with MAM_LOG_FILE, to the end of that file with
 * the process ID, since processes may share the file. MAM_LOG sets the level. Any thread may log,
 * under any lock and in a forked child: a line is one write, nothing is allocated, errno is
 * preserved, and no file stays open.
 */
#ifndef MAM_BASE_LOG_H
#define MAM_BASE_LOG_H

#include <stdbool.h>

/* In the order of the words of MAM_LOG. */
enum mam_log_level { MAM_LOG_ERROR = 0, MAM_LOG_WARN = 1, MAM_LOG_INFO = 2, MAM_LOG_DEBUG = 3 };

/*
 * Print one sentence without a newline. A sentence of more than about 1,000 characters is
 * truncated; control characters become '?'.
 */
void mam_log(enum mam_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Returns whether a line of this level would be printed, for messages that are costly to build. */
bool mam_log_wants(enum mam_log_level level);

#endif
