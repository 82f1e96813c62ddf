/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_text.h - the text of a source as tokens, so that an edit can find a name, a bracket and
 * its counterpart, but none in a comment or a string.
 *
 * The text is taken as written: no macro is expanded, and text that #if excludes is included.
 */
#ifndef MAM_TOOLS_COALESCE_REWRITE_TEXT_H
#define MAM_TOOLS_COALESCE_REWRITE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "coalesce/arena.h"

#define CO_NO_TOKEN ((size_t)-1)

enum co_token_kind {
	CO_NAME, /* including keywords */
	CO_NUMBER,
	CO_QUOTED, /* a string or a character */
	CO_HASH,   /* # at the start of a line */
	CO_SIGN    /* "::", "->", "..."; otherwise a single character */
};

struct co_token {
	enum co_token_kind kind;
	size_t begin, end; /* bytes */
	size_t pair;       /* the matching bracket, in both directions; CO_NO_TOKEN: none */
};

struct co_tokens {
	const char *text;
	struct co_token *at;
	size_t count;
};

/* False: memory ran out. The arena owns the tokens, the caller owns the text. O(bytes). */
bool co_tokens_read(struct co_tokens *tokens, const char *text, size_t bytes,
		    struct co_arena *arena);
/* Is there a token `i` with this text? */
bool co_token_is(const struct co_tokens *tokens, size_t i, const char *text);
bool co_token_is_one(const struct co_tokens *tokens, size_t i,
		     const char *const *texts); /* NULL-terminated */
/* The token that begins, or ends, at a byte; CO_NO_TOKEN: none does. O(log n). */
size_t co_token_from(const struct co_tokens *tokens, size_t begin);
size_t co_token_to(const struct co_tokens *tokens, size_t end);
/* The first token that begins at or after a byte; the count if there is none. */
size_t co_token_behind(const struct co_tokens *tokens, size_t byte);

#endif
