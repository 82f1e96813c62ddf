/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as FILE and FILE.ring: mam replay must read exactly the lines that a killed process
 * left, or their beginning if gzip data is truncated.
 *
 * Input: a byte of settings, two for the length of the file's text, the text, then the ring. The
 * text is stored in the file as it is, compressed by gzip, or compressed and truncated. The ring
 * consists of the given bytes, or of a valid header that the file's first line names, and records
 * made from bytes, whose text this file computes itself.
 */
#include <inttypes.h>
#include <fcntl.h>
#include <zlib.h>

#include <mam/trace_ring.h>

#include "fuzz.h"
#include "read/input.h"

#define TEXT_MAX 6000
#define LINE_LIMIT 4000
#define READ_MAX ((size_t)1 << 14)
#define SLOTS_MAX 16u
#define RING_TEXT_MAX 248u

enum { BY_GZIP = 1, CUT = 2, RING = 4, SMALL_READS = 8, HEAD_FIRST = 16 };

static char folder[FUZZ_FOLDER_BYTES], path[64], ring_path[72];

/* The expected contents of the file, and the result. */
static struct text {
	char bytes[READ_MAX];
	size_t count;
} plain, wanted, got;

static void append(struct text *text, const void *bytes, size_t count)
{
	if (count > READ_MAX - text->count)
		count = READ_MAX - text->count; /* gzip that unpacks to a large size */
	memcpy(text->bytes + text->count, bytes, count);
	text->count += count;
}

static void write_whole(const char *name, const void *bytes, size_t count)
{
	int file = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	require(file >= 0 && write(file, bytes, count) == (ssize_t)count, "no file");
	close(file);
}

/*
 * Writes the plain text to the file according to `how`. Truncation keeps `share` in 256 of the gzip
 * bytes.
 */
static void write_text(unsigned int how, unsigned int share)
{
	static unsigned char packed[READ_MAX];
	z_stream stream = { .next_in = (unsigned char *)plain.bytes,
			    .avail_in = (unsigned int)plain.count,
			    .next_out = packed,
			    .avail_out = sizeof(packed) };
	size_t count;

	if (!(how & BY_GZIP)) {
		write_whole(path, plain.bytes, plain.count);
		return;
	}
	require(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK &&
			deflate(&stream, Z_FINISH) == Z_STREAM_END,
		"no gzip");
	count = stream.total_out;
	deflateEnd(&stream);
	if (how & CUT && count * share / 256 >= 2)
		count = count * share / 256;
	write_whole(path, packed, count);
}

/* A line of the ring's text, if it is one comment. */
static void print_text(const struct mam_trace_record *record, const char *bytes, uint64_t count,
		       struct text *text)
{
	uint64_t end = record->id + record->bytes;

	if (end < record->id || end > count || record->bytes < 2 || bytes[record->id] != '#')
		return;
	for (uint64_t i = record->id; i < end; i++)
		if ((bytes[i] == '\n') != (i == end - 1))
			return;
	append(text, bytes + record->id, record->bytes);
}

/* The text of the ring's other records according to mam-trace(5). */
static void print(const struct mam_trace_record *record, struct text *text)
{
	char line[256];
	int length;

	switch (record->kind) {
	case MAM_TRACE_RECORD_ALLOC:
		length = snprintf(line, sizeof(line), "a %" PRIu64 " %" PRIu64 " %" PRIu64,
				  record->number - 1, record->bytes, record->stream);
		break;
	case MAM_TRACE_RECORD_FREE:
		length = snprintf(line, sizeof(line), "f %" PRIu64, record->id);
		if (record->stream)
			length += snprintf(line + length, 64, " stream=%" PRIu64, record->stream);
		break;
	case MAM_TRACE_RECORD_LOST:
		length =
			snprintf(line, sizeof(line),
				 "# lost: %" PRIu64 " event%s, faster than they could be written\n",
				 record->bytes, record->bytes == 1 ? "" : "s");
		append(text, line, (size_t)length);
		return;
	default: return;
	}
	length += snprintf(line + length, 128, " t=%" PRIu64 " thread=%" PRIu32, record->ns,
			   record->thread);
	if (record->kind == MAM_TRACE_RECORD_ALLOC && record->context)
		length += snprintf(line + length, 64, " context=0x%" PRIx64, record->context);
	if (record->kind == MAM_TRACE_RECORD_ALLOC && record->flags >> 8)
		length += snprintf(line + length, 64, " device=%d", (record->flags >> 8) - 1);
	if (record->kind == MAM_TRACE_RECORD_ALLOC && record->flags & MAM_TRACE_RECORD_DRIVER)
		length += snprintf(line + length, 64, " by=driver");
	if (record->kind == MAM_TRACE_RECORD_ALLOC && record->flags & MAM_TRACE_RECORD_STACK &&
	    record->who)
		length += snprintf(line + length, 64, " stack=%" PRIu32, (uint32_t)record->who);
	if (record->flags & MAM_TRACE_RECORD_IMPLIED)
		length += snprintf(line + length, 64, " implied=yes");
	line[length++] = '\n';
	append(text, line, (size_t)length);
}

/* Small and large numbers. */
static uint64_t number(struct fuzz_bytes *from)
{
	unsigned int drawn = fuzz_byte(from);

	return drawn < 128 ? drawn : fuzz_number(from, drawn % 8 + 1) << drawn % 3 * 8;
}

/*
 * A ring, whose expected text is appended to the text's whole lines in `wanted`. The text of its own
 * is the end of the input.
 */
static void write_ring(struct fuzz_bytes *from, uint64_t token)
{
	static union {
		struct mam_trace_ring heading;
		unsigned char bytes[MAM_TRACE_RING_HEAD +
				    SLOTS_MAX * sizeof(struct mam_trace_record) + RING_TEXT_MAX];
	} ring;
	struct mam_trace_record *records = (void *)(ring.bytes + MAM_TRACE_RING_HEAD);
	uint64_t capacity = 1u << fuzz_byte(from) % 5, lines = 0, first;
	unsigned int sizes = fuzz_byte(from);
	uint64_t text_bytes = sizes / 8 * 8;
	char *text = (char *)&records[capacity];

	if (text_bytes > fuzz_left(from))
		text_bytes = fuzz_left(from);
	memset(&ring, 0, sizeof(ring));
	memcpy(text, from->end - text_bytes, text_bytes);
	ring.heading = (struct mam_trace_ring){ .magic = MAM_TRACE_RING_MAGIC,
						.capacity = capacity,
						.token = token,
						.lines = sizes % 8,
						.text_bytes = text_bytes };
	for (size_t i = 0; i < wanted.count; i++)
		lines += wanted.bytes[i] == '\n';
	first = lines - ring.heading.lines;
	for (uint64_t i = 0; i < capacity; i++) {
		struct mam_trace_record *record = &records[(first + i) % capacity];
		unsigned int how = fuzz_byte(from);

		record->number = how & 64 ? number(from) : first + i + 1;
		record->kind = how % 5;
		record->flags = how / 8 % 8;
		if (how & 128) {
			record->ns = number(from);
			record->stream = number(from);
			record->context = number(from);
			record->thread = (uint32_t)number(from);
			record->who = record->ns;
		}
		record->id = number(from);
		record->bytes = number(from);
	}
	write_whole(ring_path, &ring,
		    MAM_TRACE_RING_HEAD + capacity * sizeof(*records) + text_bytes);
	for (uint64_t i = 0; i < capacity && lines >= ring.heading.lines; i++) {
		const struct mam_trace_record *record = &records[(first + i) % capacity];

		if (record->number != first + i + 1)
			continue;
		if (record->kind == MAM_TRACE_RECORD_TEXT)
			print_text(record, text, text_bytes, &wanted);
		else
			print(record, &wanted);
	}
}

/* Reads everything; true: up to the end. */
static bool read_all(unsigned int how)
{
	static char buffer[2 * 4096 + 100];
	struct input *input = input_open(path);
	size_t room = how & SMALL_READS ? 1 + how % 7 : sizeof(buffer), more = 0, head_bytes = 0;
	unsigned char head[INPUT_HEAD_BYTES];
	uint64_t taken, in_all;
	enum mam_status status;

	require(input != NULL, "an existing file cannot be opened");
	if (how & HEAD_FIRST)
		head_bytes = input_head(input, head);
	while ((status = input_read(input, buffer, room, &more)) == MAM_OK && more > 0) {
		require(more <= room, "more bytes than the buffer holds");
		append(&got, buffer, more);
		input_position(input, &taken, &in_all);
		require(in_all == 0 || taken <= in_all, "more bytes consumed than available");
	}
	require((status == MAM_OK) == (input_trouble(input) == NULL), "an error without a cause");
	/* If a ring continues after half a line, that line is dropped. */
	require(how & RING || (head_bytes <= got.count && memcmp(head, got.bytes, head_bytes) == 0),
		"the start differs from what was reported");
	input_close(input);
	return status == MAM_OK;
}

static bool is_start_of(const struct text *start, const struct text *text)
{
	return start->count <= text->count && memcmp(start->bytes, text->bytes, start->count) == 0;
}

/* Longer than any line of a trace: with a ring file it is returned in pieces as they arrive. */
static bool has_long_line(void)
{
	size_t begin = 0;

	for (size_t i = 0; i < plain.count; i++) {
		if (i - begin >= LINE_LIMIT)
			return true;
		if (plain.bytes[i] == '\n')
			begin = i + 1;
	}
	return false;
}

static void leave(void)
{
	unlink(path);
	unlink(ring_path);
	rmdir(folder);
}

static void begin(void)
{
	if (path[0])
		return;
	fuzz_folder_make(folder);
	snprintf(path, sizeof(path), "%s/trace", folder);
	snprintf(ring_path, sizeof(ring_path), "%s.ring", path);
	atexit(leave);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_bytes from = { data, data + bytes };
	unsigned int how = fuzz_byte(&from), share = fuzz_byte(&from);
	size_t count = fuzz_number(&from, 2) % TEXT_MAX;
	char first[64];
	bool whole;

	begin();
	plain.count = wanted.count = got.count = 0;
	if (how & RING)
		append(&plain, first,
		       (size_t)snprintf(first, sizeof(first), "# mam trace ring=%016x x\n", share));
	count = count < fuzz_left(&from) ? count : fuzz_left(&from);
	append(&plain, from.next, count);
	from.next += count;
	write_text(how, share);
	append(&wanted, plain.bytes, plain.count);
	if (how & RING && !(how & SMALL_READS)) {
		while (wanted.count > 0 && wanted.bytes[wanted.count - 1] != '\n')
			wanted.count--;
		write_ring(&from, share);
	} else {
		write_whole(ring_path, from.next, fuzz_left(&from));
	}
	whole = read_all(how);
	if (how & RING && has_long_line())
		return 0;
	if (!(how & BY_GZIP) && plain.count >= 2 && memcmp(plain.bytes, "\x1f\x8b", 2) == 0)
		return 0; /* apparently gzip, with unknown contents */
	if (how & BY_GZIP && how & CUT) {
		/* With its complete first line it has a ring, and ends well. */
		if (!whole || !(how & RING) || how & SMALL_READS)
			require(is_start_of(&got, &plain),
				"a truncated file returns bytes that it does not contain");
		return 0;
	}
	if (!(how & RING) && plain.count > 0 && memmem(plain.bytes, plain.count, " ring=", 6))
		return 0; /* it may be that ring's */
	require(whole, "an error in a complete file");
	require(is_start_of(&got, &wanted) && got.count == wanted.count,
		"different bytes are read");
	return 0;
}
