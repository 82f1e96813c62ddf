/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot.c - `mam bench plot`: figures of results, as `mam bench host` and `mam bench pages` write
 * them by --csv.
 *
 * 1. Read every file into one list of rows (plot_rows.c), except those with other columns.
 * 2. Write each figure that has data (plot_figures.c), completely or not at all, and print its
 *    name.
 */
#include "plot.h"

#include <string.h>

#include "kit/args.h"
#include "command.h"
#include "kit/message.h"
#include "plot_rows.h"
#include "kit/whole_file.h"

static bool write_picture(size_t which, const struct plot_rows *rows, const char *folder)
{
	struct whole_file whole;
	char path[4096];
	FILE *file;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, plot_figure_file(which)) >=
	    sizeof(path)) {
		message_error("--out: the folder's name is too long");
		return false;
	}
	file = whole_file_open(&whole, path, "a picture");
	if (file == NULL)
		return false;
	plot_figure_draw(which, rows, file);
	if (!whole_file_close(&whole, true))
		return false;
	printf("%s\n", path);
	return true;
}

int plot_results(const char *path, const struct bench_results *results,
		 const struct bench_machine *machine)
{
	struct plot_rows rows = { .rows = NULL };
	struct whole_file whole;
	int status = STATUS_GOOD;

	if (!plot_rows_take(&rows, results, machine)) {
		message_error("there is too little memory for %s", path);
		status = STATUS_FAILED;
	} else if (!plot_figure_page(&rows, NULL)) {
		message_error("%s: there is nothing to draw: no workload was played that has a "
			      "picture",
			      path);
		status = STATUS_BAD;
	} else if (whole_file_open(&whole, path, "a picture") == NULL) {
		status = STATUS_BAD;
	} else {
		plot_figure_page(&rows, whole.file);
		status = whole_file_close(&whole, true) ? STATUS_GOOD : STATUS_BAD;
	}
	plot_rows_fini(&rows);
	return status;
}

/*
 * Reads all files into one list. If there are several, one with other columns is skipped: a folder
 * of results also contains tables of other tools.
 */
static int read_files(char **paths, int count, struct plot_rows *rows)
{
	int status = STATUS_GOOD, i;

	for (i = 0; status == STATUS_GOOD && i < count; i++) {
		size_t other = 0;

		status = plot_rows_read(paths[i], rows, count > 1 ? &other : NULL);
		if (other > 0)
			message_note("%s is skipped: line %zu is not a row of results "
				     "(WORKLOAD,ALLOCATOR,PARAMETER,METRIC,VALUE)",
				     paths[i], other);
	}
	return status;
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
	"Draw results of mam bench host --csv: latency.svg, threads.svg, live.svg, holes.svg,\n"
	"percentiles.svg, random.svg, sizes.svg and footprint.svg; and of mam bench pages --csv:\n"
	"pages-threads.svg, pages-frees.svg, pages-share.svg, pages-tas.svg, pages-was.svg,\n"
	"pages-lanes.svg and pages-malloc.svg; of mam bench device: device-*.svg; of mam bench\n"
	"xmalloc: xmalloc-*.svg; of mam bench mpi: mpi-*.svg; of mam bench kma: kma-*.svg; of\n"
	"mam bench case: case-*.svg; those\n"
	"that there are rows for.\n",
	"A row of a later file replaces the same of an earlier one. Of several files those with\n"
	"other columns are skipped. More in mam-bench(1).\n",
	options,
	false,
};

int plot_main(int argc, char **argv)
{
	struct request request = { "." };
	struct plot_rows rows = { .rows = NULL };
	int first, status;
	size_t drawn = 0, which;

	if (!args_parse(&command, argc, argv, &request, &first, &status))
		return status;
	if (first == argc) {
		message_error("name a file of results, as mam bench host --csv writes it");
		return STATUS_BAD;
	}
	status = read_files(argv + first, argc - first, &rows);
	for (which = 0; status == STATUS_GOOD && which < plot_figure_count(); which++) {
		if (!plot_figure_draw(which, &rows, NULL))
			continue;
		if (!write_picture(which, &rows, request.out))
			status = STATUS_BAD;
		drawn++;
	}
	if (status == STATUS_GOOD && drawn == 0) {
		message_error("there is nothing to draw: no row of a workload that is drawn");
		status = STATUS_BAD;
	}
	plot_rows_fini(&rows);
	return status;
}
