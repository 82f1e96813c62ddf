/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metrics.c - see metrics.h.
 *
 * The samples of a metric are adjacent, as the format requires. No two samples have the same
 * labels: a user's processes differ in `pid`, and the pools of a process in `id`.
 */
#include "exporter/metrics.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "kit/utf8.h"

enum kind { GAUGE, COUNTER, COUNTER_OF_NANOSECONDS };

static const struct metric {
	const char *name; /* without _total */
	const char *unit; /* "": none; otherwise the end of the name */
	enum kind kind;
	size_t offset; /* in struct mam_statpage_figures */
	const char *help;
} metrics[] = {
#define FIGURE(name) offsetof(struct mam_statpage_figures, name)
	{ "mam_live_blocks", "", GAUGE, FIGURE(live_blocks), "Blocks in use by the program." },
	{ "mam_live_bytes", "bytes", GAUGE, FIGURE(live_bytes),
	  "Memory in use by the program, as requested." },
	{ "mam_peak_live_bytes", "bytes", GAUGE, FIGURE(peak_live_bytes),
	  "Peak of mam_live_bytes." },
	{ "mam_reserved_bytes", "bytes", GAUGE, FIGURE(reserved_bytes),
	  "Memory that the pool allocated from the driver." },
	{ "mam_peak_reserved_bytes", "bytes", GAUGE, FIGURE(peak_reserved_bytes),
	  "Peak of mam_reserved_bytes." },
	{ "mam_cached_bytes", "bytes", GAUGE, FIGURE(cached_bytes),
	  "Free memory in the caches of threads." },
	{ "mam_retired_bytes", "bytes", GAUGE, FIGURE(retired_bytes),
	  "Freed memory that waits for work of the GPU." },
	{ "mam_peak_retired_bytes", "bytes", GAUGE, FIGURE(peak_retired_bytes),
	  "Peak of mam_retired_bytes." },
	{ "mam_allocations", "", COUNTER, FIGURE(allocs), "Allocations." },
	{ "mam_frees", "", COUNTER, FIGURE(frees), "Frees." },
	{ "mam_failures", "", COUNTER, FIGURE(failures), "Allocations that failed." },
	{ "mam_driver_calls", "", COUNTER, FIGURE(driver_calls),
	  "Calls of the driver that allocated or released memory of the pool." },
	{ "mam_driver_seconds", "seconds", COUNTER_OF_NANOSECONDS, FIGURE(driver_ns),
	  "Time in these calls." },
#undef FIGURE
};

#define METRICS (sizeof(metrics) / sizeof(metrics[0]))

static void put_heading(FILE *file, const char *name, bool is_counter, const char *unit,
			const char *help)
{
	fprintf(file, "# TYPE %s %s\n", name, is_counter ? "counter" : "gauge");
	if (unit[0] != '\0')
		fprintf(file, "# UNIT %s %s\n", name, unit);
	fprintf(file, "# HELP %s %s\n", name, help);
}

/*
 * A label with any bytes up to the first NUL. Invalid UTF-8 and control characters, which a
 * terminal might interpret, become U+FFFD.
 */
static void put_label(FILE *file, const char *name, const char *text, size_t bytes)
{
	size_t length;

	fprintf(file, ",%s=\"", name);
	bytes = strnlen(text, bytes);
	for (size_t i = 0; i < bytes; i += length) {
		unsigned char c = (unsigned char)text[i];

		length = utf8_length(text + i, bytes - i);
		if (c == '\n') {
			fputs("\\n", file);
		} else if (length == 0 || c < 0x20 || c == 0x7f ||
			   (c == 0xc2 && (unsigned char)text[i + 1] < 0xa0)) {
			fputs(UTF8_UNKNOWN, file);
			length = length == 0 ? 1 : length;
		} else {
			if (c == '"' || c == '\\')
				fputc('\\', file);
			fwrite(text + i, 1, length, file);
		}
	}
	fputc('"', file);
}

static void put_labels(FILE *file, const struct collect_pool *pool)
{
	fprintf(file, "{uid=\"%lu\",pid=\"%ld\"", (unsigned long)pool->uid, (long)pool->pid);
	put_label(file, "program", pool->program, sizeof(pool->program));
	if (pool->device < 0)
		fputs(",device=\"none\"", file);
	else
		fprintf(file, ",device=\"%d\"", pool->device);
	put_label(file, "pool", pool->name, sizeof(pool->name));
	put_label(file, "source", pool->source, sizeof(pool->source));
	fprintf(file, ",id=\"%u\"}", pool->id);
}

/* A gauge that is below 0 was read while it changed. */
static void put_value(FILE *file, enum kind kind, uint64_t value)
{
	const uint64_t second = 1000000000;

	if (kind == COUNTER_OF_NANOSECONDS)
		fprintf(file, " %" PRIu64 ".%09" PRIu64 "\n", value / second, value % second);
	else if (kind == GAUGE && (int64_t)value < 0)
		fputs(" 0\n", file);
	else
		fprintf(file, " %" PRIu64 "\n", value);
}

static void put_metric(FILE *file, const struct metric *metric, const struct collect_list *list)
{
	put_heading(file, metric->name, metric->kind != GAUGE, metric->unit, metric->help);
	for (size_t i = 0; i < list->count; i++) {
		const char *figures = (const char *)&list->pools[i].figures;
		uint64_t value;

		memcpy(&value, figures + metric->offset, sizeof(value));
		fputs(metric->name, file);
		if (metric->kind != GAUGE)
			fputs("_total", file);
		put_labels(file, &list->pools[i]);
		put_value(file, metric->kind, value);
	}
}

static void put_count(FILE *file, const char *name, const char *help, uint64_t value)
{
	put_heading(file, name, false, "", help);
	fputs(name, file);
	put_value(file, GAUGE, value);
}

void metrics_put(FILE *file, const struct collect_list *list)
{
	for (size_t i = 0; i < METRICS; i++)
		put_metric(file, &metrics[i], list);
	put_count(file, "mam_pages", "Statistics pages that were read.", list->pages);
	put_count(file, "mam_omitted", "Pages and pools above the limits of mam exporter.",
		  list->omitted);
	fputs("# EOF\n", file);
}

char *metrics_text(size_t *bytes)
{
	struct collect_list list = { .pools = NULL };
	char *text = NULL;
	FILE *file = collect_pages(&list) ? open_memstream(&text, bytes) : NULL;
	bool good = file != NULL;

	if (good)
		metrics_put(file, &list);
	if (good && (ferror(file) | fclose(file)) != 0) {
		free(text);
		text = NULL;
	}
	collect_fini(&list);
	return text;
}
