/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.c - export a replay to the file formats of other tools.
 *
 * 1. The suffix of a file name selects the format, and whether to compress with gzip.
 * 2. Write a temporary file and rename it (whole_file.h), with or without compression
 *    (gzip_file.h).
 */
#include "write/export.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kit/gzip_file.h"
#include "kit/message.h"
#include "kit/progress.h"
#include "kit/whole_file.h"

#define PROGRESS_STEP 65536

static const struct kind {
	const char *suffix;
	bool (*write)(const struct export_job *job);
	bool gzip;
} kinds[] = {
	{ ".json", write_perfetto, false },   { ".json.gz", write_perfetto, true },
	{ ".pickle", write_snapshot, false }, { ".trace", write_trace, false },
	{ ".trace.gz", write_trace, true },
};

static const struct kind *find_kind(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t bytes = strlen(kinds[i].suffix);

		if (length > bytes && strcmp(path + length - bytes, kinds[i].suffix) == 0)
			return &kinds[i];
	}
	return NULL;
}

/*
 * Returns a copy of the first path of a list; the caller frees it. *list moves to the next path, or
 * to NULL after the last. NULL: out of memory (reported).
 */
static char *take_path(const char **list)
{
	size_t bytes = strcspn(*list, ",");
	char *path = strndup(*list, bytes);

	if (!path)
		message_error("out of memory for the names of files");
	*list = (*list)[bytes] ? *list + bytes + 1 : NULL;
	return path;
}

bool export_known(const char *list)
{
	bool known = true;

	while (known && list) {
		char *path = take_path(&list);

		known = path && find_kind(path);
		if (path && !*path)
			message_error("--export: a file name is empty");
		else if (path && !known)
			message_error("cannot export to '%s': the suffix must be .json, .pickle, "
				      ".trace, .json.gz or .trace.gz",
				      path);
		free(path);
	}
	return known;
}

static bool write_as_gzip(const struct kind *kind, struct export_job *job)
{
	FILE *plain = job->file;
	bool good;

	job->file = gzip_file_over(plain);
	if (!job->file)
		return false;
	good = kind->write(job);
	return fclose(job->file) == 0 && good;
}

static bool write_one(struct export_job *job)
{
	const struct kind *kind = find_kind(job->path);
	struct whole_file whole;
	bool good;

	job->file = whole_file_open(&whole, job->path, "an export");
	if (!job->file)
		return false;
	assert(kind != NULL); /* export_known() */
	errno = 0;
	good = kind->gzip ? write_as_gzip(kind, job) : kind->write(job);
	progress_end();
	return whole_file_close(&whole, good);
}

bool export_write(const struct map *map, const struct replay_settings *settings, const char *list)
{
	struct export_job job = { .map = map, .trace = map->trace, .settings = settings };
	bool good = true;

	while (good && list) {
		char *path = take_path(&list);

		job.path = path;
		good = path && write_one(&job);
		free(path);
	}
	return good;
}

uint64_t export_address(const struct map *map, uint32_t block)
{
	const struct map_chunk *chunk = map_chunk_of(map, map->places[block]);

	return chunk->base + map->places[block] - chunk->place;
}

void export_progress(const struct export_job *job, uint32_t event)
{
	if (event % PROGRESS_STEP == PROGRESS_STEP - 1)
		progress_show("writing", event, job->trace->event_count);
}
