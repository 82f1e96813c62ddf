/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_read.c - see stats_read.h.
 *
 * A line has a key of letters, digits, '_' and '.', a tab, and a number, and ends with a newline: a
 * file whose end was cut off is an error. The numbers of keys that are not compared may have a
 * fraction.
 */
#include "info/stats_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit/message.h"

#define LINE_BYTES 256

static const char *const keys[STATS_VALUES] = {
	[STATS_CALLS] = "calls_caught",
	[STATS_PEAK_LIVE] = "peak_live_bytes",
	[STATS_PEAK_RESERVED] = "peak_reserved_bytes",
	[STATS_PEAK_ALL] = "peak_together_bytes",
	[STATS_LIVE_BLOCKS] = "live_blocks",
};

enum line { LINE_GOOD, LINE_MALFORMED, LINE_REPEATED };

const char *stats_key(enum stats_value value)
{
	return keys[value];
}

/* Splits a line at its tab. False: it is not a key, a tab, a number and a newline. */
static bool split(char *line, char **number)
{
	static const char key_chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
					"0123456789_.";
	size_t key = strspn(line, key_chars), length = strlen(line), digits;

	if (key == 0 || line[key] != '\t' || line[length - 1] != '\n')
		return false;
	line[key] = line[length - 1] = '\0';
	*number = line + key + 1;
	digits = strspn(*number, "0123456789");
	if (digits > 0 && ((*number)[digits] == '.' || (*number)[digits] == ','))
		digits += 1 + strspn(*number + digits + 1, "0123456789");
	return digits > 0 && (*number)[digits] == '\0';
}

/* False: it is not a whole number of 64 bits. */
static bool parse(const char *number, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(number, &end, 10);
	return errno == 0 && *end == '\0';
}

/* Returns the section of a key, and moves *key past its prefix; NULL: an invalid prefix. */
static struct stats_section *section_of(struct stats_file *file, const char **key)
{
	static const char prefix[] = "device.";
	unsigned long device;
	char *end;

	if (strncmp(*key, prefix, sizeof(prefix) - 1) != 0)
		return &file->whole;
	*key += sizeof(prefix) - 1;
	if (**key < '0' || **key > '9')
		return NULL;
	device = strtoul(*key, &end, 10);
	if (*end != '.' || device >= STATS_DEVICES_MAX)
		return NULL;
	*key = end + 1;
	return &file->devices[device];
}

static enum line store_once(const char *number, bool *has, uint64_t *value)
{
	if (*has)
		return LINE_REPEATED;
	*has = true;
	return parse(number, value) ? LINE_GOOD : LINE_MALFORMED;
}

static enum line store(struct stats_file *file, const char *key, const char *number)
{
	struct stats_section *section;

	if (strcmp(key, "pid") == 0)
		return store_once(number, &file->has_pid, &file->pid);
	if (strcmp(key, "rank") == 0)
		return store_once(number, &file->has_rank, &file->rank);
	section = section_of(file, &key);
	if (section == NULL)
		return LINE_MALFORMED;
	for (int value = 0; value < STATS_VALUES; value++) {
		if (strcmp(key, keys[value]) != 0)
			continue;
		if ((section->found & 1u << value) != 0)
			return LINE_REPEATED;
		section->found |= 1u << value;
		return parse(number, &section->values[value]) ? LINE_GOOD : LINE_MALFORMED;
	}
	return LINE_GOOD;
}

static bool report(const char *path, size_t number, enum line line, const char *key)
{
	if (line == LINE_MALFORMED)
		message_error("'%s' has no statistics of mam run: line %zu is not a key, a tab "
			      "and a number",
			      path, number);
	if (line == LINE_REPEATED)
		message_error("'%s' does not have the statistics of one process: line %zu repeats "
			      "'%s'",
			      path, number, key);
	return line == LINE_GOOD;
}

/* Returns the key that a section lacks, or NULL. */
static const char *lacks(const struct stats_section *section)
{
	for (int value = 0; value < STATS_VALUES; value++)
		if ((section->found & 1u << value) == 0)
			return keys[value];
	return NULL;
}

static bool is_complete(const char *path, const struct stats_file *file)
{
	const char *key = file->has_pid ? lacks(&file->whole) : "pid";

	if (key != NULL) {
		message_error("'%s' has no statistics of mam run: the key '%s' is missing", path,
			      key);
		return false;
	}
	for (int device = 0; device < STATS_DEVICES_MAX; device++) {
		const struct stats_section *section = &file->devices[device];

		key = section->found == 0 ? NULL : lacks(section);
		if (key == NULL)
			continue;
		message_error("'%s' has incomplete statistics: the key 'device.%d.%s' is missing",
			      path, device, key);
		return false;
	}
	return true;
}

static bool read_lines(FILE *stream, const char *path, struct stats_file *file)
{
	char line[LINE_BYTES], *number;

	for (size_t lines = 1; fgets(line, sizeof(line), stream) != NULL; lines++) {
		enum line is = split(line, &number) ? store(file, line, number) : LINE_MALFORMED;

		if (!report(path, lines, is, line))
			return false;
	}
	if (ferror(stream)) {
		message_error("cannot read '%s': %s", path, strerror(errno));
		return false;
	}
	return is_complete(path, file);
}

bool stats_read(const char *path, struct stats_file *file)
{
	FILE *stream = fopen(path, "re");
	bool good;

	memset(file, 0, sizeof(*file));
	if (stream == NULL) {
		message_error("cannot open '%s': %s", path, strerror(errno));
		return false;
	}
	good = read_lines(stream, path, file);
	fclose(stream);
	return good;
}
