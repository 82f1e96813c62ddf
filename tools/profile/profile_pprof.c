/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_pprof.c - a view for pprof: a gzip file of the protocol buffer message Profile
 * (profile.proto of github.com/google/pprof). The numbers below are those of its fields.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kit/gzip_file.h"
#include "kit/utf8.h"
#include "profile/profile_paths.h"

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_DURATION = 10,
	PROFILE_DEFAULT_TYPE = 14
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2 };
enum { LOCATION_ID = 1, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

/* The same types, in the same order, as Go's heap profiles. */
static const char *const strings[] = { "alloc_objects", "count",         "alloc_space",
				       "bytes",         "inuse_objects", "inuse_space" };
#define STRINGS (sizeof(strings) / sizeof(strings[0]))
static const int types[][2] = { { 0, 1 }, { 2, 3 }, { 4, 1 }, { 5, 3 } };

struct message {
	unsigned char *at;
	size_t bytes, room;
	bool failed; /* out of memory */
};

static void put_bytes(struct message *message, const void *from, size_t bytes)
{
	if (bytes > message->room - message->bytes) {
		size_t room = 2 * (message->room + bytes);
		unsigned char *wider = realloc(message->at, room);

		if (!wider) {
			message->failed = true;
			return;
		}
		message->at = wider;
		message->room = room;
	}
	if (bytes) {
		assert(message->at != NULL && from != NULL); /* bytes lie in memory */
		memcpy(message->at + message->bytes, from, bytes);
	}
	message->bytes += bytes;
}

static void put_varint(struct message *message, uint64_t number)
{
	unsigned char bytes[10];
	size_t count = 0;

	for (; number >= 0x80; number >>= 7)
		bytes[count++] = (unsigned char)(number | 0x80);
	bytes[count++] = (unsigned char)number;
	put_bytes(message, bytes, count);
}

static void put_number(struct message *message, int field, uint64_t number)
{
	put_varint(message, (uint64_t)field << 3);
	put_varint(message, number);
}

static void put_field(struct message *message, int field, const void *from, size_t bytes)
{
	put_varint(message, (uint64_t)field << 3 | 2);
	put_varint(message, bytes);
	put_bytes(message, from, bytes);
}

/* Append a part, and empty it. */
static void put_part(struct message *message, int field, struct message *part)
{
	message->failed |= part->failed;
	put_field(message, field, part->at, part->bytes);
	part->bytes = 0;
}

static int64_t integer(double number)
{
	return number >= 9e18 ? INT64_MAX : number <= -9e18 ? INT64_MIN : (int64_t)round(number);
}

static void put_types(struct message *message, struct message *part, uint32_t first)
{
	for (int i = 0; i < 4; i++) {
		put_number(part, TYPE_TYPE, first + (uint32_t)types[i][0]);
		put_number(part, TYPE_UNIT, first + (uint32_t)types[i][1]);
		put_part(message, PROFILE_SAMPLE_TYPE, part);
	}
	put_number(message, PROFILE_DEFAULT_TYPE, first + 5);
}

/* Frames are functions and locations with the same numbers, from 1. tags: number of their first name. */
static void put_frames(struct message *message, struct message *part, const struct profile *profile,
		       uint32_t tags)
{
	struct message line = { NULL, 0, 0, false };

	for (uint32_t i = 0; i < profile->frame_count; i++) {
		const struct profile_frame *frame = &profile->frames[i];
		uint32_t name = frame->kind == PROFILE_TAG ? tags++ : frame->function;

		put_number(part, FUNCTION_ID, (uint64_t)i + 1);
		put_number(part, FUNCTION_NAME, name);
		put_number(part, FUNCTION_SYSTEM_NAME, name);
		put_number(part, FUNCTION_FILE, frame->file);
		put_part(message, PROFILE_FUNCTION, part);
		put_number(&line, LINE_FUNCTION, (uint64_t)i + 1);
		put_number(&line, LINE_LINE, frame->line);
		put_number(part, LOCATION_ID, (uint64_t)i + 1);
		put_part(part, LOCATION_LINE, &line);
		put_part(message, PROFILE_LOCATION, part);
	}
	free(line.at);
}

static void put_string(struct message *message, struct message *part, const char *start,
		       const char *text)
{
	size_t bytes;
	char *repaired = utf8_repaired(text, strlen(text), &bytes);

	put_bytes(part, start, strlen(start));
	if (repaired)
		put_bytes(part, repaired, bytes);
	part->failed |= !repaired;
	free(repaired);
	put_part(message, PROFILE_STRING, part);
}

static void put_strings(struct message *message, struct message *part,
			const struct profile *profile)
{
	for (uint32_t i = 0; i < profile->names.count; i++)
		put_string(message, part, "", profile->names.texts[i]);
	for (size_t i = 0; i < STRINGS; i++)
		put_string(message, part, "", strings[i]);
	for (uint32_t i = 0; i < profile->frame_count; i++)
		if (profile->frames[i].kind == PROFILE_TAG)
			put_string(message, part, "tag ",
				   profile_text(profile, profile->frames[i].function));
}

/* One sample per leaf; its stack is innermost first. */
static void put_sample(struct message *message, struct message *part, struct message *list,
		       const struct profile_view *view, uint32_t node,
		       struct profile_amount allocated)
{
	const struct profile *profile = view->profile;
	const double values[] = { allocated.count, allocated.bytes, view->live[node].count,
				  view->live[node].bytes };

	for (uint32_t at = node; at; at = profile->nodes[at].parent)
		put_varint(list, (uint64_t)profile->nodes[at].frame + 1);
	put_part(part, SAMPLE_LOCATIONS, list);
	for (int i = 0; i < 4; i++)
		put_varint(list, (uint64_t)integer(values[i]));
	put_part(part, SAMPLE_VALUES, list);
	put_part(message, PROFILE_SAMPLE, part);
}

/* The total allocations of each node. NULL: out of memory. */
static struct profile_amount *allocated_of(const struct profile *profile)
{
	struct profile_amount *allocated = calloc(profile->node_count, sizeof(*allocated));

	for (uint32_t i = 0; allocated && i < profile->leaf_count; i++)
		allocated[profile->leaves[i].node] = profile->leaves[i].allocated;
	return allocated;
}

static void put_profile(struct message *message, const struct profile_view *view)
{
	const struct profile *profile = view->profile;
	struct message part = { NULL, 0, 0, false }, list = { NULL, 0, 0, false };
	struct profile_amount *allocated = allocated_of(profile);

	message->failed |= !allocated;
	put_types(message, &part, profile->names.count);
	for (uint32_t i = 1; allocated && i < profile->node_count; i++)
		if (allocated[i].count > 0 || view->live[i].count != 0)
			put_sample(message, &part, &list, view, i, allocated[i]);
	put_frames(message, &part, profile, profile->names.count + (uint32_t)STRINGS);
	put_strings(message, &part, profile);
	if (profile->has_times)
		put_number(message, PROFILE_DURATION,
			   profile->moments[profile->moment_count - 1].time);
	message->failed |= part.failed || list.failed;
	free(allocated);
	free(part.at);
	free(list.at);
}

bool profile_write_pprof(FILE *file, const struct profile_view *view)
{
	struct message message = { NULL, 0, 0, false };
	FILE *packed = NULL;
	bool good;

	put_profile(&message, view);
	if (!message.failed)
		packed = gzip_file_over(file);
	good = packed && fwrite(message.at, 1, message.bytes, packed) == message.bytes;
	if (packed && fclose(packed) != 0)
		good = false;
	free(message.at);
	return good;
}
