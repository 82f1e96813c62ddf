/* SPDX-License-Identifier: Apache-2.0 */
/*
 * symbols_jit.c - parse a perf map. Each line is "START SIZE NAME", the numbers in hexadecimal;
 * other lines are skipped. A JIT compiler may reuse memory: of lines with the same start, the last
 * one is used. A map that belongs to another user is not read, except root's.
 */
#include "symbols/symbols_jit.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/elf_file.h"

#define MAP_BYTES_MAX (UINT64_C(1) << 30)

bool symbols_jit_is(const char *path)
{
	const char *name = strrchr(path, '/');

	return fnmatch("perf-*.map", name ? name + 1 : path, 0) == 0;
}

/* Any user may create a file of that name in /tmp. */
static bool is_trusted(const struct elf_file *file)
{
	struct stat info;

	return fstat(file->number, &info) == 0 && (info.st_uid == geteuid() || info.st_uid == 0);
}

static bool read_text(const char *path, char **text)
{
	struct elf_file file;
	bool good = false;

	if (!elf_file_open(path, &file))
		return false;
	*text = file.bytes < MAP_BYTES_MAX && is_trusted(&file) ? malloc(file.bytes + 1) : NULL;
	if (*text != NULL) {
		(*text)[file.bytes] = '\0';
		good = elf_file_get(&file, 0, *text, file.bytes);
	}
	close(file.number);
	return good;
}

/* A hexadecimal number and the blank after it. */
static bool take_number(char **at, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(*at, &end, 16);
	if (end == *at || errno != 0 || *end != ' ')
		return false;
	*at = end + 1;
	return true;
}

static bool take_line(char *line, struct symbols_function *function)
{
	uint64_t bytes;

	if (!take_number(&line, &function->start) || !take_number(&line, &bytes) || *line == '\0' ||
	    bytes == 0 || bytes > UINT64_MAX - function->start)
		return false;
	function->end = function->start + bytes;
	function->name = line;
	return true;
}

/* By address; names lie in the order of the file, and a later one precedes an earlier one. */
static int compare(const void *first, const void *second)
{
	const struct symbols_function *a = first, *b = second;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->name > b->name ? -1 : a->name < b->name;
}

static void sort(struct symbols_table *table)
{
	struct symbols_function *functions = table->functions;
	size_t kept = 0;

	qsort(functions, table->count, sizeof(*functions), compare);
	for (size_t i = 0; i < table->count; i++)
		if (i == 0 || functions[i].start != functions[kept - 1].start)
			functions[kept++] = functions[i];
	table->count = kept;
}

bool symbols_jit_read(const char *path, struct symbols_table *table)
{
	size_t lines = 1;
	char *text = NULL, *line, *rest;

	memset(table, 0, sizeof(*table));
	if (!read_text(path, &text)) {
		free(text);
		return false;
	}
	table->names = text;
	for (const char *at = text; *at != '\0'; at++)
		lines += *at == '\n';
	table->functions = malloc(lines * sizeof(*table->functions));
	if (table->functions == NULL)
		return false;
	for (line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
		table->count += take_line(line, &table->functions[table->count]);
	sort(table);
	return true;
}
