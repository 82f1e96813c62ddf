/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_family.c - may malloc() and free() be changed?
 *
 * A free may get any pointer, so all of them in the device's code change, or none. That is not only
 * what was judged: each function's text is searched for these names, as they may stand where nobody
 * looked - in what #if leaves out, in a lambda, as the address of a function. new and delete need
 * not be changed, as the header's operators take their place. Functions of included files are not
 * judged, and cannot be changed: those that the file's functions may come to are searched by their
 * trees.
 *
 * O(the file) for each function that encloses others, so mostly O(the file).
 */
#include "rewrite_parts.h"

#include <string.h>

#define DEEPEST 4000u /* levels of a tree that are looked at */

bool rewrite_is_family(enum co_call_kind kind)
{
	return kind == CO_MALLOC || kind == CO_FREE || kind == CO_OPERATOR_NEW ||
	       kind == CO_OPERATOR_DELETE;
}

static const char *say(struct rewrite *rewrite, const char *name, size_t token, const char *why)
{
	const char *text = rewrite->tokens.text, *end = text + rewrite->tokens.at[token].begin;
	unsigned int line = 1;
	char *said;

	for (; (text = memchr(text, '\n', (size_t)(end - text))) != NULL; text++)
		line++;
	said = co_arena_print(rewrite->edits->arena, "%s at line %u %s", name, line, why);
	rewrite->failed |= !said;
	return said ? said : "";
}

/* What is another thing of this name: a member, somebody's own, a variable. */
static bool is_other(const struct rewrite *rewrite, size_t i, size_t function)
{
	static const char *const not_scopes[] = { "std", "return", "else", "do", NULL };
	const struct co_tokens *tokens = &rewrite->tokens;
	const struct co_program *program = rewrite->program;

	if (i > 0 && (co_token_is(tokens, i - 1, ".") || co_token_is(tokens, i - 1, "->")))
		return true;
	if (i > 1 && co_token_is(tokens, i - 1, "::") && tokens->at[i - 2].kind == CO_NAME &&
	    !co_token_is_one(tokens, i - 2, not_scopes))
		return true;
	for (size_t k = 0; k < program->variable_count; k++)
		if (program->variables[k].owner == (int)function &&
		    co_token_is(tokens, i, program->variables[k].name))
			return true;
	return false;
}

/* Is the name at token `i` one of a site that can be changed? Sites are in order of place. */
static bool is_site(const struct rewrite *rewrite, size_t i)
{
	size_t low = 0, high = rewrite->site_count;

	/* A call's first token is its name, or std:: in front of it. */
	while (low < high) {
		size_t half = low + (high - low) / 2;

		if (rewrite->sites[half].node->begin <= rewrite->tokens.at[i].begin)
			low = half + 1;
		else
			high = half;
	}
	for (; low > 0; low--) {
		const struct site *site = &rewrite->sites[low - 1];

		if ((site->kind == CO_MALLOC || site->kind == CO_FREE) && !site->stuck &&
		    site->name == i)
			return true;
		if (i >= 3 && site->node->begin < rewrite->tokens.at[i - 3].begin)
			return false;
	}
	return false;
}

static const char *check_text(struct rewrite *rewrite, size_t function)
{
	static const char *const names[] = { "malloc", "free", "__nv_aligned_device_malloc" };
	const struct co_function *it = &rewrite->program->functions[function];
	const struct co_tokens *tokens = &rewrite->tokens;

	for (size_t i = co_token_behind(tokens, it->begin);
	     i < tokens->count && tokens->at[i].begin < it->end; i++)
		for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
			if (co_token_is(tokens, i, names[k]) && !is_site(rewrite, i) &&
			    !is_other(rewrite, i, function))
				return say(rewrite, names[k], i,
					   "is none of the calls that were found");
	return NULL;
}

/* A lambda for the device in a function of the host is in no function that was read. */
static const char *check_lambdas(struct rewrite *rewrite)
{
	const struct co_tokens *tokens = &rewrite->tokens;

	for (size_t i = 1; i < tokens->count; i++)
		if (co_token_is(tokens, i, "__device__") && co_token_is(tokens, i - 1, "]") &&
		    tokens->at[i - 1].pair != CO_NO_TOKEN)
			return say(rewrite, "the lambda", i, "may call them, too");
	return NULL;
}

static const char *check_sites(struct rewrite *rewrite)
{
	for (size_t i = 0; i < rewrite->site_count; i++) {
		const struct site *site = &rewrite->sites[i];
		const char *said;

		if (!site->stuck || (site->kind != CO_MALLOC && site->kind != CO_FREE))
			continue;
		said = co_arena_print(rewrite->edits->arena, "%s at line %u cannot be changed: %s",
				      site->kind == CO_MALLOC ? "malloc" : "free", site->node->line,
				      site->stuck);
		rewrite->failed |= !said;
		return said ? said : "";
	}
	return NULL;
}

/* ---- what is included ------------------------------------------------------------------------ */

struct search {
	const struct co_program *program;
	bool *seen; /* a function that the file's may come to */
	int *queue; /* of those, in the order of their finding */
	size_t count;
	bool found; /* one that is included calls malloc or free */
};

static void come_to(struct search *search, int function)
{
	if (function < 0 || (size_t)function >= search->program->function_count ||
	    search->seen[function])
		return;
	search->seen[function] = true;
	search->queue[search->count++] = function;
}

/* Of the calls in a tree: whom they call, and, of what is included, whether it is one of ours. */
static void look(struct search *search, const struct co_node *node, bool is_included,
		 unsigned int depth)
{
	const char *name;

	if (node && depth > DEEPEST)
		search->found = true; /* who knows */
	for (; node && depth <= DEEPEST; node = node->next) {
		name = rewrite_last_name(node->name);
		if (node->kind == CO_CALL)
			come_to(search, node->function);
		if (node->kind == CO_CALL && node->function == CO_NONE && is_included && name &&
		    (strcmp(name, "malloc") == 0 || strcmp(name, "free") == 0))
			search->found = true;
		look(search, node->first, is_included, depth + 1);
	}
}

/* mam's own headers know what they do, and operators are replaced. */
static bool is_ours(const char *name)
{
	return strncmp(rewrite_last_name(name), "mam_", 4) == 0 ||
	       strncmp(rewrite_last_name(name), "operator ", 9) == 0;
}

static const char *check_included(struct rewrite *rewrite)
{
	const struct co_program *program = rewrite->program;
	struct search search = { .program = program };

	search.seen = co_arena_take(rewrite->edits->arena, program->function_count);
	search.queue = co_arena_take(rewrite->edits->arena,
				     program->function_count * sizeof(*search.queue));
	if (!search.seen || !search.queue) {
		rewrite->failed = true;
		return "";
	}
	for (size_t i = 0; i < program->function_count; i++)
		if (program->functions[i].in_file || program->functions[i].is_virtual)
			come_to(&search, (int)i);
	for (size_t i = 0; i < search.count && !search.found; i++) {
		const struct co_function *it = &program->functions[search.queue[i]];

		if (it->in_file || !is_ours(it->name))
			look(&search, it->body, !it->in_file, 0);
	}
	return search.found ? "a function of an included file calls malloc or free, too" : NULL;
}

const char *rewrite_check_family(struct rewrite *rewrite)
{
	const struct co_program *program = rewrite->program;
	const char *why = check_sites(rewrite);

	for (size_t i = 0; i < program->function_count && !why; i++)
		if (program->functions[i].in_file && rewrite_first_of(rewrite, (int)i) == (int)i)
			why = check_text(rewrite, i);
	if (!why)
		why = check_lambdas(rewrite);
	if (!why)
		why = check_included(rewrite);
	rewrite->has_family = !why;
	return why;
}
