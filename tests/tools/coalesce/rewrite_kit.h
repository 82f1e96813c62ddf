/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite_kit.h - shared by the tests of the rewriter: a program is a text whose functions and
 * calls are located by their text, with verdicts given by hand.
 *
 *	kit_text("#include <a>
 * __global__ void k() { p = malloc(4); }
 * ");
 *	kit_function("k", "__global__ void k(", true);
 *	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
 *	kit_expect("#include <a>
 * #include ...", "");
 *
 * Each rewriting is repeated with each of its allocations failing. It must then return nothing and
 * leak nothing.
 */
#ifndef MAM_TESTS_COALESCE_TOOL_REWRITE_KIT_H
#define MAM_TESTS_COALESCE_TOOL_REWRITE_KIT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/arena.h"
#include "coalesce/rewrite/rewrite.h"
#include "tools/failing.h"

#define KIT_MAX 32

static struct co_program *kit_program;
static struct co_verdict kit_verdicts[KIT_MAX];
static struct co_judgement kit_judgement;

static inline void kit_end(void)
{
	failing_left = -1;
	co_program_free(kit_program);
	kit_program = NULL;
}

static inline void kit_text(const char *text)
{
	kit_end();
	kit_program = co_program_new("a.cu");
	ck_assert_ptr_nonnull(kit_program);
	kit_program->text = co_text_new(kit_program, text, strlen(text));
	ck_assert_ptr_nonnull(kit_program->text);
	kit_program->bytes = strlen(text);
	kit_judgement = (struct co_judgement){ kit_verdicts, 0, NULL };
}

static inline unsigned int kit_line(size_t byte)
{
	unsigned int line = 1;

	for (size_t i = 0; i < byte; i++)
		line += kit_program->text[i] == '\n';
	return line;
}

/* The first occurrence of a piece of the text, at `from` or later. */
static inline size_t kit_find(const char *piece, size_t from)
{
	const char *at = strstr(kit_program->text + from, piece);

	ck_assert_msg(at != NULL, "the text has no '%s'", piece);
	return (size_t)(at - kit_program->text);
}

/* The byte of the bracket that closes the first one opened at `from` or later. */
static inline size_t kit_close(size_t from, char open, char close)
{
	size_t depth = 0;

	for (; kit_program->text[from]; from++) {
		depth += kit_program->text[from] == open;
		if (kit_program->text[from] == close && --depth == 0)
			return from;
	}
	ck_abort_msg("a bracket does not close");
	return 0;
}

/* A function of the file that starts at a byte; the test adds the details. */
static inline struct co_function *kit_add(const char *name, size_t begin)
{
	int index = co_function_new(kit_program);
	struct co_function *it;

	ck_assert_int_ne(index, CO_NONE);
	it = &kit_program->functions[index];
	it->name = it->printed = name;
	it->in_file = true;
	it->begin = begin;
	it->line = kit_line(begin);
	return it;
}

/* One that starts with `head`, up to the "(" of its parameters. */
static inline struct co_function *kit_function(const char *name, const char *head, bool kernel)
{
	struct co_function *it = kit_add(name, kit_find(head, 0));

	it->kernel = kernel;
	it->parameters_end = kit_close(it->begin + strlen(head) - 1, '(', ')');
	it->end = kit_close(it->parameters_end, '{', '}') + 1;
	for (size_t i = it->begin; i < it->parameters_end; i++) {
		it->parameter_count += kit_program->text[i] == ',';
		it->parameter_count += kit_program->text[i] == '(' && i + 1 < it->parameters_end &&
				       strncmp(&kit_program->text[i], "(void)", 6) != 0;
	}
	return it;
}

/* The innermost function that contains a byte. */
static inline int kit_at(size_t byte)
{
	int found = CO_NONE;

	for (size_t i = 0; i < kit_program->function_count; i++)
		if (byte >= kit_program->functions[i].begin &&
		    byte < kit_program->functions[i].end &&
		    kit_program->functions[i].template_of == (int)i)
			found = (int)i;
	return found;
}

/*
 * A call with this text; the first after the last one with the same text. The callee is given by
 * name.
 */
static inline struct co_node *kit_call(enum co_call_kind kind, const char *piece,
				       enum co_level reached, enum co_level size,
				       enum co_level best)
{
	enum co_kind kinds[] = {
		[CO_OPERATOR_NEW] = CO_NEW, [CO_OPERATOR_DELETE] = CO_DELETE, [CO_HELPER] = CO_CALL
	};
	struct co_verdict *verdict = &kit_verdicts[kit_judgement.count++];
	struct co_node *node;
	size_t from = 0;

	for (struct co_verdict *old = kit_verdicts; old < verdict; old++)
		if (old->node->in_file &&
		    strncmp(kit_program->text + old->node->begin, piece, strlen(piece)) == 0 &&
		    old->node->begin >= from)
			from = old->node->begin + 1;
	node = co_node_new(kit_program, kinds[kind] ? kinds[kind] : CO_CALL);
	ck_assert_ptr_nonnull(node);
	node->in_file = true;
	node->begin = kit_find(piece, from);
	node->end = node->begin + strlen(piece);
	node->line = kit_line(node->begin);
	*verdict = (struct co_verdict){ .kind = kind,
					.node = node,
					.function = kit_at(node->begin),
					.reached = reached,
					.size = size,
					.best = best,
					.reason = "" };
	return node;
}

/* A call of a function of the program, or of the library. */
static inline struct co_node *kit_helper(const char *name, const char *piece, enum co_level reached,
					 enum co_level best)
{
	struct co_node *node = kit_call(CO_HELPER, piece, reached, CO_ALL, best);

	node->name = name;
	for (size_t i = 0; i < kit_program->function_count; i++)
		if (node->function == CO_NONE && strcmp(kit_program->functions[i].name, name) == 0)
			node->function = (int)i;
	return node;
}

/* A place of the text with a name of malloc's family, which is the text there. */
static inline struct co_use *kit_use(const char *name, const char *piece)
{
	struct co_use *use = co_use_new(kit_program);

	ck_assert_ptr_nonnull(use);
	use->name = name;
	use->begin = kit_find(piece, 0);
	use->line = kit_line(use->begin);
	return use;
}

static inline char *kit_lines(const struct co_edits *edits)
{
	char *text = calloc(1, 4096);

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < edits->left_count; i++) {
		ck_assert_uint_lt(strlen(text) + strlen(edits->left[i]), 4000);
		strcat(strcat(text, edits->left[i]), "\n");
	}
	return text;
}

static inline void kit_check(const struct co_edits *edits, const char *expected, const char *left)
{
	size_t bytes, at = 0;
	char *text, *lines = kit_lines(edits);

	for (size_t i = 0; i < edits->count; i++) {
		ck_assert_uint_le(at, edits->edits[i].begin);
		ck_assert_uint_le(edits->edits[i].begin, edits->edits[i].end);
		at = edits->edits[i].end;
	}
	ck_assert_uint_le(at, kit_program->bytes);
	failing_left = 0;
	ck_assert_ptr_null(co_edits_apply(kit_program, edits, &bytes));
	failing_left = -1;
	text = co_edits_apply(kit_program, edits, &bytes);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(strlen(text), bytes);
	ck_assert_str_eq(text, expected);
	ck_assert_str_eq(lines, left);
	free(text);
	free(lines);
}

/* The expected text of the rewritten program, and the expected messages about unchanged calls. */
static inline void kit_expect(const char *expected, const char *left)
{
	struct co_edits *edits = NULL;

	for (long enough = 0; !edits; enough++) {
		ck_assert_int_lt(enough, 200);
		failing_left = enough;
		edits = co_rewrite(kit_program, &kit_judgement, NULL);
	}
	failing_left = -1;
	kit_check(edits, expected, left);
	co_edits_free(edits);
}

/* Nothing is changed. */
static inline void kit_expect_none(const char *left)
{
	char *text = strdup(kit_program->text);

	ck_assert_ptr_nonnull(text);
	kit_expect(text, left);
	free(text);
}

#endif
