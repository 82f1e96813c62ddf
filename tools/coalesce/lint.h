/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lint.h - prints the verdicts for editors and code scanners.
 */
#ifndef MAM_TOOLS_COALESCE_LINT_H
#define MAM_TOOLS_COALESCE_LINT_H

#include <stdbool.h>
#include <stdio.h>

#include "coalesce/rewrite/decide.h"

/* co_lint_put - prints warnings and notes in the format of clang and gcc */
void co_lint_put(FILE *file, const struct co_program *program, const struct co_decision *decision);

/* SARIF 2.1.0: one log for all files. `any`: false before the first result. */
void co_sarif_begin(FILE *file);
void co_sarif_put(FILE *file, const struct co_program *program, const struct co_decision *decision,
		  bool *any);
void co_sarif_end(FILE *file);

#endif
