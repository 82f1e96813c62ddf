/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip_file.c - a stream that compresses to gzip and writes to another stream: zlib's deflate
 * in a stream of fopencookie(). The gzip header contains no time stamp, so equal data give equal
 * files.
 */
#define _GNU_SOURCE /* fopencookie */
#include "kit/gzip_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <zlib.h>

#define BUFFER_BYTES ((size_t)64 << 10)
#define GZIP 16 /* add to zlib's number of window bits */

struct gzip_file {
	FILE *to;
	z_stream stream;
	unsigned char buffer[BUFFER_BYTES];
};

static bool push(struct gzip_file *gzip, int flush)
{
	int answer;

	do {
		size_t bytes;

		gzip->stream.next_out = gzip->buffer;
		gzip->stream.avail_out = BUFFER_BYTES;
		answer = deflate(&gzip->stream, flush);
		bytes = BUFFER_BYTES - gzip->stream.avail_out;
		if (fwrite(gzip->buffer, 1, bytes, gzip->to) != bytes)
			return false;
	} while (gzip->stream.avail_out == 0);
	return flush != Z_FINISH || answer == Z_STREAM_END;
}

static ssize_t write_some(void *cookie, const char *bytes, size_t count)
{
	struct gzip_file *gzip = cookie;

	/* zlib only reads through this pointer, but some of its versions lack the const. */
	gzip->stream.next_in = (unsigned char *)(uintptr_t)bytes;
	gzip->stream.avail_in = (unsigned int)count;
	return push(gzip, Z_NO_FLUSH) ? (ssize_t)count : 0;
}

static int close_it(void *cookie)
{
	struct gzip_file *gzip = cookie;
	bool good;

	gzip->stream.avail_in = 0;
	good = push(gzip, Z_FINISH);
	deflateEnd(&gzip->stream);
	free(gzip);
	return good ? 0 : EOF;
}

FILE *gzip_file_over(FILE *to)
{
	static const cookie_io_functions_t calls = { .write = write_some, .close = close_it };
	struct gzip_file *gzip = calloc(1, sizeof(*gzip));
	FILE *file;

	if (!gzip)
		return NULL;
	gzip->to = to;
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		errno = ENOMEM;
		return NULL;
	}
	file = fopencookie(gzip, "w", calls);
	if (!file) {
		deflateEnd(&gzip->stream);
		free(gzip);
	}
	return file;
}
