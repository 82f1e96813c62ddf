/* SPDX-License-Identifier: Apache-2.0 */
/*
 * judge.h - analyzes which threads reach an allocation, and whether they request the same size.
 *
 * Level of a value, or of a place in the code: CO_ALL - uniform in the block: the value is the same
 * for all threads, and all of them reach the place or none does; CO_WARP - the same within a warp;
 * CO_EACH - divergent: it may differ between threads.
 *
 * Source: N. Blach, M. Erhart, F. Memedi, A. Schaefer, "Coalescing Memory Allocations for GPU MPI",
 * section 3.1, which matches simple patterns. The analysis of levels is our own. It follows the
 * uniformity analyses of GPU compilers (e.g. Coutinho, Sampaio, Pereira, Meira: "Divergence
 * analysis and optimizations", PACT 2011).
 *
 * Invariant: a verdict of `block` or `warp`, or a size of `uniform`, is proven. Anything unknown
 * results in `none` or `varying`.
 */
#ifndef MAM_TOOLS_COALESCE_JUDGE_H
#define MAM_TOOLS_COALESCE_JUDGE_H

#include "coalesce/program.h"

enum co_level { CO_ALL, CO_WARP, CO_EACH }; /* a greater level claims less */

enum co_call_kind {
	CO_MALLOC,  /* malloc(bytes) */
	CO_KMALLOC, /* mam_kmalloc(heap, bytes) */
	CO_OPERATOR_NEW,
	CO_FREE, /* free, mam_kfree, delete: not judged, listed for the rewriter */
	CO_KFREE,
	CO_OPERATOR_DELETE,
	CO_HELPER,  /* a call of a function that allocates, itself or in its callees */
	CO_STRANGER /* none of these; it is not in a judgement */
};

/*
 * One call. If its function is called from several places, the verdict holds for all of them
 * together.
 */
struct co_verdict {
	enum co_call_kind kind;
	const struct co_node *node; /* CO_CALL, CO_NEW, CO_DELETE */
	int function;               /* the containing function */
	enum co_level reached;      /* CO_ALL: "block"; CO_WARP: "warp"; CO_EACH: "none" */
	enum co_level size;         /* "uniform" for that scope; CO_EACH: "varying" */
	/*
	 * With the coalesce parameter: the value of `reached` without those calls of its function
	 * that cannot pass "all threads are here". These pass 0. Not less than `reached`.
	 */
	enum co_level best;
	/* In another instance of the template this place calls something else. */
	bool mixed;
	const char *reason; /* one sentence, without a full stop; lives as long as the judgement */
	unsigned int reason_line; /* the line that it refers to, 0: none */
};

struct co_judgement {
	struct co_verdict *verdicts; /* in the order of the file */
	size_t count;
	struct co_arena *arena;
};

/* A range of the file's text; arrays of them are sorted. */
struct co_place {
	size_t begin, end;
};

/*
 * co_judge - `library` (NULL-terminated) names functions without a body that are known to take the
 * coalesce parameter; calls of them are CO_HELPER. NULL: memory ran out.
 */
struct co_judgement *co_judge(const struct co_program *program, const char *const *library);
/*
 * co_judge_together - the same, but assumes of the allocations at `together` that either all
 * threads of the block get memory there or none does, so that all of them see NULL or none.
 */
struct co_judgement *co_judge_together(const struct co_program *program, const char *const *library,
				       const struct co_place *together, size_t count);
void co_judgement_free(struct co_judgement *judgement);

#endif
