/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h - the file with its collective allocations made collective.
 *
 * mam_kmalloc(heap, n) becomes mam_kmalloc_block(heap, n) or mam_kmalloc_warp(heap, n), with n
 * rounded up to 16, as parts lie side by side; mam_kfree() takes them as it is. malloc(n) becomes
 * mam_cmalloc(n, MAM_COLLECTIVE_BLOCK, _WARP or _ALONE), new T new (MAM_COLLECTIVE_BLOCK) T, and
 * then every malloc, free, new and delete in the file's device code goes by mam_cmalloc() and
 * mam_cfree() (include/mam/collective.cuh, whose operators new and delete take the place of
 * CUDA's), as a pointer may come from any of them; or none is changed, with a reason, where one of
 * them cannot be.
 *
 * A function that is called by all from one place and by some from another has the optional
 * coalesce parameter of the paper: enum mam_coalesce coalesce = MAM_COLLECTIVE_ALONE, last; its
 * calls pass it.
 */
#ifndef MAM_TOOLS_COALESCE_REWRITE_H
#define MAM_TOOLS_COALESCE_REWRITE_H

#include "judge.h"

struct co_edit {
	size_t begin, end; /* bytes of the file that go; equal: none */
	const char *text;  /* what comes */
};

struct co_edits {
	struct co_edit *edits; /* in order, apart from each other */
	size_t count;
	/* "path:line: why": calls that are left alone though they are collective */
	const char **left;
	size_t left_count;
	/* Allocations that all threads of a block make with one request now, all of them or none */
	struct co_place *together;
	size_t together_count;
	struct co_arena *arena;
};

/* NULL: memory ran out. */
struct co_edits *co_rewrite(const struct co_program *program, const struct co_judgement *judgement,
			    const char *const *library);
void co_edits_free(struct co_edits *edits);
/* The new text, for free(); NULL: memory ran out. */
char *co_edits_apply(const struct co_program *program, const struct co_edits *edits, size_t *bytes);

/* diff.h: a unified diff of two texts, with three lines around; nothing where they are equal. */

#endif
