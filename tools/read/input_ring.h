/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_ring.h - FILE.ring, the end of the trace FILE of a process that was killed
 * (<mam/trace_ring.h>). The file is untrusted: any program may have written it.
 */
#ifndef TOOLS_INPUT_RING_H
#define TOOLS_INPUT_RING_H

#include <mam/mam.h>

struct input_ring;

/*
 * input_ring_open - read the whole ring next to `path`; NULL: there is no valid one.
 * input_ring_is - whether the file itself is a ring.
 */
bool input_ring_is(int file);
struct input_ring *input_ring_open(const char *path);

void input_ring_close(struct input_ring *ring);

/* input_ring_is_of - whether the first line of a trace names this ring. */
bool input_ring_is_of(const struct input_ring *ring, const char *line);

/*
 * input_ring_read - copy the next whole lines that fit and add their number to *lines, the number
 * of lines of the file and ring returned so far. 0: no more lines. Incomplete records are skipped:
 * the calls that wrote them never returned.
 */
size_t input_ring_read(struct input_ring *ring, uint64_t *lines, char *buffer, size_t bytes);

#endif
