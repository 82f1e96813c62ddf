/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_export.c - a view as collapsed stacks, one line per stack with its value, and for
 * speedscope.
 */
#define _GNU_SOURCE /* asprintf */

#include <stdlib.h>
#include <string.h>

#include "kit/json_put.h"
#include "profile/profile_paths.h"

/* The text of each frame, one after the other. NULL: out of memory. */
static char *frame_texts(const struct profile *profile, size_t **starts)
{
	char *texts = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&texts, &bytes);

	*starts = malloc((profile->frame_count + 1) * sizeof(**starts));
	for (uint32_t i = 0; file && *starts && i < profile->frame_count; i++) {
		(*starts)[i] = (size_t)ftell(file);
		profile_put_frame(file, profile, i);
		fputc('\0', file);
	}
	if (file && fclose(file) == 0 && *starts)
		return texts;
	free(texts);
	free(*starts);
	return NULL;
}

bool profile_write_collapsed(FILE *file, const struct profile_view *view)
{
	struct profile_paths paths;
	size_t *starts;
	char *texts = frame_texts(view->profile, &starts);
	bool good = texts && profile_paths_begin(&paths, view);

	for (uint32_t i = 0; good && i < view->profile->frame_count; i++)
		for (char *c = texts + starts[i]; *c; c++)
			if (*c == ';') /* it separates frames */
				*c = ':';
	while (good && profile_paths_next(&paths)) {
		for (uint32_t i = 0; i < paths.count; i++)
			fprintf(file, "%s%s", i ? ";" : "", texts + starts[paths.path[i]]);
		fprintf(file, " %.0f\n", profile_value(view, paths.node));
	}
	if (good)
		profile_paths_end(&paths);
	if (texts)
		free(starts);
	free(texts);
	return good;
}

static bool put_frames(FILE *file, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct profile_frame *frame = &profile->frames[i];
		const char *function = profile_text(profile, frame->function);
		char *tag = NULL;

		if (frame->kind == PROFILE_TAG && asprintf(&tag, "tag %s", function) < 0)
			return false;
		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", file);
		json_put_text(file, tag ? tag : *function ? function : "?");
		free(tag);
		if (frame->file) {
			fputs(",\"file\":", file);
			json_put_text(file, profile_text(profile, frame->file));
		}
		if (frame->line)
			fprintf(file, ",\"line\":%u", (unsigned int)frame->line);
		fputc('}', file);
	}
	return true;
}

static double put_samples(FILE *file, const struct profile_view *view, bool weights)
{
	struct profile_paths paths;
	const char *comma = "";
	double total = 0;

	if (!profile_paths_begin(&paths, view))
		return -1;
	while (profile_paths_next(&paths)) {
		double value = profile_value(view, paths.node);

		total += value;
		if (weights) {
			fprintf(file, "%s%.0f", comma, value);
		} else {
			fprintf(file, "%s[", comma);
			for (uint32_t i = 0; i < paths.count; i++)
				fprintf(file, "%s%u", i ? "," : "", (unsigned int)paths.path[i]);
			fputc(']', file);
		}
		comma = ",\n";
	}
	profile_paths_end(&paths);
	return total;
}

bool profile_write_speedscope(FILE *file, const struct profile_view *view)
{
	double total;

	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"mam\",\"name\":",
	      file);
	json_put_text(file, view->profile->path);
	fputs(",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", file);
	if (!put_frames(file, view->profile))
		return false;
	fputs("]},\n\"profiles\":[{\"type\":\"sampled\",\"name\":", file);
	json_put_text(file, view->profile->path);
	fprintf(file, ",\"unit\":\"%s\",\"startValue\":0,\n\"samples\":[",
		view->by == PROFILE_BY_BYTES ? "bytes" : "none");
	if (put_samples(file, view, false) < 0)
		return false;
	fputs("],\n\"weights\":[", file);
	total = put_samples(file, view, true);
	fprintf(file, "],\n\"endValue\":%.0f}]}\n", total);
	return total >= 0;
}
