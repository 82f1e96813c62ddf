/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rewrite_helpers.c - the coalesce parameter: which functions get it, which values are passed,
 * and which functions cannot have it.
 */
#include "tools/coalesce/rewrite_kit.h"

#define INCLUDE "#include <mam/collective.cuh>\n"
#define PARAMETER "enum mam_coalesce coalesce = MAM_COLLECTIVE_ALONE"

/* The paper's listing 1, without MPI: f() is called by all threads, and by some. */
START_TEST(listing_1_is_rewritten)
{
	kit_text("__device__ void f() { p = malloc(4); free(p); }\n"
		 "__global__ void k() { q = malloc(4); f(); if (i < 4) { f(); } free(q); }\n");
	kit_function("f", "__device__ void f(", false);
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_MALLOC, "malloc(4)", CO_EACH, CO_ALL, CO_ALL);
	kit_call(CO_FREE, "free(p)", CO_EACH, CO_EACH, CO_EACH);
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	kit_helper("f", "f(); if", CO_ALL, CO_ALL)->end -= 4;
	kit_helper("f", "f(); }", CO_EACH, CO_EACH)->end -= 3;
	kit_call(CO_FREE, "free(q)", CO_EACH, CO_EACH, CO_EACH);
	kit_expect(INCLUDE "__device__ void f(" PARAMETER
			   ") { p = mam_cmalloc(4, coalesce); mam_cfree(p); }\n"
			   "__global__ void k() { q = mam_cmalloc(4, MAM_COLLECTIVE_BLOCK); "
			   "f(MAM_COLLECTIVE_BLOCK); if (i < 4) { f(); } mam_cfree(q); }\n",
		   "");
}
END_TEST

/*
 * A function as `head`, called as `call`, with an allocation that all threads reach if the caller
 * passes that.
 */
static struct co_function *one(const char *head, const char *call, const char *more)
{
	struct co_function *it;
	char text[1024];
	size_t end;

	snprintf(text, sizeof(text), "%s{ p = malloc(4); }\n__global__ void k(int n) { %s; }\n%s",
		 head, call, more);
	kit_text(text);
	it = kit_add("ns::f", 0);
	it->end = kit_find("}\n__global__", 0) + 1;
	/* Brackets in comments do not count. */
	for (end = kit_find("{ p = malloc(4)", 0); kit_program->text[end] != ')'; end--)
		;
	it->parameters_end = end;
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_MALLOC, "malloc(4)", CO_EACH, CO_ALL, CO_ALL);
	kit_helper("ns::f", call, CO_ALL, CO_ALL);
	return &kit_program->functions[0];
}

static void expect_one(const char *head, const char *call, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 INCLUDE "%s{ p = mam_cmalloc(4, coalesce); }\n"
			 "__global__ void k(int n) { %s; }\n%s",
		 head, call, more);
	kit_expect(text, "");
}

START_TEST(parameter_is_added_to_any_head)
{
	static const struct {
		const char *before, *after;
		size_t count;
		const char *call, *called;
	} rows[] = {
		{ "void f(void) ", "void f(" PARAMETER ") ", 0, "f()", "f(MAM_COLLECTIVE_BLOCK)" },
		{ "void f(/* none */) ", "void f(/* none */" PARAMETER ") ", 0, "f( )",
		  "f( MAM_COLLECTIVE_BLOCK)" },
		{ "void f(int n) ", "void f(int n, " PARAMETER ") ", 1, "f(g(1, 2))",
		  "f(g(1, 2), MAM_COLLECTIVE_BLOCK)" },
		{ "void f(int n, // (\n\tint (*g)(int) = h) const ",
		  "void f(int n, // (\n\tint (*g)(int) = h, " PARAMETER ") const ", 2,
		  "s.f(n, { 1, 2 })", "s.f(n, { 1, 2 }, MAM_COLLECTIVE_BLOCK)" },
		{ "template <class T> T f(T n) ", "template <class T> T f(T n, " PARAMETER ") ", 1,
		  "ns::f<pair<int, vec<T>>>(n)",
		  "ns::f<pair<int, vec<T>>>(n, MAM_COLLECTIVE_BLOCK)" },
	};

	one(rows[_i].before, rows[_i].call, "")->parameter_count = rows[_i].count;
	expect_one(rows[_i].after, rows[_i].called, "");
}
END_TEST

/* ---- functions without the parameter --------------------------------------------------------- */

/* Nothing is changed; `why` is the reason why it does not get the parameter. */
static void expect_without(const char *why)
{
	char left[400];

	snprintf(left, sizeof(left), "a.cu:1: ns::f does not get the parameter coalesce: %s\n",
		 why);
	kit_expect_none(left);
}

START_TEST(texts_that_forbid_the_parameter)
{
	static const struct {
		const char *head, *more, *why;
	} rows[] = {
		{ "void f(int n) ", "void f(int n);\n",
		  "its name is used elsewhere in the file, too" },
		{ "void f(int n) ", "#define F f\n",
		  "its name is used elsewhere in the file, too" },
		{ "template <class... A> void f(A... n) ", "", "it takes any number of arguments" },
		{ "int coalesce(); void f(int n) ", "", "it already uses the name coalesce" },
	};

	one(rows[_i].head, "f(1)", rows[_i].more)->parameter_count = 1;
	expect_without(rows[_i].why);
}
END_TEST

START_TEST(functions_that_forbid_the_parameter)
{
	struct co_function *it = one("void f(int n) ", "f(1)", "");

	it->parameter_count = 1;
	it->is_virtual = true;
	expect_without("it is virtual, or its address is taken");
	it->is_virtual = false;
	it->variadic = true;
	expect_without("it takes any number of arguments");
	it->variadic = false;
	it->parameters_end = 0;
	expect_without("the end of its parameters was not found");
	it->parameters_end = 5;
	expect_without("the end of its parameters was not found");
	it->parameters_end = 1 << 20;
	expect_without("the end of its parameters was not found");
}
END_TEST

/* Calls that omit arguments pass nothing; the others pass the scope. */
START_TEST(calls_that_omit_arguments_pass_nothing)
{
	one("void f(int n, int m = 1) ", "f(1, 2)", "")->parameter_count = 2;
	expect_one("void f(int n, int m = 1, " PARAMETER ") ", "f(1, 2, MAM_COLLECTIVE_BLOCK)", "");
	one("void f(int n, int m = 1) ", "f(1)", "")->parameter_count = 2;
	kit_expect_none("");
	one("void f(int n, int m = 1) ", "f(g<1, 2>())", "")->parameter_count = 2;
	kit_expect_none("");
	one("void f(int n) ", "f(a...)", "")->parameter_count = 1;
	kit_expect_none("");
}
END_TEST

/* In a macro, or where the text differs: no scope is passed. */
START_TEST(calls_that_cannot_pass_it_are_unchanged)
{
	one("void f(int n) ", "M(f(1))", "")->parameter_count = 1;
	kit_expect_none("");
	one("void f(int n) ", "f(1)", "")->parameter_count = 1;
	((struct co_node *)kit_verdicts[1].node)->macro = true;
	kit_expect_none("");
}
END_TEST

/* If malloc's family stays unchanged, the function needs no parameter. */
START_TEST(unchanged_family_needs_no_parameter)
{
	one("void f(int n) ", "f(1)", "")->parameter_count = 1;
	((struct co_node *)kit_verdicts[0].node)->macro = true;
	kit_expect_none("");
	one("void f(int n) ", "f(1)", "__device__ void g() { free(p); }\n")->parameter_count = 1;
	kit_function("g", "__device__ void g(", false);
	kit_use("free", "free(p)");
	kit_expect_none("");
}
END_TEST

/* ---- passed values --------------------------------------------------------------------------- */

/* Through two functions; a call that whole warps reach passes at most a warp's scope. */
START_TEST(scope_is_passed_through_functions)
{
	kit_text("void g(int n) { p = malloc(n); q = malloc(8); }\n"
		 "void f(int n) { g(n); if (warp) { r = new T; g(2); } }\n"
		 "__global__ void k(int n) { f(n); if (i) f(1); if (w) f(3); }\n");
	kit_function("g", "void g(", false);
	kit_function("f", "void f(", false);
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_MALLOC, "malloc(n)", CO_EACH, CO_WARP, CO_ALL);
	kit_call(CO_MALLOC, "malloc(8)", CO_EACH, CO_ALL, CO_ALL);
	kit_helper("g", "g(n);", CO_EACH, CO_ALL)->end--;
	kit_call(CO_OPERATOR_NEW, "new T", CO_EACH, CO_ALL, CO_WARP);
	kit_helper("g", "g(2)", CO_EACH, CO_WARP);
	kit_helper("f", "f(n);", CO_ALL, CO_ALL)->end--;
	kit_helper("f", "f(1)", CO_EACH, CO_EACH);
	kit_helper("f", "f(3)", CO_WARP, CO_WARP);
	kit_expect("#define MAM_COLLECTIVE_NEW\n" INCLUDE "void g(int n, " PARAMETER
		   ") { p = mam_cmalloc(n, coalesce ? MAM_COLLECTIVE_WARP "
		   ": MAM_COLLECTIVE_ALONE); q = mam_cmalloc(8, coalesce); }\n"
		   "void f(int n, " PARAMETER ") { g(n, coalesce); if (warp) { "
		   "r = new (coalesce ? MAM_COLLECTIVE_WARP : MAM_COLLECTIVE_ALONE) T; "
		   "g(2, coalesce ? MAM_COLLECTIVE_WARP : MAM_COLLECTIVE_ALONE); } }\n"
		   "__global__ void k(int n) { f(n, MAM_COLLECTIVE_BLOCK); if (i) f(1); "
		   "if (w) f(3, MAM_COLLECTIVE_WARP); }\n",
		   "");
}
END_TEST

/*
 * The function in between cannot have the parameter, so the inner one has nothing to receive, and
 * gets none.
 */
START_TEST(gap_in_between_stops_the_parameter)
{
	struct co_function *between;

	kit_text("void g(int n) { p = malloc(n); }\nvoid f(int n) { g(n); }\n"
		 "__global__ void k(int n) { f(n); r = malloc(4); }\n");
	kit_function("g", "void g(", false);
	kit_function("f", "void f(", false);
	kit_function("k", "__global__ void k(", true);
	between = &kit_program->functions[1];
	between->is_virtual = true;
	kit_call(CO_MALLOC, "malloc(n)", CO_EACH, CO_ALL, CO_ALL);
	kit_helper("g", "g(n);", CO_EACH, CO_ALL)->end--;
	kit_helper("f", "f(n);", CO_ALL, CO_ALL)->end--;
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	kit_expect(
		INCLUDE "void g(int n) { p = mam_cmalloc(n, MAM_COLLECTIVE_ALONE); }\n"
			"void f(int n) { g(n); }\n__global__ void k(int n) { f(n); "
			"r = mam_cmalloc(4, MAM_COLLECTIVE_BLOCK); }\n",
		"a.cu:2: f does not get the parameter coalesce: it is virtual, or its address is "
		"taken\n");
}
END_TEST

/* Two functions that call each other, reached only by some threads. */
START_TEST(cycle_reached_by_some_threads_is_unchanged)
{
	kit_text("void f(int n) { p = malloc(n); f(n - 1); }\n"
		 "__global__ void k(int n) { if (i) f(n); }\n");
	kit_function("f", "void f(", false);
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_MALLOC, "malloc(n)", CO_EACH, CO_ALL, CO_ALL);
	kit_helper("f", "f(n - 1)", CO_EACH, CO_ALL);
	kit_helper("f", "f(n);", CO_EACH, CO_EACH)->end--;
	kit_expect_none("");
	/* But if all threads reach another call of it. */
	kit_verdicts[2].reached = kit_verdicts[2].best = CO_ALL;
	kit_expect(INCLUDE "void f(int n, " PARAMETER
			   ") { p = mam_cmalloc(n, coalesce); f(n - 1, coalesce); }\n"
			   "__global__ void k(int n) { if (i) f(n, MAM_COLLECTIVE_BLOCK); }\n",
		   "");
}
END_TEST

/* mam's own function has a form with the parameter; it needs no other, and no uniform sizes. */
START_TEST(kmalloc_in_a_helper_uses_its_own_form)
{
	kit_text("void f(H *h) { p = mam_kmalloc(h, 8); q = mam_kmalloc(h, 16); }\n"
		 "__global__ void k(H *h) { f(h); M(free(p)); }\n");
	kit_function("f", "void f(", false);
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_KMALLOC, "mam_kmalloc(h, 8)", CO_EACH, CO_EACH, CO_ALL);
	kit_call(CO_KMALLOC, "mam_kmalloc(h, 16)", CO_EACH, CO_EACH, CO_WARP);
	kit_helper("f", "f(h)", CO_ALL, CO_ALL);
	kit_expect(INCLUDE "void f(H *h, " PARAMETER ") { p = mam_ckmalloc(h, 8, coalesce); "
			   "q = mam_ckmalloc(h, 16, coalesce ? MAM_COLLECTIVE_WARP : "
			   "MAM_COLLECTIVE_ALONE); }\n"
			   "__global__ void k(H *h) { f(h, MAM_COLLECTIVE_BLOCK); M(free(p)); }\n",
		   "");
}
END_TEST

/* Instances of one template: one parameter, and what holds for all of them. */
START_TEST(instances_share_one_parameter)
{
	int other;

	kit_text("template <class T> void f(T n) { p = malloc(sizeof(T)); }\n"
		 "__global__ void k() { f(1); f(1.0); }\n");
	kit_function("f", "template <class T> void f(", false);
	kit_function("k", "__global__ void k(", true);
	other = co_function_new(kit_program);
	kit_program->functions[other] = kit_program->functions[0];
	kit_call(CO_MALLOC, "malloc(sizeof(T))", CO_EACH, CO_ALL, CO_ALL);
	kit_helper("f", "f(1)", CO_ALL, CO_ALL);
	kit_helper("f", "f(1.0)", CO_ALL, CO_ALL)->function = other;
	kit_verdicts[kit_judgement.count] = kit_verdicts[0];
	kit_verdicts[kit_judgement.count++].function = other;
	kit_expect(INCLUDE "template <class T> void f(T n, " PARAMETER
			   ") { p = mam_cmalloc(sizeof(T), coalesce); }\n"
			   "__global__ void k() { f(1, MAM_COLLECTIVE_BLOCK); f(1.0, "
			   "MAM_COLLECTIVE_BLOCK); }\n",
		   "");
	/* One of them belongs to a virtual class: then none has it. */
	kit_program->functions[other].is_virtual = true;
	kit_expect_none(
		"a.cu:1: f does not get the parameter coalesce: it is virtual, or its address "
		"is taken\n");
}
END_TEST

/* Functions of a library accept the parameter, whether malloc's family changes or not. */
START_TEST(library_calls_pass_the_parameter)
{
	kit_text("void f(int n) { lib_get(n); }\n"
		 "__global__ void k() { f(1); lib_get(1); if (w) lib::all(); if (i) lib_get(2); "
		 "M(lib_get(3)); }\n");
	kit_function("f", "void f(", false);
	kit_function("k", "__global__ void k(", true);
	kit_helper("lib_get", "lib_get(n)", CO_EACH, CO_WARP);
	kit_helper("f", "f(1)", CO_ALL, CO_ALL);
	kit_helper("lib_get", "lib_get(1)", CO_ALL, CO_ALL);
	kit_helper("lib::all", "lib::all()", CO_WARP, CO_WARP);
	kit_helper("lib_get", "lib_get(2)", CO_EACH, CO_EACH);
	kit_helper("lib_get", "lib_get(3)", CO_ALL, CO_ALL)->macro = true;
	kit_expect(INCLUDE
		   "void f(int n, " PARAMETER
		   ") { lib_get(n, coalesce ? MAM_COLLECTIVE_WARP : MAM_COLLECTIVE_ALONE); }\n"
		   "__global__ void k() { f(1, MAM_COLLECTIVE_BLOCK); "
		   "lib_get(1, MAM_COLLECTIVE_BLOCK); if (w) lib::all(MAM_COLLECTIVE_WARP); "
		   "if (i) lib_get(2); M(lib_get(3)); }\n",
		   "a.cu:2: left alone: it is in a macro\n");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("coalesce_tool/rewrite_helpers");
	TCase *cases = tcase_create("rewrite_helpers");
	SRunner *runner;
	int failed;

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, NULL, kit_end);
	tcase_add_test(cases, listing_1_is_rewritten);
	tcase_add_loop_test(cases, parameter_is_added_to_any_head, 0, 5);
	tcase_add_loop_test(cases, texts_that_forbid_the_parameter, 0, 4);
	tcase_add_test(cases, functions_that_forbid_the_parameter);
	tcase_add_test(cases, calls_that_omit_arguments_pass_nothing);
	tcase_add_test(cases, calls_that_cannot_pass_it_are_unchanged);
	tcase_add_test(cases, unchanged_family_needs_no_parameter);
	tcase_add_test(cases, scope_is_passed_through_functions);
	tcase_add_test(cases, gap_in_between_stops_the_parameter);
	tcase_add_test(cases, cycle_reached_by_some_threads_is_unchanged);
	tcase_add_test(cases, kmalloc_in_a_helper_uses_its_own_form);
	tcase_add_test(cases, instances_share_one_parameter);
	tcase_add_test(cases, library_calls_pass_the_parameter);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
