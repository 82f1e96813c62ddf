/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_name.c - name each of several settings after its differences.
 *
 * A name consists of comma-separated parts. A name has a part if settings differ in it, unless this
 * setting has its default value (no cache, 512, stream). Two settings that differ have different
 * names, because at most one value of each part is omitted. The origin of memory is one part: one
 * chunk, grown in chunks, or the source's name. It includes the sizes of growing chunks if two
 * names would otherwise be equal.
 */
#include "compare/compare.h"

#include <stdio.h>
#include <string.h>

#define GRANULE_USUAL 512

/* The parts that are needed to distinguish the settings. */
struct parts {
	bool source, simulate, chunk, growth, limit, footprint, granule, free, lag, cache, streams;
	bool threads;
};

void compare_size(uint64_t size, char *text, size_t bytes)
{
	static const char units[] = "KMGT";
	int unit = 3, length;

	if (size == 0 || size > UINT64_MAX / 1000) {
		snprintf(text, bytes, "%llu", (unsigned long long)size);
		return;
	}
	/* Use the largest unit that needs at most three decimal places. */
	while (unit >= 0 && (size < UINT64_C(1) << 10 * (unit + 1) ||
			     1000 * size % (UINT64_C(1) << 10 * (unit + 1))))
		unit--;
	if (unit < 0) {
		snprintf(text, bytes, "%llu", (unsigned long long)size);
		return;
	}
	length = snprintf(text, bytes, "%.3f",
			  (double)size / (double)(UINT64_C(1) << 10 * (unit + 1)));
	while (length > 0 && (size_t)length < bytes && text[length - 1] == '0')
		text[--length] = '\0';
	if (length > 0 && (size_t)length < bytes && text[length - 1] == '.')
		length--;
	if ((size_t)length + 1 < bytes)
		snprintf(text + length, bytes - (size_t)length, "%c", units[unit]);
}

static struct parts find_parts(const struct compare_list *list)
{
	const struct replay_settings *a = &list->settings[0].settings;
	const struct replay_settings *given = &list->settings[0].given;
	struct parts parts = { 0 };

	for (size_t i = 1; i < list->count; i++) {
		const struct replay_settings *b = &list->settings[i].settings;
		const struct replay_settings *also = &list->settings[i].given;

		/* Also if all settings of a list agree: the user wrote the word. */
		parts.source |= strcmp(a->source, b->source) != 0 || given->source != also->source;
		parts.simulate |= given->simulate != also->simulate;
		parts.chunk |= given->chunk_bytes != also->chunk_bytes;
		parts.growth |= given->growth_bytes != also->growth_bytes;
		parts.limit |= a->limit_bytes != b->limit_bytes;
		parts.footprint |= a->footprint != b->footprint;
		parts.granule |= a->granule != b->granule;
		parts.free |= a->free != b->free;
		parts.lag |= a->lag != b->lag;
		parts.cache |= a->cache != b->cache;
		parts.streams |= a->streams != b->streams;
		parts.threads |= a->threads != b->threads;
	}
	return parts;
}

static void put(struct compare_setting *setting, const char *before, const char *text)
{
	size_t used = strlen(setting->name), room = sizeof(setting->name) - used;

	snprintf(setting->name + used, room, "%s%s%s", used ? ", " : "", before, text);
}

static void put_size(struct compare_setting *setting, const char *before, uint64_t bytes)
{
	char text[32];

	compare_size(bytes, text, sizeof(text));
	put(setting, before, bytes == REPLAY_LARGEST ? "largest" : text);
}

static void put_count(struct compare_setting *setting, const char *before, uint64_t count)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)count);
	put(setting, before, text);
}

/*
 * Write where the memory comes from; `whole`: including sizes that the default settings can omit.
 */
static void put_space(struct compare_setting *setting, const struct parts *parts, bool whole)
{
	const struct replay_settings *settings = &setting->settings, *given = &setting->given;
	bool is_host = strcmp(settings->source, "host") == 0;

	if (is_host && settings->growth_bytes == REPLAY_LARGEST) {
		if (parts->chunk && given->chunk_bytes != REPLAY_DEFAULT)
			put_size(setting, "one chunk of ", given->chunk_bytes);
		else
			put(setting, "one chunk", "");
		return;
	}
	put(setting, is_host ? "grown in chunks" : settings->source, "");
	if (parts->simulate && settings->simulate)
		put(setting, "simulated", "");
	if (parts->chunk && given->chunk_bytes != REPLAY_DEFAULT && (whole || !is_host))
		put_size(setting, "chunk ", given->chunk_bytes);
	if (parts->growth && given->growth_bytes == REPLAY_LARGEST)
		put(setting, "growth none", "");
	else if (parts->growth && given->growth_bytes != REPLAY_DEFAULT && given->growth_bytes)
		put_size(setting, "growth ", given->growth_bytes);
}

static void put_policy(struct compare_setting *setting, const struct parts *parts)
{
	const struct replay_settings *settings = &setting->settings;

	if (parts->free && settings->free == REPLAY_FREE_STRICT)
		put(setting, "strict", "");
	if (parts->free && settings->free == REPLAY_FREE_DEFERRED)
		put(setting, "deferred", "");
	if (parts->lag && settings->lag != REPLAY_LAG)
		put_count(setting, "lag ", settings->lag);
	if (parts->streams && settings->streams == REPLAY_STREAMS_IGNORE)
		put(setting, "streams ignored", "");
}

static void name_one(struct compare_setting *setting, const struct parts *parts, bool whole)
{
	const struct replay_settings *settings = &setting->settings;

	setting->name[0] = '\0';
	if (parts->source || parts->chunk || parts->growth || parts->simulate)
		put_space(setting, parts, whole);
	if (parts->cache && settings->cache == REPLAY_CACHE_ON)
		put(setting, "cache", "");
	if (parts->granule && settings->granule != GRANULE_USUAL)
		put_size(setting, "align ", settings->granule);
	put_policy(setting, parts);
	if (parts->limit && settings->limit_bytes)
		put_size(setting, "limit ", settings->limit_bytes);
	if (parts->footprint && settings->footprint)
		put_count(setting, "footprint ", settings->footprint);
	if (parts->threads)
		put_count(setting, "threads ", settings->threads);
	if (!setting->name[0])
		put(setting, "plain", "");
}

static size_t count_twins(const struct compare_list *list, size_t which, size_t end)
{
	size_t twins = 0;

	for (size_t i = 0; i < end; i++)
		twins += i != which &&
			 strcmp(list->settings[i].name, list->settings[which].name) == 0;
	return twins;
}

void compare_name(struct compare_list *list)
{
	const struct parts parts = find_parts(list);
	bool has_twin[COMPARE_MAX];

	for (size_t i = 0; i < list->count; i++)
		name_one(&list->settings[i], &parts, false);
	for (size_t i = 0; i < list->count; i++)
		has_twin[i] = count_twins(list, i, list->count);
	for (size_t i = 0; i < list->count; i++)
		if (has_twin[i])
			name_one(&list->settings[i], &parts, true);
	/* Equal settings, for example to see how much times vary. */
	for (size_t i = list->count; i-- > 0;)
		if (count_twins(list, i, i))
			put_count(&list->settings[i], "again ", count_twins(list, i, i) + 1);
}
