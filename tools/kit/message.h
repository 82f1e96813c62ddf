/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h - messages to the user, on stderr.
 */
#ifndef TOOLS_MESSAGE_H
#define TOOLS_MESSAGE_H

#include <stdbool.h>

/* message_begin - set the prefix of all messages that follow: "mam replay". Not copied. */
void message_begin(const char *speaker);
/* message_name - that prefix */
const char *message_name(void);

/*
 * message_error - print "PREFIX: error: " and one line: what failed, where, what to do. Without a
 * full stop.
 */
void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* message_warning - print a line after "PREFIX: warning: "; the command continues. */
void message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* message_note - the same after "PREFIX: note: ". */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* message_hush - drop all messages that follow, or print them again. */
void message_hush(bool hush);

#endif
