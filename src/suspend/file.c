/* SPDX-License-Identifier: Apache-2.0 */
/* file.c - implements file.h. */
#include "suspend/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mam/newfile.h>

#include "base/log.h"

#define NAME "mam-suspended"
#define HOLE ((size_t)64 << 10) /* unit of blocks of zeros */

static enum mam_status failed(const char *what, int error)
{
	mam_log(MAM_LOG_WARN, "cannot %s suspended memory: %s", what, strerror(error));
	return MAM_ERROR_IO;
}

enum mam_status mam_contents_file_open(struct mam_contents_file *file, const char *folder,
				       uint64_t bytes, uint64_t unit)
{
	char place[MAM_NEWFILE_BYTES];
	struct mam_newfile made;
	int error = ENAMETOOLONG;

	*file = (struct mam_contents_file){ .number = -1, .process = getpid(), .unit = unit };
	if (snprintf(place, sizeof(place), "%s/%s", folder, NAME) < (int)sizeof(place))
		error = mam_newfile_open(&made, place, 0600);
	if (error != 0) {
		mam_log(MAM_LOG_WARN, "cannot create a file in '%s': %s", folder, strerror(error));
		return MAM_ERROR_IO;
	}
	mam_newfile_drop(&made);
	file->number = made.number;
	file->sums = calloc(bytes / unit, sizeof(*file->sums));
	if (file->sums != NULL && ftruncate(file->number, (off_t)bytes) == 0)
		return MAM_OK;
	error = errno;
	if (file->sums == NULL) {
		mam_contents_file_close(file);
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	}
	mam_contents_file_close(file);
	return failed("write", error);
}

void mam_contents_file_close(struct mam_contents_file *file)
{
	/* If it fails, the space is free once the last child has closed the file. */
	if (file->number >= 0 && file->process == getpid() && ftruncate(file->number, 0) != 0)
		mam_log(MAM_LOG_INFO, "cannot truncate the file of suspended memory: %s",
			strerror(errno));
	if (file->number >= 0)
		close(file->number);
	free(file->sums);
	file->number = -1;
	file->sums = NULL;
}

/* Four sums side by side, so that they cost less than a copy. Any change of one word changes one. */
static uint64_t sum_of(const void *at, size_t bytes)
{
	const uint64_t factor = 0x9e3779b97f4a7c15u;
	uint64_t sum[4] = { 1, 2, 3, 4 }, word[4];

	for (size_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
		memcpy(word, (const char *)at + i, sizeof(word));
		for (int lane = 0; lane < 4; lane++)
			sum[lane] = (sum[lane] ^ word[lane]) * factor;
	}
	return ((sum[0] * factor ^ sum[1]) * factor ^ sum[2]) * factor ^ sum[3];
}

static bool is_zero(const char *at, size_t bytes)
{
	return at[0] == 0 && memcmp(at, at + 1, bytes - 1) == 0;
}

/* errno: 0 at the end of the file. */
static bool write_all(int number, const char *from, uint64_t offset, size_t bytes)
{
	while (bytes != 0) {
		ssize_t done = pwrite(number, from, bytes, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return false;
		from += done;
		offset += (size_t)done;
		bytes -= (size_t)done;
	}
	return true;
}

enum mam_status mam_contents_file_write(struct mam_contents_file *file, const void *from,
					uint64_t offset, size_t bytes)
{
	const char *at = from;

	file->sums[offset / file->unit] = sum_of(from, bytes);
	for (size_t begin = 0, end; begin < bytes; begin = end) {
		size_t step = bytes - begin < HOLE ? bytes - begin : HOLE;
		bool zero = is_zero(at + begin, step);

		for (end = begin + step; end < bytes; end += step) {
			step = bytes - end < HOLE ? bytes - end : HOLE;
			if (is_zero(at + end, step) != zero)
				break;
		}
		if (!zero && !write_all(file->number, at + begin, offset + begin, end - begin))
			return failed("write", errno);
	}
	return MAM_OK;
}

enum mam_status mam_contents_file_read(struct mam_contents_file *file, void *to, uint64_t offset,
				       size_t bytes)
{
	char *at = to;
	size_t got = 0;

	while (got < bytes) {
		ssize_t done = pread(file->number, at + got, bytes - got, (off_t)(offset + got));

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return failed("read", done < 0 ? errno : EIO);
		got += (size_t)done;
	}
	if (sum_of(to, bytes) == file->sums[offset / file->unit])
		return MAM_OK;
	mam_log(MAM_LOG_ERROR, "cannot read suspended memory: its file has a wrong checksum");
	return MAM_ERROR_IO;
}
