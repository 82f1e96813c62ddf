/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a pickle, and any plain data through the writer and back.
 *
 * The first byte selects the mode, and the pieces in which the bytes arrive.
 *   bytes    The reader terminates, with values that can be visited or with an error, for any
 *            pieces. A valid pickle without its last byte is truncated. Memory is bounded by the
 *            number of bytes.
 *   data     The reader returns what the writer wrote.
 *   asks     The same with one opcode that requests more than data: always refused.
 */
#include <inttypes.h>

#include "fuzz.h"
#include "read/pickle.h"
#include "write/pickle_put.h"
#include "kit/utf8.h"

#define DEPTH_MAX 64
#define STEPS_LIMIT 20000
#define KEPT 8u
#define KEPT_MAX 2000    /* bytes as shown, of data that is written again */
#define MEMORY_A_BYTE 80 /* some 40, doubled because arrays may have twice the needed room */
#define MEMORY_FIRST 20000

struct pieces {
	const uint8_t *at;
	size_t left, piece;
	bool fails;
};

static enum mam_status give(void *user, void *buffer, size_t room, size_t *got)
{
	struct pieces *pieces = user;
	size_t piece = pieces->piece < room ? pieces->piece : room;

	if (piece > pieces->left)
		piece = pieces->left;
	if (piece == 0 && pieces->fails)
		return MAM_ERROR_IO;
	memcpy(buffer, pieces->at, piece);
	pieces->at += piece;
	pieces->left -= piece;
	*got = piece;
	return MAM_OK;
}

static bool load(struct pickle *pickle, const void *data, size_t bytes, size_t piece, bool fails)
{
	struct pieces pieces = { data, bytes, piece, fails };

	return pickle_load(pickle, give, &pieces);
}

static void show_text(FILE *out, char mark, const char *text, size_t bytes)
{
	fprintf(out, "%c%zu:", mark, bytes);
	fwrite(text, 1, bytes, out);
}

/* A value as text; deep or long parts are omitted. */
static void show(const struct pickle *pickle, struct pickle_value value, unsigned int depth,
		 unsigned int *steps, FILE *out)
{
	enum pickle_kind kind = pickle_kind(value);
	struct pickle_value key, held;
	const char *text = NULL;
	size_t bytes = 0;
	int64_t number = 0;
	double real;

	require(kind >= PICKLE_NONE && kind <= PICKLE_DICT, "a value of unknown kind");
	if (depth == DEPTH_MAX || ++*steps > STEPS_LIMIT)
		return;
	if (kind < PICKLE_LIST)
		require(pickle_count(pickle, value) == 0, "items of a value without items");
	if (pickle_int(pickle, value, &number))
		fprintf(out, "i%" PRId64 ";", number);
	else if (pickle_float(pickle, value, &real))
		fprintf(out, "f%a;", real);
	else if (pickle_text(pickle, value, &text, &bytes))
		show_text(out, kind == PICKLE_TEXT ? 't' : 'b', text, bytes);
	else
		fprintf(out, "k%d(", (int)kind);
	if (kind >= PICKLE_LIST)
		require(pickle_box(value) < pickle->boxes.count, "a box without an index");
	for (size_t i = 0; i < pickle_count(pickle, value) && *steps < STEPS_LIMIT; i++) {
		if (kind == PICKLE_DICT) {
			pickle_pair(pickle, value, i, &key, &held);
			show(pickle, key, depth + 1, steps, out);
			show(pickle, held, depth + 1, steps, out);
		} else {
			show(pickle, pickle_item(pickle, value, i), depth + 1, steps, out);
		}
	}
	if (kind >= PICKLE_LIST)
		putc(')', out);
}

static char *shown(const struct pickle *pickle)
{
	char *text = NULL;
	size_t bytes;
	unsigned int steps = 0;
	FILE *out = open_memstream(&text, &bytes);

	require(out != NULL, "no memory");
	show(pickle, pickle->root, 0, &steps, out);
	fclose(out);
	return text;
}

static void check_problem(const struct pickle *pickle, size_t bytes)
{
	const struct pickle_problem *problem = &pickle->problem;
	const char *end = memchr(problem->text, '\0', sizeof(problem->text));

	require(end && end > problem->text, "an error without a message");
	require(problem->byte <= bytes, "an error after the end");
	require(!(problem->cut && problem->unread), "both truncated and unreadable");
}

static void check_memory(const struct pickle *pickle, size_t bytes)
{
	size_t held = pickle->boxes.room * 16 + pickle->items.room * 8 + pickle->texts.room * 16 +
		      pickle->chars.room + pickle->wides.room * 8;

	require(held <= MEMORY_FIRST + MEMORY_A_BYTE * bytes, "more memory than the bytes justify");
}

/* The same bytes in other pieces. */
static void check_pieces(const struct pickle *pickle, bool good, const uint8_t *data, size_t bytes,
			 size_t piece)
{
	struct pickle other;
	char *a, *b;

	require(load(&other, data, bytes, piece, false) == good, "other pieces change the result");
	if (good) {
		a = shown(pickle);
		b = shown(&other);
		require(strcmp(a, b) == 0, "other pieces change the value");
		free(a);
		free(b);
	} else {
		require(pickle->problem.byte == other.problem.byte &&
				strcmp(pickle->problem.text, other.problem.text) == 0,
			"other pieces change the error");
	}
	pickle_fini(&other);
}

static void play_bytes(unsigned int how, const uint8_t *data, size_t bytes)
{
	size_t piece = (size_t)1 << how % 8;
	struct pickle pickle;
	bool good = load(&pickle, data, bytes, SIZE_MAX, false);
	size_t used = (size_t)pickle.bytes;

	check_memory(&pickle, bytes);
	if (!good)
		check_problem(&pickle, bytes);
	check_pieces(&pickle, good, data, bytes, piece);
	pickle_fini(&pickle);
	if (good) {
		require(used > 0 && used <= bytes, "a pickle of more bytes than there are");
		require(!load(&pickle, data, used - 1, piece, false) && pickle.problem.cut,
			"a truncated pickle is accepted");
		pickle_fini(&pickle);
	}
	if (load(&pickle, data, good ? used - 1 : bytes, piece, true))
		require(!good, "a pickle with a read error is accepted");
	else
		check_problem(&pickle, bytes);
	pickle_fini(&pickle);
}

/* Data for the writer, and the text that show() should return for it. */
struct data {
	struct fuzz_bytes from;
	struct pickle_put put;
	FILE *out;
	char *text; /* of `out`, up to the last fflush() */
	size_t text_bytes;
	struct kept {
		size_t begin, end; /* in text */
	} kept[KEPT];
	unsigned int kept_count, steps;
	int ask_at, ask; /* which opcode at which step; -1: none */
};

static void put_words(struct data *data, bool again)
{
	char text[300] = "", *repaired;
	size_t bytes = fuzz_byte(&data->from), length;

	for (size_t i = 0; i < bytes; i++)
		text[i] = (char)fuzz_byte(&data->from);
	if (again)
		pickle_put_word(&data->put, text);
	else
		pickle_put_text(&data->put, text);
	repaired = utf8_repaired(text, strlen(text), &length);
	require(repaired != NULL, "no memory");
	for (size_t i = 0, one; i < length; i += one) {
		one = utf8_length(repaired + i, length - i);
		require(one > 0, "a repaired text is invalid");
	}
	show_text(data->out, 't', repaired, length);
	free(repaired);
}

static void put_value(struct data *data, unsigned int depth);

static void put_many(struct data *data, unsigned int depth, bool pairs)
{
	unsigned int count = fuzz_byte(&data->from) % 5;

	fprintf(data->out, "k%d(", pairs ? PICKLE_DICT : PICKLE_LIST);
	if (pairs)
		pickle_put_open_dict(&data->put);
	else
		pickle_put_open_list(&data->put);
	while (count-- > 0) {
		if (pairs)
			put_words(data, true);
		put_value(data, depth + 1);
		if (!pairs)
			pickle_put_item(&data->put);
	}
	if (pairs)
		pickle_put_close_dict(&data->put);
	putc(')', data->out);
}

static void put_again(struct data *data, unsigned int number)
{
	const struct kept *kept = &data->kept[number % KEPT];
	char *copy;

	if (number % KEPT >= data->kept_count || kept->end - kept->begin > KEPT_MAX) {
		pickle_put_bool(&data->put, false);
		fputs("i0;", data->out);
		return;
	}
	pickle_put_again(&data->put, number % KEPT);
	copy = strndup(data->text + kept->begin, kept->end - kept->begin);
	require(copy != NULL, "no memory");
	fwrite(copy, 1, kept->end - kept->begin, data->out);
	free(copy);
}

static void put_value(struct data *data, unsigned int depth)
{
	unsigned int what = fuzz_byte(&data->from);
	struct kept kept;
	int64_t number;

	if (data->ask_at == (int)data->steps++)
		putc(data->ask, data->put.file);
	fflush(data->out);
	kept.begin = data->text_bytes;
	switch (depth == 5 || data->steps > 200 ? what % 4 : what % 8) {
	case 0:
		number = (int64_t)(fuzz_number(&data->from, what / 8 % 8 + 1) << what / 64 * 8);
		number = what & 128 ? (int64_t)(0 - (uint64_t)number) : number;
		pickle_put_number(&data->put, number);
		fprintf(data->out, "i%" PRId64 ";", number);
		break;
	case 1:
		pickle_put_bool(&data->put, what & 8);
		fputs(what & 8 ? "i1;" : "i0;", data->out); /* as in Python */
		break;
	case 2: put_words(data, what & 8); break;
	case 3: put_again(data, what / 8); return;
	case 4:
		fprintf(data->out, "k%d(", PICKLE_TUPLE);
		put_value(data, depth + 1);
		put_value(data, depth + 1);
		pickle_put_pair(&data->put);
		putc(')', data->out);
		break;
	default: put_many(data, depth, what % 8 >= 6); break;
	}
	fflush(data->out);
	kept.end = data->text_bytes;
	if (what & 16 && data->kept_count < KEPT) {
		pickle_put_keep(&data->put, data->kept_count);
		data->kept[data->kept_count++] = kept;
	}
}

static void play_data(const uint8_t *bytes, size_t count, bool asks)
{
	static const unsigned char opcodes[] = "ciRboPQ\x81\x92\x82\x83\x84\x93\x97\x98";
	struct data data = { .from = { bytes, bytes + count }, .ask_at = -1 };
	struct pickle pickle;
	char *written = NULL, *read;
	size_t written_bytes;
	FILE *file = open_memstream(&written, &written_bytes);

	data.out = open_memstream(&data.text, &data.text_bytes);
	require(file && data.out && pickle_put_begin(&data.put, file), "no memory");
	if (asks) {
		data.ask_at = (int)fuzz_byte(&data.from);
		data.ask = opcodes[fuzz_byte(&data.from) % (sizeof(opcodes) - 1)];
	}
	put_value(&data, 0);
	require(pickle_put_end(&data.put), "data cannot be written");
	fclose(file);
	fclose(data.out);
	if (asks && data.ask_at < (int)data.steps) {
		require(!load(&pickle, written, written_bytes, 7, false),
			"a pickle that requests more than data is read");
		require(strchr("ci", data.ask) || /* their names may be truncated */
				strncmp(pickle.problem.text, "refused", 7) == 0,
			"a pickle that requests more than data is refused for another reason");
	} else {
		require(load(&pickle, written, written_bytes, 7, false), "written data is refused");
		read = shown(&pickle);
		require(data.steps > 200 || strcmp(read, data.text) == 0, "different data is read");
		free(read);
	}
	pickle_fini(&pickle);
	free(written);
	free(data.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	if (bytes == 0)
		return 0;
	switch (data[0] / 64) {
	case 3: play_data(data + 1, bytes - 1, true); break;
	case 2: play_data(data + 1, bytes - 1, false); break;
	default: play_bytes(data[0], data + 1, bytes - 1); break;
	}
	return 0;
}
