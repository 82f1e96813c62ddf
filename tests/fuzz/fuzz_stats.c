/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file of statistics, for mam info --stats: its numbers are those of its lines, or one
 * message describes the first invalid line. Then the table of it and of itself again.
 */
#include "command.h"
#include "info/info.h"
#include "info/stats_read.h"
#include "fuzz.h"

/*
 * Searches the line of a key. Returns its number as text, and how many lines have the key: a second
 * implementation, on the whole text.
 */
static const char *search(const char *text, const char *key, unsigned int *lines)
{
	const char *found = NULL;
	size_t bytes = strlen(key);

	*lines = 0;
	for (const char *line = text; line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');

		if (strncmp(line, key, bytes) == 0 && line[bytes] == '\t') {
			found = line + bytes + 1;
			++*lines;
		}
		line = end == NULL ? NULL : end + 1;
	}
	return found;
}

/* Whether each line has the form that README and mam-run(1) describes. */
static void check_lines(const char *text, size_t bytes)
{
	bool in_number = false, has_digit = false, has_point = false, has_key = false;

	require(strlen(text) == bytes, "a null character is accepted");
	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '\n') {
			require(in_number && has_digit, "a line without a number is accepted");
			in_number = has_digit = has_point = has_key = false;
		} else if (!in_number && *c == '\t') {
			require(has_key, "a line without a key is accepted");
			in_number = true;
		} else if (!in_number) {
			has_key = true;
			require((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
					(*c >= '0' && *c <= '9') || *c == '_' || *c == '.',
				"a key with another character is accepted");
		} else {
			bool is_point = *c == '.' || *c == ',';

			require((*c >= '0' && *c <= '9') || (is_point && has_digit && !has_point),
				"a value that is not a number is accepted");
			has_digit = true;
			has_point = has_point || is_point;
		}
	}
	require(bytes > 0 && text[bytes - 1] == '\n', "a line that is cut off is accepted");
}

static void check_value(const char *text, const char *key, uint64_t value)
{
	unsigned int lines;
	const char *found = search(text, key, &lines);

	require(found != NULL && lines == 1, "a key is missing or repeated");
	require(strtoull(found, NULL, 10) == value, "a value is wrong");
}

static void check_section(const char *text, const char *prefix, const struct stats_section *section)
{
	char key[64];

	for (int value = 0; value < STATS_VALUES; value++) {
		snprintf(key, sizeof(key), "%s%s", prefix, stats_key((enum stats_value)value));
		check_value(text, key, section->values[value]);
	}
}

static void check_file(const char *text, const struct stats_file *file)
{
	unsigned int ranks;

	check_value(text, "pid", file->pid);
	search(text, "rank", &ranks);
	require(ranks == file->has_rank, "the rank is missing or repeated");
	if (file->has_rank)
		check_value(text, "rank", file->rank);
	check_section(text, "", &file->whole);
}

/* The number of rows that a file has in the table, and a second time if it is given twice. */
static void check_table(char *path, const struct stats_file *file)
{
	char *paths[] = { path, path };
	struct fuzz_heard heard;
	size_t devices = 0, wanted, rows;
	int status;

	for (int device = 0; device < STATS_DEVICES_MAX; device++)
		devices += file->devices[device].found != 0;
	wanted = file->whole.values[STATS_CALLS] == 0 ? 0 : devices == 0 ? 2 : 2 * devices;
	for (int plain = 0; plain < 2; plain++) {
		fuzz_heard_begin(&heard);
		status = info_stats(2, paths, plain != 0);
		fuzz_heard_end(&heard);
		require((status == STATUS_GOOD) == (wanted != 0), "the table has a wrong status");
		require(fuzz_sentences(&heard) == (wanted == 0), "not one message per error");
		require((heard.printed_bytes != 0) == (wanted != 0), "output beside an error");
		if (plain != 0 && wanted != 0)
			require(sscanf(heard.printed, "rows\t%zu", &rows) == 1 && rows == wanted,
				"the table has a wrong number of rows");
		require(strstr(heard.printed, "nan") == NULL &&
				strstr(heard.printed, "inf") == NULL,
			"a quotient is not a number");
		fuzz_heard_free(&heard);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fuzz_file input;
	static struct stats_file file;
	struct fuzz_heard heard;
	char *text = (char *)malloc(bytes + 1);
	bool good;

	require(text != NULL, "no memory");
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	fuzz_file_put(&input, data, bytes);
	fuzz_heard_begin(&heard);
	good = stats_read(input.path, &file);
	fuzz_heard_end(&heard);
	require(fuzz_sentences(&heard) == !good, "not one message per error");
	fuzz_heard_free(&heard);
	if (good) {
		check_lines(text, bytes);
		check_file(text, &file);
		check_table(input.path, &file);
	}
	free(text);
	return 0;
}
