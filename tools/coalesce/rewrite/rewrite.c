/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.c - see rewrite.h.
 *
 * 1. Sites are found, which of them can be changed, which functions get the parameter, and whether
 *    malloc's family is changed. The last is worthwhile if one of its requests becomes collective.
 * 2. Each site, each parameter, and the #include become edits. A collective site that is not
 *    changed becomes a line of `left`.
 * 3. Edits are sorted by place: an insertion at a byte precedes a replacement there. If two of them
 *    overlap, which no text should cause, nothing is changed at all.
 *
 * O(n log n) for n sites, plus helpers (rewrite_helpers.c); O(file size) to apply.
 */
#include "rewrite.h"

#include <stdlib.h>
#include <string.h>

#include "rewrite_parts.h"

#define EDITS_OF_SITE 3

static bool begin(struct rewrite *rewrite, const struct co_judgement *judgement)
{
	const struct co_program *program = rewrite->program;
	struct co_edits *edits = rewrite->edits;
	size_t sites = judgement->count, functions = program->function_count;

	edits->arena = co_arena_new();
	if (!edits->arena)
		return false;
	edits->edits = co_arena_take(edits->arena, (EDITS_OF_SITE * sites + functions + 1) *
							   sizeof(*edits->edits));
	edits->together = co_arena_take(edits->arena, (sites + 1) * sizeof(*edits->together));
	edits->left =
		co_arena_take(edits->arena, (2 * sites + functions + 1) * sizeof(*edits->left));
	return edits->edits && edits->left && edits->together &&
	       co_tokens_read(&rewrite->tokens, program->text, program->bytes, edits->arena) &&
	       rewrite_find_sites(rewrite, judgement);
}

bool rewrite_is_allocation(const struct site *site)
{
	return site->kind == CO_MALLOC || site->kind == CO_OPERATOR_NEW || site->kind == CO_KMALLOC;
}

static const char *call_of(const struct site *site)
{
	return site->kind == CO_MALLOC    ? "malloc"
	       : site->kind == CO_KMALLOC ? "mam_kmalloc"
					  : "new";
}

/*
 * Determines whether a request of malloc's family becomes collective, and records why others do
 * not; `blocked`: why none can be changed.
 */
static void check_worth(struct rewrite *rewrite, const char *blocked)
{
	for (size_t i = 0; i < rewrite->site_count; i++) {
		const struct site *site = &rewrite->sites[i];
		bool is_family = rewrite_is_family(site->kind);

		if (!rewrite_is_allocation(site))
			continue;
		if (rewrite_pass(rewrite, site) == PASS_NOTHING) {
			if (site->reached != CO_EACH)
				rewrite_put_left(rewrite, site->node->line,
						 "%s is left alone: its size may differ from "
						 "thread to thread",
						 call_of(site));
		} else if (is_family && blocked) {
			rewrite_put_left(rewrite, site->node->line, "%s is left alone: %s",
					 call_of(site), blocked);
		} else if (is_family) {
			rewrite->uses_family |= !site->stuck;
		}
	}
}

static int by_place(const void *a, const void *b)
{
	const struct co_edit *one = a, *other = b;

	if (one->begin != other->begin)
		return one->begin < other->begin ? -1 : 1;
	if (one->end != other->end)
		return one->end < other->end ? -1 : 1;
	return 0;
}

static bool are_apart(const struct co_edits *edits)
{
	for (size_t i = 1; i < edits->count; i++)
		if (edits->edits[i].begin < edits->edits[i - 1].end)
			return false;
	return true;
}

static void put_edits(struct rewrite *rewrite)
{
	struct co_edits *edits = rewrite->edits;

	for (size_t i = 0; i < rewrite->site_count; i++)
		rewrite_put_site(rewrite, &rewrite->sites[i]);
	for (size_t i = 0; i < rewrite->program->function_count; i++)
		if (rewrite->gets[i])
			rewrite_put_parameter(rewrite, (int)i);
	if (rewrite->uses_header || rewrite->uses_family)
		rewrite_put_head(rewrite);
	if (edits->count > 1)
		qsort(edits->edits, edits->count, sizeof(*edits->edits), by_place);
	if (are_apart(edits))
		return;
	edits->count = edits->together_count = 0;
	rewrite_put_left(rewrite, 1, "left alone: two changes would be at the same place");
}

struct co_edits *co_rewrite(const struct co_program *program, const struct co_judgement *judgement,
			    const char *const *library)
{
	struct co_edits *edits = calloc(1, sizeof(*edits));
	struct rewrite rewrite = { .program = program, .edits = edits };
	const char *blocked;

	(void)library; /* the judgement contains their calls */
	if (!edits)
		return NULL;
	if (!begin(&rewrite, judgement)) {
		co_edits_free(edits);
		return NULL;
	}
	rewrite.uses_new = program->has_new;
	for (size_t i = 0; i < judgement->count; i++)
		rewrite.uses_new |= judgement->verdicts[i].kind == CO_OPERATOR_NEW ||
				    judgement->verdicts[i].kind == CO_OPERATOR_DELETE;
	blocked = rewrite_check_family(&rewrite);
	rewrite_find_helpers(&rewrite);
	if (!rewrite.failed)
		check_worth(&rewrite, blocked);
	if (!rewrite.failed)
		put_edits(&rewrite);
	if (rewrite.failed) {
		co_edits_free(edits);
		return NULL;
	}
	return edits;
}

void co_edits_free(struct co_edits *edits)
{
	if (!edits)
		return;
	co_arena_free(edits->arena);
	free(edits);
}

char *co_edits_apply(const struct co_program *program, const struct co_edits *edits, size_t *bytes)
{
	size_t room = program->bytes, at = 0;
	char *text, *end;

	for (size_t i = 0; i < edits->count; i++)
		room += strlen(edits->edits[i].text) -
			(edits->edits[i].end - edits->edits[i].begin);
	text = end = malloc(room + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < edits->count; i++) {
		const struct co_edit *edit = &edits->edits[i];

		end = mempcpy(end, program->text + at, edit->begin - at);
		end = mempcpy(end, edit->text, strlen(edit->text));
		at = edit->end;
	}
	end = mempcpy(end, program->text + at, program->bytes - at);
	*end = '\0';
	*bytes = room;
	return text;
}
