/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_json.c - all numbers of a profile as JSON (mam-profile(1), JSON).
 */
#include <inttypes.h>
#include <math.h>

#include "kit/json_put.h"
#include "profile/profile_view.h"

static void put_number(FILE *file, double number)
{
	fprintf(file, "%.17g", number);
}

static void put_amount(FILE *file, struct profile_amount amount)
{
	fputc('[', file);
	put_number(file, amount.bytes);
	fputc(',', file);
	put_number(file, amount.count);
	fputc(']', file);
}

static void put_frames(FILE *file, const struct profile *profile)
{
	static const char *const kinds[] = { "root", "tag", "python", "native", "unknown" };

	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct profile_frame *frame = &profile->frames[i];

		fprintf(file, "%s\n{\"kind\":\"%s\",\"function\":", i ? "," : "",
			kinds[frame->kind]);
		json_put_text(file, profile_text(profile, frame->function));
		fputs(",\"file\":", file);
		json_put_text(file, profile_text(profile, frame->file));
		fprintf(file, ",\"line\":%" PRIu32 ",\"module\":", frame->line);
		json_put_text(file, profile_text(profile, frame->module));
		fputc('}', file);
	}
}

/* The root has no parent. */
static void put_nodes(FILE *file, const struct profile *profile)
{
	fputs("\n[-1,0]", file);
	for (uint32_t i = 1; i < profile->node_count; i++)
		fprintf(file, ",\n[%" PRIu32 ",%" PRIu32 "]", profile->nodes[i].parent,
			profile->nodes[i].frame);
}

static void put_leaf(FILE *file, const struct profile *profile, const struct profile_leaf *leaf)
{
	fprintf(file, "{\"node\":%" PRIu32 ",\"allocated\":", leaf->node);
	put_amount(file, leaf->allocated);
	fputs(",\"peak\":", file);
	put_amount(file, leaf->peak);
	fputs(",\"exit\":", file);
	put_amount(file, leaf->exit);
	fputs(",\"freed\":", file);
	put_number(file, leaf->freed);
	fputs(",\"mean_lifetime\":", file);
	put_number(file, leaf->freed > 0 ? leaf->lifetime / leaf->freed : 0);
	fputs(",\"shortest_lifetime\":", file);
	json_put_number(file, leaf->freed > 0 ? leaf->shortest : 0);
	fputs(",\"byte_time\":", file);
	put_number(file, leaf->held);
	if (profile->sample_rate > 0) {
		fputs(",\"errors\":[", file);
		put_number(file, sqrt(leaf->allocated_variance));
		fputc(',', file);
		put_number(file, sqrt(leaf->peak_variance));
		fputc(',', file);
		put_number(file, sqrt(leaf->exit_variance));
		fputc(']', file);
	}
	fputc('}', file);
}

static void put_moments(FILE *file, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->moment_count; i++) {
		const struct profile_moment *moment = &profile->moments[i];
		const struct profile_change *changes = &profile->changes[moment->first_change];

		fprintf(file, "%s\n{\"time\":", i ? "," : "");
		json_put_number(file, moment->time);
		fputs(",\"event\":", file);
		json_put_number(file, moment->event);
		fputs(",\"live\":", file);
		put_amount(file, moment->live);
		fputs(",\"highest\":", file);
		put_number(file, moment->high);
		fputs(",\"changes\":[", file);
		for (uint32_t j = 0; j < moment->change_count; j++) {
			fprintf(file, "%s[%" PRIu32 ",", j ? "," : "", changes[j].leaf);
			put_number(file, changes[j].live.bytes);
			fputc(',', file);
			put_number(file, changes[j].live.count);
			fputc(']', file);
		}
		fputs("]}", file);
	}
}

/* All moments are in it, so it is the same whichever the view shows. */
bool profile_write_json(FILE *file, const struct profile_view *view)
{
	const struct profile *profile = view->profile;

	fputs("{\"format\":\"mam-profile-1\",\"file\":", file);
	json_put_text(file, profile->path);
	fprintf(file, ",\n\"time_unit\":\"%s\",\"sample_bytes\":%.0f,\"events\":",
		profile->has_times ? "ns" : "events", profile->sample_rate);
	json_put_number(file, profile->events);
	fputs(",\"allocated\":", file);
	put_amount(file, profile->allocated);
	fprintf(file, ",\"peak\":%" PRIu32 ",\n\"frames\":[", profile->peak);
	put_frames(file, profile);
	fputs("],\n\"nodes\":[", file);
	put_nodes(file, profile);
	fputs("],\n\"leaves\":[", file);
	for (uint32_t i = 0; i < profile->leaf_count; i++) {
		fputs(i ? ",\n" : "\n", file);
		put_leaf(file, profile, &profile->leaves[i]);
	}
	fputs("],\n\"moments\":[", file);
	put_moments(file, profile);
	fputs("]}\n", file);
	return true;
}
