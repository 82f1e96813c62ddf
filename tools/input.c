/* SPDX-License-Identifier: Apache-2.0 */
/*
 * input.c - the bytes of a file, plain or gzip, or of standard input.
 *
 * zlib looks at the first bytes and passes anything that is not gzip through as it is, so one road
 * serves both. What it cannot tell is a gzip file that was cut: that shows only at its end.
 */
#include "input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "message.h"

struct input {
	gzFile file;
	uint64_t in_all;     /* bytes of the file; 0: not known */
	const char *trouble; /* NULL: none */
};

/* A descriptor to read from, or -1 with the reason said. */
static int open_path(const char *path, uint64_t *in_all)
{
	struct stat status;
	int descriptor =
		strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	if (descriptor < 0) {
		message_error("%s: cannot be opened: %s", path, strerror(errno));
		return -1;
	}
	*in_all = 0;
	if (fstat(descriptor, &status) != 0)
		return descriptor;
	if (S_ISDIR(status.st_mode)) {
		message_error("%s: is a directory, not a trace", path);
		close(descriptor);
		return -1;
	}
	if (S_ISREG(status.st_mode))
		*in_all = (uint64_t)status.st_size;
	return descriptor;
}

struct input *input_open(const char *path)
{
	struct input *input = calloc(1, sizeof(*input));
	int descriptor;

	if (!input) {
		message_error("%s: no memory left to read it", path);
		return NULL;
	}
	descriptor = open_path(path, &input->in_all);
	if (descriptor < 0) {
		free(input);
		return NULL;
	}
	input->file = gzdopen(descriptor, "rb");
	if (!input->file) {
		message_error("%s: no memory left to read it", path);
		close(descriptor);
		free(input);
		return NULL;
	}
	return input;
}

void input_close(struct input *input)
{
	gzclose(input->file);
	free(input);
}

enum mam_status input_read(void *user, void *buffer, size_t bytes, size_t *got)
{
	struct input *input = user;
	int count, problem;

	count = gzread(input->file, buffer, bytes > INT_MAX ? INT_MAX : (unsigned int)bytes);
	if (count > 0) {
		*got = (size_t)count;
		return MAM_OK;
	}
	gzerror(input->file, &problem);
	switch (problem) {
	case Z_OK:
	case Z_STREAM_END: *got = 0; return MAM_OK;
	case Z_BUF_ERROR: input->trouble = "its gzip data is cut short"; break;
	case Z_DATA_ERROR: input->trouble = "its gzip data is damaged"; break;
	case Z_MEM_ERROR: input->trouble = "there is no memory left to unpack it"; break;
	default: input->trouble = strerror(errno); break;
	}
	return MAM_ERROR_IO;
}

const char *input_trouble(const struct input *input)
{
	return input->trouble;
}

void input_position(const struct input *input, uint64_t *taken, uint64_t *in_all)
{
	z_off_t offset = gzoffset(input->file);

	*taken = offset < 0 ? 0 : (uint64_t)offset;
	*in_all = input->in_all;
}
