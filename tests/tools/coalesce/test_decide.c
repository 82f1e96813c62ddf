/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decisions about a program: its verdicts before and after rewriting it.
 *
 * Programs are S-expressions (program_read_text.h). In their text "(malloc 4)" is replaced by
 * "malloc( 4)", so that the rewriter finds what it expects.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/rewrite/decide.h"
#include "program_read_text.h"
#include "tools/failing.h"

#define MANY 50

static struct co_program *program;
static struct co_decision decision;

static void read_program(const char *text)
{
	char *as_c;
	program = program_read_text(text);
	ck_assert_ptr_nonnull(program);
	as_c = co_text_new(program, program->text, program->bytes);
	ck_assert_ptr_nonnull(as_c);
	for (char *at = as_c; (at = strstr(at, "(malloc ")) != NULL; at++)
		memcpy(at, "malloc( ", 8);
	program->text = as_c;
}

static void end(void)
{
	co_decision_free(&decision);
	co_program_free(program);
	program = NULL;
}

/* One letter per call of malloc: B, W or - for block, warp or none. */
static const char *letters(const struct co_judgement *judgement)
{
	static char said[MANY + 1];
	size_t count = 0;
	for (size_t i = 0; i < judgement->count; i++)
		if (judgement->verdicts[i].kind == CO_MALLOC && count < sizeof said - 1)
			said[count++] = "BW-"[judgement->verdicts[i].reached];
	said[count] = '\0';
	return said;
}

static void check(const char *text, const char *before, const char *after, size_t together)
{
	read_program(text);
	ck_assert(co_decide(program, NULL, &decision));
	ck_assert_str_eq(letters(decision.judgement), before);
	ck_assert_str_eq(letters(decision.rewritten), after);
	ck_assert_uint_eq(decision.edits->together_count, together);
	end();
}

START_TEST(tests_for_null_do_not_diverge_after_rewriting)
{
	check("(kernel k (n) (declare p* (malloc n)) (if (null p) (return)) (malloc 8))", "B-",
	      "BB", 2);
	check("(kernel k (n) (loop _ n _ (sequence (declare p* (malloc n)) (if (null p) "
	      "(break)))))",
	      "-", "B", 1);
	check("(kernel k (n) (declare p* (malloc n)) (if (null p) (return)) (malloc tid))", "B-",
	      "BB", 1);
}
END_TEST

START_TEST(only_rewritten_allocations_are_assumed_uniform)
{
	/* A free whose text is not understood: malloc stays unchanged. */
	check("(kernel k (n) (declare p* (malloc n)) (if (null p) (return)) (malloc 8)"
	      "(call free p))",
	      "B-", "B-", 0);
	/* Its callers pass the scope. */
	check("(device f (n) (return (malloc n))) (kernel k (n) (declare p* (call f n))"
	      "(if tid (call f n)) (if (null p) (return)) (malloc 8))",
	      "--", "--", 0);
	/* Not all threads reach the first call, so the second one diverges. */
	check("(kernel k (n) (declare p* 0) (if tid (= p (malloc n))) (if (null p) (return))"
	      "(malloc 8))",
	      "--", "--", 0);
	/* All threads reach a call whose size differs, but each gets its own result. */
	check("(kernel k (n) (declare p* (malloc tid)) (if (null p) (return)) (malloc 8))", "B-",
	      "B-", 0);
}
END_TEST

/* Many of them, each depending on the other: all hold, or all fail with the first. */
START_TEST(dependent_allocations_fail_together)
{
	for (int falls = 0; falls < 2; falls++) {
		char *text = NULL, before[MANY + 1], after[MANY + 1];
		size_t bytes = 0;
		FILE *file = open_memstream(&text, &bytes);
		fprintf(file, "(kernel k (n) (declare p* (malloc %s))", falls ? "tid" : "n");
		for (int i = 1; i < MANY; i++)
			fprintf(file, "(if (null p) (return)) (= p (malloc 4))");
		fprintf(file, ")");
		fclose(file);
		memset(before, '-', MANY);
		memset(after, falls ? '-' : 'B', MANY);
		before[0] = after[0] = 'B';
		before[MANY] = after[MANY] = '\0';
		check(text, before, after, falls ? 0 : MANY);
		free(text);
	}
}
END_TEST

START_TEST(nothing_is_decided_without_memory)
{
	long enough = 0;
	bool decided = false;
	read_program("(kernel k (n) (declare p* (malloc n)) (if (null p) (return)) (malloc 8))");
	for (; !decided; enough++) {
		failing_left = enough;
		decided = co_decide(program, NULL, &decision);
		ck_assert(decided == (decision.judgement && decision.rewritten && decision.edits));
	}
	failing_left = -1;
	ck_assert_int_ge(enough, 20);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("decide");
	TCase *cases = tcase_create("decide");
	SRunner *runner = srunner_create(suite);
	tcase_add_test(cases, tests_for_null_do_not_diverge_after_rewriting);
	tcase_add_test(cases, only_rewritten_allocations_are_assumed_uniform);
	tcase_add_test(cases, dependent_allocations_fail_together);
	tcase_add_test(cases, nothing_is_decided_without_memory);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
