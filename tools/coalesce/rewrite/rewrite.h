/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h - rewrites a file so that its collective allocations become single requests.
 *
 * mam_kmalloc(heap, n) becomes mam_kmalloc_block(heap, n) or mam_kmalloc_warp(heap, n), with n
 * rounded up to 16, because parts are adjacent; mam_kfree() accepts the parts without a change.
 * malloc(n) becomes mam_cmalloc(n, MAM_COLLECTIVE_BLOCK, _WARP or _ALONE), and new T becomes new
 * (MAM_COLLECTIVE_BLOCK) T. Then every malloc, free, new and delete in the file's device code uses
 * mam_cmalloc() and mam_cfree() (include/mam/collective.cuh, whose operators new and delete replace
 * CUDA's), because a pointer may come from any of them. If one of them cannot be changed, none is,
 * and the reason is reported.
 *
 * A function that all threads call from one place and only some from another gets the optional
 * coalesce parameter of the paper as its last one: enum mam_coalesce coalesce =
 * MAM_COLLECTIVE_ALONE. Its calls pass it.
 */
#ifndef MAM_TOOLS_COALESCE_REWRITE_H
#define MAM_TOOLS_COALESCE_REWRITE_H

#include "coalesce/judge/judge.h"

struct co_edit {
	size_t begin, end; /* bytes of the file to remove; equal: none */
	const char *text;  /* the replacement */
};

struct co_edits {
	struct co_edit *edits; /* in order, without overlap */
	size_t count;
	/* "path:line: why": collective calls that are not changed */
	const char **left;
	size_t left_count;
	/*
	 * Allocations that become one request of all threads of a block, where all or none get
	 * memory
	 */
	struct co_place *together;
	size_t together_count;
	struct co_arena *arena;
};

/* NULL: memory ran out. */
struct co_edits *co_rewrite(const struct co_program *program, const struct co_judgement *judgement,
			    const char *const *library);
void co_edits_free(struct co_edits *edits);
/* The new text, to be freed by free(); NULL: memory ran out. */
char *co_edits_apply(const struct co_program *program, const struct co_edits *edits, size_t *bytes);

/* diff.h prints a unified diff of the two texts. */

#endif
