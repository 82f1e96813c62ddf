/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_text.h - a source's text as tokens, so that an edit finds a name, a bracket and its other
 * end, and none of them in a comment or a string.
 *
 * It is read as it stands there: no macro is replaced, and what #if leaves out is there, too.
 */
#ifndef MAM_TOOLS_COALESCE_REWRITE_TEXT_H
#define MAM_TOOLS_COALESCE_REWRITE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "arena.h"

#define CO_NO_TOKEN ((size_t)-1)

enum co_token_kind {
	CO_NAME, /* keywords, too */
	CO_NUMBER,
	CO_QUOTED, /* a string or a character */
	CO_HASH,   /* # at the begin of a line */
	CO_SIGN    /* "::", "->", "..."; of all others, each character */
};

struct co_token {
	enum co_token_kind kind;
	size_t begin, end; /* bytes */
	size_t pair;       /* of ( [ {, its other end, and back; CO_NO_TOKEN: it has none */
};

struct co_tokens {
	const char *text;
	struct co_token *at;
	size_t count;
};

/* False: memory ran out. Tokens are the arena's; the text stays the caller's. O(bytes). */
bool co_tokens_read(struct co_tokens *tokens, const char *text, size_t bytes,
		    struct co_arena *arena);
/* Is there a token `i` that reads so? */
bool co_token_is(const struct co_tokens *tokens, size_t i, const char *text);
bool co_token_is_one(const struct co_tokens *tokens, size_t i,
		     const char *const *texts); /* NULL ends */
/* The token that begins at a byte, or ends at it; CO_NO_TOKEN: none does. O(log n). */
size_t co_token_from(const struct co_tokens *tokens, size_t begin);
size_t co_token_to(const struct co_tokens *tokens, size_t end);
/* The first token that begins at a byte or behind it; the count if none does. */
size_t co_token_behind(const struct co_tokens *tokens, size_t byte);

#endif
