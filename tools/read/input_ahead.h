/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_ahead.h - call a read function in a thread of its own, a few blocks ahead, so that
 * decompression and parsing overlap.
 */
#ifndef TOOLS_INPUT_AHEAD_H
#define TOOLS_INPUT_AHEAD_H

#include <mam/mam.h>

struct input_ahead;

/*
 * input_ahead_create - start the thread. `read` is called until it returns no bytes or an error;
 * `position` is called after each call. NULL: no memory, or no thread.
 */
struct input_ahead *input_ahead_create(enum mam_status (*read)(void *user, void *buffer,
							       size_t bytes, size_t *got),
				       uint64_t (*position)(void *user), void *user);

/* input_ahead_destroy - stop the thread and wait for it. NULL: a no-op. */
void input_ahead_destroy(struct input_ahead *ahead);

/* input_ahead_read - the next bytes; after the last ones *got 0, or the error of `read`. */
enum mam_status input_ahead_read(struct input_ahead *ahead, void *buffer, size_t bytes,
				 size_t *got);

/* input_ahead_position - of the last bytes that input_ahead_read() returned. */
uint64_t input_ahead_position(const struct input_ahead *ahead);

/* input_ahead_ended - whether input_ahead_read() has returned the end or the error. */
bool input_ahead_ended(const struct input_ahead *ahead);

#endif
