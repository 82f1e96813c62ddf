/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The judge: its verdicts on small programs, its behavior without memory, on unrealistic programs,
 * and on programs that are too large.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coalesce/judge/judge.h"
#include "judge_cases.h"
#include "judge_run.h"
#include "program_read_text.h"
#include "tools/failing.h"

#ifndef RUNS
#define RUNS 2000u /* number of programs that are run */
#endif

static const char *const library[] = { "MPI_Alltoall", NULL };
static const char *const scopes[] = { "block", "warp", "none" };

static void put_verdict(FILE *file, const struct co_verdict *verdict)
{
	if (verdict->kind == CO_HELPER)
		fprintf(file, "helper ");
	fprintf(file, "%s", scopes[verdict->reached]);
	if (verdict->kind != CO_HELPER && verdict->reached != CO_EACH)
		fprintf(file, " %s", verdict->size <= verdict->reached ? "uniform" : "varying");
	if (verdict->best != verdict->reached)
		fprintf(file, "/%s", scopes[verdict->best]);
}

static bool is_judged(const struct co_verdict *verdict)
{
	return verdict->kind != CO_FREE && verdict->kind != CO_KFREE &&
	       verdict->kind != CO_OPERATOR_DELETE;
}

static void check_judgement(const struct judge_case *one, const struct co_judgement *judgement)
{
	char *said = NULL;
	size_t bytes = 0;
	const char *reason = "";
	FILE *file = open_memstream(&said, &bytes);
	for (size_t i = 0, judged = 0; i < judgement->count; i++) {
		const struct co_verdict *verdict = &judgement->verdicts[i];
		ck_assert_uint_gt(strlen(verdict->reason), 0);
		ck_assert_int_le(verdict->best, verdict->reached);
		if (!is_judged(verdict))
			continue;
		fprintf(file, "%s", judged++ ? "; " : "");
		put_verdict(file, verdict);
		reason = verdict->reason;
	}
	fclose(file);
	ck_assert_msg(strcmp(said, one->want) == 0, "%s\nwant: %s\nsaid: %s (%s)", one->text,
		      one->want, said, reason);
	ck_assert_msg(!one->reason || strstr(reason, one->reason), "%s\nwant: %s\nsaid: %s",
		      one->text, one->reason ? one->reason : "", reason);
	free(said);
}

static void check_case(const struct judge_case *one)
{
	struct co_program *program = program_read_text(one->text);
	ck_assert_msg(program != NULL, "%s", one->text);
	struct co_judgement *judgement = co_judge(program, library);
	ck_assert_ptr_nonnull(judgement);
	check_judgement(one, judgement);
	co_judgement_free(judgement);
	co_program_free(program);
}

static void check_cases(const struct judge_case *cases)
{
	for (; cases->text; cases++)
		check_case(cases);
}

START_TEST(reaching_threads_are_judged)
{
	check_cases(judge_cases_reach);
}
END_TEST

START_TEST(loops_are_judged)
{
	check_cases(judge_cases_loops);
}
END_TEST

START_TEST(values_are_judged)
{
	check_cases(judge_cases_values);
}
END_TEST

START_TEST(calls_are_judged)
{
	check_cases(judge_cases_calls);
}
END_TEST

/*
 * First assumes for every malloc that all threads or none get memory; then only for those that are
 * claimed under that assumption, until all are. `count`: the number of those.
 */
static struct co_judgement *judge_assuming(const struct co_program *program,
					   struct co_place *together, size_t room, size_t *count)
{
	struct co_judgement *judgement = co_judge(program, library);
	size_t before = *count = 0;
	for (int round = 0;; round++) {
		size_t kept = 0;
		ck_assert_ptr_nonnull(judgement);
		for (size_t i = 0; i < judgement->count && kept < room; i++) {
			const struct co_verdict *verdict = &judgement->verdicts[i];
			bool claimed = verdict->reached == CO_ALL && verdict->size == CO_ALL;
			if (verdict->kind == CO_MALLOC && (round == 0 || claimed))
				together[kept++] = (struct co_place){ verdict->node->begin,
								      verdict->node->end };
		}
		*count = kept;
		if (round && kept == before)
			return judgement;
		before = kept;
		co_judgement_free(judgement);
		judgement = co_judge_together(program, library, together, kept);
	}
}

static void check_together(const struct judge_case *one)
{
	struct co_place together[20];
	size_t count;
	struct co_program *program = program_read_text(one->text);
	ck_assert_msg(program != NULL, "%s", one->text);
	struct co_judgement *judgement = judge_assuming(program, together, 20, &count);
	check_judgement(one, judgement);
	co_judgement_free(judgement);
	co_program_free(program);
}

START_TEST(tests_for_null_are_judged)
{
	for (const struct judge_case *one = judge_cases_together; one->text; one++)
		check_together(one);
}
END_TEST

/* ---- without memory -------------------------------------------------------------------------- */

static const char rich[] =
	"(shared s) (global g)"
	"(device f (n) (malloc n) (if n (call f (- n 1))))"
	"(device h (p* n) (loop (declare i 0) (< i n) (+= i 1) (sequence (new[] i) (break))) "
	"(return i))"
	"(kernel k (p* n) (call f n) (switch (@ p) (sequence (case (continue)) (default (malloc "
	"s))))"
	"(loop _ n _ (call h p tid)) (&& tid (malloc 8)) (? n (call f tid) g) (call other)"
	"(malloc g)) (again h)";

START_TEST(without_memory_there_is_no_judgment)
{
	struct co_program *program = program_read_text(rich);
	struct co_judgement *judgement = NULL;
	long enough = 0;
	ck_assert_ptr_nonnull(program);
	for (; !judgement; enough++) {
		failing_left = enough;
		judgement = co_judge(program, library);
	}
	failing_left = -1;
	ck_assert_int_ge(enough, 10);
	ck_assert_uint_ge(judgement->count, 9);
	co_judgement_free(judgement);
	co_program_free(program);
}
END_TEST

START_TEST(without_memory_there_is_no_program)
{
	struct co_program *program = NULL;
	long enough = 0;
	for (; !program; enough++) {
		failing_left = enough;
		program = program_read_text(rich);
	}
	failing_left = -1;
	ck_assert_int_ge(enough, 4);
	co_program_free(program);
	co_program_free(NULL);
	co_judgement_free(NULL);
}
END_TEST

START_TEST(programs_are_printed_as_text)
{
	char *said = NULL;
	size_t bytes = 0;
	struct co_program *program = program_read_text(
		"(shared s) (kernel k (n*) (if tid (+= s 4)) (call f) (new[] 2))");
	FILE *file = open_memstream(&said, &bytes);
	ck_assert_ptr_nonnull(program);
	co_program_put(program, file);
	fclose(file);
	ck_assert_ptr_nonnull(strstr(said, "(variable 0 \"s\" shared)"));
	ck_assert_ptr_nonnull(strstr(said, "\"n\" parameter of=0 +pointer)"));
	ck_assert_ptr_nonnull(strstr(said, "(function 0 \"k\" \"k\" +kernel +in_file @1"));
	ck_assert_ptr_nonnull(strstr(said, "(assign+reads@1"));
	ck_assert_ptr_nonnull(strstr(said, "\"f\""));
	ck_assert_ptr_nonnull(strstr(said, "bytes=8"));
	free(said);
	co_program_free(program);
}
END_TEST

/* ---- unrealistic programs -------------------------------------------------------------------- */

static unsigned int chance;

static unsigned int below(unsigned int limit)
{
	chance = chance * 1664525u + 1013904223u;
	return (chance >> 10) % limit;
}

struct shape {
	FILE *file;
	bool shared;              /* with shared variables */
	unsigned int taint, seen; /* the value that is to be different; number of values so far */
};

static void put_value(struct shape *shape, unsigned int depth)
{
	static const char *const leaves[] = { "tid", "bid", "a", "b", "p", "s", "(@ p a)" };
	/* clang-format off */
	static const char *const inner[] = { "(+ ",    "(= a ", "(&& ",  "(? ",
					     "(+= b ", "(|| ",  "(@ p ", "(malloc ",
					     "(null ", "(cast ", "(null (= a (malloc 4)) " };
	/* clang-format on */
	static const char *const makers[] = {
		"(call f ",
		"(call g ",
		"(call atomicAdd p ",
		"(= (@ p) ",
		"(call __any_sync 1 ",
		"(call __syncthreads_or ",
		"(= s ",
		"(unknown ",
	};
	unsigned int choice = below(10);
	if (depth == 0 || choice < 3) {
		unsigned int leaf = below(9);
		if (leaf >= 7 || (leaf == 5 && !shape->shared))
			fprintf(shape->file, "%s ", shape->seen++ == shape->taint ? "tid" : "7");
		else
			fprintf(shape->file, "%s ", leaves[leaf]);
		return;
	}
	unsigned int limit = shape->shared ? 8 : 4;
	bool call = choice >= 8;
	const char *head = call ? makers[below(limit)] : inner[below(11)];
	unsigned int children =
		call || head[1] == '=' || head[1] == 'm' || head[2] == '=' ? 1 : 1 + below(3);
	fprintf(shape->file, "%s", head);
	while (children--)
		put_value(shape, depth - 1);
	fprintf(shape->file, ")");
}

static void put_statement(struct shape *shape, unsigned int depth)
{
	static const char *const ends[] = { "(break)",    "(continue)", "(return)",
					    "(return a)", "(end)",      "(call __syncthreads)" };
	static const char *const heads[] = { "(if ", "(switch ", "(loop _ ", "(loop1 _ " };
	unsigned int choice = below(12), i;
	if (choice == 2) {
		fprintf(shape->file, "(= b (malloc a)) (if (null b) %s)", ends[below(5)]);
	} else if (depth == 0 || choice < 2) {
		put_value(shape, 2);
	} else if (choice < 5) {
		fprintf(shape->file, "%s", ends[below(6)]);
	} else if (choice < 7) {
		fprintf(shape->file, "(sequence ");
		for (i = below(5); i > 0; i--)
			put_statement(shape, depth - 1);
		fprintf(shape->file, ")");
	} else if (choice < 8) {
		fprintf(shape->file, below(2) ? "(case " : "(default ");
		put_statement(shape, depth - 1);
		fprintf(shape->file, ")");
	} else {
		unsigned int head = below(4);
		fprintf(shape->file, "%s", heads[head]);
		put_value(shape, 2);
		if (head >= 2)
			put_value(shape, 1);
		put_statement(shape, depth - 1);
		if (head == 0)
			put_statement(shape, depth - 1);
		fprintf(shape->file, ")");
	}
	fprintf(shape->file, "\n");
}

/* The program of a seed; values from `taint` up are each thread's own. */
static char *put_program(unsigned int seed, unsigned int taint, bool shared)
{
	char *text = NULL;
	size_t bytes = 0;
	struct shape shape = { open_memstream(&text, &bytes), shared, taint, 0 };
	static const char *const heads[] = {
		"(shared s) (device f (a) (declare b 1) (declare p* a)",
		"(device g (a) (declare b _) (declare p* 2)", "(kernel k (a b p*)"
	};
	chance = seed;
	for (int i = 0; i < 3; i++) {
		fprintf(shape.file, "%s", heads[i]);
		for (unsigned int n = 1 + below(6); n > 0; n--)
			put_statement(&shape, 5);
		fprintf(shape.file, ")\n");
	}
	fclose(shape.file);
	return text;
}

static struct co_program *program_of(unsigned int seed, unsigned int taint, bool shared)
{
	char *text = put_program(seed, taint, shared);
	struct co_program *program = program_read_text(text);
	ck_assert_msg(program != NULL, "%s", text);
	free(text);
	return program;
}

START_TEST(any_tree_is_judged)
{
	for (unsigned int seed = 1; seed <= 1000; seed++) {
		struct co_program *program = program_of(seed, 1u << 30, true);
		struct co_judgement *judgement = co_judge(program, NULL);
		ck_assert_ptr_nonnull(judgement);
		for (size_t i = 1; i < judgement->count; i++)
			ck_assert_uint_ge(judgement->verdicts[i].node->begin,
					  judgement->verdicts[i - 1].node->begin);
		co_judgement_free(judgement);
		co_program_free(program);
	}
}
END_TEST

/* A verdict of `worse` is not better than that of `program`. */
static void check_not_better(const struct co_judgement *worse, const struct co_judgement *than,
			     unsigned int seed, unsigned int taint)
{
	ck_assert_uint_eq(worse->count, than->count);
	for (size_t i = 0; i < worse->count; i++) {
		const struct co_verdict *a = &worse->verdicts[i], *b = &than->verdicts[i];
		ck_assert_msg(a->reached >= b->reached, "seed %u, value %u, call %zu", seed, taint,
			      i);
		ck_assert_msg(a->reached == CO_EACH || a->size >= b->size,
			      "seed %u, value %u, call %zu: size", seed, taint, i);
	}
}

START_TEST(more_differing_values_never_improve_a_verdict)
{
	for (unsigned int seed = 1; seed <= 300; seed++) {
		struct co_program *program = program_of(seed, 1u << 30, false);
		struct co_judgement *judgement = co_judge(program, NULL);
		for (unsigned int taint = 0; taint < 6; taint++) {
			struct co_program *other = program_of(seed, taint, false);
			struct co_judgement *worse = co_judge(other, NULL);
			ck_assert(judgement && worse);
			check_not_better(worse, judgement, seed, taint);
			co_judgement_free(worse);
			co_program_free(other);
		}
		co_judgement_free(judgement);
		co_program_free(program);
	}
}
END_TEST

/*
 * Threads behave according to their verdicts; enough calls are claimed for that to be meaningful.
 */
START_TEST(claimed_calls_are_reached_by_all_threads)
{
	unsigned long held = 0, fine = 0;
	for (unsigned int seed = 1; seed <= RUNS; seed++) {
		struct co_program *program = program_of(seed, 1u << 30, false);
		struct co_judgement *judgement = co_judge(program, NULL);
		ck_assert_ptr_nonnull(judgement);
		for (unsigned long input = 0; input < 4; input++) {
			enum run_result result =
				judge_run(program, judgement, NULL, 0, 2, input, &held);
			fine += result == RUN_FINE;
			if (result == RUN_WRONG)
				fprintf(stderr, "%s\n", program->text);
			ck_assert_msg(result != RUN_WRONG, "seed %u, input %lu", seed, input);
		}
		co_judgement_free(judgement);
		co_program_free(program);
	}
	ck_assert_uint_ge(fine, RUNS);
	ck_assert_uint_ge(held, RUNS / 4);
}
END_TEST

/*
 * The same if all threads or none get memory from all claimed allocations. Some claims must depend
 * on that.
 */
START_TEST(claims_with_tests_for_null_hold_for_all_threads)
{
	struct co_place together[200];
	unsigned long held = 0, more = 0;
	for (unsigned int seed = 1; seed <= RUNS; seed++) {
		struct co_program *program = program_of(seed, 1u << 30, false);
		size_t count;
		struct co_judgement *plain = co_judge(program, library);
		struct co_judgement *judgement = judge_assuming(program, together, 200, &count);
		ck_assert_ptr_nonnull(plain);
		for (unsigned long input = 0; input < 4; input++)
			ck_assert_msg(judge_run(program, judgement, together, count, 2, input,
						&held) != RUN_WRONG,
				      "seed %u, input %lu", seed, input);
		for (size_t i = 0; i < plain->count; i++)
			more += judgement->verdicts[i].reached < plain->verdicts[i].reached;
		co_judgement_free(plain);
		co_judgement_free(judgement);
		co_program_free(program);
	}
	ck_assert_uint_ge(held, RUNS / 4);
	ck_assert_uint_ge(more, RUNS / 100);
}
END_TEST

/* ---- programs that are too large ------------------------------------------------------------- */

/* `count` times `open`, then `inside`, then as many ")". */
static char *nested(const char *before, const char *open, size_t count, const char *inside)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);
	fprintf(file, "%s", before);
	for (size_t i = 0; i < count; i++)
		fprintf(file, "%s", open);
	fprintf(file, "%s", inside);
	for (size_t i = 0; i < count; i++)
		fprintf(file, ")");
	fprintf(file, ")");
	fclose(file);
	return text;
}

static void check_nested(const char *open, size_t count, const char *want, const char *reason)
{
	char *text = nested("(kernel k (n) ", open, count, "(malloc n)");
	struct judge_case one = { text, want, reason };
	check_case(&one);
	free(text);
}

START_TEST(nested_loops_do_not_multiply_the_time)
{
	check_nested("(loop (declare i 0) (< i n) (+= i 1) ", 150, "block uniform", NULL);
	check_nested("(loop (declare i 0) (< i tid) (+= i n) ", 150, "none", NULL);
}
END_TEST

START_TEST(trees_that_are_too_deep_are_not_judged)
{
	check_nested("(if n ", 3900, "block uniform", NULL);
	check_nested("(? n 1 ", 3900, "block uniform", NULL);
	check_nested("(sequence ", 6000, "none", "too deep");
	check_nested("(unknown ", 6000, "none", "too deep");
}
END_TEST

START_TEST(recursive_calls_reach_a_fixed_point)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *file = open_memstream(&text, &bytes);
	for (int i = 0; i < 300; i++)
		fprintf(file, "(device f%d (a b) (call f%d b a) (if b (call f%d a tid)))\n", i,
			i + 1, (i * 7) % 300);
	fprintf(file,
		"(device f300 (a b) (malloc a)) (kernel k (n) (call f0 n tid) (call f7 n n))");
	fclose(file);
	struct co_program *program = program_read_text(text);
	ck_assert_ptr_nonnull(program);
	struct co_judgement *judgement = co_judge(program, NULL);
	ck_assert_ptr_nonnull(judgement);
	ck_assert_int_eq(judgement->verdicts[600].kind, CO_MALLOC);
	ck_assert_int_eq(judgement->verdicts[600].reached, CO_EACH);
	co_judgement_free(judgement);
	co_program_free(program);
	free(text);
}
END_TEST

/*
 * More contexts of a call than are distinguished: the threads that reach it are still known,
 * because the calls pass that; and nothing else is given up for it.
 */
START_TEST(contexts_that_are_not_distinguished_use_the_worst)
{
	static const char *const levels[] = { "n", "w", "tid" };
	char *text = NULL, *want = NULL;
	size_t bytes = 0, want_bytes = 0;
	FILE *file = open_memstream(&text, &bytes);
	FILE *wanted = open_memstream(&want, &want_bytes);
	fprintf(file, "(device f (a b c d e) (malloc 4) (malloc a) (if a (malloc 4)))\n");
	fprintf(file, "(kernel l (n) (malloc n))\n");
	fprintf(file, "(kernel k (n) (declare w (call __any_sync 1 tid))");
	fprintf(wanted, "block uniform; block varying; none; block uniform");
	for (int i = 0; i <= 81; i++) {
		fprintf(file, "(call f %s %s %s %s %s)\n", i == 81 ? "tid" : "n", levels[i % 3],
			levels[i / 3 % 3], levels[i / 9 % 3], levels[i / 27 % 3]);
		fprintf(wanted, "; helper block");
	}
	fprintf(file, "(malloc n))");
	fprintf(wanted, "; block uniform");
	fclose(file);
	fclose(wanted);
	struct judge_case one = { text, want, NULL };
	check_case(&one);
	free(text);
	free(want);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("judge");
	TCase *cases = tcase_create("judge");
	SRunner *runner = srunner_create(suite);
	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, reaching_threads_are_judged);
	tcase_add_test(cases, loops_are_judged);
	tcase_add_test(cases, values_are_judged);
	tcase_add_test(cases, calls_are_judged);
	tcase_add_test(cases, tests_for_null_are_judged);
	tcase_add_test(cases, without_memory_there_is_no_judgment);
	tcase_add_test(cases, without_memory_there_is_no_program);
	tcase_add_test(cases, programs_are_printed_as_text);
	tcase_add_test(cases, any_tree_is_judged);
	tcase_add_test(cases, more_differing_values_never_improve_a_verdict);
	tcase_add_test(cases, claimed_calls_are_reached_by_all_threads);
	tcase_add_test(cases, claims_with_tests_for_null_hold_for_all_threads);
	tcase_add_test(cases, nested_loops_do_not_multiply_the_time);
	tcase_add_test(cases, trees_that_are_too_deep_are_not_judged);
	tcase_add_test(cases, recursive_calls_reach_a_fixed_point);
	tcase_add_test(cases, contexts_that_are_not_distinguished_use_the_worst);
	suite_add_tcase(suite, cases);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
