/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_head.c - inserts the #include of the header that the rewritten code uses, once.
 *
 * It is inserted after the last #include at the head of the file, which ends at the first token
 * that is not part of a directive. If there is none, it is inserted at the top. #include lines
 * within #if are ignored, because they may be skipped. If the file has new or delete, a macro
 * before the #include announces that to the header (collective.cuh).
 */
#include "rewrite_parts.h"

#include <string.h>

#define NEW_WORD "MAM_COLLECTIVE_NEW"

static const char mark[] = "\xef\xbb\xbf"; /* byte order mark; it stays first */

/* The newline that ends the // comment at a byte. */
static size_t comment_end(const char *text, size_t at, size_t end)
{
	for (at++; at < end && text[at] != '\n'; at++)
		if (text[at] == '\\')
			at += 1 + (at + 1 < end && text[at + 1] == '\r');
	return at;
}

/*
 * The byte after the newline between two bytes that are separated only by blanks and comments; 0:
 * there is no newline outside of comments.
 */
static size_t end_between(const char *text, size_t at, size_t end)
{
	for (; at < end; at++) {
		if (text[at] == '\n')
			return at + 1;
		if (text[at] == '\\') {
			at += 1 + (at + 1 < end && text[at + 1] == '\r');
		} else if (text[at] == '/' && at + 1 < end && text[at + 1] == '*') {
			for (at += 3; at < end && !(text[at - 1] == '*' && text[at] == '/');)
				at++;
		} else if (text[at] == '/') {
			at = comment_end(text, at, end) - 1;
		}
	}
	return 0;
}

/* The byte after the line, or lines, of the directive whose # is token `i`. */
static size_t directive_end(const struct rewrite *rewrite, size_t i)
{
	const struct co_tokens *tokens = &rewrite->tokens;

	for (; i < tokens->count; i++) {
		size_t next =
			i + 1 < tokens->count ? tokens->at[i + 1].begin : rewrite->program->bytes;
		size_t end = end_between(rewrite->program->text, tokens->at[i].end, next);

		if (end)
			return end;
	}
	return rewrite->program->bytes;
}

/* Do these bytes contain a word? */
static bool has_word(const struct rewrite *rewrite, size_t begin, size_t end, const char *word)
{
	return memmem(rewrite->program->text + begin, end - begin, word, strlen(word)) != NULL;
}

/* The byte to insert at; `is_there`, `has_new`: the header, and NEW_WORD, are already present. */
static size_t find_place(const struct rewrite *rewrite, bool *is_there, bool *has_new)
{
	static const char *const opens[] = { "if", "ifdef", "ifndef", NULL };
	const struct co_tokens *tokens = &rewrite->tokens;
	bool has_mark = strncmp(rewrite->program->text, mark, strlen(mark)) == 0;
	size_t place = has_mark ? strlen(mark) : 0, depth = 0, i = 0;
	bool is_defined = false;

	*is_there = *has_new = false;
	while (i < tokens->count && tokens->at[i].kind == CO_HASH) {
		size_t end = directive_end(rewrite, i);

		if (co_token_is(tokens, i + 1, "include") && depth == 0) {
			place = end;
			if (has_word(rewrite, tokens->at[i].begin, end, REWRITE_HEADER)) {
				*is_there = true;
				*has_new |= is_defined;
			}
		} else if (co_token_is(tokens, i + 1, "define") && depth == 0) {
			is_defined |= co_token_is(tokens, i + 2, NEW_WORD);
		} else if (co_token_is_one(tokens, i + 1, opens)) {
			depth++;
		} else if (co_token_is(tokens, i + 1, "endif") && depth > 0) {
			depth--;
		}
		i = co_token_behind(tokens, end);
	}
	return place;
}

void rewrite_put_head(struct rewrite *rewrite)
{
	const char *text = rewrite->program->text;
	bool is_there, has_new, wants_new = rewrite->uses_family && rewrite->uses_new;
	size_t place = find_place(rewrite, &is_there, &has_new);
	const char *end = place > 1 && text[place - 2] == '\r' ? "\r\n" : "\n";

	wants_new &= !has_new;
	if (is_there && !wants_new)
		return;
	rewrite_put_edit(
		rewrite, place, place,
		co_arena_print(rewrite->edits->arena, "%s%s%s#include <%s>%s",
			       place > 0 && text[place - 1] != '\n' && text[place - 1] != mark[2]
				       ? end
				       : "",
			       wants_new ? "#define " NEW_WORD : "", wants_new ? end : "",
			       REWRITE_HEADER, end));
}
