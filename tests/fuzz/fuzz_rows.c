/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as results of mam bench host --csv: each row has the value of its last line, or one
 * message names the invalid line.
 */
#include "bench/harness/results_read.h"
#include "command.h"
#include "fuzz.h"

#define LINE_LIMIT 511 /* a longer line is read as two */

/* The fields of a line: quoted or not, five of them, the last a number. A second implementation. */
static bool is_row(const char *line, char fields[RESULTS_FIELDS][LINE_LIMIT + 1], double *value)
{
	char *end;

	for (int i = 0; i < RESULTS_FIELDS; i++) {
		size_t bytes = 0;
		bool quoted = *line == '"';

		line += quoted;
		while (*line && *line != (quoted ? '"' : ','))
			fields[i][bytes++] = *line++;
		fields[i][bytes] = '\0';
		if (quoted && *line++ != '"')
			return false;
		if (*line != (i + 1 < RESULTS_FIELDS ? ',' : '\0'))
			return false;
		line++;
	}
	*value = strtod(fields[RESULTS_FIELDS - 1], &end);
	if (!(*value < 1e100 && *value > -1e100))
		*value = 0; /* not plotted */
	return end != fields[RESULTS_FIELDS - 1] && !*end;
}

static bool has_row(const struct results_rows *rows, char fields[RESULTS_FIELDS][LINE_LIMIT + 1])
{
	for (size_t i = 0; i < rows->count; i++) {
		int same = 0;

		while (same < RESULTS_FIELDS - 1 &&
		       !strcmp(rows->rows[i].fields[same], fields[same]))
			same++;
		if (same == RESULTS_FIELDS - 1)
			return true;
	}
	return false;
}

/* Line by line; `rows` holds the expected rows at the end. */
static bool check_lines(const char *text, const struct results_rows *rows, bool good)
{
	static char fields[RESULTS_FIELDS][LINE_LIMIT + 1];
	char line[LINE_LIMIT + 2];
	double value;
	bool sound = true;

	while (*text && sound) {
		size_t bytes = strcspn(text, "\n"), shown;

		if (bytes >= LINE_LIMIT)
			return false; /* not for this check */
		memcpy(line, text, bytes);
		line[bytes] = '\0';
		text += bytes + (text[bytes] == '\n');
		shown = strcspn(line, "\r");
		line[shown] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		sound = is_row(line, fields, &value);
		if (!sound || !good)
			continue;
		require(has_row(rows, fields), "a row is missing");
		if (*text == '\0')
			require(results_rows_value(rows, fields[0], fields[1], fields[2],
						   fields[3]) == value,
				"the last row has the wrong value");
	}
	require(sound == good, good ? "an invalid row is accepted" : "valid rows are refused");
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fuzz_file file;
	struct results_rows rows = { .rows = NULL };
	struct fuzz_heard heard;
	char *text = strndup((const char *)data, bytes);
	int status;

	require(text != NULL, "no memory");
	fuzz_file_put(&file, data, bytes);
	fuzz_heard_begin(&heard);
	status = results_rows_read(file.path, &rows);
	fuzz_heard_end(&heard);
	require(fuzz_sentences(&heard) == (status != STATUS_GOOD), "not one message per error");
	fuzz_heard_free(&heard);
	/* Lines that begin like gzip data are read as such. */
	if (strlen(text) == bytes && strncmp(text, "\x1f\x8b", 2) != 0)
		check_lines(text, &rows, status == STATUS_GOOD);
	results_rows_fini(&rows);
	free(text);
	return 0;
}
