/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_parts.h - what the parts of the rewriter share.
 *
 *   1. rewrite_sites.c makes a site of each judged call: one place of the text, for all instances
 *      of a template together. It finds the name and the parentheses of the call there.
 *   2. rewrite_family.c determines whether all calls of malloc() and free() can be changed.
 *   3. rewrite_helpers.c selects the functions that get the coalesce parameter.
 *   4. rewrite_edits.c creates the edits, rewrite_head.c the #include.
 *   5. rewrite.c sorts the edits.
 *
 * Invariant: a site is changed only if its text is as expected. A site that is not understood is
 * stuck, with a reason.
 */
#ifndef MAM_TOOLS_COALESCE_REWRITE_PARTS_H
#define MAM_TOOLS_COALESCE_REWRITE_PARTS_H

#include "coalesce/arena.h"
#include "rewrite.h"
#include "rewrite_text.h"

/* Names that collective.cuh declares and the rewritten code uses. */
#define REWRITE_PARAMETER "coalesce"
#define REWRITE_TYPE "enum mam_coalesce"
#define REWRITE_HEADER "mam/collective.cuh"

struct site {
	enum co_call_kind kind;
	const struct co_node *node;
	int function; /* the containing function; of a template, the first instance */
	int callee;   /* CO_HELPER: the called one, likewise; CO_NONE: a library's */
	enum co_level reached, size, best; /* as in a verdict, the greatest of all instances */
	const char *stuck;                 /* why it cannot be changed; NULL: it can */
	/* Tokens: */
	size_t first, name; /* the begin, including std::, and the name itself, or `new` */
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
	bool *gets; /* per function (numbered like a site's `function`): it gets the parameter */
	struct co_edits *edits;
	bool failed; /* memory ran out */
};

/* The argument of a call, ordered by value. */
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
/* Sets has_family. Returns the reason if it is false; "" if memory ran out. */
const char *rewrite_check_family(struct rewrite *rewrite);

/* ---- rewrite_helpers.c ----------------------------------------------------------------------- */

/* The argument of an allocation, or of a call of a helper, for the current `gets`. */
enum pass rewrite_pass(const struct rewrite *rewrite, const struct site *site);
/* Sets `gets`, and records which functions do not get the parameter. */
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
