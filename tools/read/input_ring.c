/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input_ring.c - see input_ring.h.
 */
#include "read/input_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mam/trace_ring.h>

struct input_ring {
	struct mam_trace_ring heading;
	uint64_t looked_at; /* records; at most the number of slots */
	const char *text;
	struct mam_trace_record records[]; /* the text follows them */
};

static bool read_at(int from, void *buffer, size_t bytes, off_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t got =
			pread(from, (char *)buffer + done, bytes - done, offset + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static struct input_ring *read_ring(int from)
{
	struct mam_trace_ring heading;
	struct input_ring *ring;
	struct stat status;
	size_t bytes;

	if (fstat(from, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < 0 ||
	    !read_at(from, &heading, sizeof(heading), 0) ||
	    !mam_trace_ring_is_sound(&heading, (uint64_t)status.st_size))
		return NULL;
	bytes = (size_t)heading.capacity * sizeof(struct mam_trace_record) +
		(size_t)heading.text_bytes;
	ring = malloc(sizeof(*ring) + bytes);
	if (!ring)
		return NULL;
	ring->heading = heading;
	ring->looked_at = 0;
	ring->text = (const char *)&ring->records[heading.capacity];
	if (!read_at(from, ring->records, bytes, MAM_TRACE_RING_HEAD)) {
		free(ring);
		return NULL;
	}
	return ring;
}

struct input_ring *input_ring_open(const char *path)
{
	char beside[PATH_MAX];
	struct input_ring *ring;
	int from;

	if (snprintf(beside, sizeof(beside), "%s.ring", path) >= (int)sizeof(beside))
		return NULL;
	from = open(beside, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (from < 0)
		return NULL;
	ring = read_ring(from);
	close(from);
	return ring;
}

bool input_ring_is(int file)
{
	uint64_t magic;

	return read_at(file, &magic, sizeof(magic), 0) && magic == MAM_TRACE_RING_MAGIC;
}

void input_ring_close(struct input_ring *ring)
{
	free(ring);
}

bool input_ring_is_of(const struct input_ring *ring, const char *line)
{
	char name[32];

	snprintf(name, sizeof(name), " ring=%016llx ", (unsigned long long)ring->heading.token);
	return line[0] == '#' && strstr(line, name) != NULL;
}

size_t input_ring_read(struct input_ring *ring, uint64_t *lines, char *buffer, size_t bytes)
{
	uint64_t mask = ring->heading.capacity - 1;
	size_t used = 0, length;

	if (*lines < ring->heading.lines)
		return 0;
	while (bytes - used >= MAM_TRACE_RING_TEXT && ring->looked_at <= mask) {
		uint64_t i = *lines - ring->heading.lines;
		const struct mam_trace_record *record = &ring->records[i & mask];
		const char *text = mam_trace_record_text(record, ring->text,
							 ring->heading.text_bytes, &length);

		if (record->number == i + 1 && text != NULL) {
			memcpy(buffer + used, text, length);
			used += length;
		} else if (record->number == i + 1) {
			used += mam_trace_record_print(record, buffer + used);
		}
		ring->looked_at++;
		++*lines;
	}
	return used;
}
