/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_helpers.c - selects the functions that get the coalesce parameter.
 *
 * 1. Candidates are all functions in which threads reach an allocation together if the right
 *    callers do (`best`), and whose text allows the parameter: a definition in the file, no other
 *    use of its name except the calls that were found, and no `coalesce` in it.
 * 2. As long as one of them has no use for the parameter - nothing in it uses the parameter, or no
 *    caller has anything to pass - that one loses it.
 * 3. Arguments: if all threads of the block reach the call, MAM_COLLECTIVE_BLOCK; if those of the
 *    warp do, _WARP; if they do provided that the caller's callers do, the caller's own parameter;
 *    otherwise nothing, which means _ALONE.
 *
 * Source: Blach, Erhart, Memedi, Schaefer, "Coalescing Memory Allocations for GPU MPI", 3.1.
 *
 * Bound: O(functions * (functions + sites)) at worst, usually a few rounds; O(file size) for each
 * candidate.
 *
 * Invariant: only calls that all threads reach, which `best` and the sizes refer to, pass a scope
 * to a function. Passing a scope in fewer calls than possible is always correct, because the others
 * are ALONE.
 */
#include "rewrite_parts.h"

#include <string.h>

/* ---- arguments ------------------------------------------------------------------------------- */

static bool has_parameter(const struct rewrite *rewrite, int function)
{
	return function != CO_NONE && rewrite->gets[function];
}

static enum pass pass_of_helper(const struct rewrite *rewrite, const struct site *site)
{
	if (site->callee != CO_NONE && !has_parameter(rewrite, site->callee))
		return PASS_NOTHING;
	if (site->reached == CO_ALL)
		return PASS_BLOCK;
	if (site->reached == CO_WARP)
		return PASS_WARP;
	if (!has_parameter(rewrite, site->function) || site->best == CO_EACH)
		return PASS_NOTHING;
	return site->best == CO_ALL ? PASS_PARAMETER : PASS_PARAMETER_WARP;
}

/* All threads together request the same size; with mam_kmalloc() each may have its own. */
enum pass rewrite_pass(const struct rewrite *rewrite, const struct site *site)
{
	enum co_level size = site->kind == CO_KMALLOC ? CO_ALL : site->size;
	enum co_level reached = site->reached;
	bool by_parameter = false;

	if (site->kind == CO_HELPER)
		return pass_of_helper(rewrite, site);
	if (site->kind != CO_KMALLOC && site->kind != CO_MALLOC && site->kind != CO_OPERATOR_NEW)
		return PASS_NOTHING;
	if (reached == CO_EACH && has_parameter(rewrite, site->function)) {
		by_parameter = true;
		reached = site->best;
	}
	if (reached == CO_EACH || size == CO_EACH)
		return PASS_NOTHING;
	if (reached == CO_ALL && size == CO_ALL)
		return by_parameter ? PASS_PARAMETER : PASS_BLOCK;
	return by_parameter ? PASS_PARAMETER_WARP : PASS_WARP;
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* Is the name at token `i` that of a call that was found? */
static bool is_call(const struct rewrite *rewrite, int function, size_t i)
{
	for (size_t k = 0; k < rewrite->site_count; k++) {
		const struct site *site = &rewrite->sites[k];

		if (site->kind == CO_HELPER && site->callee == function && site->name == i)
			return true;
	}
	return false;
}

/* Is a byte in the part of a function before its body? */
static bool is_in_head(const struct co_function *it, size_t byte)
{
	return byte >= it->begin && byte < it->parameters_end;
}

/* Other uses of the function's name; NULL: there are none. */
static const char *check_names(const struct rewrite *rewrite, int function)
{
	const struct co_tokens *tokens = &rewrite->tokens;
	const struct co_function *it = &rewrite->program->functions[function];
	const char *name = rewrite_last_name(it->name);
	size_t own = 0;

	for (size_t i = 0; i < tokens->count; i++) {
		if (!co_token_is(tokens, i, name) || is_call(rewrite, function, i))
			continue;
		if (!is_in_head(it, tokens->at[i].begin))
			return "its name is used elsewhere in the file, too";
		own++;
	}
	return own == 1 ? NULL : "its name was not found where it should be";
}

static const char *check_head(const struct rewrite *rewrite, int function)
{
	const struct co_tokens *tokens = &rewrite->tokens;
	const struct co_function *it = &rewrite->program->functions[function];
	size_t close = co_token_from(tokens, it->parameters_end), open;

	if (!it->parameters_end || close == CO_NO_TOKEN || !co_token_is(tokens, close, ")") ||
	    tokens->at[close].pair == CO_NO_TOKEN)
		return "the end of its parameters was not found";
	open = tokens->at[close].pair;
	for (size_t i = open; i < close; i++)
		if (co_token_is(tokens, i, "..."))
			return "it takes any number of arguments";
	for (size_t i = co_token_behind(tokens, it->begin);
	     i < tokens->count && tokens->at[i].begin < it->end; i++)
		if (co_token_is(tokens, i, REWRITE_PARAMETER))
			return "it already uses the name " REWRITE_PARAMETER;
	return check_names(rewrite, function);
}

/* NULL: it may have the parameter. */
static const char *check_function(const struct rewrite *rewrite, int function)
{
	const struct co_function *it = &rewrite->program->functions[function];

	if (!it->in_file)
		return "it is in a file that is included";
	if (it->kernel)
		return "it is a kernel";
	for (size_t i = 0; i < rewrite->program->function_count; i++)
		if (rewrite_first_of(rewrite, (int)i) == function &&
		    rewrite->program->functions[i].is_virtual)
			return "it is virtual, or its address is taken";
	if (it->variadic)
		return "it takes any number of arguments";
	return check_head(rewrite, function);
}

/* ---- selection ------------------------------------------------------------------------------- */

static bool is_usable(const struct rewrite *rewrite, const struct site *site)
{
	return !site->stuck && (!rewrite_is_family(site->kind) || rewrite->has_family);
}

static bool is_by_parameter(enum pass pass)
{
	return pass == PASS_PARAMETER || pass == PASS_PARAMETER_WARP;
}

/*
 * For each function: whether it uses the parameter, and whether any caller passes a scope. A caller
 * that passes on its own parameter counts only if it gets a scope itself.
 */
static void find_uses(const struct rewrite *rewrite, bool *takes, bool *told)
{
	bool changed = true;

	memset(takes, 0, rewrite->program->function_count * sizeof(*takes));
	memset(told, 0, rewrite->program->function_count * sizeof(*told));
	while (changed) {
		changed = false;
		for (size_t i = 0; i < rewrite->site_count; i++) {
			const struct site *site = &rewrite->sites[i];
			enum pass pass = rewrite_pass(rewrite, site);

			if (pass == PASS_NOTHING || !is_usable(rewrite, site))
				continue;
			if (is_by_parameter(pass))
				takes[site->function] = true;
			if (site->kind != CO_HELPER || site->callee == CO_NONE ||
			    told[site->callee] || (is_by_parameter(pass) && !told[site->function]))
				continue;
			told[site->callee] = true;
			changed = true;
		}
	}
}

/* Removes the parameter from functions that have no use for it, until all have. */
static void lose_idle(struct rewrite *rewrite, bool *takes, bool *told)
{
	bool changed = true;

	while (changed) {
		changed = false;
		find_uses(rewrite, takes, told);
		for (size_t i = 0; i < rewrite->program->function_count; i++) {
			if (!rewrite->gets[i] || (takes[i] && told[i]))
				continue;
			rewrite->gets[i] = false;
			changed = true;
		}
	}
}

/*
 * A call of a helper must have as many arguments as the helper has parameters. Otherwise the added
 * one would be taken for another.
 */
static void check_arguments(struct rewrite *rewrite)
{
	for (size_t i = 0; i < rewrite->site_count; i++) {
		struct site *site = &rewrite->sites[i];

		if (site->kind != CO_HELPER || site->stuck || site->callee == CO_NONE)
			continue;
		if (site->arguments == CO_NO_TOKEN)
			site->stuck = "it is not clear where its arguments end";
		else if (site->arguments !=
			 rewrite->program->functions[site->callee].parameter_count)
			site->stuck = "it leaves out arguments that have a default";
	}
}

void rewrite_find_helpers(struct rewrite *rewrite)
{
	const size_t count = rewrite->program->function_count;
	struct co_arena *arena = rewrite->edits->arena;
	bool *takes = co_arena_take(arena, count), *told = co_arena_take(arena, count);

	rewrite->gets = co_arena_take(arena, count);
	if (!takes || !told || !rewrite->gets) {
		rewrite->failed = true;
		return;
	}
	check_arguments(rewrite);
	/* The functions that would use it, if all could have it. */
	for (size_t i = 0; i < rewrite->site_count; i++)
		if (rewrite->sites[i].reached == CO_EACH && rewrite->sites[i].best != CO_EACH &&
		    rewrite->sites[i].function != CO_NONE)
			rewrite->gets[rewrite->sites[i].function] = true;
	lose_idle(rewrite, takes, told);
	for (size_t i = 0; i < count; i++) {
		const char *why = rewrite->gets[i] ? check_function(rewrite, (int)i) : NULL;

		if (!why)
			continue;
		rewrite->gets[i] = false;
		rewrite_put_left(rewrite, rewrite->program->functions[i].line,
				 "%s does not get the parameter " REWRITE_PARAMETER ": %s",
				 rewrite->program->functions[i].name, why);
	}
	lose_idle(rewrite, takes, told);
}
