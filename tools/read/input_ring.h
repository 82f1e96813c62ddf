/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_ring.h - FILE.ring, the end of the trace FILE of a process that was killed
 * (<mam/trace_ring.h>). Nothing in it is believed: it may be anybody's file.
 */
#ifndef TOOLS_INPUT_RING_H
#define TOOLS_INPUT_RING_H

#include <mam/mam.h>

struct input_ring;

/* input_ring_open - the ring beside `path`, read whole; NULL: none that could be one. */
struct input_ring *input_ring_open(const char *path);

void input_ring_close(struct input_ring *ring);

/* input_ring_is_of - whether the first line of a file names this ring. */
bool input_ring_is_of(const struct input_ring *ring, const char *line);

/*
 * input_ring_read - whole lines for which there is room, behind the *lines of the file and ring
 * that came before, which are counted on. 0: there are no more. Records that are not whole are
 * left out: the calls that made them never returned.
 */
size_t input_ring_read(struct input_ring *ring, uint64_t *lines, char *buffer, size_t bytes);

#endif
