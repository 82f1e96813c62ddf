/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plot_figures.c - the pictures there are: what is drawn of which rows, and who as what.
 *
 * A picture of lines is a few groups of points; each group is one metric of one workload over its
 * parameters, or several metrics at one parameter. A picture of bars is what was held beyond what
 * was in use. What has no row is not drawn, and a picture without one is none.
 */
#include <string.h>

#include "plot.h"
#include "plot_rows.h"

#define GROUPS_MAX 3
#define NAMES_MAX 10

/* Who is drawn, as what; the first of `peers` that has a row counts. */
struct drawn {
	const char *label, *color;
	const char *peers[4];
	const char *unless; /* not where this one has a row */
};

static const struct drawn everybody[] = {
	{ "mam", "mam", { "mam-cudamalloc-cache", "mam-host-cache", "mam-host" }, NULL },
	{ "mam, no caches", "plain", { "mam-cudamalloc", "mam-host" }, NULL },
	{ "RMM pool", "rmm", { "rmm-pool" }, NULL },
	{ "PyTorch's cache", "torch", { "torch" }, NULL },
	{ "cudaMallocAsync", "async", { "cudaMallocAsync-warm", "cudaMallocAsync" }, NULL },
	{ "cudaMalloc", "cuda", { "cudaMalloc" }, NULL },
	{ "glibc (CPU)", "other", { "glibc" }, NULL },
	{ "jemalloc (CPU)", "jemalloc", { "jemalloc" }, "cudaMalloc" },
	{ "mimalloc (CPU)", "mimalloc", { "mimalloc" }, "cudaMalloc" },
};

/* Where the pool's own books are measured, without caches. */
static const struct drawn bookkeepers[] = {
	{ "mam", "mam", { "mam-cudamalloc", "mam-host" }, NULL },
	{ "mam, host memory", "plain", { "mam-host" }, NULL },
	{ "RMM pool", "rmm", { "rmm-pool" }, NULL },
	{ "PyTorch's cache", "torch", { "torch" }, NULL },
	{ "cudaMallocAsync", "async", { "cudaMallocAsync-warm", "cudaMallocAsync" }, NULL },
	{ "cudaMalloc", "cuda", { "cudaMalloc" }, NULL },
	{ "glibc (CPU)", "other", { "glibc" }, NULL },
	{ "jemalloc (CPU)", "jemalloc", { "jemalloc" }, "cudaMalloc" },
	{ "mimalloc (CPU)", "mimalloc", { "mimalloc" }, "cudaMalloc" },
};

static const struct drawn holders[] = {
	{ "mam, mapped", "mam", { "mam-vmm-cache", "mam-vmm" }, NULL },
	{ "mam, simulated", "mam", { "mam-vmm-simulated", "mam-simulated-cache" }, "mam-vmm" },
	{ "mam, chunks", "plain", { "mam-cudamalloc-cache", "mam-cudamalloc", "mam-host-cache" }, NULL },
	{ "cudaMallocAsync", "async", { "cudaMallocAsync" }, NULL },
	{ "PyTorch, expandable", "torch", { "torch-expandable" }, NULL },
	{ "PyTorch", "torch", { "torch" }, NULL },
	{ "RMM pool", "rmm", { "rmm-pool-grow", "rmm-pool" }, NULL },
};

/* One metric over `names`, the workload's parameters; or, with a parameter, the metrics `names`. */
struct group {
	const char *label; /* NULL: the only one */
	const char *metric, *parameter;
	const char *names[NAMES_MAX];
	const char *shown[NAMES_MAX]; /* in place of names; NULL: those */
};

#define SIZES                                                                                 \
	{                                                                                     \
		"1B", "8B", "64B", "512B", "4KiB", "32KiB", "256KiB", "2MiB", "16MiB", "128MiB" \
	}
#define COUNTS                                                                            \
	{                                                                                 \
		"10", "100", "1000", "10000", "100000", "1000000", "10000000" \
	}
#define HOLES                                                               \
	{                                                                   \
		"10", "100", "1000", "10000", "100000", "1000000" \
	}
#define SHORT_COUNTS                                       \
	{                                                  \
		"10", "100", "1k", "10k", "100k", "1M", "10M" \
	}
#define LARGEST                                           \
	{                                                 \
		"1", "4", "64", "1024", "4096" \
	}
#define QUANTILES                                      \
	{                                              \
		"50%", "90%", "99%", "99.9%", "max" \
	}

static const struct figure {
	const char *file;
	const char *title, *subtitle, *up, *axis;
	const char *workload;
	const struct drawn *who;
	size_t who_count;
	struct group groups[GROUPS_MAX];
} figures[] = {
	{ "latency.svg",
	  "What a pair of alloc and free costs",
	  "nanoseconds, one thread, small heap; less is better",
	  "ns a pair",
	  "size of the block",
	  "pair",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { NULL, "pair_ns", NULL, { "256B", "1MiB", "16MiB", "1GiB" }, { NULL } } } },
	{ "threads.svg",
	  "Threads on one pool",
	  "million operations a second, 256 B to 1 MiB; more is better",
	  "million operations/s",
	  "threads",
	  "threads",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { NULL, "mops", NULL, { "1", "2", "4", "8", "16" }, { NULL } } } },
	{ "live.svg",
	  "An operation when many blocks are live",
	  "medians, blocks of 1 to 10 B; after figure 10 of the MAM paper; less is better",
	  "ns an operation",
	  "live blocks",
	  "live",
	  bookkeepers,
	  sizeof(bookkeepers) / sizeof(bookkeepers[0]),
	  { { "alloc", "alloc_ns", NULL, COUNTS, SHORT_COUNTS },
	    { "free", "free_ns", NULL, COUNTS, SHORT_COUNTS } } },
	{ "holes.svg",
	  "An operation when there are as many holes as blocks",
	  "medians, blocks and holes of 512 B to 16 KiB; less is better",
	  "ns an operation",
	  "live blocks, and holes",
	  "holes",
	  bookkeepers,
	  sizeof(bookkeepers) / sizeof(bookkeepers[0]),
	  { { "alloc", "alloc_ns", NULL, HOLES, SHORT_COUNTS },
	    { "free", "free_ns", NULL, HOLES, SHORT_COUNTS } } },
	{ "percentiles.svg",
	  "How long the slow operations take",
	  "single operations, 256 B to 16 MiB; growth apart where a heap tells it; less is better",
	  "ns an operation",
	  "so many of the operations took at most that",
	  "latency",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { "alloc",
	      NULL,
	      "mixed",
	      { "alloc_p50_ns", "alloc_p90_ns", "alloc_p99_ns", "alloc_p999_ns", "alloc_max_ns" },
	      QUANTILES },
	    { "free",
	      NULL,
	      "mixed",
	      { "free_p50_ns", "free_p90_ns", "free_p99_ns", "free_p999_ns", "free_max_ns" },
	      QUANTILES } } },
	{ "random.svg",
	  "Random sizes, RMM's benchmark",
	  "nanoseconds an operation, up to 16,000 MiB live; less is better",
	  "ns an operation",
	  "largest size in MiB; sizes are uniform from 1 B",
	  "random",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { "1,000 blocks",
	      "op_ns",
	      NULL,
	      { "1000,1MiB", "1000,4MiB", "1000,64MiB", "1000,1GiB", "1000,4GiB" },
	      LARGEST },
	    { "10,000 blocks",
	      "op_ns",
	      NULL,
	      { "10000,1MiB", "10000,4MiB", "10000,64MiB", "10000,1GiB", "10000,4GiB" },
	      LARGEST },
	    { "100,000 blocks",
	      "op_ns",
	      NULL,
	      { "100000,1MiB", "100000,4MiB", "100000,64MiB", "100000,1GiB", "100000,4GiB" },
	      LARGEST } } },
	{ "sizes.svg",
	  "Random sizes until all memory is taken",
	  "medians of a range of sizes; after figures 1, 8 and 9 of the MAM paper; less is better",
	  "ns an operation",
	  "size, from",
	  "fill",
	  everybody,
	  sizeof(everybody) / sizeof(everybody[0]),
	  { { "alloc", "alloc_ns", NULL, SIZES, { NULL } },
	    { "free", "free_ns", NULL, SIZES, { NULL } } } },
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))
#define HOLDERS (sizeof(holders) / sizeof(holders[0]))

/* The picture of bars comes behind those of lines. */
const size_t plot_figure_count = FIGURES + 1;

/* Of those that may stand for one, the first that took part; NULL: none did. */
static const char *peer_of(const struct plot_rows *rows, const struct drawn *one,
			   const char *workload, const char *parameter)
{
	size_t i;

	if (one->unless != NULL && plot_rows_has(rows, workload, one->unless, parameter))
		return NULL;
	for (i = 0; i < sizeof(one->peers) / sizeof(one->peers[0]); i++) {
		if (one->peers[i] != NULL &&
		    plot_rows_has(rows, workload, one->peers[i], parameter))
			return one->peers[i];
	}
	return NULL;
}

/* One allocator's points; false: it has none. */
static bool collect_line(const struct plot_rows *rows, const struct figure *figure,
			 const char *peer, struct plot_line *line)
{
	size_t group, name, point = 0;
	bool any = false;

	for (group = 0; group < GROUPS_MAX; group++) {
		const struct group *one = &figure->groups[group];

		for (name = 0; name < NAMES_MAX && one->names[name] != NULL; name++, point++) {
			bool metrics = one->parameter != NULL;

			line->values[point] =
				plot_rows_value(rows, figure->workload, peer,
						metrics ? one->parameter : one->names[name],
						metrics ? one->names[name] : one->metric);
			any = any || line->values[point] > 0;
		}
	}
	return any;
}

static void name_points(const struct figure *figure, struct plot_lines *plot)
{
	size_t group, name;

	for (group = 0; group < GROUPS_MAX; group++) {
		const struct group *one = &figure->groups[group];

		for (name = 0; name < NAMES_MAX && one->names[name] != NULL; name++) {
			const char *shown = one->shown[name];

			plot->names[plot->points] = shown != NULL ? shown : one->names[name];
			plot->groups[plot->points++] = one->label;
		}
	}
}

/* A point that nobody has a value for is left out, so that what was not played takes no room. */
static void drop_empty_points(struct plot_lines *plot)
{
	size_t from, to = 0, i;

	for (from = 0; from < plot->points; from++) {
		bool any = false;

		for (i = 0; i < plot->count; i++)
			any = any || plot->lines[i].values[from] > 0;
		if (!any)
			continue;
		plot->names[to] = plot->names[from];
		plot->groups[to] = plot->groups[from];
		for (i = 0; i < plot->count; i++)
			plot->lines[i].values[to] = plot->lines[i].values[from];
		to++;
	}
	plot->points = to;
}

static void collect_lines(const struct plot_rows *rows, const struct figure *figure,
			  struct plot_lines *plot)
{
	const char *last = NULL; /* so that nobody is drawn twice, as two */
	size_t i;

	*plot = (struct plot_lines){ .title = figure->title,
				     .subtitle = figure->subtitle,
				     .up = figure->up,
				     .axis = figure->axis };
	name_points(figure, plot);
	for (i = 0; i < figure->who_count; i++) {
		const struct drawn *one = &figure->who[i];
		const char *peer = peer_of(rows, one, figure->workload, NULL);
		struct plot_line *line = &plot->lines[plot->count];

		*line = (struct plot_line){ .label = one->label, .color = one->color };
		if (peer == NULL || peer == last || (last != NULL && strcmp(peer, last) == 0) ||
		    !collect_line(rows, figure, peer, line))
			continue;
		last = peer;
		plot->count++;
	}
	drop_empty_points(plot);
}

/* Parts of a hundred beyond what was live, of memory where that is apart from addresses. */
static void add_bars(const struct plot_rows *rows, const char *workload, const char *parameter,
		     const char *group, struct plot_bars *plot)
{
	size_t i;

	for (i = 0; i < HOLDERS && plot->count < PLOT_BARS_MAX; i++) {
		const char *peer = peer_of(rows, &holders[i], workload, parameter);
		double ratio;

		if (peer == NULL)
			continue;
		ratio = plot_rows_value(rows, workload, peer, parameter, "physical_ratio");
		if (ratio <= 0)
			ratio = plot_rows_value(rows, workload, peer, parameter, "reserved_ratio");
		if (ratio > 0)
			plot->bars[plot->count++] = (struct plot_bar){
				group,
				holders[i].label,
				holders[i].color,
				ratio > 1 ? (ratio - 1) * 100 : 0,
			};
	}
}

/* Each trace of workload replay is a group; it is added where its first row stands. */
static void add_replays(const struct plot_rows *rows, struct plot_bars *plot)
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

static void collect_bars(const struct plot_rows *rows, struct plot_bars *plot)
{
	*plot = (struct plot_bars){
		.title = "Memory held beyond what was in use",
		.subtitle = "peak held over peak live, per cent more; less is better",
		.unit = "%",
	};
	add_bars(rows, "training", "growing", "a made-up training run, 33.6 GiB live", plot);
	add_replays(rows, plot);
}

const char *plot_figure_file(size_t which)
{
	return which < FIGURES ? figures[which].file : "footprint.svg";
}

/* One figure `down` from the top of a page, without a frame of its own. Answers its height; 0: no
 * row to draw. file NULL: it is only asked. */
static double put_figure(size_t which, const struct plot_rows *rows, double down, FILE *file)
{
	struct plot_lines lines;
	struct plot_bars bars;
	bool of_lines = which < FIGURES;

	if (of_lines)
		collect_lines(rows, &figures[which], &lines);
	else
		collect_bars(rows, &bars);
	if ((of_lines ? lines.count : bars.count) == 0)
		return 0;
	if (file != NULL) {
		fprintf(file, "<g transform=\"translate(0 %.0f)\">\n", down);
		if (of_lines)
			plot_lines_draw(file, &lines);
		else
			plot_bars_draw(file, &bars);
		fputs("</g>\n", file);
	}
	return of_lines ? plot_lines_height(&lines) : plot_bars_height(&bars);
}

/* Figures first to end - 1, those that there are, one below another. */
static bool put_page(size_t first, size_t end, const char *title, const struct plot_rows *rows,
		     FILE *file)
{
	double height = 0, down = 0;
	char footnote[512];
	size_t which;

	for (which = first; which < end; which++)
		height += put_figure(which, rows, 0, NULL);
	if (height <= 0 || file == NULL)
		return height > 0;
	plot_rows_footnote(rows, footnote, sizeof(footnote));
	height += PLOT_FOOT;
	plot_svg_begin(file, title, height);
	for (which = first; which < end; which++)
		down += put_figure(which, rows, down, file);
	plot_svg_end(file, height, footnote);
	return true;
}

bool plot_figure_draw(size_t which, const struct plot_rows *rows, FILE *file)
{
	const char *title = which < FIGURES ? figures[which].title
					    : "Memory held beyond what was in use";

	return put_page(which, which + 1, title, rows, file);
}

bool plot_figure_page(const struct plot_rows *rows, FILE *file)
{
	return put_page(0, plot_figure_count, "What allocators cost", rows, file);
}
