/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_read.c - reads results from files.
 *
 * A file has the format of `mam bench host --csv`: lines "# key: value" describe the machine, the
 * others are rows of five fields. A row replaces an earlier one of the same name,
 * unless the caller keeps repeats.
 */
#include "results_read.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "bench/bench.h"
#include "command.h"
#include "kit/message.h"

#define LINE_BYTES 512
#define VALUE_MAX 1e100 /* larger values and NaNs are read as 0 */

/* One field of a CSV line, in quotes or not; NULL at the line's end. */
static char *next_field(char **at)
{
	char *field = *at, *end;

	if (field == NULL)
		return NULL;
	if (*field == '"') {
		end = strchr(++field, '"');
		if (end == NULL)
			return NULL;
		*end++ = '\0';
	} else {
		end = field + strcspn(field, ",");
	}
	if (*end != ',' && *end != '\0')
		return NULL;
	*at = *end == ',' ? end + 1 : NULL;
	*end = '\0';
	return field;
}

static bool split(struct results_row *row)
{
	char *at = row->text, *end;
	size_t i;

	for (i = 0; i < RESULTS_FIELDS; i++) {
		row->fields[i] = next_field(&at);
		if (row->fields[i] == NULL)
			return false;
	}
	row->value = strtod(row->fields[RESULTS_FIELDS - 1], &end);
	return at == NULL && *end == '\0' && end != row->fields[RESULTS_FIELDS - 1];
}

static bool is_same(const struct results_row *a, const struct results_row *b)
{
	size_t i;

	for (i = 0; i < RESULTS_FIELDS - 1; i++) {
		if (strcmp(a->fields[i], b->fields[i]) != 0)
			return false;
	}
	return true;
}

static bool add(struct results_rows *rows, const struct results_row *row)
{
	const double value = fabs(row->value) < VALUE_MAX ? row->value : 0;
	size_t i;

	for (i = 0; !rows->keeps_repeats && i < rows->count; i++) {
		if (is_same(&rows->rows[i], row)) {
			rows->rows[i].value = value;
			free(row->text);
			return true;
		}
	}
	if (rows->count == rows->room) {
		size_t room = rows->room > 0 ? 2 * rows->room : 512;
		struct results_row *more = realloc(rows->rows, room * sizeof(*more));

		if (more == NULL)
			return false;
		rows->rows = more;
		rows->room = room;
	}
	rows->rows[rows->count] = *row;
	rows->rows[rows->count++].value = value;
	return true;
}

/* "# gpu: NVIDIA H100"; other keys are ignored. */
static void keep_fact(struct results_facts *facts, const char *line)
{
	struct {
		const char *key;
		char *value;
	} keys[] = {
		{ "# gpu: ", facts->gpu },       { "# driver: ", facts->driver },
		{ "# cpu: ", facts->cpu },       { "# date: ", facts->date },
		{ "# commit: ", facts->commit },
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t length = strlen(keys[i].key);

		if (strncmp(line, keys[i].key, length) == 0)
			snprintf(keys[i].value, RESULTS_FACT_BYTES, "%.*s", RESULTS_FACT_BYTES - 1,
				 line + length);
	}
}

static int read_lines(gzFile file, const char *path, struct results_rows *rows)
{
	struct results_facts facts = rows->facts;
	char line[LINE_BYTES];
	size_t number = 0;
	int fault = Z_OK;

	while (gzgets(file, line, sizeof(line)) != NULL) {
		struct results_row row;

		number++;
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] == '#')
			keep_fact(&facts, line);
		if (line[0] == '#' || line[0] == '\0')
			continue;
		row.text = strdup(line);
		if (row.text != NULL && !split(&row)) {
			free(row.text);
			message_error(
				"%s, line %zu: no row of results; mam bench host --csv writes "
				"such files",
				path, number);
			return STATUS_BAD;
		}
		if (row.text == NULL || !add(rows, &row)) {
			free(row.text);
			message_error("%s: out of memory", path);
			return STATUS_FAILED;
		}
	}
	if (gzerror(file, &fault) != NULL && fault != Z_OK) {
		message_error("cannot read '%s': %s", path,
			      fault == Z_ERRNO ? strerror(errno) : "its gzip data is damaged");
		return STATUS_BAD;
	}
	rows->facts = facts;
	return STATUS_GOOD;
}

int results_rows_read(const char *path, struct results_rows *rows)
{
	gzFile file = gzopen(path, "r"); /* reads plain files, too */
	int status;

	if (file == NULL) {
		message_error("cannot read '%s': %s", path, strerror(errno));
		return STATUS_BAD;
	}
	status = read_lines(file, path, rows);
	gzclose(file);
	return status;
}

void results_rows_fini(struct results_rows *rows)
{
	while (rows->count > 0)
		free(rows->rows[--rows->count].text);
	free(rows->rows);
	rows->rows = NULL;
}

double results_rows_value(const struct results_rows *rows, const char *workload, const char *peer,
			  const char *parameter, const char *metric)
{
	size_t i;

	for (i = 0; i < rows->count; i++) {
		const char *const *fields = rows->rows[i].fields;

		if (strcmp(fields[0], workload) == 0 && strcmp(fields[1], peer) == 0 &&
		    strcmp(fields[2], parameter) == 0 && strcmp(fields[3], metric) == 0)
			return rows->rows[i].value;
	}
	return 0;
}

int results_rows_read_back(const char *path, struct results_rows *rows,
			   struct bench_results *results, struct bench_machine *machine)
{
	const int status = results_rows_read(path, rows);
	size_t i;

	for (i = 0; status == STATUS_GOOD && i < rows->count; i++) {
		const char *const *fields = rows->rows[i].fields;

		bench_results_add(results, fields[0], fields[1], fields[2], fields[3],
				  rows->rows[i].value);
	}
	snprintf(machine->gpu, sizeof(machine->gpu), "%.90s", rows->facts.gpu);
	snprintf(machine->driver, sizeof(machine->driver), "%.199s", rows->facts.driver);
	snprintf(machine->cpu, sizeof(machine->cpu), "%.120s", rows->facts.cpu);
	snprintf(machine->date, sizeof(machine->date), "%.30s", rows->facts.date);
	snprintf(machine->commit, sizeof(machine->commit), "%.60s", rows->facts.commit);
	return status;
}
