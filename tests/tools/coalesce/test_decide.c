/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is decided of a program: its verdicts as it is, and as they become by rewriting it.
 *
 * Programs are S-expressions (program_read_text.h) in whose text "(malloc 4)" is then made
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

/* Of the calls of malloc a letter each: B, W or - for block, warp or none. */
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

START_TEST(tests_for_null_divide_nobody_then)
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

START_TEST(what_is_not_rewritten_is_not_assumed)
{
	/* A free whose text is not understood: malloc stays as it is. */
	check("(kernel k (n) (declare p* (malloc n)) (if (null p) (return)) (malloc 8)"
	      "(call free p))",
	      "B-", "B-", 0);
	/* It is told by its callers how to ask. */
	check("(device f (n) (return (malloc n))) (kernel k (n) (declare p* (call f n))"
	      "(if tid (call f n)) (if (null p) (return)) (malloc 8))",
	      "--", "--", 0);
	/* Not all come to the first, so the second divides them. */
	check("(kernel k (n) (declare p* 0) (if tid (= p (malloc n))) (if (null p) (return))"
	      "(malloc 8))",
	      "--", "--", 0);
	/* One whose size differs is asked by all, but each gets its own answer. */
	check("(kernel k (n) (declare p* (malloc tid)) (if (null p) (return)) (malloc 8))", "B-",
	      "B-", 0);
}
END_TEST

/* Many of them, one by the other: all hold, or all fall with the first. */
START_TEST(what_hangs_together_falls_together)
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

START_TEST(without_memory_nothing_is_decided)
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
	tcase_add_test(cases, tests_for_null_divide_nobody_then);
	tcase_add_test(cases, what_is_not_rewritten_is_not_assumed);
	tcase_add_test(cases, what_hangs_together_falls_together);
	tcase_add_test(cases, without_memory_nothing_is_decided);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
