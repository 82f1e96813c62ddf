/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - the bytes of a file, plain or gzip, or of standard input.
 *
 * zlib inspects the first bytes and passes data that is not gzip through unchanged, so one code
 * path serves both. It detects a truncated gzip file only at the end of the data.
 *
 * The trace of a process that was killed continues in FILE.ring (input_ring.h). If such a ring
 * exists and the first line of FILE names it, only whole lines of FILE are returned, and they are
 * counted. At the end of FILE, truncated or not, the ring continues after the last of them. The
 * ring is read before FILE: if the process still runs, a line that is not in the ring by then is in
 * FILE already.
 */
#include "read/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "read/input_ahead.h"
#include "read/input_ring.h"
#include "kit/message.h"

#define AHEAD_BYTES ((uint64_t)1 << 18) /* smaller files need no thread */
#define PACKED_BYTES (1U << 16)         /* of a file at once; zlib's default is 8 KiB */
#define HELD_BYTES 4096                 /* longer than any line of such a trace */

struct input {
	gzFile file;
	uint64_t in_all;           /* size of the file; 0: unknown */
	const char *trouble;       /* NULL: no error */
	bool cut;                  /* the error is that the input is truncated */
	struct input_ahead *ahead; /* NULL: no thread. It owns the other fields while it runs */
	struct input_ring *ring;   /* NULL: no ring, and the fields below are unused */
	bool in_ring;              /* the file was read to its end */
	uint64_t lines;            /* returned so far */
	size_t head_bytes;         /* read already; the next read returns them */
	unsigned char head[INPUT_HEAD_BYTES];
	size_t held; /* bytes of a line that is still incomplete */
	char line[HELD_BYTES];
};

/* Returns a descriptor to read from, or -1 after reporting the reason. */
static int open_path(const char *path, uint64_t *in_all)
{
	struct stat status;
	int descriptor =
		strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	if (descriptor < 0) {
		message_error("cannot open '%s': %s", path, strerror(errno));
		return -1;
	}
	*in_all = 0;
	if (fstat(descriptor, &status) != 0)
		return descriptor;
	if (S_ISDIR(status.st_mode)) {
		message_error("'%s' is a directory, not a trace", path);
		close(descriptor);
		return -1;
	}
	if (S_ISREG(status.st_mode) && input_ring_is(descriptor)) {
		message_error("'%s' has only the last events of a trace; read the file of "
			      "that name without '.ring'",
			      path);
		close(descriptor);
		return -1;
	}
	if (S_ISREG(status.st_mode))
		*in_all = (uint64_t)status.st_size;
	return descriptor;
}

/* Find the ring next to a file, unless it is left over from an older file of that name. */
static void find_ring(struct input *input, const char *path)
{
	struct input_ring *ring = input_ring_open(path);

	if (!ring)
		return;
	if (gzgets(input->file, input->line, sizeof(input->line)) &&
	    input_ring_is_of(ring, input->line)) {
		input->ring = ring;
		ring = NULL;
	}
	input_ring_close(ring);
	gzrewind(input->file);
}

struct input *input_open(const char *path)
{
	struct input *input = calloc(1, sizeof(*input));
	int descriptor;

	if (!input) {
		message_error("%s: out of memory", path);
		return NULL;
	}
	descriptor = open_path(path, &input->in_all);
	if (descriptor < 0) {
		free(input);
		return NULL;
	}
	input->file = gzdopen(descriptor, "rb");
	if (!input->file) {
		message_error("%s: out of memory", path);
		close(descriptor);
		free(input);
		return NULL;
	}
	gzbuffer(input->file, PACKED_BYTES); /* without memory, the first read fails */
	if (input->in_all != 0)
		find_ring(input, path);
	return input;
}

void input_close(struct input *input)
{
	input_ahead_destroy(input->ahead);
	input_ring_close(input->ring);
	gzclose(input->file);
	free(input);
}

/* Read the next bytes from zlib; *got is 0 at the end. */
static enum mam_status read_file(struct input *input, void *buffer, size_t bytes, size_t *got)
{
	int count, problem;

	if (input->head_bytes) {
		*got = bytes < input->head_bytes ? bytes : input->head_bytes;
		memcpy(buffer, input->head, *got);
		input->head_bytes -= *got;
		memmove(input->head, input->head + *got, input->head_bytes);
		return MAM_OK;
	}
	count = gzread(input->file, buffer, bytes > INT_MAX ? INT_MAX : (unsigned int)bytes);
	if (count > 0) {
		*got = (size_t)count;
		return MAM_OK;
	}
	gzerror(input->file, &problem);
	switch (problem) {
	case Z_OK:
	case Z_STREAM_END: *got = 0; return MAM_OK;
	case Z_BUF_ERROR:
		input->trouble = "the gzip data is truncated";
		input->cut = true;
		break;
	case Z_DATA_ERROR: input->trouble = "the gzip data is corrupt"; break;
	case Z_MEM_ERROR: input->trouble = "out of memory during decompression"; break;
	default: input->trouble = strerror(errno); break;
	}
	return MAM_ERROR_IO;
}

size_t input_head(struct input *input, unsigned char *head)
{
	int count = gzread(input->file, input->head, sizeof(input->head));

	/* The next read detects any error again. */
	input->head_bytes = count > 0 ? (size_t)count : 0;
	memcpy(head, input->head, input->head_bytes);
	return input->head_bytes;
}

/* Read whole lines; *got 0: end of input. pre: `bytes` is at least twice HELD_BYTES. */
static enum mam_status read_lines(struct input *input, char *buffer, size_t bytes, size_t *got)
{
	size_t whole;

	do {
		enum mam_status status =
			read_file(input, buffer + input->held, bytes - input->held, got);

		if (status != MAM_OK || *got == 0)
			return status;
		memcpy(buffer, input->line, input->held);
		*got += input->held;
		for (whole = *got; whole > 0 && buffer[whole - 1] != '\n'; whole--)
			;
		if (*got - whole >= HELD_BYTES)
			whole = *got; /* too long for a line: the reader will report it */
		input->held = *got - whole;
		memcpy(input->line, buffer + whole, input->held);
	} while (whole == 0);
	*got = whole;
	for (size_t i = 0; i < whole; i++)
		input->lines += buffer[i] == '\n';
	return MAM_OK;
}

static enum mam_status read_now(void *user, void *buffer, size_t bytes, size_t *got)
{
	struct input *input = user;
	enum mam_status status;

	if (!input->ring || bytes < 2 * HELD_BYTES)
		return read_file(input, buffer, bytes, got);
	if (!input->in_ring) {
		status = read_lines(input, buffer, bytes, got);
		if (status == MAM_OK && *got > 0)
			return MAM_OK;
		if (status != MAM_OK && !input->cut)
			return status;
		input->in_ring = true;
		input->trouble = NULL;
	}
	*got = input_ring_read(input->ring, &input->lines, buffer, bytes);
	return MAM_OK;
}

static uint64_t position_now(void *user)
{
	const struct input *input = user;
	z_off_t offset = gzoffset(input->file);

	return offset < 0 ? 0 : (uint64_t)offset;
}

void input_go_ahead(struct input *input)
{
	if (!input->ahead && input->in_all >= AHEAD_BYTES)
		input->ahead = input_ahead_create(read_now, position_now, input);
}

enum mam_status input_read(void *user, void *buffer, size_t bytes, size_t *got)
{
	struct input *input = user;

	if (input->ahead)
		return input_ahead_read(input->ahead, buffer, bytes, got);
	return read_now(input, buffer, bytes, got);
}

const char *input_trouble(const struct input *input)
{
	return input->ahead && !input_ahead_ended(input->ahead) ? NULL : input->trouble;
}

void input_position(const struct input *input, uint64_t *taken, uint64_t *in_all)
{
	*taken = input->ahead ? input_ahead_position(input->ahead)
			      : position_now((void *)(uintptr_t)input);
	*in_all = input->in_all;
}
