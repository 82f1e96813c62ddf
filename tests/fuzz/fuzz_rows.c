/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes at all as results of mam bench host --csv: each row has the value that stands in its
 * last line, or one sentence says which line is none; the pictures of them are XML, and end.
 */
#include "bench/plot.h"
#include "bench/plot_rows.h"
#include "command.h"
#include "well_formed.h"

#define LINE_MAX 511 /* what is longer is read as two lines */

/* The fields of a line: quoted or not, five of them, the last a number. Another code's view. */
static bool is_row(const char *line, char fields[PLOT_FIELDS][LINE_MAX + 1], double *value)
{
	char *end;

	for (int i = 0; i < PLOT_FIELDS; i++) {
		size_t bytes = 0;
		bool quoted = *line == '"';

		line += quoted;
		while (*line && *line != (quoted ? '"' : ','))
			fields[i][bytes++] = *line++;
		fields[i][bytes] = '\0';
		if (quoted && *line++ != '"')
			return false;
		if (*line != (i + 1 < PLOT_FIELDS ? ',' : '\0'))
			return false;
		line++;
	}
	*value = strtod(fields[PLOT_FIELDS - 1], &end);
	if (!(*value < 1e100 && *value > -1e100))
		*value = 0; /* not drawn */
	return end != fields[PLOT_FIELDS - 1] && !*end;
}

/* Line by line; `rows` holds what is written down so far at the end. */
static bool check_lines(const char *text, const struct plot_rows *rows, bool good)
{
	static char fields[PLOT_FIELDS][LINE_MAX + 1];
	char line[LINE_MAX + 2];
	double value;
	bool sound = true;

	while (*text && sound) {
		size_t bytes = strcspn(text, "\n"), shown;

		if (bytes >= LINE_MAX)
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
		require(plot_rows_has(rows, fields[0], fields[1], fields[2]), "a row is lost");
		if (*text == '\0')
			require(plot_rows_value(rows, fields[0], fields[1], fields[2], fields[3]) ==
					value,
				"the last row has another value");
	}
	require(sound == good, good ? "what is no row is one" : "good rows are refused");
	return true;
}

/* Each picture, and the page of all. */
static void check_pictures(const struct plot_rows *rows)
{
	for (size_t which = 0; which <= plot_figure_count(); which++) {
		char *text = NULL;
		size_t bytes;
		FILE *file = open_memstream(&text, &bytes);
		bool drawn;

		require(file != NULL, "no memory");
		drawn = which < plot_figure_count() ? plot_figure_draw(which, rows, file)
						    : plot_figure_page(rows, file);
		fclose(file);
		if (drawn)
			well_formed_xml(text, bytes);
		free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fuzz_file file;
	struct plot_rows rows = { .rows = NULL };
	struct fuzz_heard heard;
	char *text = strndup((const char *)data, bytes);
	int status;

	require(text != NULL, "no memory");
	fuzz_file_put(&file, data, bytes);
	fuzz_heard_begin(&heard);
	status = plot_rows_read(file.path, &rows, NULL);
	fuzz_heard_end(&heard);
	require(fuzz_sentences(&heard) == (status != STATUS_GOOD), "not a sentence for a mistake");
	fuzz_heard_free(&heard);
	if (strlen(text) == bytes)
		check_lines(text, &rows, status == STATUS_GOOD);
	if (status == STATUS_GOOD)
		check_pictures(&rows);
	plot_rows_fini(&rows);
	free(text);
	return 0;
}
