/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flame_html.c - write a profile as a page: flame/page.html with its marks replaced.
 *
 * The scripts get JSON (the meta element) and packed numbers (the data element): frames, nodes in
 * preorder with what belongs to each leaf, and moments with the leaves that changed. Untrusted data
 * goes through page_markup() (names of files) or page_text() (texts of the profile).
 */
#include "profile/profile_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <mam/mam.h>

#include "kit/format.h"
#include "kit/page.h"
#include "map/map_color.h"
#include "flame/flame.h"
#include "flame/flame_text.h"

#define NS_PER_MS 1e6
#define CHANGES_MAX 1000000 /* in a page: it has to open in a few seconds */

struct page {
	const struct profile_view *view;
	const struct profile *profile;
	uint32_t from; /* the moment with which the view compares; PROFILE_NONE: it does not */
	struct flame flame;
	uint32_t *leaves;  /* of each node, or PROFILE_NONE */
	uint32_t *numbers; /* of each leaf, in preorder */
	uint32_t *seen;    /* of each leaf: the last moment for which it was written */
	uint32_t step;     /* the page has the changes of every step-th moment */
};

static uint64_t whole(double amount)
{
	return amount > 0 ? (uint64_t)(amount + 0.5) : 0;
}

static void put_summary(FILE *file, const void *what)
{
	const struct profile *profile = ((const struct page *)what)->profile;
	const struct profile_moment *peak = &profile->moments[profile->peak];
	const struct profile_moment *end = &profile->moments[profile->moment_count - 1];
	struct format_text blocks = format_counted(whole(peak->live.count), "block");

	page_fact(file, "peak", format_bytes(whole(peak->live.bytes)).text, blocks.text);
	blocks = format_counted(whole(end->live.count), "block");
	page_fact(file, "live at the end", format_bytes(whole(end->live.bytes)).text, blocks.text);
	blocks = format_counted(whole(profile->allocated.count), "block");
	page_fact(file, "allocated in total", format_bytes(whole(profile->allocated.bytes)).text,
		  blocks.text);
	page_fact(file, "events", format_count(profile->events).text, "");
}

static void put_footer(FILE *file, const void *what)
{
	const struct profile *profile = ((const struct page *)what)->profile;

	fprintf(file, "mam %s.", mam_version());
	if (profile->sample_rate > 0)
		fprintf(file,
			" Of all allocations, one per %s was recorded on average: bytes and counts "
			"are "
			"estimates.",
			format_bytes(whole(profile->sample_rate)).text);
	fputs(" Each rectangle is a call: as wide as the memory that it and its callees "
	      "allocated.",
	      file);
}

static void put_meta(FILE *file, const void *what)
{
	const struct page *page = what;
	const struct profile *profile = page->profile;

	fprintf(file, "{\"by\":%d,\"at\":%" PRIu32 ",\"from\":%" PRId64 ",\n", (int)page->view->by,
		page->view->moment, page->from == PROFILE_NONE ? -1 : (int64_t)page->from);
	fprintf(file,
		"\"frames\":%" PRIu32 ",\"nodes\":%" PRIu32 ",\"leaves\":%" PRIu32
		",\"moments\":%" PRIu32 ",\"changes\":%zu,\"peak\":%" PRIu32 ",\n",
		profile->frame_count, profile->node_count, profile->leaf_count,
		profile->moment_count, profile->change_count, profile->peak);
	fprintf(file, "\"times\":%d,\"sampled\":%d,\n", profile->has_times,
		profile->sample_rate > 0);
	map_color_put(file, "kinds", map_color_kind_rgb, MAP_KINDS + 1);
	fputs("\"names\":[", file);
	for (uint32_t i = 0; i < profile->names.count; i++) {
		fputs(i ? ",\n" : "", file);
		page_text(file, profile_text(profile, i));
	}
	fputs("]}", file);
}

/* Amounts of a sampled profile are multiples of 1/1024. */
static void put_amount(struct page_numbers *to, const struct page *page, double amount)
{
	page_numbers_put(to, whole(page->profile->sample_rate > 0 ? amount * 1024 : amount));
}

static void put_leaf(struct page_numbers *to, const struct page *page,
		     const struct profile_leaf *leaf)
{
	put_amount(to, page, leaf->allocated.bytes);
	put_amount(to, page, leaf->allocated.count);
	put_amount(to, page, leaf->freed);
	page_numbers_put(to, whole(leaf->lifetime));
	page_numbers_put(to, whole(page->profile->has_times ? leaf->held / NS_PER_MS : leaf->held));
	page_numbers_put(to, leaf->shortest == UINT64_MAX ? 0 : leaf->shortest + 1);
	if (page->profile->sample_rate > 0) {
		page_numbers_put(to, whole(sqrt(leaf->allocated_variance)));
		page_numbers_put(to, whole(sqrt(leaf->peak_variance)));
		page_numbers_put(to, whole(sqrt(leaf->exit_variance)));
	}
}

/* Each node as: how many levels it is above a child of the node before it, and its frame. */
static void put_nodes(struct page_numbers *to, const struct page *page)
{
	const struct profile *profile = page->profile;
	uint32_t below = 0;

	for (uint32_t i = 0; i < page->flame.count; i++) {
		const uint32_t node = page->flame.nodes[i], leaf = page->leaves[node];
		const uint64_t frame = profile->nodes[node].frame;

		page_numbers_put(to, below - page->flame.depths[i]);
		page_numbers_put(to, frame << 1 | (leaf != PROFILE_NONE));
		if (leaf != PROFILE_NONE)
			put_leaf(to, page, &profile->leaves[leaf]);
		below = page->flame.depths[i] + 1;
	}
}

static bool has_changes(const struct page *page, uint32_t moment)
{
	return moment % page->step == 0 || moment == page->profile->peak ||
	       moment == page->profile->moment_count - 1 || moment == page->view->moment ||
	       moment == page->from;
}

/*
 * Write the leaves that changed from change `from` to the end of a moment; each once, as it is at
 * the end. `to` may be NULL. Returns their number.
 */
static size_t put_changes(struct page_numbers *to, const struct page *page, uint32_t moment,
			  size_t from)
{
	const struct profile_moment *now = &page->profile->moments[moment];
	size_t count = 0;

	for (size_t i = now->first_change + now->change_count; i-- > from;) {
		const struct profile_change *change = &page->profile->changes[i];

		if (page->seen[change->leaf] == moment)
			continue;
		page->seen[change->leaf] = moment;
		count++;
		if (!to)
			continue;
		page_numbers_put(to, page->numbers[change->leaf] + 1);
		put_amount(to, page, change->live.bytes);
		put_amount(to, page, change->live.count);
	}
	return count;
}

/* With `to` NULL, count the changes only. */
static size_t put_moments(struct page_numbers *to, const struct page *page)
{
	const struct profile *profile = page->profile;
	uint64_t time = 0, event = 0;
	size_t count = 0, from = 0;

	for (uint32_t i = 0; i < profile->leaf_count; i++)
		page->seen[i] = PROFILE_NONE;
	for (uint32_t i = 0; i < profile->moment_count; i++) {
		const struct profile_moment *moment = &profile->moments[i];
		const bool has = has_changes(page, i);

		if (to) {
			page_numbers_put(to, moment->time - time);
			page_numbers_put(to, moment->event - event);
			put_amount(to, page, moment->live.bytes);
			put_amount(to, page, moment->live.count);
			put_amount(to, page, moment->high);
			page_numbers_put(to, has);
		}
		time = moment->time;
		event = moment->event;
		if (!has)
			continue;
		count += put_changes(to, page, i, from);
		if (to)
			page_numbers_put(to, 0);
		from = moment->first_change + moment->change_count;
	}
	return count;
}

static void put_data(FILE *file, const void *what)
{
	const struct page *page = what;
	const struct profile *profile = page->profile;
	struct page_numbers to;

	page_numbers_begin(&to, file);
	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct profile_frame *frame = &profile->frames[i];

		page_numbers_put(&to, frame->kind);
		page_numbers_put(&to, frame->function);
		page_numbers_put(&to, frame->file);
		page_numbers_put(&to, frame->line);
		page_numbers_put(&to, frame->module);
	}
	put_nodes(&to, page);
	put_moments(&to, page);
	page_numbers_end(&to);
}

/* False: out of memory. */
static bool page_init(struct page *page, const struct profile_view *view)
{
	const struct profile *profile = view->profile;
	uint32_t number = 0;

	*page = (struct page){ .view = view, .profile = profile, .from = PROFILE_NONE, .step = 1 };
	if (view->base == profile)
		page->from = view->base_moment;
	page->leaves = malloc(profile->node_count * sizeof(*page->leaves));
	page->numbers = malloc((profile->leaf_count + (size_t)1) * sizeof(*page->numbers));
	page->seen = malloc((profile->leaf_count + (size_t)1) * sizeof(*page->seen));
	if (!page->leaves || !page->numbers || !page->seen || !flame_init(&page->flame, profile))
		return false;
	for (uint32_t i = 0; i < profile->node_count; i++)
		page->leaves[i] = PROFILE_NONE;
	for (uint32_t i = 0; i < profile->leaf_count; i++)
		page->leaves[profile->leaves[i].node] = i;
	for (uint32_t i = 0; i < profile->node_count; i++) {
		const uint32_t leaf = page->leaves[page->flame.nodes[i]];

		if (leaf != PROFILE_NONE)
			page->numbers[leaf] = number++;
	}
	while (page->step < profile->moment_count && put_moments(NULL, page) > CHANGES_MAX)
		page->step *= 2;
	return true;
}

static void page_fini(struct page *page)
{
	flame_fini(&page->flame);
	free(page->leaves);
	free(page->numbers);
	free(page->seen);
}

bool profile_write_html(FILE *file, const struct profile_view *view)
{
	static const struct page_mark marks[] = {
		{ "@SUMMARY@", put_summary },
		{ "@META@", put_meta },
		{ "@DATA@", put_data },
		{ "@FOOTER@", put_footer },
	};
	const struct format_text title = format_name(view->profile->path, 39);
	const struct page_parts parts = {
		.title = title.text,
		.kind = "memory profile",
		.css = flame_page_css,
		.html = flame_page_html,
		.js = flame_page_js,
	};
	struct page page;
	const bool good = page_init(&page, view);

	if (good)
		page_write(file, &parts, marks, sizeof(marks) / sizeof(marks[0]), &page);
	page_fini(&page);
	return good;
}
