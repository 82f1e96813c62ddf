/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.c - `mam bench plot`: the pictures of README, from results as `mam bench host --csv` writes
 * them.
 *
 * 1. Read every file into a list of rows. A row of a later file replaces the same of an earlier.
 * 2. Three pictures, each written whole or not at all: latency.svg (workload pair), threads.svg
 *    (threads), footprint.svg (training's and replay's reserved_ratio and physical_ratio, as parts
 *    of a hundred beyond what was live).
 * 3. A picture for which there is no row is not written; the names of the others are printed.
 */
#include "plot.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "command.h"
#include "message.h"

#define LINE_BYTES 512
#define FIELDS 5

struct row {
	char *text;           /* the line, cut into the fields */
	char *fields[FIELDS]; /* workload, allocator, parameter, metric, value */
	double value;
};

struct rows {
	struct row *rows;
	size_t count, room;
};

/* Who is drawn, as what; the first of `peers` that has a row counts. */
static const struct drawn {
	const char *label, *color;
	const char *peers[4];
	const char *unless; /* bars: not where this one has a row */
} drawn[] = {
	{ "mam", "mam", { "mam-cudamalloc-cache", "mam-host-cache", "mam-host" }, NULL },
	{ "mam, no caches", "plain", { "mam-cudamalloc", "mam-host" }, NULL },
	{ "RMM pool", "rmm", { "rmm-pool" }, NULL },
	{ "PyTorch's cache", "torch", { "torch" }, NULL },
	{ "cudaMallocAsync", "async", { "cudaMallocAsync-warm", "cudaMallocAsync" }, NULL },
	{ "cudaMalloc", "cuda", { "cudaMalloc" }, NULL },
	{ "glibc (CPU)", "other", { "glibc" }, NULL },
}, held[] = {
	{ "mam, mapped", "mam", { "mam-vmm-cache", "mam-vmm" }, NULL },
	{ "mam, simulated", "mam", { "mam-vmm-simulated" }, "mam-vmm" },
	{ "mam, chunks", "plain", { "mam-cudamalloc-cache", "mam-cudamalloc", "mam-host-cache" }, NULL },
	{ "cudaMallocAsync", "async", { "cudaMallocAsync" }, NULL },
	{ "PyTorch, expandable", "torch", { "torch-expandable" }, NULL },
	{ "PyTorch", "torch", { "torch" }, NULL },
	{ "RMM pool", "rmm", { "rmm-pool" }, NULL },
};

#define DRAWN (sizeof(drawn) / sizeof(drawn[0]))
#define HELD (sizeof(held) / sizeof(held[0]))

static const char *const pair_sizes[] = { "256B", "1MiB", "16MiB", "1GiB" };
static const char *const thread_counts[] = { "1", "2", "4", "8", "16" };

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

static bool split(struct row *row)
{
	char *at = row->text, *end;
	size_t i;

	for (i = 0; i < FIELDS; i++) {
		row->fields[i] = next_field(&at);
		if (row->fields[i] == NULL)
			return false;
	}
	row->value = strtod(row->fields[FIELDS - 1], &end);
	return at == NULL && *end == '\0' && end != row->fields[FIELDS - 1];
}

static bool add(struct rows *rows, const struct row *row)
{
	size_t i;

	for (i = 0; i < rows->count; i++) {
		struct row *old = &rows->rows[i];

		if (strcmp(old->fields[0], row->fields[0]) == 0 &&
		    strcmp(old->fields[1], row->fields[1]) == 0 &&
		    strcmp(old->fields[2], row->fields[2]) == 0 &&
		    strcmp(old->fields[3], row->fields[3]) == 0) {
			old->value = row->value;
			free(row->text);
			return true;
		}
	}
	if (rows->count == rows->room) {
		size_t room = rows->room > 0 ? 2 * rows->room : 512;
		struct row *more = realloc(rows->rows, room * sizeof(*more));

		if (more == NULL)
			return false;
		rows->rows = more;
		rows->room = room;
	}
	rows->rows[rows->count++] = *row;
	return true;
}

static int read_file(const char *path, struct rows *rows)
{
	FILE *file = fopen(path, "r");
	char line[LINE_BYTES];
	size_t number = 0;

	if (file == NULL) {
		message_error("%s cannot be read: %s", path, strerror(errno));
		return STATUS_BAD;
	}
	while (fgets(line, sizeof(line), file) != NULL) {
		struct row row;

		number++;
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] == '#' || line[0] == '\0')
			continue;
		row.text = strdup(line);
		if (row.text != NULL && !split(&row)) {
			free(row.text);
			fclose(file);
			message_error(
				"%s, line %zu: no row of results; mam bench host --csv writes "
				"such files",
				path, number);
			return STATUS_BAD;
		}
		if (row.text == NULL || !add(rows, &row)) {
			free(row.text);
			fclose(file);
			message_error("there is too little memory for %s", path);
			return STATUS_FAILED;
		}
	}
	fclose(file);
	return STATUS_GOOD;
}

static void free_rows(struct rows *rows)
{
	while (rows->count > 0)
		free(rows->rows[--rows->count].text);
	free(rows->rows);
}

/* 0: there is no such row. */
static double value_of(const struct rows *rows, const char *workload, const char *peer,
		       const char *parameter, const char *metric)
{
	size_t i;

	for (i = 0; i < rows->count; i++) {
		const struct row *row = &rows->rows[i];

		if (strcmp(row->fields[0], workload) == 0 && strcmp(row->fields[1], peer) == 0 &&
		    strcmp(row->fields[2], parameter) == 0 && strcmp(row->fields[3], metric) == 0)
			return row->value;
	}
	return 0;
}

/* parameter NULL: any */
static bool has_rows(const struct rows *rows, const char *workload, const char *peer,
		     const char *parameter)
{
	size_t i;

	for (i = 0; i < rows->count; i++) {
		char *const *fields = rows->rows[i].fields;

		if (strcmp(fields[0], workload) == 0 && strcmp(fields[1], peer) == 0 &&
		    (parameter == NULL || strcmp(fields[2], parameter) == 0))
			return true;
	}
	return false;
}

/* Of those that may stand for one, the first that took part; NULL: none did. */
static const char *peer_of(const struct rows *rows, const struct drawn *one, const char *workload,
			   const char *parameter)
{
	size_t i;

	if (one->unless != NULL && has_rows(rows, workload, one->unless, parameter))
		return NULL;
	for (i = 0; i < sizeof(one->peers) / sizeof(one->peers[0]); i++) {
		if (one->peers[i] != NULL && has_rows(rows, workload, one->peers[i], parameter))
			return one->peers[i];
	}
	return NULL;
}

static bool collect_lines(const struct rows *rows, const char *workload, const char *metric,
			  const char *const *names, size_t points, struct plot_lines *plot)
{
	size_t i, point;

	plot->points = points;
	for (point = 0; point < points; point++)
		plot->names[point] = names[point];
	for (i = 0; i < DRAWN; i++) {
		struct plot_line *line = &plot->lines[plot->count];
		const char *peer = peer_of(rows, &drawn[i], workload, NULL);
		bool any = false;

		*line = (struct plot_line){ .label = drawn[i].label, .color = drawn[i].color };
		for (point = 0; point < points; point++) {
			if (peer != NULL)
				line->values[point] =
					value_of(rows, workload, peer, names[point], metric);
			any = any || line->values[point] > 0;
		}
		plot->count += any;
	}
	return plot->count > 0;
}

/* Parts of a hundred beyond what was live, of memory where that is apart from addresses. */
static void add_bars(const struct rows *rows, const char *workload, const char *parameter,
		     const char *group, struct plot_bars *plot)
{
	size_t i;

	for (i = 0; i < HELD && plot->count < PLOT_BARS_MAX; i++) {
		const char *peer = peer_of(rows, &held[i], workload, parameter);
		double ratio;

		if (peer == NULL)
			continue;
		ratio = value_of(rows, workload, peer, parameter, "physical_ratio");
		if (ratio <= 0)
			ratio = value_of(rows, workload, peer, parameter, "reserved_ratio");
		if (ratio > 0)
			plot->bars[plot->count++] = (struct plot_bar){
				group,
				held[i].label,
				held[i].color,
				ratio > 1 ? (ratio - 1) * 100 : 0,
			};
	}
}

/* Each trace of workload replay is a group; it is added where its first row stands. */
static void add_replays(const struct rows *rows, struct plot_bars *plot)
{
	size_t i, before;

	for (i = 0; i < rows->count; i++) {
		const char *trace = rows->rows[i].fields[2];

		if (strcmp(rows->rows[i].fields[0], "replay") != 0)
			continue;
		for (before = 0; before < i; before++) {
			if (strcmp(rows->rows[before].fields[0], "replay") == 0 &&
			    strcmp(rows->rows[before].fields[2], trace) == 0)
				break;
		}
		if (before == i)
			add_bars(rows, "replay", trace, trace, plot);
	}
}

static bool draw_latency(const struct rows *rows, FILE *file)
{
	struct plot_lines plot = {
		.title = "What a pair of alloc and free costs",
		.subtitle = "nanoseconds, one thread, small heap; less is better",
		.axis = "size of the block",
	};

	if (!collect_lines(rows, "pair", "pair_ns", pair_sizes,
			   sizeof(pair_sizes) / sizeof(pair_sizes[0]), &plot))
		return false;
	if (file != NULL)
		plot_svg_lines(file, &plot);
	return true;
}

static bool draw_threads(const struct rows *rows, FILE *file)
{
	struct plot_lines plot = {
		.title = "Threads on one pool",
		.subtitle = "million operations a second, 256 B to 1 MiB; more is better",
		.axis = "threads",
	};

	if (!collect_lines(rows, "threads", "mops", thread_counts,
			   sizeof(thread_counts) / sizeof(thread_counts[0]), &plot))
		return false;
	if (file != NULL)
		plot_svg_lines(file, &plot);
	return true;
}

static bool draw_footprint(const struct rows *rows, FILE *file)
{
	struct plot_bars plot = {
		.title = "Memory held beyond what was in use",
		.subtitle = "peak held over peak live, per cent more; less is better",
		.unit = "%",
	};

	add_bars(rows, "training", "growing", "a made-up training run, 33.6 GiB live", &plot);
	add_replays(rows, &plot);
	if (plot.count > 0 && file != NULL)
		plot_svg_bars(file, &plot);
	return plot.count > 0;
}

static const struct picture {
	const char *file;
	/* draw - false: there is nothing to draw; file NULL: only asked */
	bool (*draw)(const struct rows *rows, FILE *file);
} pictures[] = {
	{ "latency.svg", draw_latency },
	{ "threads.svg", draw_threads },
	{ "footprint.svg", draw_footprint },
};

/* Whole, or not at all. */
static bool write_picture(const struct picture *picture, const struct rows *rows,
			  const char *folder)
{
	char path[4096], part[4104];
	FILE *file;
	int error;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, picture->file) >= sizeof(path)) {
		message_error("--out: the folder's name is too long");
		return false;
	}
	snprintf(part, sizeof(part), "%s.part", path);
	file = fopen(part, "w");
	error = file == NULL ? errno : 0;
	if (file != NULL) {
		picture->draw(rows, file);
		error = ferror(file) ? EIO : 0;
		if (fclose(file) != 0)
			error = errno;
		if (error == 0 && rename(part, path) != 0)
			error = errno;
		if (error != 0)
			remove(part);
	}
	if (error != 0)
		message_error("%s cannot be written: %s; choose another folder with --out", path,
			      strerror(error));
	else
		printf("%s\n", path);
	return error == 0;
}

struct request {
	const char *out;
};

static const struct args_option options[] = {
	{ "out", 'o', ARGS_TEXT, offsetof(struct request, out), "FOLDER", NULL,
	  "where the pictures go; here unless given" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	"mam bench plot",
	"[OPTION]... FILE...",
	"Draw latency.svg, threads.svg and footprint.svg from results of mam bench host --csv.\n",
	"A row of a later file replaces the same of an earlier one. More in mam-bench(1).\n",
	options,
	false,
};

int plot_main(int argc, char **argv)
{
	struct request request = { "." };
	struct rows rows = { NULL, 0, 0 };
	int first, status, i;
	size_t drawn_count = 0, picture;

	if (!args_parse(&command, argc, argv, &request, &first, &status))
		return status;
	if (first == argc) {
		message_error("name a file of results, as mam bench host --csv writes it");
		return STATUS_BAD;
	}
	status = STATUS_GOOD;
	for (i = first; status == STATUS_GOOD && i < argc; i++)
		status = read_file(argv[i], &rows);
	for (picture = 0; status == STATUS_GOOD && picture < sizeof(pictures) / sizeof(pictures[0]);
	     picture++) {
		if (!pictures[picture].draw(&rows, NULL))
			continue;
		if (!write_picture(&pictures[picture], &rows, request.out))
			status = STATUS_BAD;
		drawn_count++;
	}
	if (status == STATUS_GOOD && drawn_count == 0) {
		message_error(
			"there is nothing to draw: no row of pair, threads, training or replay");
		status = STATUS_BAD;
	}
	free_rows(&rows);
	return status;
}
