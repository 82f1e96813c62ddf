/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_edits.c - the changes to the text: names, and arguments before a closing parenthesis.
 *
 *   malloc(n)            mam_cmalloc(n, MAM_COLLECTIVE_BLOCK), _WARP or _ALONE
 *   free(p)              mam_cfree(p); cast to (void) if it is part of a larger statement
 *   new T                new (MAM_COLLECTIVE_BLOCK) T; alone: unchanged
 *   mam_kmalloc(h, n)    mam_kmalloc_block(h, n); by the parameter: mam_ckmalloc(h, n, coalesce)
 *   f(a)                 f(a, MAM_COLLECTIVE_BLOCK)
 *
 * mam_kmalloc() returns memory aligned to 16, and parts of one object are adjacent. So n is rounded
 * up, unless it is a literal that is a multiple of 16.
 */
#include "rewrite_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const passed[] = {
	[PASS_NOTHING] = "MAM_COLLECTIVE_ALONE",
	[PASS_WARP] = "MAM_COLLECTIVE_WARP",
	[PASS_BLOCK] = "MAM_COLLECTIVE_BLOCK",
	[PASS_PARAMETER_WARP] = (REWRITE_PARAMETER " ? MAM_COLLECTIVE_WARP : MAM_COLLECTIVE_ALONE"),
	[PASS_PARAMETER] = REWRITE_PARAMETER,
};

void rewrite_put_edit(struct rewrite *rewrite, size_t begin, size_t end, const char *text)
{
	struct co_edits *edits = rewrite->edits;

	if (!text) {
		rewrite->failed = true;
		return;
	}
	edits->edits[edits->count++] = (struct co_edit){ begin, end, text };
}

void rewrite_put_left(struct rewrite *rewrite, unsigned int line, const char *format, ...)
{
	struct co_edits *edits = rewrite->edits;
	char why[512];
	const char *said;
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	said = co_arena_print(edits->arena, "%s:%u: %s", rewrite->program->path, line, why);
	if (said)
		edits->left[edits->left_count++] = said;
	else
		rewrite->failed = true;
}

static size_t begin_of(const struct rewrite *rewrite, size_t token)
{
	return rewrite->tokens.at[token].begin;
}

static size_t end_of(const struct rewrite *rewrite, size_t token)
{
	return rewrite->tokens.at[token].end;
}

static void put_name(struct rewrite *rewrite, const struct site *site, const char *name)
{
	rewrite_put_edit(rewrite, begin_of(rewrite, site->first), end_of(rewrite, site->name),
			 name);
}

/* Appends one argument. */
static void put_argument(struct rewrite *rewrite, const struct site *site, enum pass pass)
{
	size_t at = begin_of(rewrite, site->close);

	rewrite_put_edit(rewrite, at, at,
			 co_arena_print(rewrite->edits->arena, "%s%s", site->arguments ? ", " : "",
					passed[pass]));
	rewrite->uses_header = true;
}

/* True if it is a statement of its own: its result is unused. */
static bool is_statement(const struct rewrite *rewrite, size_t first)
{
	const struct co_tokens *tokens = &rewrite->tokens;

	return first > 0 &&
	       (co_token_is(tokens, first - 1, ";") || co_token_is(tokens, first - 1, "{") ||
		co_token_is(tokens, first - 1, "}"));
}

/* ---- mam_kmalloc() --------------------------------------------------------------------------- */

/* The comma between its two arguments; CO_NO_TOKEN: ambiguous. */
static size_t find_comma(const struct rewrite *rewrite, const struct site *site)
{
	const struct co_tokens *tokens = &rewrite->tokens;
	size_t found = CO_NO_TOKEN;

	if (site->arguments != 2)
		return CO_NO_TOKEN;
	for (size_t i = site->open + 1; i < site->close; i++) {
		if (co_token_is(tokens, i, ","))
			found = i;
		else if (tokens->at[i].pair != CO_NO_TOKEN && tokens->at[i].pair > i)
			i = tokens->at[i].pair;
	}
	return found + 1 < site->close ? found : CO_NO_TOKEN;
}

/* A literal that is a multiple of 16. */
static bool is_rounded(const struct rewrite *rewrite, size_t first, size_t last)
{
	const struct co_token *token = &rewrite->tokens.at[first];
	size_t bytes = token->end - token->begin;
	char text[32], *end;

	if (first != last || token->kind != CO_NUMBER || bytes >= sizeof(text))
		return false;
	memcpy(text, rewrite->tokens.text + token->begin, bytes);
	text[bytes] = '\0';
	if (strtoull(text, &end, 0) % 16 != 0)
		return false;
	return strspn(end, "uUlL") == strlen(end);
}

static void put_rounded(struct rewrite *rewrite, size_t first, size_t last)
{
	const struct co_tokens *tokens = &rewrite->tokens;
	const char *before = "((size_t)(", *behind = ") + 15) / 16 * 16";

	if (is_rounded(rewrite, first, last))
		return;
	if (first == last) {
		before = "((size_t)";
		behind = " + 15) / 16 * 16";
	} else if (co_token_is(tokens, first, "sizeof") && co_token_is(tokens, first + 1, "(") &&
		   tokens->at[first + 1].pair == last) {
		before = "(";
		behind = " + 15) / 16 * 16";
	}
	rewrite_put_edit(rewrite, begin_of(rewrite, first), begin_of(rewrite, first), before);
	rewrite_put_edit(rewrite, end_of(rewrite, last), end_of(rewrite, last), behind);
}

/* NULL: success. */
static const char *put_kmalloc(struct rewrite *rewrite, const struct site *site, enum pass pass)
{
	size_t comma = find_comma(rewrite, site);

	if (comma == CO_NO_TOKEN)
		return "it is not clear where its arguments end";
	if (pass == PASS_PARAMETER || pass == PASS_PARAMETER_WARP) {
		put_name(rewrite, site, "mam_ckmalloc");
		put_argument(rewrite, site, pass);
		return NULL;
	}
	put_name(rewrite, site, pass == PASS_BLOCK ? "mam_kmalloc_block" : "mam_kmalloc_warp");
	put_rounded(rewrite, comma + 1, site->close - 1);
	return NULL;
}

/* ---- new ------------------------------------------------------------------------------------- */

/* NULL: success. `new (T)`, `new (std::nothrow) T` and `new (place) T` look alike. */
static const char *put_new(struct rewrite *rewrite, const struct site *site, enum pass pass)
{
	const struct co_tokens *tokens = &rewrite->tokens;
	size_t open = site->name + 1, close, at = end_of(rewrite, site->name);
	bool is_nothrow = false, is_type;

	rewrite->uses_header = true;
	if (!co_token_is(tokens, open, "(")) {
		rewrite_put_edit(rewrite, at, at,
				 co_arena_print(rewrite->edits->arena, " (%s)", passed[pass]));
		return NULL;
	}
	close = tokens->at[open].pair;
	if (close == CO_NO_TOKEN || end_of(rewrite, close) > site->node->end)
		return "its text is not what was expected";
	for (size_t i = open; i < close; i++)
		is_nothrow |=
			co_token_is(tokens, i, "nothrow") || co_token_is(tokens, i, "nothrow_t");
	is_type = end_of(rewrite, close) == site->node->end || co_token_is(tokens, close + 1, "{");
	if (is_nothrow && !is_type)
		rewrite_put_edit(rewrite, begin_of(rewrite, open), end_of(rewrite, close),
				 co_arena_print(rewrite->edits->arena, "(%s)", passed[pass]));
	else if (is_type)
		rewrite_put_edit(rewrite, at, at,
				 co_arena_print(rewrite->edits->arena, " (%s)", passed[pass]));
	else
		return "it has arguments of its own";
	return NULL;
}

/* ---- all edits ------------------------------------------------------------------------------- */

void rewrite_put_site(struct rewrite *rewrite, const struct site *site)
{
	enum pass pass = rewrite_pass(rewrite, site);
	const char *why = NULL;

	if (rewrite_is_family(site->kind) ? !rewrite->uses_family : pass == PASS_NOTHING)
		return;
	if (site->stuck) {
		if (pass != PASS_NOTHING)
			rewrite_put_left(rewrite, site->node->line, "left alone: %s", site->stuck);
		return;
	}
	switch (site->kind) {
	case CO_MALLOC:
		put_name(rewrite, site, "mam_cmalloc");
		put_argument(rewrite, site, pass);
		break;
	case CO_FREE:
		put_name(rewrite, site,
			 is_statement(rewrite, site->first) ? "mam_cfree" : "(void)mam_cfree");
		break;
	case CO_OPERATOR_NEW:
		if (pass != PASS_NOTHING)
			why = put_new(rewrite, site, pass);
		break;
	case CO_KMALLOC: why = put_kmalloc(rewrite, site, pass); break;
	case CO_HELPER: put_argument(rewrite, site, pass); break;
	default: break;
	}
	if (why)
		rewrite_put_left(rewrite, site->node->line, "left alone: %s", why);
	else if (rewrite_is_allocation(site) && pass == PASS_BLOCK && site->size == CO_ALL)
		rewrite->edits->together[rewrite->edits->together_count++] =
			(struct co_place){ site->node->begin, site->node->end };
}

/* Inserts before the ")" of its parameter list, which may be empty or (void). */
void rewrite_put_parameter(struct rewrite *rewrite, int function)
{
	static const char parameter[] =
		REWRITE_TYPE " " REWRITE_PARAMETER " = MAM_COLLECTIVE_ALONE";
	const struct co_tokens *tokens = &rewrite->tokens;
	size_t at = rewrite->program->functions[function].parameters_end;
	size_t close = co_token_from(tokens, at), open = tokens->at[close].pair;

	rewrite->uses_header = true;
	if (close == open + 2 && co_token_is(tokens, open + 1, "void"))
		rewrite_put_edit(rewrite, begin_of(rewrite, open + 1), end_of(rewrite, open + 1),
				 parameter);
	else
		rewrite_put_edit(rewrite, at, at,
				 co_arena_print(rewrite->edits->arena, "%s%s",
						close == open + 1 ? "" : ", ", parameter));
}
