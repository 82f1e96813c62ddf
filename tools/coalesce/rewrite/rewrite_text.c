/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_text.c - see rewrite_text.h.
 *
 * The first scan counts tokens, the second one records them, and the third one matches brackets:
 * open brackets form a linked list by their `pair`. A closing bracket that does not match the last
 * open one has no pair, and neither has a bracket that is never closed.
 *
 * Tokens end where C++ specifies it: comments of both kinds, strings and characters with their
 * escapes, raw strings, numbers with ' between digits. A line that ends with a backslash continues
 * a // comment; elsewhere the backslash is a token of its own. An unterminated token ends with the
 * text.
 */
#include "rewrite_text.h"

#include <string.h>

struct reader {
	const char *text;
	size_t at, bytes;
	bool fresh; /* only blanks so far on this line */
};

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The character at a distance `ahead`; 0 after the end. */
static char peek(const struct reader *reader, size_t ahead)
{
	return reader->at + ahead < reader->bytes ? reader->text[reader->at + ahead] : '\0';
}

static void skip_comment(struct reader *reader)
{
	bool is_line = peek(reader, 1) == '/';

	for (reader->at += 2; reader->at < reader->bytes; reader->at++) {
		if (is_line && peek(reader, 0) == '\\') {
			/* Any escaped character, including a newline of two bytes. */
			reader->at += 1 + (peek(reader, 1) == '\r' && peek(reader, 2) == '\n');
			continue;
		}
		if (is_line && peek(reader, 0) == '\n')
			return;
		if (!is_line && peek(reader, 0) == '*' && peek(reader, 1) == '/') {
			reader->at += 2;
			return;
		}
	}
	reader->at = reader->bytes;
}

static void skip_blank(struct reader *reader)
{
	while (reader->at < reader->bytes) {
		char c = peek(reader, 0);

		if (c == '/' && (peek(reader, 1) == '/' || peek(reader, 1) == '*')) {
			skip_comment(reader);
		} else if (c == '\n') {
			reader->fresh = true;
			reader->at++;
		} else if (c == '\\' && peek(reader, 1) == '\n') {
			reader->at += 2;
		} else if (c == '\\' && peek(reader, 1) == '\r' && peek(reader, 2) == '\n') {
			reader->at += 3;
		} else if (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' ||
			   c == '\0') {
			reader->at++;
		} else {
			return;
		}
	}
}

/* Starts at its quote. */
static void skip_quoted(struct reader *reader)
{
	char quote = peek(reader, 0);

	for (reader->at++; reader->at < reader->bytes; reader->at++) {
		if (peek(reader, 0) == '\\') {
			reader->at++;
		} else if (peek(reader, 0) == quote) {
			reader->at++;
			return;
		} else if (peek(reader, 0) == '\n') {
			return; /* an apostrophe in text that #if excludes */
		}
	}
	reader->at = reader->bytes;
}

/* R"mark( ... )mark", starting at its quote. */
static void skip_raw(struct reader *reader)
{
	size_t mark = reader->at + 1, length = 0;

	while (mark + length < reader->bytes && reader->text[mark + length] != '(')
		length++;
	for (reader->at = mark + length; reader->at < reader->bytes; reader->at++) {
		if (peek(reader, 0) == ')' && reader->bytes - reader->at > length + 1 &&
		    memcmp(reader->text + reader->at + 1, reader->text + mark, length) == 0 &&
		    peek(reader, length + 1) == '"') {
			reader->at += length + 2;
			return;
		}
	}
	reader->at = reader->bytes;
}

static void skip_number(struct reader *reader)
{
	for (; reader->at < reader->bytes; reader->at++) {
		char c = peek(reader, 0), before = reader->text[reader->at - 1];

		if (is_name(c) || c == '.' || (c == '\'' && is_name(peek(reader, 1))))
			continue;
		if ((c == '+' || c == '-') && strchr("eEpP", before))
			continue;
		return;
	}
}

/* A name; if it is the prefix of a string, the whole string. */
static enum co_token_kind skip_name(struct reader *reader)
{
	static const char *const prefixes[] = { "L", "u", "U", "u8" };
	const char *name = reader->text + reader->at;
	size_t length;
	bool is_raw;

	while (reader->at < reader->bytes && is_name(peek(reader, 0)))
		reader->at++;
	length = (size_t)(reader->text + reader->at - name);
	if (peek(reader, 0) != '"' && peek(reader, 0) != '\'')
		return CO_NAME;
	is_raw = peek(reader, 0) == '"' && name[length - 1] == 'R';
	length -= is_raw;
	for (size_t i = 0; length && i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strlen(prefixes[i]) == length && memcmp(prefixes[i], name, length) == 0)
			length = 0;
	if (length)
		return CO_NAME;
	if (is_raw)
		skip_raw(reader);
	else
		skip_quoted(reader);
	return CO_QUOTED;
}

static enum co_token_kind skip_sign(struct reader *reader)
{
	static const char *const longer[] = { "::", "->", "..." };
	bool is_hash = reader->fresh && peek(reader, 0) == '#';
	size_t length = 1;

	for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++)
		if (strlen(longer[i]) <= reader->bytes - reader->at &&
		    memcmp(reader->text + reader->at, longer[i], strlen(longer[i])) == 0)
			length = strlen(longer[i]);
	reader->at += length;
	return is_hash ? CO_HASH : CO_SIGN;
}

static bool next(struct reader *reader, struct co_token *token)
{
	char c;

	skip_blank(reader);
	if (reader->at >= reader->bytes)
		return false;
	c = peek(reader, 0);
	token->begin = reader->at;
	token->pair = CO_NO_TOKEN;
	if (is_digit(c) || (c == '.' && is_digit(peek(reader, 1)))) {
		reader->at++;
		skip_number(reader);
		token->kind = CO_NUMBER;
	} else if (is_name(c)) {
		token->kind = skip_name(reader);
	} else if (c == '"' || c == '\'') {
		skip_quoted(reader);
		token->kind = CO_QUOTED;
	} else {
		token->kind = skip_sign(reader);
	}
	if (reader->at > reader->bytes)
		reader->at = reader->bytes;
	token->end = reader->at;
	reader->fresh = false;
	return true;
}

static void find_pairs(struct co_tokens *tokens)
{
	static const char open[] = "([{", close[] = ")]}";
	size_t last = CO_NO_TOKEN;

	for (size_t i = 0; i < tokens->count; i++) {
		struct co_token *token = &tokens->at[i];
		char c = tokens->text[token->begin];
		const char *which;

		if (token->kind != CO_SIGN || token->end - token->begin != 1)
			continue;
		if (strchr(open, c)) {
			token->pair = last;
			last = i;
			continue;
		}
		which = strchr(close, c);
		if (!which || last == CO_NO_TOKEN ||
		    tokens->text[tokens->at[last].begin] != open[which - close])
			continue;
		token->pair = last;
		last = tokens->at[last].pair;
		tokens->at[token->pair].pair = i;
	}
	while (last != CO_NO_TOKEN) {
		size_t before = tokens->at[last].pair;

		tokens->at[last].pair = CO_NO_TOKEN;
		last = before;
	}
}

bool co_tokens_read(struct co_tokens *tokens, const char *text, size_t bytes,
		    struct co_arena *arena)
{
	/* Skip a byte order mark. */
	const size_t begin = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
	struct reader reader = { text, begin, bytes, true };
	struct co_token token;

	*tokens = (struct co_tokens){ text, NULL, 0 };
	while (next(&reader, &token))
		tokens->count++;
	tokens->at = co_arena_take(arena, (tokens->count + 1) * sizeof(*tokens->at));
	if (!tokens->at)
		return false;
	reader = (struct reader){ text, begin, bytes, true };
	for (size_t i = 0; i < tokens->count; i++)
		(void)next(&reader, &tokens->at[i]);
	find_pairs(tokens);
	return true;
}

bool co_token_is(const struct co_tokens *tokens, size_t i, const char *text)
{
	size_t length = strlen(text);

	return i < tokens->count && tokens->at[i].end - tokens->at[i].begin == length &&
	       memcmp(tokens->text + tokens->at[i].begin, text, length) == 0;
}

bool co_token_is_one(const struct co_tokens *tokens, size_t i, const char *const *texts)
{
	for (; *texts; texts++)
		if (co_token_is(tokens, i, *texts))
			return true;
	return false;
}

size_t co_token_behind(const struct co_tokens *tokens, size_t byte)
{
	size_t low = 0, high = tokens->count;

	while (low < high) {
		size_t half = low + (high - low) / 2;

		if (tokens->at[half].begin < byte)
			low = half + 1;
		else
			high = half;
	}
	return low;
}

size_t co_token_from(const struct co_tokens *tokens, size_t begin)
{
	size_t i = co_token_behind(tokens, begin);

	return i < tokens->count && tokens->at[i].begin == begin ? i : CO_NO_TOKEN;
}

size_t co_token_to(const struct co_tokens *tokens, size_t end)
{
	size_t i = co_token_behind(tokens, end);

	return i > 0 && tokens->at[i - 1].end == end ? i - 1 : CO_NO_TOKEN;
}
