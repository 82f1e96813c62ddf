/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_sites.c - finds the places of calls in the text.
 *
 * 1. Verdicts of calls in the file are sorted by place. Those of one place, from several instances
 *    of a template, become one site with the greatest of their levels.
 * 2. The text of a site is checked. A call ends with its closing parenthesis. The name precedes the
 *    opening one, perhaps with <...> between them. Before malloc and free there is at most std::. A
 *    new expression begins with `new`.
 * 3. Arguments are separated by commas outside of brackets. If a < is among several of them, a
 *    comma may belong to a template, so their number is unknown.
 */
#include "rewrite_parts.h"

#include <stdlib.h>
#include <string.h>

static const char in_macro[] = "it is in a macro";
static const char is_another[] = "it is another call in another instance of its template";
static const char reads_otherwise[] = "its text is not what was expected";

int rewrite_first_of(const struct rewrite *rewrite, int function)
{
	const struct co_program *program = rewrite->program;
	int first;

	if (function < 0 || (size_t)function >= program->function_count)
		return CO_NONE;
	first = program->functions[function].template_of;
	return first < 0 || (size_t)first >= program->function_count ? function : first;
}

const char *rewrite_last_name(const char *name)
{
	const char *last = name;

	for (; name && *name; name++)
		if (name[0] == ':' && name[1] == ':')
			last = name + 2;
	return last;
}

/* ---- verdicts to sites ----------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct site *one = a, *other = b;

	if (one->node->begin != other->node->begin)
		return one->node->begin < other->node->begin ? -1 : 1;
	if (one->node->end != other->node->end)
		return one->node->end < other->node->end ? -1 : 1;
	return (int)one->kind - (int)other->kind;
}

static bool is_same_name(const struct site *one, const struct site *other)
{
	const char *a = one->node->name, *b = other->node->name;

	return a == b || (a && b && strcmp(a, b) == 0);
}

static enum co_level greater(enum co_level a, enum co_level b)
{
	return a > b ? a : b;
}

static void merge(struct site *into, const struct site *other)
{
	into->reached = greater(into->reached, other->reached);
	into->size = greater(into->size, other->size);
	into->best = greater(into->best, other->best);
	if (!into->stuck)
		into->stuck = other->stuck;
	if (into->kind != other->kind || into->callee != other->callee ||
	    into->function != other->function || !is_same_name(into, other))
		into->stuck = is_another;
}

/* In a template instance libclang ends a new expression before its type. */
static bool is_same_place(const struct site *one, const struct site *other)
{
	return one->node->begin == other->node->begin &&
	       (one->node->end == other->node->end ||
		(one->kind == CO_OPERATOR_NEW && other->kind == CO_OPERATOR_NEW));
}

static void merge_all(struct rewrite *rewrite)
{
	size_t kept = 0;

	for (size_t i = 0; i < rewrite->site_count; i++) {
		const struct site *site = &rewrite->sites[i];
		struct site *last = kept ? &rewrite->sites[kept - 1] : NULL;

		if (last && is_same_place(last, site))
			merge(last, site);
		else
			rewrite->sites[kept++] = *site;
	}
	rewrite->site_count = kept;
}

static struct site site_of(const struct rewrite *rewrite, const struct co_verdict *verdict)
{
	struct site site = { .kind = verdict->kind,
			     .node = verdict->node,
			     .function = rewrite_first_of(rewrite, verdict->function),
			     .callee = CO_NONE,
			     .name = CO_NO_TOKEN,
			     .reached = verdict->reached,
			     .size = verdict->size,
			     .best = verdict->best };

	if (site.best > site.reached)
		site.best = site.reached;
	if (site.kind == CO_HELPER)
		site.callee = rewrite_first_of(rewrite, verdict->node->function);
	if (verdict->mixed)
		site.stuck = is_another;
	if (verdict->node->macro)
		site.stuck = in_macro;
	return site;
}

/* ---- their text ------------------------------------------------------------------------------ */

/* The expected name; NULL: any name. */
static const char *name_of(const struct rewrite *rewrite, const struct site *site)
{
	switch (site->kind) {
	case CO_MALLOC: return "malloc";
	case CO_FREE: return "free";
	case CO_KMALLOC: return "mam_kmalloc";
	default: break;
	}
	if (site->callee != CO_NONE)
		return rewrite_last_name(rewrite->program->functions[site->callee].name);
	return rewrite_last_name(site->node->name);
}

/* The number of arguments in the parentheses; CO_NO_TOKEN: unknown. */
static size_t count_arguments(const struct co_tokens *tokens, size_t open, size_t close)
{
	size_t commas = 0;
	bool may_be_template = false;

	if (open + 1 == close)
		return 0;
	for (size_t i = open + 1; i < close; i++) {
		if (co_token_is(tokens, i, "..."))
			return CO_NO_TOKEN;
		if (co_token_is(tokens, i, "<"))
			may_be_template = true;
		else if (co_token_is(tokens, i, ","))
			commas++;
		else if (tokens->at[i].pair != CO_NO_TOKEN && tokens->at[i].pair > i)
			i = tokens->at[i].pair;
	}
	return commas && may_be_template ? CO_NO_TOKEN : commas + 1;
}

/* The token before the <...> that ends at `i`; otherwise `i`. */
static size_t before_template(const struct co_tokens *tokens, size_t i, size_t first)
{
	size_t depth = 0;

	if (!co_token_is(tokens, i, ">"))
		return i;
	for (; i > first; i--) {
		if (co_token_is(tokens, i, ">"))
			depth++;
		else if (co_token_is(tokens, i, "<") && --depth == 0)
			return i - 1;
		else if (tokens->at[i].pair < i && tokens->at[i].pair > first)
			i = tokens->at[i].pair;
	}
	return first;
}

/* Is there at most std:: between a call's begin and its name? */
static bool is_plain(const struct co_tokens *tokens, size_t first, size_t name)
{
	first += first < name && co_token_is(tokens, first, "::");
	if (first + 2 == name)
		return co_token_is(tokens, first, "std") && co_token_is(tokens, first + 1, "::");
	return first == name;
}

static bool find_call(const struct rewrite *rewrite, struct site *site, size_t last)
{
	const struct co_tokens *tokens = &rewrite->tokens;
	const char *name = name_of(rewrite, site);

	if (!co_token_is(tokens, last, ")") || tokens->at[last].pair == CO_NO_TOKEN)
		return false;
	site->close = last;
	site->open = tokens->at[last].pair;
	if (site->open <= site->first)
		return false;
	site->name = site->open - 1;
	if (site->kind == CO_HELPER)
		site->name = before_template(tokens, site->name, site->first);
	if (site->name < site->first || tokens->at[site->name].kind != CO_NAME || !name ||
	    !co_token_is(tokens, site->name, name))
		return false;
	if (site->kind != CO_HELPER && !is_plain(tokens, site->first, site->name))
		return false;
	site->arguments = count_arguments(tokens, site->open, site->close);
	return true;
}

static bool find_new(const struct rewrite *rewrite, struct site *site, size_t last)
{
	const struct co_tokens *tokens = &rewrite->tokens;

	site->name = site->first + co_token_is(tokens, site->first, "::");
	return site->name <= last && co_token_is(tokens, site->name, "new");
}

/* Checks that the text is as expected. Frees of mam's heap, and delete, are never changed. */
static void find_text(const struct rewrite *rewrite, struct site *site)
{
	const struct co_node *node = site->node;
	size_t last;
	bool found;

	if (site->stuck || site->kind == CO_KFREE || site->kind == CO_OPERATOR_DELETE)
		return;
	site->first = co_token_from(&rewrite->tokens, node->begin);
	last = co_token_to(&rewrite->tokens, node->end);
	if (node->end > rewrite->program->bytes || site->first == CO_NO_TOKEN ||
	    last == CO_NO_TOKEN || last < site->first)
		found = false;
	else if (site->kind == CO_OPERATOR_NEW)
		found = find_new(rewrite, site, last);
	else
		found = find_call(rewrite, site, last);
	if (!found) {
		site->stuck = reads_otherwise;
		site->name = CO_NO_TOKEN;
	}
}

bool rewrite_find_sites(struct rewrite *rewrite, const struct co_judgement *judgement)
{
	rewrite->sites = co_arena_take(rewrite->edits->arena,
				       (judgement->count + 1) * sizeof(*rewrite->sites));
	if (!rewrite->sites)
		return false;
	for (size_t i = 0; i < judgement->count; i++)
		if (judgement->verdicts[i].node->in_file)
			rewrite->sites[rewrite->site_count++] =
				site_of(rewrite, &judgement->verdicts[i]);
	if (rewrite->site_count > 1)
		qsort(rewrite->sites, rewrite->site_count, sizeof(*rewrite->sites), by_place);
	merge_all(rewrite);
	for (size_t i = 0; i < rewrite->site_count; i++)
		find_text(rewrite, &rewrite->sites[i]);
	return true;
}
