/* SPDX-License-Identifier: Apache-2.0 */
/*
 * elf_find.c - search for a library as the dynamic linker does, see ld.so(8):
 *
 *   1. a name with a slash is a path;
 *   2. DT_RPATH of the file that needs it and of the program, if there is no DT_RUNPATH;
 *   3. LD_LIBRARY_PATH;
 *   4. DT_RUNPATH of the file that needs it;
 *   5. the system's folders, unless DF_1_NODEFLIB is set: those that /etc/ld.so.conf lists, and the
 *      built-in ones. The linker reads a cache made from the same list.
 *
 * $ORIGIN in a folder is that of the file which contains it; $LIB is tried as lib and lib64.
 * Folders with other such tokens are skipped. Files for another machine are skipped.
 */
#define _GNU_SOURCE /* strchrnul */
#include "run/elf_find.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/elf_file.h"

#if defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "x86_64-linux-gnu"
#endif

#define CONFIGURATION "/etc/ld.so.conf"
#define INCLUDES_MAX 4 /* nesting depth */

static bool is_ours(const char *path)
{
	struct elf_file file;
	Elf64_Ehdr header;
	enum elf_kind kind;
	bool good;

	if (!elf_file_open(path, &file))
		return false;
	good = elf_file_header(&file, &header, &kind);
	close(file.number);
	return good;
}

static bool try_folder(const char *folder, const char *name, char path[PATH_MAX])
{
	int length = snprintf(path, PATH_MAX, "%s/%s", *folder == '\0' ? "." : folder, name);

	return length > 0 && length < PATH_MAX && is_ours(path);
}

/* Replace each `word` or its braced form in `folder`. False: the result does not fit. */
static bool replace(char folder[PATH_MAX], const char *word, const char *by)
{
	char braced[32], rest[PATH_MAX];
	const char *const forms[] = { word, braced };

	snprintf(braced, sizeof(braced), "${%s}", word + 1);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *at;

		while ((at = strstr(folder, forms[i])) != NULL) {
			size_t before = (size_t)(at - folder);

			strcpy(rest, at + strlen(forms[i]));
			if (before + strlen(by) + strlen(rest) >= PATH_MAX || strchr(by, '$'))
				return false;
			strcpy(at, by);
			strcat(at, rest);
		}
	}
	return true;
}

static bool try_words(const char *given, const char *origin, const char *name, char path[PATH_MAX])
{
	static const char *const libraries[] = { "lib", "lib64", ("lib/" MULTIARCH) };
	char folder[PATH_MAX];

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		strcpy(folder, given);
		if (replace(folder, "$ORIGIN", origin) && replace(folder, "$LIB", libraries[i]) &&
		    strchr(folder, '$') == NULL && try_folder(folder, name, path))
			return true;
	}
	return false;
}

/* Try the colon-separated folders that the file at `owner` or the environment lists. */
static bool try_list(const char *list, const char *owner, const char *name, char path[PATH_MAX])
{
	char origin[PATH_MAX], whole[PATH_MAX], folder[PATH_MAX];
	char *slash;

	if (list == NULL || *list == '\0')
		return false;
	snprintf(origin, sizeof(origin), "%s", realpath(owner, whole) != NULL ? whole : owner);
	slash = strrchr(origin, '/');
	if (slash != NULL)
		*slash = '\0';
	for (;;) {
		size_t length = strcspn(list, ":;");

		if (length < sizeof(folder)) {
			memcpy(folder, list, length);
			folder[length] = '\0';
			if (try_words(folder, origin, name, path))
				return true;
		}
		if (list[length] == '\0')
			return false;
		list += length + 1;
	}
}

static bool try_configured(const char *file, int depth, const char *name, char path[PATH_MAX]);

static bool try_included(const char *pattern, int depth, const char *name, char path[PATH_MAX])
{
	char whole[PATH_MAX];
	bool found = false;
	glob_t files;

	/* Relative to the folder of the including file, which is /etc in practice. */
	snprintf(whole, sizeof(whole), "%s%s", *pattern == '/' ? "" : "/etc/", pattern);
	if (depth >= INCLUDES_MAX || glob(whole, 0, NULL, &files) != 0)
		return false;
	for (size_t i = 0; i < files.gl_pathc && !found; i++)
		found = try_configured(files.gl_pathv[i], depth + 1, name, path);
	globfree(&files);
	return found;
}

static bool try_configured(const char *file, int depth, const char *name, char path[PATH_MAX])
{
	FILE *stream = fopen(file, "re");
	char line[PATH_MAX];
	bool found = false;

	if (stream == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), stream) != NULL) {
		char *word = line + strspn(line, " \t");

		word[strcspn(word, "#\r\n")] = '\0';
		if (strncmp(word, "include", 7) == 0 && strchr(" \t", word[7]) != NULL) {
			word += 7 + strspn(word + 7, " \t");
			found = try_included(word, depth, name, path);
		} else if (*word == '/') {
			word[strcspn(word, " \t")] = '\0';
			found = try_folder(word, name, path);
		}
	}
	fclose(stream);
	return found;
}

static bool try_system(const char *name, char path[PATH_MAX])
{
	static const char *const folders[] = {
		"/lib/" MULTIARCH, "/usr/lib/" MULTIARCH, "/lib64", "/usr/lib64", "/lib", "/usr/lib"
	};

	if (try_configured(CONFIGURATION, 0, name, path))
		return true;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
		if (try_folder(folders[i], name, path))
			return true;
	return false;
}

bool elf_find(const char *name, const struct elf_place *by, const struct elf_place *program,
	      char path[PATH_MAX])
{
	const struct elf_place *const owners[] = { by, program };

	if (strchr(name, '/') != NULL)
		return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX && is_ours(path);
	for (size_t i = 0; i < 2 && by->elf.runpath == NULL; i++)
		if (owners[i]->elf.runpath == NULL &&
		    try_list(owners[i]->elf.rpath, owners[i]->path, name, path))
			return true;
	return try_list(getenv("LD_LIBRARY_PATH"), program->path, name, path) ||
	       try_list(by->elf.runpath, by->path, name, path) ||
	       (!by->elf.no_default && try_system(name, path));
}
