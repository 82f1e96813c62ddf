/* SPDX-License-Identifier: Apache-2.0 */
/*
 * message.h - sentences for people, on standard error.
 */
#ifndef TOOLS_MESSAGE_H
#define TOOLS_MESSAGE_H

/* message_begin - who speaks from now on: "mam replay". Kept, not copied. */
void message_begin(const char *speaker);

/*
 * message_error - one sentence: what, where, what to do. The speaker goes before it, a full stop
 * behind it.
 */
void message_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* message_warning - a line after "SPEAKER: warning: "; the command goes on. */
void message_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* message_note - the same after "SPEAKER: note: ". */
void message_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
