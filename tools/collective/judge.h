/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h - which threads come to an allocation, and whether they want the same size.
 *
 * Level of a value, or of a place in the code: CO_ALL - the same for all threads of a block, who all
 * come or none does; CO_WARP - of a warp; CO_EACH - each thread its own.
 *
 * Source: N. Blach, M. Erhart, F. Memedi, A. Schaefer, "Coalescing Memory Allocations for GPU MPI",
 * section 3.1, which matches simple patterns; the analysis of levels is ours, after the uniformity
 * analyses of GPU compilers (e.g. Coutinho, Sampaio, Pereira, Meira: "Divergence analysis and
 * optimizations", PACT 2011).
 *
 * What must hold: a verdict of `block` or `warp`, or a size of `uniform`, is a proof. Anything that is
 * not known makes it `none`, `varying`.
 */
#ifndef MAM_TOOLS_COALESCE_JUDGE_H
#define MAM_TOOLS_COALESCE_JUDGE_H

#include "program.h"

enum co_level { CO_ALL, CO_WARP, CO_EACH }; /* the greater, the less is known */

enum co_call_kind {
	CO_MALLOC,  /* malloc(bytes) */
	CO_KMALLOC, /* mam_kmalloc(heap, bytes) */
	CO_OPERATOR_NEW,
	CO_FREE, /* free, mam_kfree, delete: not judged, listed for who rewrites */
	CO_KFREE,
	CO_OPERATOR_DELETE,
	CO_HELPER, /* a call of a function in which somebody allocates */
	CO_STRANGER /* none of these; it is in no judgement */
};

/* One call; of a function that is called from several places, judged for all of them together. */
struct co_verdict {
	enum co_call_kind kind;
	const struct co_node *node; /* CO_CALL, CO_NEW, CO_DELETE */
	int function;               /* where it stands */
	enum co_level reached;      /* CO_ALL: "block"; CO_WARP: "warp"; CO_EACH: "none" */
	enum co_level size;         /* CO_ALL and CO_WARP: "uniform", for that scope; CO_EACH: "varying" */
	/*
	 * With the coalesce parameter: what `reached` is where all calls of its function that cannot
	 * pass "all come" are left aside, who then pass 0. Not less than `reached`.
	 */
	enum co_level best;
	/* A template's, of whom another instance calls something else at this place of the text. */
	bool mixed;
	const char *reason; /* one sentence, without a full stop; lives as long as the judgement */
	unsigned int reason_line; /* the line it speaks of, 0: none */
};

struct co_judgement {
	struct co_verdict *verdicts; /* in the order of the file */
	size_t count;
	struct co_arena *arena;
};

/* A place in the file's text; in arrays of them, in order. */
struct co_place {
	size_t begin, end;
};

/*
 * co_judge - `library` names functions without a body of whom it is known that they take the
 * coalesce parameter, NULL ends it; they are CO_HELPER. NULL: memory ran out.
 */
struct co_judgement *co_judge(const struct co_program *program, const char *const *library);
/*
 * co_judge_together - the same, of allocations at `together` (judge_together.c) it is promised that
 * either all threads of the block get memory there, or none does; so all of them see NULL, or none.
 */
struct co_judgement *co_judge_together(const struct co_program *program,
				       const char *const *library,
				       const struct co_place *together, size_t count);
void co_judgement_free(struct co_judgement *judgement);

#endif
