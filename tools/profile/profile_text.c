/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_text.c - a profile for people and for scripts: a summary, and lists of the places in the
 * code that have most of something.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kit/format.h"
#include "profile/profile_view.h"

/* A list: the sites with the largest keys; a key of 0 or less excludes a site. */
struct list {
	const char *title;
	const char *name; /* for scripts */
	double (*key)(const struct profile_site *site);
	bool (*is_in)(const struct profile_site *site);
	bool of_live; /* prints `live`, otherwise all allocations */
	bool of_exit; /* prints `exit` */
};

static double value_key(const struct profile_site *site)
{
	return site->value;
}

static double growth_key(const struct profile_site *site)
{
	return fabs(site->value);
}

static double count_key(const struct profile_site *site)
{
	return site->allocated.count;
}

static double bytes_key(const struct profile_site *site)
{
	return site->allocated.bytes;
}

static double exit_key(const struct profile_site *site)
{
	return site->exit.bytes;
}

/* The shortest mean lifetime first. */
static double lifetime_key(const struct profile_site *site)
{
	return -site->lifetime / site->freed;
}

static bool was_freed(const struct profile_site *site)
{
	return site->freed > 0;
}

static const struct list live_list = { NULL, "live", value_key, NULL, true, false };
static const struct list growth_list = { NULL, "growth", growth_key, NULL, true, false };
static const struct list lists[] = {
	{ "Most allocations", "most_allocations", count_key, NULL, false, false },
	{ "Most bytes allocated in total", "most_allocated", bytes_key, NULL, false, false },
	{ "Shortest lifetimes", "shortest_lifetime", lifetime_key, was_freed, false, false },
	{ "Never freed", "never_freed", exit_key, NULL, true, true },
};

struct sorted {
	double key;
	const struct profile_site *site;
};

static int by_key(const void *a, const void *b)
{
	const struct sorted *left = a, *right = b;

	if (left->key != right->key)
		return left->key < right->key ? 1 : -1;
	return (left->site->frame > right->site->frame) - (left->site->frame < right->site->frame);
}

/* The sites of a list, sorted; *count: those with a key. */
static uint32_t sort(const struct list *list, const struct profile_site *sites, uint32_t count,
		     struct sorted *sorted)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < count; i++) {
		double key;

		if (list->is_in && !list->is_in(&sites[i]))
			continue;
		key = list->key(&sites[i]);
		if (!list->is_in && key <= 0)
			continue;
		sorted[used++] = (struct sorted){ key, &sites[i] };
	}
	qsort(sorted, used, sizeof(*sorted), by_key);
	return used;
}

static void put_heading(FILE *file, const struct profile_view *view, const struct list *list)
{
	if (list->of_live)
		fprintf(file, "%12s %7s %10s%s  %s\n", "bytes", "share", "blocks",
			profile_has_error(view) && !list->of_exit ? "       error" : "", "place");
	else
		fprintf(file, "%12s %12s %12s %12s  %s\n", "bytes", "allocations", "mean life",
			"shortest", "place");
}

static void put_row(FILE *file, const struct profile_view *view, const struct list *list,
		    const struct profile_site *site, double total)
{
	const struct profile *profile = view->profile;
	const struct profile_amount *live = list->of_exit ? &site->exit : &site->live;
	double value = list->of_exit ? site->exit.bytes : site->value;

	if (list->of_live) {
		fprintf(file, "%12s %6.1f%% %10s", profile_bytes(live->bytes).text,
			total > 0 ? 100 * value / total : 0, profile_blocks(live->count).text);
		if (profile_has_error(view) && !list->of_exit)
			fprintf(file, " +-%s", profile_bytes(sqrt(site->variance)).text);
	} else {
		fprintf(file, "%12s %12s %12s %12s", profile_bytes(site->allocated.bytes).text,
			profile_blocks(site->allocated.count).text,
			site->freed > 0
				? profile_duration(profile, site->lifetime / site->freed).text
				: "-",
			site->freed > 0 ? profile_duration(profile, (double)site->shortest).text
					: "-");
	}
	fputs("  ", file);
	profile_put_frame(file, profile, site->frame);
	fputc('\n', file);
}

static void put_list(FILE *file, const struct profile_view *view, const struct list *list,
		     const struct sorted *sorted, uint32_t count, uint64_t top)
{
	double total = 0;

	for (uint32_t i = 0; i < count; i++)
		total +=
			list->of_exit ? sorted[i].site->exit.bytes : fmax(sorted[i].site->value, 0);
	put_heading(file, view, list);
	for (uint32_t i = 0; i < count && i < top; i++)
		put_row(file, view, list, sorted[i].site, total);
	if (count > top)
		fprintf(file, "%12s  and %s\n", "", format_counted(count - top, "more place").text);
}

static const char *s_of(double count)
{
	return round(count) == 1 ? "" : "s";
}

static void put_summary(FILE *file, const struct profile *profile)
{
	const struct profile_moment *end = &profile->moments[profile->moment_count - 1];
	const struct profile_moment *peak = &profile->moments[profile->peak];

	profile_put(file, profile->path);
	fprintf(file, ": %s of %s", format_counted(profile->events, "event").text,
		format_counted(profile->leaf_count, "stack").text);
	if (profile->has_times)
		fprintf(file, " in %s", profile_duration(profile, (double)end->time).text);
	fprintf(file,
		"\npeak %s in %s block%s after %s; allocated %s in %s block%s; never freed %s "
		"in %s\n",
		profile_bytes(peak->live.bytes).text, profile_blocks(peak->live.count).text,
		s_of(peak->live.count), profile_duration(profile, (double)peak->time).text,
		profile_bytes(profile->allocated.bytes).text,
		profile_blocks(profile->allocated.count).text, s_of(profile->allocated.count),
		profile_bytes(end->live.bytes).text, profile_blocks(end->live.count).text);
	if (profile->sample_rate > 0)
		fprintf(file,
			"Sampled once per %s on average: all numbers are estimates, and +- is "
			"their standard error.\n",
			profile_bytes(profile->sample_rate).text);
}

static const char *unit_of(enum profile_by by)
{
	return by == PROFILE_BY_COUNT      ? "blocks"
	       : by == PROFILE_BY_LIFETIME ? "bytes times lifetime, of the whole file"
					   : "bytes";
}

static void put_title(FILE *file, const struct profile_view *view)
{
	const struct profile *profile = view->profile;
	const struct profile_moment *moment = &profile->moments[view->moment];

	fputc('\n', file);
	if (view->base) {
		fprintf(file, "Growth to %s", profile_bytes(moment->live.bytes).text);
		fprintf(file, " (after %s) from %s",
			profile_duration(profile, (double)moment->time).text,
			profile_bytes(view->base->moments[view->base_moment].live.bytes).text);
		fputs(" (", file);
		if (view->base != profile) {
			profile_put(file, view->base->path);
			fputs(", ", file);
		}
		fprintf(file, "after %s), by %s\n",
			profile_duration(view->base,
					 (double)view->base->moments[view->base_moment].time)
				.text,
			unit_of(view->by));
		return;
	}
	fprintf(file, "Live %s (after %s), by %s\n",
		view->moment == profile->peak               ? "at the peak"
		: view->moment == profile->moment_count - 1 ? "at exit"
							    : "then",
		profile_duration(profile, (double)moment->time).text, unit_of(view->by));
}

static bool put_lists(FILE *file, const struct profile_view *view)
{
	uint32_t count, used;
	struct profile_site *sites = profile_sites(view, &count);
	struct sorted *sorted = malloc((sites ? count + 1 : 1) * sizeof(*sorted));
	uint64_t fewer = (view->top + 3) / 4;

	if (sites && sorted) {
		const struct list *first = view->base ? &growth_list : &live_list;

		used = sort(first, sites, count, sorted);
		put_title(file, view);
		put_list(file, view, first, sorted, used, view->top);
		for (size_t i = 0; !view->base && i < sizeof(lists) / sizeof(lists[0]); i++) {
			used = sort(&lists[i], sites, count, sorted);
			if (used == 0)
				continue;
			fprintf(file, "\n%s\n", lists[i].title);
			put_list(file, view, &lists[i], sorted, used, fewer);
		}
	}
	free(sorted);
	free(sites);
	return sites && sorted;
}

bool profile_write_text(FILE *file, const struct profile_view *view)
{
	put_summary(file, view->profile);
	if (!put_lists(file, view))
		return false;
	fputs("\nThe last use of a block by a kernel is not recorded: blocks that live long may be "
	      "needed or not.\n",
	      file);
	return true;
}

static void put_plain_sites(FILE *file, const struct profile_view *view, const struct list *list,
			    const struct sorted *sorted, uint32_t count)
{
	const struct profile *profile = view->profile;

	for (uint32_t i = 0; i < count && i < view->top; i++) {
		const struct profile_site *site = sorted[i].site;
		const struct profile_frame *frame = &profile->frames[site->frame];
		const struct profile_amount *amount = list->of_exit   ? &site->exit
						      : list->of_live ? &site->live
								      : &site->allocated;

		fprintf(file, "%s\t%.0f\t%.0f\t", list->name, amount->bytes, amount->count);
		fprintf(file, "%.0f\t", site->freed > 0 ? site->lifetime / site->freed : 0);
		profile_put(file, profile_text(profile, frame->function));
		fputc('\t', file);
		profile_put(file, profile_text(profile, frame->file));
		fprintf(file, "\t%u\n", (unsigned int)frame->line);
	}
}

static void put_plain_summary(FILE *file, const struct profile_view *view)
{
	const struct profile *profile = view->profile;
	const struct profile_moment *end = &profile->moments[profile->moment_count - 1];
	const struct profile_moment *peak = &profile->moments[profile->peak];
	double variance = 0;

	for (uint32_t i = 0; i < profile->leaf_count; i++)
		variance += profile->leaves[i].peak_variance;
	fprintf(file, "events\t%" PRIu64 "\nstacks\t%" PRIu32 "\n", profile->events,
		profile->leaf_count);
	if (profile->has_times)
		fprintf(file, "duration_ns\t%" PRIu64 "\n", end->time);
	fprintf(file, "peak_bytes\t%.0f\npeak_blocks\t%.0f\n%s\t%" PRIu64 "\n", peak->live.bytes,
		peak->live.count, profile->has_times ? "peak_ns" : "peak_event",
		profile->has_times ? peak->time : peak->event);
	if (profile->sample_rate > 0)
		fprintf(file, "sample_bytes\t%.0f\npeak_error_bytes\t%.0f\n", profile->sample_rate,
			sqrt(variance));
	fprintf(file, "allocated_bytes\t%.0f\nallocated_blocks\t%.0f\n", profile->allocated.bytes,
		profile->allocated.count);
	fprintf(file, "exit_bytes\t%.0f\nexit_blocks\t%.0f\n", end->live.bytes, end->live.count);
}

bool profile_write_plain(FILE *file, const struct profile_view *view)
{
	uint32_t count;
	struct profile_site *sites = profile_sites(view, &count);
	struct sorted *sorted = malloc((sites ? count + 1 : 1) * sizeof(*sorted));

	if (sites && sorted) {
		const struct list *first = view->base ? &growth_list : &live_list;

		put_plain_summary(file, view);
		put_plain_sites(file, view, first, sorted, sort(first, sites, count, sorted));
		for (size_t i = 0; !view->base && i < sizeof(lists) / sizeof(lists[0]); i++)
			put_plain_sites(file, view, &lists[i], sorted,
					sort(&lists[i], sites, count, sorted));
	}
	free(sorted);
	free(sites);
	return sites && sorted;
}
