/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fix.c - see fix.h.
 *
 * A backup is a second name of the old file, made before anything is written, so it has the same
 * owner and permissions, and no existing backup is replaced. A new file appears complete or not at
 * all. If one cannot be written, the backups become the files again.
 */
#include "fix.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kit/message.h"
#include "kit/whole_file.h"

#define SUFFIX ".orig"

bool co_fixes_add(struct co_fixes *fixes, const char *path, char *text, size_t bytes)
{
	char real[PATH_MAX];
	struct co_fix *fix;
	size_t i;

	if (realpath(path, real) != NULL)
		path = real;
	for (i = 0; i < fixes->count; i++)
		if (strcmp(fixes->fixes[i].path, path) == 0) { /* named twice */
			free(text);
			return true;
		}
	if (fixes->count == fixes->room) {
		size_t room = fixes->room ? 2 * fixes->room : 16;
		struct co_fix *grown = realloc(fixes->fixes, room * sizeof(*grown));

		if (grown == NULL) {
			free(text);
			return false;
		}
		fixes->fixes = grown;
		fixes->room = room;
	}
	fix = &fixes->fixes[fixes->count++];
	memset(fix, 0, sizeof(*fix));
	fix->text = text;
	fix->bytes = bytes;
	fix->path = strdup(path);
	if (fix->path == NULL)
		return false;
	fix->backup = malloc(strlen(fix->path) + sizeof(SUFFIX));
	if (fix->backup == NULL)
		return false;
	sprintf(fix->backup, "%s" SUFFIX, fix->path);
	return true;
}

static bool keep(const struct co_fix *fix)
{
	if (link(fix->path, fix->backup) == 0)
		return true;
	if (errno == EEXIST)
		message_error("the backup '%s' exists: move it to another name first", fix->backup);
	else
		message_error("cannot create the backup '%s': %s", fix->backup, strerror(errno));
	return false;
}

static bool replace(const struct co_fix *fix)
{
	struct whole_file whole;
	struct stat status;
	FILE *file;

	if (stat(fix->backup, &status) != 0) {
		message_error("cannot read '%s': %s", fix->backup, strerror(errno));
		return false;
	}
	file = whole_file_open(&whole, fix->path, "the rewritten file");
	if (file == NULL)
		return false;
	(void)fchmod(fileno(file), status.st_mode & 07777);
	return whole_file_close(&whole, fwrite(fix->text, 1, fix->bytes, file) == fix->bytes);
}

bool co_fixes_write(struct co_fixes *fixes)
{
	size_t kept = 0, i;
	bool good = true;

	while (good && kept < fixes->count && (good = keep(&fixes->fixes[kept])))
		kept++;
	for (i = 0; i < fixes->count && good; i++)
		good = replace(&fixes->fixes[i]);
	for (i = 0; i < kept && !good; i++)
		if (rename(fixes->fixes[i].backup, fixes->fixes[i].path) != 0 ||
		    (unlink(fixes->fixes[i].backup) != 0 && errno != ENOENT))
			message_error("'%s' is still in '%s': %s", fixes->fixes[i].path,
				      fixes->fixes[i].backup, strerror(errno));
	return good;
}

void co_fixes_free(struct co_fixes *fixes)
{
	size_t i;

	for (i = 0; i < fixes->count; i++) {
		free(fixes->fixes[i].path);
		free(fixes->fixes[i].backup);
		free(fixes->fixes[i].text);
	}
	free(fixes->fixes);
}
