/* SPDX-License-Identifier: Apache-2.0 */
/* say.h - one message to the user of the program. */
#ifndef MAM_INTERPOSE_SAY_H
#define MAM_INTERPOSE_SAY_H

/* As MAM_LOG names them, from the fewest messages to the most. */
enum mam_say_level { MAM_SAY_ERROR, MAM_SAY_WARN, MAM_SAY_INFO, MAM_SAY_DEBUG };

/* Whether MAM_LOG enables messages of this level. */
int mam_say_wants(enum mam_say_level level);

/*
 * Prints "mam: ", "error: " or "warning: " for those levels, and the message to MAM_LOG_FILE or
 * standard error, in one write, truncated at 1000 bytes. Allocates no memory and preserves errno.
 */
void mam_say(enum mam_say_level level, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
