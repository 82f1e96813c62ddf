/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a command line, against a table with an option of every kind.
 *
 * The first byte selects how the rest is read. As words, split at zero bytes: any result must
 * follow the rules of args.h, and errors are reported in one line each. As a recipe of valid
 * options, values and operands: then all of them must arrive.
 */
#include "kit/args.h"
#include "command.h"
#include "fuzz.h"
#include "kit/message.h"

#define WORDS 48
#define WORD_BYTES 24

struct settings {
	bool flag, other;
	uint64_t count, bytes, word;
	const char *text, *optional;
};

static const struct args_word largest[] = { { "largest", UINT64_MAX }, { NULL, 0 } };
/* clang-format off */
static const struct args_word colours[] = {
	{ "red", 7 }, { "green", 8 }, { "blue", 9 }, { NULL, 0 },
};
/* clang-format on */

static const struct args_option options[] = {
	{ "flag", 'f', ARGS_FLAG, offsetof(struct settings, flag), NULL, NULL, "a flag" },
	{ "flap", 0, ARGS_FLAG, offsetof(struct settings, other), NULL, NULL, "another" },
	{ "count", 'c', ARGS_COUNT, offsetof(struct settings, count), "N", largest, "a count" },
	{ "bytes", 'b', ARGS_BYTES, offsetof(struct settings, bytes), "SIZE", largest, "a size" },
	{ "colour", 0, ARGS_WORD, offsetof(struct settings, word), "WHAT", colours, "a word" },
	{ "text", 't', ARGS_TEXT, offsetof(struct settings, text), "TEXT", NULL,
	  "a text\nof two lines" },
	{ "optional", 'o', ARGS_OPTIONAL, offsetof(struct settings, optional), "TEXT", NULL,
	  "perhaps" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command commands[] = {
	{ "mam fuzz", "[OPTION]... FILE...", "Does nothing.\n", NULL, options, false },
	{ "mam fuzz", "[OPTION]... COMMAND...", "Does nothing.\n", "Examples: none.\n", options,
	  true },
};

/* The words of a command line: the first is the command's name, NULL follows the last. */
struct line {
	char *words[WORDS + 1];
	int count;
};

static bool is_word(const struct line *line, const char *text)
{
	for (int i = 0; i < line->count; i++)
		if (text >= line->words[i] && text <= line->words[i] + strlen(line->words[i]))
			return true;
	return false;
}

/* The same words, in any order. */
static void require_same_words(const struct line *before, const struct line *after)
{
	bool used[WORDS] = { false };

	for (int i = 0; i < before->count; i++) {
		int at = 0;

		while (at < after->count && (used[at] || after->words[at] != before->words[i]))
			at++;
		require(at < after->count, "a word is lost");
		used[at] = true;
	}
	require(after->words[after->count] == NULL, "the words do not end with NULL");
}

static void require_settings(const struct line *line, const struct settings *settings)
{
	require(settings->count >= 1, "a count of 0");
	require(settings->word >= 6 && settings->word <= 9, "a keyword that is not in the table");
	require(!settings->text || is_word(line, settings->text), "a text that is not an argument");
	require(!settings->optional || !settings->optional[0] || is_word(line, settings->optional),
		"an optional text that is not an argument");
}

/* Checks that hold for any words. */
static bool parse(const struct args_command *command, struct line *line, struct settings *settings,
		  int *first)
{
	const struct line before = *line;
	struct fuzz_heard heard;
	int status = -1;
	bool good;

	fuzz_heard_begin(&heard);
	good = args_parse(command, line->count, line->words, settings, first, &status);
	fuzz_heard_end(&heard);
	require_same_words(&before, line);
	if (good) {
		require(heard.printed_bytes == 0, "a message without an error");
		require(*first >= 1 && *first <= line->count, "the first operand does not exist");
		require_settings(line, settings);
	} else if (status == STATUS_GOOD) {
		require(strncmp(heard.printed, "Usage: mam fuzz ", 16) == 0,
			"help without its usage line");
		require(strstr(heard.printed, "--optional[=TEXT]") != NULL,
			"help without an option");
	} else {
		require(status == STATUS_BAD, "another status");
		require(heard.printed_bytes == 0, "an error on stdout");
	}
	require(fuzz_sentences(&heard) == (!good && status == STATUS_BAD),
		"not one message per error");
	fuzz_heard_free(&heard);
	return good;
}

static void play_words(const struct args_command *command, const uint8_t *data, size_t bytes)
{
	struct settings settings = { .count = 1, .word = 6 };
	char *text = malloc(bytes + 1);
	struct line line = { .words = { "mam" }, .count = 1 };
	int first;

	require(text != NULL, "no memory");
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	for (char *at = text; at <= text + bytes && line.count < WORDS; at += strlen(at) + 1)
		line.words[line.count++] = at;
	if (parse(command, &line, &settings, &first) && command->stops)
		for (int i = first; i > 1 && i < line.count; i++)
			require(line.words[i] > line.words[i - 1], "operands were moved");
	free(text);
}

/* One option, or an operand, and its expected result. */
static void add(struct fuzz_bytes *from, struct line *line, char *text, struct settings *wanted)
{
	unsigned int what = fuzz_byte(from), number = fuzz_byte(from) + 1;
	bool is_long = what & 128, apart = what & 64;

	switch (what % 8) {
	case 0:
		strcpy(text, is_long ? "--flag" : "-f");
		wanted->flag = true;
		break;
	case 1:
		strcpy(text, "--flap");
		wanted->other = true;
		break;
	case 2:
		snprintf(text, WORD_BYTES, is_long ? "--count=%u" : "-c%u", number);
		wanted->count = number;
		break;
	case 3:
		snprintf(text, WORD_BYTES, is_long ? "--bytes=%uKiB" : "-b%uk", number);
		wanted->bytes = (uint64_t)number << 10;
		break;
	case 4:
		snprintf(text, WORD_BYTES, "--col=%s", colours[number % 3].text);
		wanted->word = colours[number % 3].value;
		break;
	case 5:
		strcpy(text, is_long ? "--text" : "-t");
		line->words[line->count++] = text;
		text += 8;
		snprintf(text, WORD_BYTES - 8, "-%u", number);
		wanted->text = text;
		break;
	case 6:
		strcpy(text, is_long ? "--optional" : "-o");
		wanted->optional = "";
		if (apart)
			snprintf(text + strlen(text), 8, is_long ? "=%u" : "%u", number);
		if (apart)
			wanted->optional = text + (is_long ? 11 : 2);
		break;
	default: /* an abbreviated option that matches two options */
		strcpy(text, "--flag");
		wanted->flag = true;
		break;
	}
	line->words[line->count++] = text;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void play_recipe(const struct args_command *command, struct fuzz_bytes *from)
{
	static char texts[WORDS][WORD_BYTES];
	struct settings wanted = { .count = 1, .word = 6 }, settings = wanted;
	struct line line = { .words = { "mam" }, .count = 1 };
	char *operands[WORDS];
	int count = 0, first = 0;

	while (fuzz_left(from) > 0 && line.count < WORDS - 3) {
		char *text = texts[line.count];

		if (*from->next % 4 == 3 && !command->stops) {
			snprintf(text, WORD_BYTES, "file-%u", fuzz_byte(from));
			line.words[line.count++] = operands[count++] = text;
		} else {
			add(from, &line, text, &wanted);
		}
	}
	line.words[line.count++] = strcpy(texts[WORDS - 1], "--");
	line.words[line.count++] = operands[count++] = strcpy(texts[WORDS - 2], "--flap");
	require(parse(command, &line, &settings, &first), "a valid command line is refused");
	require(settings.flag == wanted.flag && settings.other == wanted.other, "a flag is lost");
	require(settings.count == wanted.count && settings.bytes == wanted.bytes &&
			settings.word == wanted.word,
		"a number has the wrong value");
	require(same_text(settings.text, wanted.text) &&
			same_text(settings.optional, wanted.optional),
		"a text has the wrong value");
	require(line.count - first == count, "operands are missing");
	for (int i = 0; i < count; i++)
		require(line.words[first + i] == operands[i], "operands arrive in the wrong order");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct fuzz_bytes from = { data + 1, data + bytes };

	if (bytes == 0)
		return 0;
	if (data[0] & 2)
		play_recipe(&commands[data[0] & 1], &from);
	else
		play_words(&commands[data[0] & 1], data + 1, bytes - 1);
	return 0;
}
