/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_files.c - find separate debug files, in the order and by the rules of gdb.
 */
#include "symbols/symbols_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "run/elf_file.h"

#define PIECE_BYTES 65536

const char *symbols_files_root = "/usr/lib/debug";

static bool has_id(const char *path, const char *build_id)
{
	struct symbols_elf elf;
	bool same = symbols_elf_read(path, &elf) && strcmp(elf.build_id, build_id) == 0;

	symbols_elf_release(&elf);
	return same;
}

/* Print a path; false: it is too long. */
static bool put(char path[PATH_MAX], const char *first, const char *second, const char *third,
		const char *fourth)
{
	int length = snprintf(path, PATH_MAX, "%s%s%s%s", first, second, third, fourth);

	return length >= 0 && length < PATH_MAX;
}

/* The cache of debuginfod(8), in the order of its client. */
static bool cached(const char *build_id, char path[PATH_MAX])
{
	const char *given = getenv("DEBUGINFOD_CACHE_PATH"), *cache = getenv("XDG_CACHE_HOME");
	const char *home = getenv("HOME");
	const char *const places[][2] = {
		{ home, "/.debuginfod_client_cache/" },
		{ cache && *cache != '\0' ? cache : home,
		  cache && *cache != '\0' ? "/debuginfod_client/" : "/.cache/debuginfod_client/" },
	};

	if (given && *given != '\0')
		return put(path, given, "/", build_id, "/debuginfo") && has_id(path, build_id);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (places[i][0] && put(path, places[i][0], places[i][1], build_id, "/debuginfo") &&
		    has_id(path, build_id))
			return true;
	return false;
}

/* The build ID comes from a trace or a file, and becomes part of a path. */
static bool is_id(const char *build_id)
{
	size_t length = strlen(build_id);

	return length > 2 && length % 2 == 0 && strspn(build_id, "0123456789abcdef") == length;
}

bool symbols_files_by_id(const char *build_id, char path[PATH_MAX])
{
	int length;

	if (!is_id(build_id))
		return false;
	length = snprintf(path, PATH_MAX, "%s/.build-id/%.2s/%s.debug", symbols_files_root,
			  build_id, build_id + 2);
	if (length >= 0 && length < PATH_MAX && has_id(path, build_id))
		return true;
	return cached(build_id, path);
}

static bool has_crc(const char *path, uint32_t wanted)
{
	unsigned char piece[PIECE_BYTES];
	struct elf_file file;
	uLong crc = crc32(0, NULL, 0);
	bool good;

	if (!elf_file_open(path, &file))
		return false;
	good = true;
	for (uint64_t at = 0; good && at < file.bytes;) {
		size_t some =
			file.bytes - at < sizeof(piece) ? (size_t)(file.bytes - at) : sizeof(piece);

		good = elf_file_get(&file, at, piece, some);
		if (good)
			crc = crc32(crc, piece, (uInt)some);
		at += some;
	}
	close(file.number);
	return good && crc == wanted;
}

static bool matches(const char *path, const struct symbols_elf *of)
{
	struct symbols_elf elf;
	bool same = false;

	if (symbols_elf_read(path, &elf)) {
		if (of->build_id[0] != '\0' && elf.build_id[0] != '\0')
			same = strcmp(of->build_id, elf.build_id) == 0;
		else
			same = has_crc(path, of->link_crc);
	}
	symbols_elf_release(&elf);
	return same;
}

bool symbols_files_by_link(const char *of, const struct symbols_elf *elf, char path[PATH_MAX])
{
	char folder[PATH_MAX], *slash;

	if (elf->link[0] == '\0' || realpath(of, folder) == NULL)
		return false;
	slash = strrchr(folder, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return (put(path, folder, "/", elf->link, "") && strcmp(path, of) != 0 &&
		matches(path, elf)) ||
	       (put(path, folder, "/.debug/", elf->link, "") && matches(path, elf)) ||
	       (put(path, symbols_files_root, folder, "/", elf->link) && matches(path, elf));
}
