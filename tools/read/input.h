/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - the bytes of a file, plain or gzip, or of standard input; and, behind those of a trace
 * whose process was killed, the lines that are still in the ring beside it.
 */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include <mam/mam.h>

struct input;

/* input_open - path "-" is standard input. NULL: it cannot be read, and that was said. */
struct input *input_open(const char *path);

void input_close(struct input *input);

#define INPUT_HEAD_BYTES 64

/*
 * input_head - how it begins: as many bytes as there are, INPUT_HEAD_BYTES at most. They are read
 * again by input_read(), before which this must be called. Returns their number.
 */
size_t input_head(struct input *input, unsigned char *head);

/* input_read - what mam_trace_reader_create() wants; `user` is the struct input. */
enum mam_status input_read(void *user, void *buffer, size_t bytes, size_t *got);

/* input_trouble - why the last input_read() failed, in words that go behind "the file"; or NULL. */
const char *input_trouble(const struct input *input);

/* input_position - bytes of the file itself taken so far, and in all (0: not known). */
void input_position(const struct input *input, uint64_t *taken, uint64_t *in_all);

#endif
