/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_family.c - may malloc() and free() be changed?
 *
 * A free may get any pointer, so all calls of them in the device's code change, or none does. Calls
 * that were judged, and those in code that was not followed, are sites. The program also lists all
 * places that name these functions (front_uses.c); each must be the name of a site that can be
 * changed. new and delete need not be changed, as the header's operators take their place.
 *
 * O(places x log(sites)).
 */
#include "rewrite_parts.h"

bool rewrite_is_family(enum co_call_kind kind)
{
	return kind == CO_MALLOC || kind == CO_FREE || kind == CO_OPERATOR_NEW ||
	       kind == CO_OPERATOR_DELETE;
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

/* Is the name at a byte that of a call that will be rewritten? */
static bool is_site(const struct rewrite *rewrite, size_t byte)
{
	size_t low = 0, high = rewrite->site_count, begin;

	while (low < high) {
		size_t half = low + (high - low) / 2;

		if (rewrite->sites[half].node->begin <= byte)
			low = half + 1;
		else
			high = half;
	}
	/* Between a call's begin and its name there is at most ::std::, and no other call. */
	begin = low > 0 ? rewrite->sites[low - 1].node->begin : 0;
	for (; low > 0 && rewrite->sites[low - 1].node->begin == begin; low--) {
		const struct site *site = &rewrite->sites[low - 1];

		if ((site->kind == CO_MALLOC || site->kind == CO_FREE) && !site->stuck &&
		    site->name != CO_NO_TOKEN && rewrite->tokens.at[site->name].begin == byte)
			return true;
	}
	return false;
}

static const char *check_uses(struct rewrite *rewrite)
{
	for (size_t i = 0; i < rewrite->program->use_count; i++) {
		const struct co_use *use = &rewrite->program->uses[i];
		const char *said, *why = use->why;

		if (!why && is_site(rewrite, use->begin))
			continue;
		if (!why)
			why = "is not a call that can be changed";
		if (use->file)
			said = co_arena_print(rewrite->edits->arena, "%s at %s:%u %s", use->name,
					      use->file, use->line, why);
		else
			said = co_arena_print(rewrite->edits->arena, "%s at line %u %s", use->name,
					      use->line, why);
		rewrite->failed |= !said;
		return said ? said : "";
	}
	return NULL;
}

const char *rewrite_check_family(struct rewrite *rewrite)
{
	const char *why = check_sites(rewrite);

	if (!why)
		why = check_uses(rewrite);
	rewrite->has_family = !why;
	return why;
}
