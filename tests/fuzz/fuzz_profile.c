/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a file for mam profile. The result is a profile whose sums agree and whose outputs
 * are well formed, or an error and nothing else.
 *
 * The first byte selects the moment and the measure.
 */
#include "fuzz.h"
#include "profile/profile_load.h"
#include "profile/profile_view.h"
#include "replay/replay.h"
#include "well_formed.h"

static const struct profile_time no_time = { PROFILE_NO_TIME, PROFILE_NO_TIME };

static bool load(const char *path, const struct profile_load_settings *settings,
		 struct profile_tree *tree, struct profile *profile)
{
	struct fuzz_heard heard;
	size_t sentences;
	bool good;

	fuzz_heard_begin(&heard);
	good = profile_load(profile, tree, path, settings);
	fuzz_heard_end(&heard);
	sentences = fuzz_sentences(&heard);
	require(good == (sentences == 0), "a failure without a message, or a message without one");
	require(heard.printed_bytes == 0, "messages on stdout");
	fuzz_heard_free(&heard);
	require(good || (!profile->leaves && !profile->moments), "half a profile remains");
	return good;
}

static void check_tree(const struct profile *profile)
{
	require(profile->node_count > 0 && profile->nodes[0].parent == PROFILE_NONE, "no root");
	for (uint32_t i = 1; i < profile->node_count; i++)
		require(profile->nodes[i].parent < i &&
				profile->nodes[i].frame < profile->frame_count,
			"a node has no parent or no frame");
	for (uint32_t i = 0; i < profile->leaf_count; i++)
		require(profile->leaves[i].node < profile->node_count, "a leaf has no node");
}

/* Sums are exact up to 2^53; larger ones are not compared. */
static void check_moments(const struct profile *profile)
{
	struct profile_amount *live =
		(struct profile_amount *)calloc(profile->leaf_count + 1, sizeof(*live));
	uint64_t event = 0;

	require(live != NULL, "no memory");
	require(profile->moment_count > 0 && profile->peak < profile->moment_count, "no moment");
	for (uint32_t i = 0; i < profile->moment_count; i++) {
		const struct profile_moment *moment = &profile->moments[i];
		double bytes = 0, count = 0;

		require(moment->event >= event, "moments are not in order");
		event = moment->event;
		profile_live(profile, i, live);
		for (uint32_t j = 0; j < profile->leaf_count; j++) {
			bytes += live[j].bytes;
			count += live[j].count;
		}
		require(profile->allocated.bytes > 1e15 ||
				(bytes == moment->live.bytes && count == moment->live.count),
			"the leaves of a moment are not its sum");
		require(moment->live.bytes <= profile->moments[profile->peak].live.bytes ||
				profile->allocated.bytes > 1e15,
			"a moment is above the peak");
	}
	require(event == profile->events, "the last moment is not the end");
	for (uint32_t j = 0; j < profile->leaf_count; j++)
		require(live[j].bytes == profile->leaves[j].exit.bytes, "the end is not the exit");
	free(live);
}

static void check_written(const struct profile_view *view)
{
	static const struct {
		bool (*write)(FILE *file, const struct profile_view *view);
		bool is_text, is_json;
	} writers[] = {
		{ profile_write_text, true, false },      { profile_write_plain, true, false },
		{ profile_write_tree, true, false },      { profile_write_collapsed, true, false },
		{ profile_write_speedscope, true, true }, { profile_write_json, true, true },
		{ profile_write_pprof, false, false },
	};

	for (size_t i = 0; i < sizeof(writers) / sizeof(writers[0]); i++) {
		char *text = NULL;
		size_t bytes;
		FILE *file = open_memstream(&text, &bytes);

		require(file && writers[i].write(file, view), "cannot write");
		fclose(file);
		if (writers[i].is_text)
			well_formed_utf8(text, bytes);
		if (writers[i].is_json)
			well_formed_json(text, bytes);
		free(text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct fuzz_file file;
	struct profile_load_settings settings = { .device = REPLAY_DEFAULT,
						  .wanted = { no_time, no_time } };
	struct profile_tree tree;
	struct profile profile;
	unsigned int how = bytes > 0 ? data[0] : 0;

	if (bytes == 0)
		return 0;
	if (how & 4)
		settings.device = how / 16 % 2;
	if (how & 8)
		for (unsigned int i = 0; i < 2; i++)
			settings.wanted[i] =
				(struct profile_time){ how / (1 + 15 * i), how / (1 + 15 * i) % 8 };
	fuzz_file_put(&file, data + 1, bytes - 1);
	require(profile_tree_init(&tree), "no memory");
	if (load(file.path, &settings, &tree, &profile)) {
		struct profile_view view = { .profile = &profile, .top = 3 };

		check_tree(&profile);
		check_moments(&profile);
		view.by = (enum profile_by)(1 + how % 3);
		view.moment = profile.peak;
		if (profile.asked[0] != PROFILE_NONE)
			view.moment = profile.asked[0];
		if (profile.asked[1] != PROFILE_NONE && view.by != PROFILE_BY_LIFETIME) {
			view.base = &profile;
			view.base_moment = profile.asked[1];
		}
		require(profile_view_fill(&view), "no memory");
		check_written(&view);
		profile_view_fini(&view);
		profile_fini(&profile);
	}
	profile_tree_fini(&tree);
	return 0;
}
