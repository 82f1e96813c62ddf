/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_parts.h - what the parts of the rewriter share.
 *
 *   1. rewrite_sites.c makes a site of each call that was judged: one place of the text, of all
 *      instances of a template together, and finds its name and its brackets there.
 *   2. rewrite_family.c says whether all calls of malloc() and free() can be changed.
 *   3. rewrite_helpers.c says which functions get the coalesce parameter.
 *   4. rewrite_edits.c writes what changes; rewrite_head.c the #include.
 *   5. rewrite.c puts edits in order.
 *
 * What must hold: a site is changed only if the text there reads as it should; what is not
 * understood is stuck, with a reason.
 */
#ifndef MAM_TOOLS_COALESCE_REWRITE_PARTS_H
#define MAM_TOOLS_COALESCE_REWRITE_PARTS_H

#include "arena.h"
#include "rewrite.h"
#include "rewrite_text.h"

/* Names that the rewritten code knows from collective.cuh. */
#define REWRITE_PARAMETER "coalesce"
#define REWRITE_TYPE "enum mam_coalesce"
#define REWRITE_HEADER "mam/collective.cuh"

struct site {
	enum co_call_kind kind;
	const struct co_node *node;
	int function; /* where it is; of a template, the first instance */
	int callee;   /* CO_HELPER: what is called, the same; CO_NONE: a library's */
	enum co_level reached, size, best; /* as in a verdict, the greatest of all instances */
	const char *stuck;                 /* why it cannot be changed; NULL: it can */
	/* Tokens: */
	size_t first, name; /* the begin, with std::, and the name itself, or `new` */
	size_t open, close; /* of the arguments */
	size_t arguments;
};

struct rewrite {
	const struct co_program *program;
	struct co_tokens tokens;
	struct site *sites; /* by place in the file */
	size_t site_count;
	bool has_family; /* all of malloc's family can be changed */
	bool uses_family, uses_new, uses_header;
	bool *gets; /* a function: it gets the parameter; as `function` of a site is numbered */
	struct co_edits *edits;
	bool failed; /* memory ran out */
};

/* What is passed; in the order of what it is worth. */
enum pass { PASS_NOTHING, PASS_WARP, PASS_BLOCK, PASS_PARAMETER_WARP, PASS_PARAMETER };

/* ---- rewrite.c ------------------------------------------------------------------------------- */

bool rewrite_is_allocation(const struct site *site);

/* ---- rewrite_sites.c ------------------------------------------------------------------------- */

/* False: memory ran out. */
bool rewrite_find_sites(struct rewrite *rewrite, const struct co_judgement *judgement);
int rewrite_first_of(const struct rewrite *rewrite, int function); /* of its template */
const char *rewrite_last_name(const char *name);                   /* "f" of "ns::f" */

/* ---- rewrite_family.c ------------------------------------------------------------------------ */

bool rewrite_is_family(enum co_call_kind kind);
/* Sets has_family; if not, why: a sentence, which is "" if memory ran out. */
const char *rewrite_check_family(struct rewrite *rewrite);

/* ---- rewrite_helpers.c ----------------------------------------------------------------------- */

/* What an allocation, or a call of a helper, is to be told, as things stand in `gets`. */
enum pass rewrite_pass(const struct rewrite *rewrite, const struct site *site);
/* Sets `gets`, and says which functions were left without. */
void rewrite_find_helpers(struct rewrite *rewrite);

/* ---- rewrite_edits.c ------------------------------------------------------------------------- */

void rewrite_put_edit(struct rewrite *rewrite, size_t begin, size_t end, const char *text);
void rewrite_put_left(struct rewrite *rewrite, unsigned int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void rewrite_put_site(struct rewrite *rewrite, const struct site *site);
void rewrite_put_parameter(struct rewrite *rewrite, int function);

/* ---- rewrite_head.c -------------------------------------------------------------------------- */

void rewrite_put_head(struct rewrite *rewrite);

#endif
