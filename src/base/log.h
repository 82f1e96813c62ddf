/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - what mam tells people: whole sentences, one line each.
 *
 * A line goes to standard error as "mam: ..." or, with MAM_LOG_FILE, to the end of that file with
 * the process's number, since processes may share it. MAM_LOG says from which level on. Safe from
 * any thread, under any lock, in the child of a fork: a line is one write, nothing is allocated,
 * errno is kept, and no file stays open.
 */
#ifndef MAM_BASE_LOG_H
#define MAM_BASE_LOG_H

#include <stdbool.h>

/* In the order of the words of the option MAM_LOG. */
enum mam_log_level { MAM_LOG_ERROR = 0, MAM_LOG_WARN = 1, MAM_LOG_INFO = 2, MAM_LOG_DEBUG = 3 };

/*
 * One sentence without a newline. Longer than about 1,000 characters it is cut; control characters
 * become '?'.
 */
void mam_log(enum mam_log_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Whether a line of this level would be printed, for messages that are costly to make. */
bool mam_log_wants(enum mam_log_level level);

#endif
