/* SPDX-License-Identifier: Apache-2.0 */
/*
 * front_build.c - texts that a build may make of a source, but that a single parse does not show.
 *
 * 1. Files that are linked as device code (-rdc=true, -dc, -fgpu-rdc) may call each other's
 *    functions: any code may call a function with external linkage. Otherwise a compiler takes each
 *    file as a whole program, and so does mam.
 * 2. A source is compiled once for each architecture, and __CUDA_ARCH__ may select another text in
 *    each. If the flags name one architecture, the source is parsed for it. If they name none, or
 *    several, the source must not depend on it: a comparison has the same result for all
 *    architectures from OLDEST up if it is against OLDEST or less. Any other use of the name is
 *    refused.
 *
 * Bound: linear in the flags, the source and its own headers; system headers are excluded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/front/front.h"

#define OLDEST 700 /* minimum of mam's own headers */

static const char *value_of(const char *const *flags, size_t count, size_t i, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(flags[i], name, length) != 0)
		return NULL;
	if (flags[i][length] == '=')
		return flags[i] + length + 1;
	return flags[i][length] == '\0' && i + 1 < count ? flags[i + 1] : NULL;
}

bool front_is_linked(const char *const *flags, size_t count)
{
	static const char *const alone[] = { "-dc", "--device-c", "-fgpu-rdc", "-fcuda-rdc" };
	static const char *const valued[] = { "-rdc", "--relocatable-device-code" };
	size_t i, k;

	for (i = 0; i < count; i++) {
		for (k = 0; k < sizeof(alone) / sizeof(alone[0]); k++)
			if (strcmp(flags[i], alone[k]) == 0)
				return true;
		for (k = 0; k < sizeof(valued) / sizeof(valued[0]); k++) {
			const char *value = value_of(flags, count, i, valued[k]);

			if (value != NULL && strcmp(value, "false") != 0)
				return true;
		}
	}
	return false;
}

int front_architecture(const char *const *flags, size_t count)
{
	static const char *const names[] = { "-arch",           "--gpu-architecture",
					     "-gencode",        "--generate-code",
					     "--cuda-gpu-arch", "--offload-arch" };
	int found = 0;
	size_t i, k;

	for (i = 0; i < count; i++)
		for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
			const char *value = value_of(flags, count, i, names[k]), *number;
			int one;

			if (value == NULL)
				continue;
			number = strchr(value, '_');
			one = number != NULL ? 10 * atoi(number + 1) : 0;
			if (one <= 0 || one > 9990 || (found != 0 && found != one))
				return FRONT_SEVERAL;
			found = one;
		}
	return found;
}

/* ---- does the source depend on it? ----------------------------------------------------------- */

/* True if the condition with the "__CUDA_ARCH__" at token `i` is the same for all architectures. */
static bool is_same_for_all(const struct front_text *text, size_t i)
{
	const bool parenthesis = i > 0 && front_token_is(text, i - 1, "(");
	const size_t before = parenthesis ? i - 1 : i;
	long number;

	if (before > 0 && (front_token_is(text, before - 1, "defined") ||
			   (!parenthesis && (front_token_is(text, i - 1, "ifdef") ||
					     front_token_is(text, i - 1, "ifndef")))))
		return true;
	if (i + 2 >= text->count ||
	    (i > 0 && !parenthesis && !front_token_is(text, i - 1, "&&") &&
	     !front_token_is(text, i - 1, "||") && !front_token_is(text, i - 1, "if") &&
	     !front_token_is(text, i - 1, "elif")))
		return false;
	number = strtol(text->text + text->tokens[i + 2].begin, NULL, 0);
	/* The comparison must end after the number, unlike in 700 + 200. */
	if (i + 3 < text->count && !front_token_is(text, i + 3, ")") &&
	    !front_token_is(text, i + 3, "&&") && !front_token_is(text, i + 3, "||") &&
	    memchr(text->text + text->tokens[i + 2].end, '\n',
		   text->tokens[i + 3].begin - text->tokens[i + 2].end) == NULL)
		return false;
	if (front_token_is(text, i + 1, ">=") || front_token_is(text, i + 1, "<"))
		return number > 0 && number <= OLDEST;
	if (front_token_is(text, i + 1, ">") || front_token_is(text, i + 1, "<="))
		return number > 0 && number < OLDEST;
	return false;
}

struct search {
	struct front *f;
	char *why;
	size_t why_bytes;
	bool found;
};

static void look(CXFile file, CXSourceLocation *stack, unsigned int depth, CXClientData data)
{
	struct search *search = data;
	const struct front_text *text;
	CXSourceLocation begin = clang_getLocationForOffset(search->f->unit, file, 0);
	size_t i;

	(void)stack;
	(void)depth;
	if (search->found || clang_Location_isInSystemHeader(begin))
		return;
	text = front_text(search->f, file);
	for (i = 0; text != NULL && i < text->count && !search->found; i++)
		if (front_token_is(text, i, "__CUDA_ARCH__") && !is_same_for_all(text, i)) {
			struct front_place at = front_expanded(clang_getLocationForOffset(
				search->f->unit, file, text->tokens[i].begin));
			CXString name = clang_getFileName(file);

			snprintf(search->why, search->why_bytes,
				 "%s:%u: the compiled code depends on __CUDA_ARCH__; pass the one "
				 "architecture that you build for after --, e.g. -arch=sm_80",
				 clang_getCString(name), at.line);
			clang_disposeString(name);
			search->found = true;
		}
}

bool front_asks_architecture(struct front *f, char *why, size_t why_bytes)
{
	struct search search = { f, why, why_bytes, false };

	clang_getInclusions(f->unit, look, &search);
	return search.found;
}
