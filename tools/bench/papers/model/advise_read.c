/* SPDX-License-Identifier: Apache-2.0 */
/*
 * advise_read.c - the inputs of `mam bench advise`: lists of sizes, a heap's counters, and measured
 * times.
 *
 * A kernel's microseconds are modeled as a linear function of its WAS, as in the paper: least
 * squares over the cells of mam's pages that `mam bench model` or `mam bench pages` wrote. Only
 * cells with fewer threads than a GPU can run at once are used, as the line does not hold for
 * others.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advise.h"
#include "bench/bench.h"
#include "bench/harness/results_read.h"
#include "command.h"
#include "kit/args.h"
#include "kit/message.h"

#define WEIGHT_MAX 1000000000000u
#define CELLS_MIN 3
#define THREADS_LIMIT 16384

/* Parses a whole number and nothing else; returns false if it is invalid or too large. */
static bool read_number(const char *text, uint64_t *number)
{
	unsigned long long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoull(text, &end, 10);
	*number = value;
	return errno == 0 && *end == '\0';
}

bool advise_sizes(const char *text, struct advise_ask *ask)
{
	char one[64], *weight;

	for (ask->size_count = 0; *text != '\0'; ask->size_count++) {
		const size_t length = strcspn(text, ",");
		struct advise_size *size = &ask->sizes[ask->size_count];
		uint64_t count = 1;

		snprintf(one, sizeof(one), "%.*s",
			 (int)(length < sizeof(one) ? length : sizeof(one) - 1), text);
		if (ask->size_count == ADVISE_SIZES_MAX) {
			message_error("--sizes: there are more than %d; put the like ones together",
				      ADVISE_SIZES_MAX);
			return false;
		}
		weight = strchr(one, ':');
		if (weight != NULL)
			*weight++ = '\0';
		if (length >= sizeof(one) || !args_bytes(one, &size->bytes) || size->bytes == 0 ||
		    (weight != NULL &&
		     (!read_number(weight, &count) || count == 0 || count > WEIGHT_MAX))) {
			message_error(
				"--sizes expects BYTES or BYTES:COUNT, each at least 1, not '%.*s'",
				(int)(length < 40 ? length : 40), text);
			return false;
		}
		size->weight = (double)count;
		text += length;
		if (*text == ',' && *++text == '\0') {
			message_error("--sizes: a size is missing after the last comma");
			return false;
		}
	}
	if (ask->size_count == 0)
		message_error("--sizes expects at least one size, as in 64:1000,256:50");
	return ask->size_count > 0;
}

/* ---- counters ---- */

#define NONE ((size_t)-1)
#define AT(name) offsetof(struct advise_counters, name)

/*
 * All fields of struct mam_heap_info that are one number, and where the relevant ones are stored.
 */
static const struct {
	const char *key;
	size_t at;
} keys[] = {
	{ "page_bytes", AT(page_bytes) },
	{ "pages", AT(pages) },
	{ "free", AT(free) },
	{ "objects", AT(objects) },
	{ "object_bytes", AT(object_bytes) },
	{ "searches", AT(searches) },
	{ "looks", AT(looks) },
	{ "full", AT(full) },
	{ "no_run", AT(no_run) },
	{ "size", NONE },
	{ "ground_bytes", NONE },
	{ "taken", NONE },
	{ "longest_free", NONE },
	{ "contended", NONE },
	{ "bad_sizes", NONE },
	{ "double_frees", NONE },
	{ "foreign_frees", NONE },
	{ "wrong_heaps", NONE },
	{ "zero_sizes", NONE },
	{ "interior_frees", NONE },
	{ "large_objects", NONE },
	{ "large_bytes", NONE },
	{ "slabs", NONE },
	{ "idle_slabs", NONE },
	{ "moving", NONE },
	{ "returned", NONE },
	{ "opened", NONE },
	{ "closed", NONE },
	{ "passes", NONE },
	{ "grants", NONE },
	{ "grant_bytes", NONE },
	{ "spare_grants", NONE },
	{ "spare_bytes", NONE },
	{ "host_objects", NONE },
	{ "host_bytes", NONE },
	{ "asks", NONE },
	{ "refusals", NONE },
	{ "at_limit", NONE },
	{ "pool_full", NONE },
	{ "silent", NONE },
	{ "no_slot", NONE },
	{ "refused", NONE },
};

#define KEYS (sizeof(keys) / sizeof(keys[0]))

/* Parses a line; returns false after reporting an error. */
static bool read_line(const char *path, unsigned int line, char *text, bool *seen,
		      struct advise_counters *counters)
{
	char *value = strchr(text, '\t');
	uint64_t number;
	size_t i;

	text[strcspn(text, "\r\n")] = '\0';
	if (text[0] == '\0' || text[0] == '#')
		return true;
	if (value == NULL) {
		message_error("%s, line %u: '%.40s' is not KEY<TAB>VALUE", path, line, text);
		return false;
	}
	*value++ = '\0';
	for (i = 0; i < KEYS && strcmp(keys[i].key, text) != 0; i++)
		continue;
	if (i == KEYS)
		message_error("%s, line %u: '%.40s' is not a field of struct mam_heap_info", path,
			      line, text);
	else if (seen[i])
		message_error("%s, line %u: '%s' comes a second time; keep one", path, line, text);
	else if (!read_number(value, &number))
		message_error("%s, line %u: '%.40s' is not a 64-bit number", path, line, value);
	else {
		seen[i] = true;
		if (keys[i].at != NONE)
			memcpy((char *)counters + keys[i].at, &number, sizeof(number));
		return true;
	}
	return false;
}

static bool check_counters(const char *path, const struct advise_counters *counters)
{
	const uint64_t page = counters->page_bytes;

	if (counters->pages == 0 || page == 0)
		message_error("%s: pages and page_bytes are required, and must be greater than 0",
			      path);
	else if (counters->free > counters->pages)
		message_error("%s: free exceeds pages", path);
	else if (page > UINT32_MAX || (page & (page - 1)) != 0)
		message_error("%s: page_bytes is not a valid power of two", path);
	else if (counters->pages > ADVISE_PAGES_MAX)
		message_error("%s: pages must be at most %llu", path,
			      (unsigned long long)ADVISE_PAGES_MAX);
	else
		return true;
	return false;
}

bool advise_counters_read(const char *path, struct advise_counters *counters)
{
	FILE *file = fopen(path, "r");
	bool seen[KEYS] = { false }, good = true;
	unsigned int line = 0;
	char text[256];

	*counters = (struct advise_counters){ .pages = 0 };
	if (file == NULL) {
		message_error("--counters: cannot read '%s': %s", path, strerror(errno));
		return false;
	}
	while (good && fgets(text, sizeof(text), file) != NULL)
		good = read_line(path, ++line, text, seen, counters);
	if (good && ferror(file)) {
		message_error("--counters: cannot read '%s': %s", path, strerror(errno));
		good = false;
	}
	fclose(file);
	return good && check_counters(path, counters);
}

/* ---- times ---- */

/* "1000000 1% 4000": 4000. "16K" is 16384. */
static double threads_of(const char *parameter)
{
	const char *last = strrchr(parameter, ' ');
	char *end;
	double threads;

	if (last == NULL)
		return 0;
	threads = strtod(last + 1, &end);
	return threads * (*end == 'K' ? 1024 : *end == 'M' ? 1048576 : 1);
}

/*
 * Fits a line by least squares of relative errors, as times span a wide range. Returns false if
 * there are too few points, or all have the same x.
 */
static bool fit(const struct results_rows *rows, struct advise_ask *ask)
{
	double w, n = 0, x = 0, y = 0, xx = 0, xy = 0, below;
	size_t i, points = 0;

	for (i = 0; i < rows->count; i++) {
		const struct results_row *row = &rows->rows[i];
		double was;

		if ((strcmp(row->fields[0], "model-get") != 0 &&
		     strcmp(row->fields[0], "pages-get") != 0) ||
		    strcmp(row->fields[1], "mam-pages") != 0 || strcmp(row->fields[3], "us") != 0 ||
		    threads_of(row->fields[2]) > THREADS_LIMIT)
			continue;
		was = results_rows_value(rows, row->fields[0], row->fields[1], row->fields[2],
					 "was");
		if (was <= 0 || row->value <= 0)
			continue;
		points++;
		w = 1 / (row->value * row->value);
		n += w;
		x += w * was;
		y += w * row->value;
		xx += w * was * was;
		xy += w * was * row->value;
	}
	below = n * xx - x * x;
	if (points < CELLS_MIN || below <= 1e-9 * n * n)
		return false;
	ask->step_us = (n * xy - x * y) / below;
	ask->first_us = (y - ask->step_us * x) / n;
	return ask->step_us > 0;
}

bool advise_fit(const char *path, struct advise_ask *ask)
{
	struct results_rows rows = { .rows = NULL };
	bool good = results_rows_read(path, &rows) == STATUS_GOOD;

	if (good && !fit(&rows, ask)) {
		message_error("--read: %s has no times of mam's pages that grow with steps; mam "
			      "bench model --csv writes them",
			      path);
		good = false;
	}
	results_rows_fini(&rows);
	return good;
}
