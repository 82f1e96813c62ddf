/* SPDX-License-Identifier: Apache-2.0 */
/*
 * read_mam_line.c - one event of a trace.
 *
 * It uses the fields t, thread, device, stream, stack, tag and who. If an event has neither of
 * the last two, who is "driver" for an allocation that the driver served. In both, %XX is the byte
 * of that number, because values contain no blanks. Of a field that occurs twice, the first one
 * counts.
 *
 * A profile of ten million events should open in a second or two, so a line of the usual form is
 * parsed in one pass. mam/trace.h checks all others.
 */
#include "read/read_mam_line.h"

#include <string.h>

#include "kit/percent.h"

#define DIGITS_MAX 19 /* a number with more of them may not fit into 64 bits */

enum field { TIME, THREAD, DEVICE, STREAM, STACK, TAG, WHO, BY, OTHER };

/* Returns the end of a number that ends with a blank or newline; NULL: not one, or too long. */
static const char *take_number(const char *at, uint64_t *number)
{
	const char *start = at;
	uint64_t value = 0;
	unsigned int digit;

	while ((digit = (unsigned int)(unsigned char)*at - '0') <= 9) {
		value = 10 * value + digit;
		at++;
	}
	*number = value;
	return at > start && at - start <= DIGITS_MAX && (*at == ' ' || *at == '\n') ? at : NULL;
}

/* Returns the end of a value that ends with a blank or newline; NULL: invalid. */
static const char *skip_value(const char *at)
{
	while ((unsigned char)*at > ' ' && *at != 0x7f)
		at++;
	return *at == ' ' || *at == '\n' ? at : NULL;
}

static bool starts(const char *at, const char *end, const char *text, size_t length)
{
	return (size_t)(end - at) >= length && memcmp(at, text, length) == 0;
}

#define IS(text) starts(at, end, text, sizeof(text) - 1)

/* Which field starts at `at`; *value is its value. OTHER: one that mam run does not write. */
static enum field field_at(const char *at, const char *end, const char **value)
{
	static const unsigned char lengths[] = { 2, 7, 7, 7, 6, 4, 4, 3, 0 };
	enum field field = OTHER;

	switch (*at) {
	case 't':
		field = IS("t=") ? TIME : IS("thread=") ? THREAD : IS("tag=") ? TAG : OTHER;
		break;
	case 's': field = IS("stack=") ? STACK : IS("stream=") ? STREAM : OTHER; break;
	case 'd': field = IS("device=") ? DEVICE : OTHER; break;
	case 'w': field = IS("who=") ? WHO : OTHER; break;
	case 'b': field = IS("by=") ? BY : OTHER; break;
	default: break;
	}
	*value = at + lengths[field];
	return field;
}

static void take_stored(struct read_mam_line *line, enum field field, uint64_t number)
{
	struct replay_told *told = &line->told;

	switch (field) {
	case TIME: told->time = number; break;
	case THREAD: told->thread = number; break;
	case DEVICE: told->device = number; break;
	case STREAM:
		if (line->frees)
			told->stream = number;
		break;
	case STACK: told->stack = number; break;
	default: break;
	}
}

/* Keys whose values this reader does not use, but mam run writes. Returns the value's end. */
static const char *skip_known(const char *at, const char *end)
{
	if (IS("context="))
		return skip_value(at + 8);
	return IS("implied=") ? skip_value(at + 8) : NULL;
}

/* Parse the fields up to `end`. False: one is not as mam run writes it. */
static bool take_fields(struct read_mam_line *line, const char *at, const char *end,
			unsigned int *seen)
{
	const char *value, *by = NULL;
	size_t by_bytes = 0;
	uint64_t number;

	while (at < end) {
		enum field field = field_at(++at, end, &value);
		bool again = *seen >> field & 1;

		at = field == OTHER ? skip_known(at, end)
		     : field < TAG  ? take_number(value, &number)
				    : skip_value(value);
		if (!at)
			return false;
		*seen |= 1U << field;
		if (again || field == OTHER)
			continue;
		if (field == TAG) {
			line->told.tag = value;
			line->told.tag_bytes = (size_t)(at - value);
		} else if (field == BY) {
			by = value;
			by_bytes = (size_t)(at - value);
		} else if (field == WHO && !line->frees) {
			line->told.who_bytes =
				percent_decode(value, (size_t)(at - value), line->who);
		} else {
			take_stored(line, field, number);
		}
	}
	if (by && !line->frees && !(*seen >> WHO & 1) && !(*seen >> TAG & 1))
		line->told.who_bytes = percent_decode(by, by_bytes, line->who);
	return true;
}

bool read_mam_line_fast(struct read_mam_line *line, const char *at, const char *end)
{
	struct replay_told *told = &line->told;
	unsigned int seen = 0;

	if (end - at < 3 || end - at >= MAM_TRACE_LINE_BYTES || (*at != 'a' && *at != 'f') ||
	    at[1] != ' ')
		return false;
	*told = (struct replay_told){ .who = line->who };
	line->frees = *at == 'f';
	at = take_number(at + 2, &told->id);
	if (at && !line->frees)
		at = *at == ' ' ? take_number(at + 1, &told->bytes) : NULL;
	if (at && !line->frees)
		at = *at == ' ' ? take_number(at + 1, &told->stream) : NULL;
	if (!at || !take_fields(line, at, end, &seen))
		return false;
	told->has_time = seen >> TIME & 1;
	told->has_stream = line->frees && (seen >> STREAM & 1);
	told->has_thread = !line->frees && (seen >> THREAD & 1);
	told->has_device = !line->frees && (seen >> DEVICE & 1);
	return true;
}

/* Parse a field that is a number; false: absent or not a number. */
static bool read_number(const struct mam_trace_event *event, const char *key, uint64_t *number)
{
	const char *text;
	size_t bytes;
	uint64_t sum = 0;

	if (!mam_trace_field(event, key, &text, &bytes) || bytes == 0)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		uint64_t digit = (uint64_t)(unsigned char)text[i] - '0';

		if (digit > 9 || sum > (UINT64_MAX - digit) / 10)
			return false;
		sum = 10 * sum + digit;
	}
	*number = sum;
	return true;
}

/* The call site: the field who; without one and without tags, "driver". */
static void read_who(struct read_mam_line *line, const struct mam_trace_event *event)
{
	const char *text;
	size_t bytes;

	if (mam_trace_field(event, "who", &text, &bytes) ||
	    (line->told.tag_bytes == 0 && mam_trace_field(event, "by", &text, &bytes)))
		line->told.who_bytes = percent_decode(text, bytes, line->who);
}

void read_mam_line_event(struct read_mam_line *line, const struct mam_trace_event *event)
{
	struct replay_told *told = &line->told;

	*told = (struct replay_told){
		.id = event->id,
		.bytes = event->bytes,
		.stream = event->stream,
		.who = line->who,
	};
	line->frees = event->kind == MAM_TRACE_FREE;
	if (event->fields_bytes == 0)
		return;
	told->has_time = read_number(event, "t", &told->time);
	if (line->frees) {
		told->has_stream = read_number(event, "stream", &told->stream);
		return;
	}
	told->has_thread = read_number(event, "thread", &told->thread);
	told->has_device = read_number(event, "device", &told->device);
	if (!read_number(event, "stack", &told->stack))
		told->stack = 0;
	if (!mam_trace_field(event, "tag", &told->tag, &told->tag_bytes))
		told->tag_bytes = 0;
	read_who(line, event);
}

/* Both are of one line, so they fit. */
void read_mam_line_name(struct read_mam_line *line)
{
	char tags[MAM_TRACE_LINE_BYTES];
	size_t bytes = percent_decode(line->told.tag, line->told.tag_bytes, tags);

	if (line->told.who_bytes != 0) {
		tags[bytes++] = ',';
		tags[bytes++] = ' ';
	}
	memmove(line->who + bytes, line->who, line->told.who_bytes);
	memcpy(line->who, tags, bytes);
	line->told.who_bytes += bytes;
}
