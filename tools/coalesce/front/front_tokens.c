/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_tokens.c - places in files, and the texts of files as tokens.
 *
 * The expanded place of a token is the use of the outermost macro in the source. The spelled place
 * is where its characters are. However, libclang up to 19 also reports the macro use as the spelled
 * place of a token that a macro creates. So equal places prove nothing. Therefore macro uses are
 * listed from libclang's record of the preprocessor, and text within one comes from the macro.
 *
 * A file is split into tokens once, when it is first needed, in time linear in its bytes. Tokens
 * and macro uses are found by binary search.
 */
#include <stdlib.h>
#include <string.h>

#include "coalesce/front/front.h"

/* ---- places ---------------------------------------------------------------------------------- */

struct front_place front_spelled(CXSourceLocation location)
{
	struct front_place place = { NULL, 0, 0 };

	clang_getSpellingLocation(location, &place.file, &place.line, NULL, &place.offset);
	return place;
}

struct front_place front_expanded(CXSourceLocation location)
{
	struct front_place place = { NULL, 0, 0 };

	clang_getExpansionLocation(location, &place.file, &place.line, NULL, &place.offset);
	return place;
}

struct front_place front_begin(CXCursor cursor)
{
	return front_spelled(clang_getRangeStart(clang_getCursorExtent(cursor)));
}

struct front_place front_end(CXCursor cursor)
{
	return front_expanded(clang_getRangeEnd(clang_getCursorExtent(cursor)));
}

bool front_same_place(struct front_place a, struct front_place b)
{
	return a.file != NULL && b.file != NULL && a.offset == b.offset &&
	       clang_File_isEqual(a.file, b.file);
}

/* ---- tokens ---------------------------------------------------------------------------------- */

static bool tokenize(struct front *f, struct front_text *text)
{
	CXSourceLocation first = clang_getLocationForOffset(f->unit, text->file, 0);
	CXSourceLocation last =
		clang_getLocationForOffset(f->unit, text->file, (unsigned int)text->bytes);
	CXToken *tokens = NULL;
	unsigned int count = 0, i;

	clang_tokenize(f->unit, clang_getRange(first, last), &tokens, &count);
	text->tokens = calloc(count ? count : 1, sizeof(*text->tokens));
	for (i = 0; text->tokens != NULL && i < count; i++) {
		CXSourceRange range = clang_getTokenExtent(f->unit, tokens[i]);
		struct front_token *token = &text->tokens[text->count];

		if (clang_getTokenKind(tokens[i]) == CXToken_Comment)
			continue;
		token->begin = front_spelled(clang_getRangeStart(range)).offset;
		token->end = front_spelled(clang_getRangeEnd(range)).offset;
		if (token->begin < token->end && token->end <= text->bytes)
			text->count++;
	}
	clang_disposeTokens(f->unit, tokens, count);
	return text->tokens != NULL;
}

static struct front_text *text_of(struct front *f, CXFile file)
{
	struct front_text *text = f->texts;

	while (text != NULL && !clang_File_isEqual(text->file, file))
		text = text->next;
	if (text != NULL || file == NULL || f->failed)
		return text;
	text = calloc(1, sizeof(*text));
	if (text == NULL) {
		f->failed = true;
		return NULL;
	}
	text->next = f->texts;
	f->texts = text;
	text->file = file;
	text->text = clang_getFileContents(f->unit, file, &text->bytes);
	if (text->text == NULL)
		text->bytes = 0;
	return text;
}

const struct front_text *front_text(struct front *f, CXFile file)
{
	struct front_text *text = text_of(f, file);

	if (text != NULL && text->tokens == NULL && text->bytes > 0 && text->bytes < UINT32_MAX &&
	    !f->failed && !tokenize(f, text))
		f->failed = true;
	return text;
}

size_t front_token_from(const struct front_text *text, unsigned int offset)
{
	size_t low = 0, high = text ? text->count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (text->tokens[middle].begin < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return text && low < text->count ? low : FRONT_NOWHERE;
}

size_t front_token(const struct front_text *text, unsigned int offset)
{
	size_t token = front_token_from(text, offset);

	return token != FRONT_NOWHERE && text->tokens[token].begin == offset ? token
									     : FRONT_NOWHERE;
}

bool front_token_is(const struct front_text *text, size_t token, const char *wanted)
{
	size_t bytes = strlen(wanted);

	return text != NULL && token < text->count &&
	       text->tokens[token].end - text->tokens[token].begin == bytes &&
	       memcmp(text->text + text->tokens[token].begin, wanted, bytes) == 0;
}

size_t front_token_closes(const struct front_text *text, size_t token)
{
	size_t depth = 0;

	for (; text != NULL && token < text->count; token++) {
		if (front_token_is(text, token, "(") || front_token_is(text, token, "[") ||
		    front_token_is(text, token, "{"))
			depth++;
		else if (front_token_is(text, token, ")") || front_token_is(text, token, "]") ||
			 front_token_is(text, token, "}"))
			depth--;
		if (depth == 0)
			return token;
	}
	return FRONT_NOWHERE;
}

/* ---- macros ---------------------------------------------------------------------------------- */

/*
 * Tokens that a macro creates have the first byte of its use as their place; arguments are within
 * the use.
 */
static enum CXChildVisitResult use(CXCursor cursor, CXCursor parent, CXClientData data)
{
	struct front *f = data;
	CXSourceRange range = clang_getCursorExtent(cursor);
	struct front_place begin, end;
	struct front_text *text;

	(void)parent;
	if (cursor.kind != CXCursor_MacroExpansion ||
	    clang_Location_isInSystemHeader(clang_getRangeStart(range)))
		return CXChildVisit_Continue;
	begin = front_expanded(clang_getRangeStart(range));
	end = front_expanded(clang_getRangeEnd(range));
	text = text_of(f, begin.file);
	if (text == NULL ||
	    !front_room(f, &text->uses, text->use_count, &text->use_room, sizeof(*text->uses)))
		return CXChildVisit_Continue;
	text->uses[text->use_count++] =
		(struct front_use){ begin.offset,
				    end.offset > begin.offset ? end.offset : begin.offset + 1, 0 };
	return CXChildVisit_Continue;
}

static int by_begin(const void *a, const void *b)
{
	const struct front_use *x = a, *y = b;

	return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : 0;
}

void front_macros(struct front *f)
{
	struct front_text *text;
	size_t i;

	clang_visitChildren(clang_getTranslationUnitCursor(f->unit), use, f);
	for (text = f->texts; text != NULL; text = text->next) {
		unsigned int reach = 0;

		if (text->use_count > 0)
			qsort(text->uses, text->use_count, sizeof(*text->uses), by_begin);
		for (i = 0; i < text->use_count; i++) {
			if (text->uses[i].end > reach)
				reach = text->uses[i].end;
			text->uses[i].reach = reach;
		}
	}
}

static bool is_used(const struct front_text *text, unsigned int offset)
{
	size_t low = 0, high = text->use_count;

	while (low < high) { /* to the first use after it */
		size_t middle = low + (high - low) / 2;

		if (text->uses[middle].begin <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && text->uses[low - 1].reach > offset;
}

bool front_in_macro(struct front *f, CXSourceLocation location)
{
	struct front_place place = front_expanded(location);
	const struct front_text *text = text_of(f, place.file);

	return text == NULL || clang_Location_isInSystemHeader(location) ||
	       is_used(text, place.offset) || !front_same_place(place, front_spelled(location));
}

bool front_begins_in_macro(struct front *f, CXCursor cursor)
{
	return front_in_macro(f, clang_getRangeStart(clang_getCursorExtent(cursor)));
}

bool front_ends_in_macro(struct front *f, CXCursor cursor)
{
	CXSourceLocation last = clang_getRangeEnd(clang_getCursorExtent(cursor));
	struct front_place end = front_expanded(last);
	const struct front_text *text = text_of(f, end.file);

	return text == NULL || clang_Location_isInSystemHeader(last) || end.offset == 0 ||
	       is_used(text, end.offset - 1);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Also within a token: the texts of inline assembly are strings. */
static bool has_word(const char *text, size_t bytes, const char *word)
{
	size_t length = strlen(word), i;

	for (i = 0; i + length <= bytes; i++)
		if (memcmp(text + i, word, length) == 0)
			return true;
	return false;
}

bool front_mentions(struct front *f, CXCursor cursor, const char *const *words)
{
	struct front_place begin = front_begin(cursor);
	struct front_place end = front_spelled(clang_getRangeEnd(clang_getCursorExtent(cursor)));
	const struct front_text *text = front_text(f, begin.file);

	/* In a macro it cannot be determined. */
	if (text == NULL || end.file == NULL || !clang_File_isEqual(begin.file, end.file) ||
	    end.offset < begin.offset || end.offset > text->bytes ||
	    front_begins_in_macro(f, cursor))
		return true;
	for (; *words != NULL; words++)
		if (has_word(text->text + begin.offset, end.offset - begin.offset, *words))
			return true;
	return false;
}
