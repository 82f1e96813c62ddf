/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.h - the bytes of a file, plain or gzip, or of standard input. For the trace of a killed
 * process they are followed by the lines that are still in the ring next to it.
 */
#ifndef TOOLS_INPUT_H
#define TOOLS_INPUT_H

#include <mam/mam.h>

struct input;

/* input_open - path "-" is standard input. NULL: the file is unreadable (reported). */
struct input *input_open(const char *path);

void input_close(struct input *input);

#define INPUT_HEAD_BYTES 64

/*
 * input_head - copy the first bytes, up to INPUT_HEAD_BYTES. input_read(), which may only be called
 * afterwards, returns them again. Returns their number.
 */
size_t input_head(struct input *input, unsigned char *head);

/*
 * input_go_ahead - from now on, read and decompress in a thread of its own, ahead of input_read().
 * Small files, and a system without memory for a thread, are read as before.
 */
void input_go_ahead(struct input *input);

/* input_read - the callback for mam_trace_reader_create(); `user` is the struct input. */
enum mam_status input_read(void *user, void *buffer, size_t bytes, size_t *got);

/* input_trouble - why the last input_read() failed, as a phrase to follow "the file"; or NULL. */
const char *input_trouble(const struct input *input);

/* input_position - bytes of the file itself read so far, and its size (0: unknown). */
void input_position(const struct input *input, uint64_t *taken, uint64_t *in_all);

#endif
