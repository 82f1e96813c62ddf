/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_view.c - compute what an output shows, and the texts that outputs for people share.
 */
#include "profile/profile_view.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kit/utf8.h"

bool profile_has_error(const struct profile_view *view)
{
	const struct profile *profile = view->profile;

	return profile->sample_rate > 0 && !view->base &&
	       (view->moment == profile->peak || view->moment == profile->moment_count - 1);
}

/* Add what is live at a moment, times `sign`, to the nodes. False: out of memory. */
static bool add_live(struct profile_view *view, const struct profile *profile, uint32_t moment,
		     double sign)
{
	struct profile_amount *live = malloc((profile->leaf_count + 1) * sizeof(*live));

	if (!live)
		return false;
	profile_live(profile, moment, live);
	for (uint32_t i = 0; i < profile->leaf_count; i++) {
		uint32_t node = profile->leaves[i].node;

		view->live[node].bytes += sign * live[i].bytes;
		view->live[node].count += sign * live[i].count;
	}
	free(live);
	return true;
}

bool profile_view_fill(struct profile_view *view)
{
	const struct profile *profile = view->profile;

	view->live = calloc(profile->node_count, sizeof(*view->live));
	view->value = calloc(profile->node_count, sizeof(*view->value));
	if (!view->live || !view->value || !add_live(view, profile, view->moment, 1) ||
	    (view->base && !add_live(view, view->base, view->base_moment, -1)))
		return false;
	for (uint32_t i = 0; i < profile->node_count; i++)
		view->value[i] =
			view->by == PROFILE_BY_COUNT ? view->live[i].count : view->live[i].bytes;
	if (view->by != PROFILE_BY_LIFETIME)
		return true;
	memset(view->value, 0, profile->node_count * sizeof(*view->value));
	for (uint32_t i = 0; i < profile->leaf_count; i++)
		view->value[profile->leaves[i].node] = profile->leaves[i].held;
	return true;
}

void profile_view_fini(struct profile_view *view)
{
	free(view->live);
	free(view->value);
	view->live = NULL;
	view->value = NULL;
}

/* The frame of the site of each node. NULL: out of memory. */
static uint32_t *site_frames(const struct profile *profile)
{
	uint32_t *frames = malloc(profile->node_count * sizeof(*frames));

	if (!frames)
		return NULL;
	frames[0] = 0;
	for (uint32_t i = 1; i < profile->node_count; i++) {
		const struct profile_node *node = &profile->nodes[i];
		uint32_t outer = frames[node->parent];

		frames[i] = profile->frames[node->frame].kind == PROFILE_PYTHON ||
					    profile->frames[outer].kind != PROFILE_PYTHON
				    ? node->frame
				    : outer;
	}
	return frames;
}

/* The site of a frame, added if it is new. */
static struct profile_site *site_at(struct profile_site *sites, uint32_t *numbers, uint32_t frame,
				    uint32_t *count)
{
	if (numbers[frame] == PROFILE_NONE) {
		sites[*count] = (struct profile_site){ .frame = frame, .shortest = UINT64_MAX };
		numbers[frame] = (*count)++;
	}
	return &sites[numbers[frame]];
}

static void add_nodes(const struct profile_view *view, struct profile_site *sites,
		      uint32_t *numbers, const uint32_t *frames, uint32_t *count)
{
	const struct profile *profile = view->profile;

	for (uint32_t i = 0; i < profile->node_count; i++) {
		struct profile_site *site;

		if (view->live[i].bytes == 0 && view->live[i].count == 0 && view->value[i] == 0)
			continue;
		site = site_at(sites, numbers, frames[i], count);
		site->live.bytes += view->live[i].bytes;
		site->live.count += view->live[i].count;
		site->value += view->value[i];
	}
	for (uint32_t i = 0; i < profile->leaf_count; i++) {
		const struct profile_leaf *leaf = &profile->leaves[i];
		struct profile_site *site = site_at(sites, numbers, frames[leaf->node], count);

		site->allocated.bytes += leaf->allocated.bytes;
		site->allocated.count += leaf->allocated.count;
		site->exit.bytes += leaf->exit.bytes;
		site->exit.count += leaf->exit.count;
		site->freed += leaf->freed;
		site->lifetime += leaf->lifetime;
		site->variance +=
			view->moment == profile->peak ? leaf->peak_variance : leaf->exit_variance;
		if (leaf->shortest < site->shortest)
			site->shortest = leaf->shortest;
	}
}

struct profile_site *profile_sites(const struct profile_view *view, uint32_t *count)
{
	const struct profile *profile = view->profile;
	struct profile_site *sites = malloc(profile->frame_count * sizeof(*sites));
	uint32_t *numbers = malloc(profile->frame_count * sizeof(*numbers));
	uint32_t *frames = site_frames(profile);

	*count = 0;
	if (sites && numbers && frames) {
		memset(numbers, 0xff, profile->frame_count * sizeof(*numbers));
		add_nodes(view, sites, numbers, frames, count);
	} else {
		free(sites);
		sites = NULL;
	}
	free(numbers);
	free(frames);
	return sites;
}

void profile_put(FILE *file, const char *text)
{
	size_t bytes = strlen(text), length;

	for (; bytes; text += length, bytes -= length) {
		unsigned char first = (unsigned char)*text;

		length = utf8_length(text, bytes);
		if (length == 0) {
			fputs(UTF8_UNKNOWN, file);
			length = 1;
		} else if (first < ' ' || first == 0x7f ||
			   (first == 0xc2 && (unsigned char)text[1] < 0xa0)) {
			fputc('?', file); /* a control character, possibly of the terminal */
		} else {
			fwrite(text, 1, length, file);
		}
	}
}

void profile_put_frame(FILE *file, const struct profile *profile, uint32_t number)
{
	const struct profile_frame *frame = &profile->frames[number];
	const char *path = profile_text(profile, frame->file), *slash = strrchr(path, '/');

	if (frame->kind == PROFILE_TAG)
		fputs("tag ", file);
	profile_put(file, frame->function ? profile_text(profile, frame->function) : "?");
	if (frame->file == 0)
		return;
	fputs(" (", file);
	profile_put(file, slash && slash[1] ? slash + 1 : path);
	if (frame->line)
		fprintf(file, ":%u", (unsigned int)frame->line);
	fputc(')', file);
}

struct format_text profile_duration(const struct profile *profile, double time)
{
	struct format_text text;

	if (!profile->has_times)
		snprintf(text.text, sizeof(text.text), "%.4g event%s", time, time == 1 ? "" : "s");
	else if (time < 1e3)
		snprintf(text.text, sizeof(text.text), "%.0f ns", time);
	else if (time < 1e6)
		snprintf(text.text, sizeof(text.text), "%.3g us", time / 1e3);
	else if (time < 1e9)
		snprintf(text.text, sizeof(text.text), "%.3g ms", time / 1e6);
	else
		snprintf(text.text, sizeof(text.text), "%.2f s", time / 1e9);
	return text;
}

/* A magnitude below 2^64, rounded. */
static uint64_t magnitude(double number)
{
	number = fabs(number);
	return number < 1.8e19 ? (uint64_t)round(number) : UINT64_MAX;
}

static struct format_text with_sign(bool is_negative, struct format_text text)
{
	if (is_negative) {
		memmove(text.text + 1, text.text, sizeof(text.text) - 1);
		text.text[0] = '-';
		text.text[sizeof(text.text) - 1] = '\0';
	}
	return text;
}

struct format_text profile_bytes(double bytes)
{
	return with_sign(bytes <= -0.5, format_bytes(magnitude(bytes)));
}

struct format_text profile_blocks(double count)
{
	return with_sign(count <= -0.5, format_count(magnitude(count)));
}
