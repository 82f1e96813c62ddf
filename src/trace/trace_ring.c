/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_ring.c - prints trace records as lines of text (mam-trace.5).
 *
 * The formatting is written by hand: a trace has millions of lines, and the thread that writes them
 * must keep up with the program.
 */
#include <mam/trace_ring.h>

#include <string.h>

bool mam_trace_ring_is_sound(const struct mam_trace_ring *ring, uint64_t bytes)
{
	return ring->magic == MAM_TRACE_RING_MAGIC && ring->capacity != 0 &&
	       ring->capacity <= MAM_TRACE_RING_MAX &&
	       (ring->capacity & (ring->capacity - 1)) == 0 &&
	       ring->text_bytes <= MAM_TRACE_RING_MAX * sizeof(struct mam_trace_record) &&
	       bytes >= MAM_TRACE_RING_HEAD + ring->capacity * sizeof(struct mam_trace_record) +
				ring->text_bytes;
}

static char *put_text(char *at, const char *text)
{
	size_t length = strlen(text);

	memcpy(at, text, length);
	return at + length;
}

static char *put_number(char *at, uint64_t number)
{
	char digits[20];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while ((number /= 10) != 0);
	while (count > 0)
		*at++ = digits[--count];
	return at;
}

static char *put_hex(char *at, uint64_t number)
{
	int shift = 60;

	at = put_text(at, "0x");
	while (shift > 0 && number >> shift == 0)
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*at++ = "0123456789abcdef"[number >> shift & 15];
	return at;
}

static char *put_fields(char *at, const struct mam_trace_record *record)
{
	at = put_number(put_text(at, " t="), record->ns);
	at = put_number(put_text(at, " thread="), record->thread);
	if (record->kind == MAM_TRACE_RECORD_ALLOC && record->context != 0)
		at = put_hex(put_text(at, " context="), record->context);
	if (record->kind == MAM_TRACE_RECORD_ALLOC &&
	    record->flags >> MAM_TRACE_RECORD_DEVICE_SHIFT)
		at = put_number(put_text(at, " device="),
				(record->flags >> MAM_TRACE_RECORD_DEVICE_SHIFT) - 1u);
	if (record->kind == MAM_TRACE_RECORD_ALLOC && (record->flags & MAM_TRACE_RECORD_DRIVER))
		at = put_text(at, " by=driver");
	if (record->kind == MAM_TRACE_RECORD_ALLOC && (record->flags & MAM_TRACE_RECORD_STACK) &&
	    record->who != 0)
		at = put_number(put_text(at, " stack="), (uint32_t)record->who);
	if (record->flags & MAM_TRACE_RECORD_IMPLIED)
		at = put_text(at, " implied=yes");
	*at++ = '\n';
	return at;
}

size_t mam_trace_record_print(const struct mam_trace_record *record, char *line)
{
	char *at = line;

	switch (record->kind) {
	case MAM_TRACE_RECORD_ALLOC:
		at = put_number(put_text(at, "a "), record->number - 1);
		at = put_number(put_text(at, " "), record->bytes);
		at = put_number(put_text(at, " "), record->stream);
		break;
	case MAM_TRACE_RECORD_FREE:
		at = put_number(put_text(at, "f "), record->id);
		if (record->stream != 0)
			at = put_number(put_text(at, " stream="), record->stream);
		break;
	case MAM_TRACE_RECORD_LOST:
		at = put_number(put_text(at, "# lost: "), record->bytes);
		at = put_text(at, record->bytes == 1 ? " event" : " events");
		at = put_text(at, ", faster than they could be written\n");
		return (size_t)(at - line);
	default: return 0;
	}
	return (size_t)(put_fields(at, record) - line);
}

const char *mam_trace_record_text(const struct mam_trace_record *record, const char *text,
				  uint64_t text_bytes, size_t *length)
{
	const char *line;

	if (record->kind != MAM_TRACE_RECORD_TEXT || record->bytes < 2 ||
	    record->bytes > MAM_TRACE_RING_TEXT || record->bytes > text_bytes ||
	    record->id > text_bytes - record->bytes)
		return NULL;
	line = text + record->id;
	*length = (size_t)record->bytes;
	return line[0] == '#' && memchr(line, '\n', *length) == line + *length - 1 ? line : NULL;
}
