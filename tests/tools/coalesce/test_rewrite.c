/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rewrite.c - how single calls are rewritten: malloc's family, all of it or none; new;
 * mam_kmalloc(); the position of the #include; and what stays unchanged, with its reason.
 */
#include "tools/coalesce/rewrite_kit.h"

#define INCLUDE "#include <mam/collective.cuh>\n"
#define INCLUDE_NEW "#define MAM_COLLECTIVE_NEW\n#include <mam/collective.cuh>\n"

/* A kernel with `body`; the test sets the verdicts of its calls. */
static void kernel(const char *body)
{
	char text[2048];

	snprintf(text, sizeof(text), "#include <cstdio>\n__global__ void k(int n)\n{\n%s}\n", body);
	kit_text(text);
	kit_function("k", "__global__ void k(", true);
}

/* The kernel with `body` follows `head`. */
static void expect(const char *head, const char *body, const char *left)
{
	char text[2048];

	snprintf(text, sizeof(text), "#include <cstdio>\n%s__global__ void k(int n)\n{\n%s}\n",
		 head, body);
	kit_expect(text, left);
}

/* ---- malloc's family ------------------------------------------------------------------------- */

START_TEST(malloc_and_free_are_rewritten)
{
	kernel("\tp = malloc(n * 4);\n\tq = (int *)malloc(8);\n\tif "
	       "(q)\n\t\tfree(q);\n\tfree(p);\n");
	kit_call(CO_MALLOC, "malloc(n * 4)", CO_ALL, CO_ALL, CO_ALL);
	kit_call(CO_MALLOC, "malloc(8)", CO_EACH, CO_ALL, CO_EACH);
	kit_call(CO_FREE, "free(q)", CO_EACH, CO_EACH, CO_EACH);
	kit_call(CO_FREE, "free(p)", CO_EACH, CO_EACH, CO_EACH);
	expect(INCLUDE,
	       "\tp = mam_cmalloc(n * 4, MAM_COLLECTIVE_BLOCK);\n\tq = (int *)mam_cmalloc(8, "
	       "MAM_COLLECTIVE_ALONE);\n"
	       "\tif (q)\n\t\t(void)mam_cfree(q);\n\tmam_cfree(p);\n",
	       "");
}
END_TEST

START_TEST(qualified_names_are_rewritten)
{
	kernel("\tp = std::malloc(8), ::free(q);\n\t::std::free (\n\t\tp);\n");
	kit_call(CO_MALLOC, "std::malloc(8)", CO_WARP, CO_WARP, CO_WARP);
	kit_call(CO_FREE, "::free(q)", CO_EACH, CO_EACH, CO_EACH);
	kit_call(CO_FREE, "::std::free (\n\t\tp)", CO_EACH, CO_EACH, CO_EACH);
	expect(INCLUDE,
	       "\tp = mam_cmalloc(8, MAM_COLLECTIVE_WARP), (void)mam_cfree(q);\n"
	       "\tmam_cfree (\n\t\tp);\n",
	       "");
}
END_TEST

/* Each combination of scope and size: the new text, or the reason why it stays unchanged. */
START_TEST(scopes_and_sizes_select_the_call)
{
	static const char varying[] =
		"a.cu:4: malloc is left alone: its size may differ from thread to "
		"thread\n";
	static const char *const block = "\tp = mam_cmalloc(n, MAM_COLLECTIVE_BLOCK);\n";
	static const char *const warp = "\tp = mam_cmalloc(n, MAM_COLLECTIVE_WARP);\n";
	static const struct {
		const char *body, *left;
	} wanted[3][3] = {
		[CO_ALL] = { { block, "" }, { warp, "" }, { NULL, varying } },
		[CO_WARP] = { { warp, "" }, { warp, "" }, { NULL, varying } },
		[CO_EACH] = { { NULL, "" }, { NULL, "" }, { NULL, "" } },
	};
	enum co_level reached = (enum co_level)(_i / 3), size = (enum co_level)(_i % 3);

	kernel("\tp = malloc(n);\n");
	kit_call(CO_MALLOC, "malloc(n)", reached, size, reached);
	if (wanted[reached][size].body)
		expect(INCLUDE, wanted[reached][size].body, "");
	else
		kit_expect_none(wanted[reached][size].left);
}
END_TEST

START_TEST(file_without_a_gain_is_unchanged)
{
	kernel("\tp = malloc(4);\n\tfree(p);\n");
	kit_call(CO_MALLOC, "malloc(4)", CO_EACH, CO_ALL, CO_EACH);
	kit_call(CO_FREE, "free(p)", CO_EACH, CO_EACH, CO_EACH);
	kit_expect_none("");
}
END_TEST

START_TEST(one_call_in_a_macro_keeps_all)
{
	kernel("\tp = malloc(4);\n\tCHECK(free(p));\n\tfree(p);\n");
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	kit_call(CO_FREE, "free(p)", CO_EACH, CO_EACH, CO_EACH)->macro = true;
	kit_call(CO_FREE, "free(p)", CO_EACH, CO_EACH, CO_EACH);
	kit_expect_none("a.cu:4: malloc is left alone: free at line 5 cannot be changed: it is in "
			"a macro\n");
}
END_TEST

/* Each place with one of these names must be the name of a call that is rewritten. */
START_TEST(each_name_must_be_a_rewritten_call)
{
	kernel("\tp = std::malloc(malloc(4));\n\tfree(p), ::free(q);\n");
	kit_call(CO_MALLOC, "std::malloc(malloc(4))", CO_ALL, CO_ALL, CO_ALL);
	kit_call(CO_MALLOC, "malloc(4)", CO_EACH, CO_ALL, CO_EACH);
	kit_call(CO_FREE, "free(p)", CO_EACH, CO_EACH, CO_EACH);
	kit_call(CO_FREE, "::free(q)", CO_EACH, CO_EACH, CO_EACH);
	kit_use("malloc", "malloc(malloc");
	kit_use("malloc", "malloc(4)");
	kit_use("free", "free(p)");
	kit_use("free", "free(q)");
	expect(INCLUDE,
	       "\tp = mam_cmalloc(mam_cmalloc(4, MAM_COLLECTIVE_ALONE), MAM_COLLECTIVE_BLOCK);\n"
	       "\tmam_cfree(p), (void)mam_cfree(q);\n",
	       "");
}
END_TEST

/* An address, a call that was not found, one in a macro, one in an included file. */
START_TEST(one_name_that_is_not_such_a_call_keeps_all)
{
	static const struct {
		const char *line, *name, *piece, *file, *why, *left;
	} rows[] = {
		{ "g(n, &free)", "free", "free)", NULL, NULL,
		  "free at line 5 is not a call that can be changed" },
		{ "q = [=] { return malloc(8); }()", "malloc", "malloc(8)", NULL, NULL,
		  "malloc at line 5 is not a call that can be changed" },
		{ "mam_kfree(h, q)", "mam_kfree", "mam_kfree", NULL, NULL,
		  "mam_kfree at line 5 is not a call that can be changed" },
		{ "q = M(8)", "M", "M(8)", NULL, "is a macro", "M at line 5 is a macro" },
		{ "free(q)", "free", "free(q)", NULL, "is held", "free at line 5 is held" },
		{ "f(q)", "free", "f(q)", "dir/a.h", "is included",
		  "free at dir/a.h:5 is included" },
	};
	struct co_use *use;
	char text[200], line[200];

	snprintf(text, sizeof(text), "\tp = malloc(4);\n\t%s;\n", rows[_i].line);
	snprintf(line, sizeof(line), "a.cu:4: malloc is left alone: %s\n", rows[_i].left);
	kernel(text);
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	if (strstr(text, "mam_kfree"))
		kit_call(CO_KFREE, "mam_kfree(h, q)", CO_EACH, CO_EACH, CO_EACH);
	if (strstr(text, "\tfree"))
		kit_call(CO_FREE, "free(q)", CO_EACH, CO_EACH, CO_EACH);
	kit_use("malloc", "malloc(4)");
	use = kit_use(rows[_i].name, rows[_i].piece);
	use->file = rows[_i].file;
	use->why = rows[_i].why;
	kit_expect_none(line);
}
END_TEST

/* Comments and strings are text, and stay unchanged. */
START_TEST(comments_and_strings_are_unchanged)
{
	kernel("\tp = malloc(4); // free(p)\n\t/* malloc */ puts(\"free(p)\");\n");
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	expect(INCLUDE,
	       "\tp = mam_cmalloc(4, MAM_COLLECTIVE_BLOCK); // free(p)\n"
	       "\t/* malloc */ puts(\"free(p)\");\n",
	       "");
}
END_TEST

/* new or delete without a verdict: the header's operators replace them, too. */
START_TEST(new_without_a_verdict_uses_the_header)
{
	kernel("\tp = malloc(4);\n\tdelete q;\n");
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	kit_program->has_new = true;
	expect(INCLUDE_NEW, "\tp = mam_cmalloc(4, MAM_COLLECTIVE_BLOCK);\n\tdelete q;\n", "");
}
END_TEST

/* A ' between digits does not start a character constant, and a word may start a string. */
START_TEST(numbers_and_strings_are_skipped)
{
	static const char before[] = "\ts = u8R\"x(\" free(p) )x\"; c = L'\\''; n = 1'000; ";

	char text[200], after[200];

	snprintf(text, sizeof(text), "%sp = malloc(4);\n", before);
	snprintf(after, sizeof(after), "%sp = mam_cmalloc(4, MAM_COLLECTIVE_BLOCK);\n", before);
	kernel(text);
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	expect(INCLUDE, after, "");
}
END_TEST

/* ---- new ------------------------------------------------------------------------------------- */

START_TEST(new_expressions_are_rewritten)
{
	static const struct {
		const char *before, *after;
	} rows[] = {
		{ "new int", "new (MAM_COLLECTIVE_BLOCK) int" },
		{ "::new node(1, 2)", "::new (MAM_COLLECTIVE_BLOCK) node(1, 2)" },
		{ "new T[n]", "new (MAM_COLLECTIVE_BLOCK) T[n]" },
		{ "new (int)", "new (MAM_COLLECTIVE_BLOCK) (int)" },
		{ "new (T){ 1 }", "new (MAM_COLLECTIVE_BLOCK) (T){ 1 }" },
		{ "new (std::nothrow) T(1)", "new (MAM_COLLECTIVE_BLOCK) T(1)" },
		{ "new(nothrow) T", "new(MAM_COLLECTIVE_BLOCK) T" },
	};
	char before[200], after[200];

	snprintf(before, sizeof(before), "\tp = %s;\n\tq = new T;\n\tdelete p;\n", rows[_i].before);
	snprintf(after, sizeof(after), "\tp = %s;\n\tq = new T;\n\tdelete p;\n", rows[_i].after);
	kernel(before);
	kit_call(CO_OPERATOR_NEW, rows[_i].before, CO_ALL, CO_ALL, CO_ALL);
	kit_call(CO_OPERATOR_NEW, "new T;", CO_EACH, CO_ALL, CO_EACH)->end--;
	kit_call(CO_OPERATOR_DELETE, "delete p", CO_EACH, CO_EACH, CO_EACH);
	expect(INCLUDE_NEW, after, "");
}
END_TEST

/*
 * new with placement arguments, or what looks like it, stays unchanged, as does one in a macro; all
 * others change.
 */
START_TEST(new_with_arguments_is_unchanged)
{
	kernel("\tp = new (place) T;\n\tr = new (T)(1);\n\tq = M(new T);\n\ts = malloc(4);\n");
	kit_call(CO_OPERATOR_NEW, "new (place) T", CO_ALL, CO_ALL, CO_ALL);
	kit_call(CO_OPERATOR_NEW, "new (T)(1)", CO_ALL, CO_ALL, CO_ALL);
	kit_call(CO_OPERATOR_NEW, "new T", CO_ALL, CO_ALL, CO_ALL)->macro = true;
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	expect(INCLUDE_NEW,
	       "\tp = new (place) T;\n\tr = new (T)(1);\n\tq = M(new T);\n"
	       "\ts = mam_cmalloc(4, MAM_COLLECTIVE_BLOCK);\n",
	       "a.cu:4: left alone: it has arguments of its own\n"
	       "a.cu:5: left alone: it has arguments of its own\n"
	       "a.cu:6: left alone: it is in a macro\n");
}
END_TEST

/* ---- mam_kmalloc() --------------------------------------------------------------------------- */

START_TEST(kmalloc_is_rewritten)
{
	static const struct {
		const char *before, *after;
	} calls[] = {
		{ "mam_kmalloc(heap, 32)", "mam_kmalloc_block(heap, 32)" },
		{ "mam_kmalloc(heap, 0x40ul)", "mam_kmalloc_block(heap, 0x40ul)" },
		{ "mam_kmalloc(heap, 24)", "mam_kmalloc_block(heap, ((size_t)24 + 15) / 16 * 16)" },
		{ "mam_kmalloc(heap, 16.5)",
		  "mam_kmalloc_block(heap, ((size_t)16.5 + 15) / 16 * 16)" },
		{ "mam_kmalloc(heap, n)", "mam_kmalloc_block(heap, ((size_t)n + 15) / 16 * 16)" },
		{ "mam_kmalloc(h[i, 1], sizeof(T))",
		  "mam_kmalloc_block(h[i, 1], (sizeof(T) + 15) / 16 * 16)" },
		{ "::mam_kmalloc(f(a, b), n ? n : 1)",
		  "mam_kmalloc_block(f(a, b), ((size_t)(n ? n : 1) + 15) / 16 * 16)" },
	};
	char before[200], after[200];

	snprintf(before, sizeof(before), "\tp = %s;\n\tmam_kfree(heap, p);\n", calls[_i].before);
	snprintf(after, sizeof(after), "\tp = %s;\n\tmam_kfree(heap, p);\n", calls[_i].after);
	kernel(before);
	kit_call(CO_KMALLOC, calls[_i].before, CO_ALL, CO_EACH, CO_ALL);
	kit_call(CO_KFREE, "mam_kfree(heap, p)", CO_EACH, CO_EACH, CO_EACH);
	expect("", after, "");
}
END_TEST

START_TEST(kmalloc_of_a_warp_or_a_lane_is_rewritten)
{
	kernel("\tp = mam_kmalloc(h, 16);\n\tq = mam_kmalloc(h, 48);\n\tr = mam_kmalloc(h<a, b>, "
	       "8);\n"
	       "\ts = M(mam_kmalloc(h, 80));\n");
	kit_call(CO_KMALLOC, "mam_kmalloc(h, 16)", CO_WARP, CO_EACH, CO_WARP);
	kit_call(CO_KMALLOC, "mam_kmalloc(h, 48)", CO_EACH, CO_ALL, CO_EACH);
	kit_call(CO_KMALLOC, "mam_kmalloc(h<a, b>, 8)", CO_WARP, CO_ALL, CO_WARP);
	kit_call(CO_KMALLOC, "mam_kmalloc(h, 80)", CO_ALL, CO_ALL, CO_ALL)->macro = true;
	expect("",
	       "\tp = mam_kmalloc_warp(h, 16);\n\tq = mam_kmalloc(h, 48);\n"
	       "\tr = mam_kmalloc(h<a, b>, 8);\n\ts = M(mam_kmalloc(h, 80));\n",
	       "a.cu:6: left alone: it is not clear where its arguments end\n"
	       "a.cu:7: left alone: it is in a macro\n");
}
END_TEST

/* ---- templates ------------------------------------------------------------------------------- */

/* Two instances of one place: the rewriting must hold for both. */
START_TEST(instances_get_the_common_verdict)
{
	int other;

	kit_text("template <class T> __global__ void k(T n) { p = malloc(n); q = malloc(8); }\n");
	kit_function("k", "template <class T> __global__ void k(", true);
	other = co_function_new(kit_program);
	kit_program->functions[other] = kit_program->functions[0];
	kit_call(CO_MALLOC, "malloc(n)", CO_ALL, CO_ALL, CO_ALL);
	kit_call(CO_MALLOC, "malloc(8)", CO_ALL, CO_ALL, CO_ALL);
	kit_verdicts[2] = kit_verdicts[0];
	kit_verdicts[3] = kit_verdicts[1];
	kit_verdicts[2].function = kit_verdicts[3].function = other;
	kit_verdicts[2].reached = kit_verdicts[2].best = CO_EACH;
	kit_judgement.count = 4;
	kit_expect(INCLUDE "template <class T> __global__ void k(T n) { p = mam_cmalloc(n, "
			   "MAM_COLLECTIVE_ALONE); "
			   "q = mam_cmalloc(8, MAM_COLLECTIVE_BLOCK); }\n",
		   "");
	/* In one of them malloc is another function. */
	kit_verdicts[2].kind = CO_HELPER;
	kit_expect_none(
		"a.cu:1: malloc is left alone: malloc at line 1 cannot be changed: it is another "
		"call in another instance of its template\n");
}
END_TEST

/* ---- wrong positions ------------------------------------------------------------------------- */

START_TEST(wrong_positions_change_nothing)
{
	struct co_node *node;

	kernel("\tp = malloc(4);\n");
	node = kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	for (size_t begin = 0; begin <= kit_program->bytes + 2; begin++) {
		for (size_t end = begin; end <= kit_program->bytes + 2; end++) {
			struct co_edits *edits;

			node->begin = begin;
			node->end = end;
			edits = co_rewrite(kit_program, &kit_judgement, NULL);
			ck_assert_ptr_nonnull(edits);
			/* The call itself, or nothing. */
			ck_assert_uint_eq(edits->count,
					  begin == kit_find("malloc", 0) && end == begin + 9 ? 3
											     : 0);
			co_edits_free(edits);
		}
	}
}
END_TEST

/* ---- the #include ---------------------------------------------------------------------------- */

START_TEST(include_goes_after_the_other_includes)
{
	static const struct {
		const char *before, *behind; /* position of the new #include: between the two */
	} rows[] = {
		{ "", "int x;\n" },
		{ "", "/* a */\n#pragma once\nint x;\n#include <late>\n" },
		{ "// a\n#include \"b//c.h\"\n", "int x;\n" },
		{ "#include <a> /* b\n#include <c>\n*/\n", "\n#define X\n" },
		{ "#include <a> // b \\\n still b\n", "\n" },
		{ "#include <a>\r\n", "int x;\r\n" },
		{ "#include <a>\n#if X\n#include <b>\n#endif\n#include <c>\n",
		  "#ifdef Y\n#include <d>\n#endif\nint x;\n" },
		{ "", "#ifndef GUARD\n#define GUARD\n#include <a>\n#endif\n" },
		{ "\xef\xbb\xbf// a\n#include <a>\n", "" },
		{ "\xef\xbb\xbf#include <a>\n", "int x;\n" },
		{ "\xef\xbb\xbf", "int x;\n" },
	};
	static const char kernel_text[] = "__global__ void k() { p = malloc(4); }\n";
	static const char kernel_after[] =
		"__global__ void k() { p = mam_cmalloc(4, MAM_COLLECTIVE_BLOCK); }\n";
	char before[512], after[512];

	snprintf(before, sizeof(before), "%s%s%s", rows[_i].before, rows[_i].behind, kernel_text);
	snprintf(after, sizeof(after), "%s#include <mam/collective.cuh>%s%s%s", rows[_i].before,
		 strchr(rows[_i].before, '\r') ? "\r\n" : "\n", rows[_i].behind, kernel_after);
	kit_text(before);
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	kit_expect(after, "");
}
END_TEST

START_TEST(include_that_exists_is_not_added)
{
	kit_text("#include <mam/collective.cuh>\n__global__ void k() { p = malloc(4); }\n");
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
	kit_expect("#include <mam/collective.cuh>\n"
		   "__global__ void k() { p = mam_cmalloc(4, MAM_COLLECTIVE_BLOCK); }\n",
		   "");
	kit_text("#include <mam/collective.cuh>\n__global__ void k() { p = new T; }\n");
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_OPERATOR_NEW, "new T", CO_ALL, CO_ALL, CO_ALL);
	kit_expect("#include <mam/collective.cuh>\n" INCLUDE_NEW
		   "__global__ void k() { p = new (MAM_COLLECTIVE_BLOCK) T; }\n",
		   "");
	kit_text(INCLUDE "#define MAM_COLLECTIVE_NEW\n__global__ void k() { p = new T; }\n");
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_OPERATOR_NEW, "new T", CO_ALL, CO_ALL, CO_ALL);
	kit_expect(INCLUDE INCLUDE_NEW
		   "#define MAM_COLLECTIVE_NEW\n"
		   "__global__ void k() { p = new (MAM_COLLECTIVE_BLOCK) T; }\n",
		   "");
	kit_text("// MAM_COLLECTIVE_NEW\n__global__ void k() { p = new T; }\n");
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_OPERATOR_NEW, "new T", CO_ALL, CO_ALL, CO_ALL);
	kit_expect(INCLUDE_NEW "// MAM_COLLECTIVE_NEW\n"
			       "__global__ void k() { p = new (MAM_COLLECTIVE_BLOCK) T; }\n",
		   "");
	kit_text(INCLUDE_NEW "__global__ void k() { p = new T; }\n");
	kit_function("k", "__global__ void k(", true);
	kit_call(CO_OPERATOR_NEW, "new T", CO_ALL, CO_ALL, CO_ALL);
	kit_expect(INCLUDE_NEW "__global__ void k() { p = new (MAM_COLLECTIVE_BLOCK) T; }\n", "");
}
END_TEST

/* No text may crash the tool. */
START_TEST(random_texts_do_not_crash)
{
	static const char *const pieces[] = { "malloc(4)", "free(p)",  "\"",    "'",     "R\"(",
					      ")\"",       "/*",       "*/",    "//",    "\\",
					      "\n",        "\r\n",     "(",     ")",     "{",
					      "}",         "<",        "#if",   "1e+5'", " ",
					      "::",        "#include", "new T", "u8",    "\xef" };
	unsigned int seed = 1;

	for (int round = 0; round < 20000; round++) {
		char text[256] = "malloc(4)";
		struct co_edits *edits;
		struct co_node *node;
		char *after;
		size_t bytes;

		for (int i = 0; i < 12; i++) {
			seed = seed * 1103515245u + 12345u;
			strcat(text, pieces[(seed >> 12) % (sizeof(pieces) / sizeof(*pieces))]);
		}
		kit_text(text);
		node = kit_call(CO_MALLOC, "malloc(4)", CO_ALL, CO_ALL, CO_ALL);
		(void)node;
		if (strstr(text, "new T"))
			kit_call(CO_OPERATOR_NEW, "new T", CO_ALL, CO_ALL, CO_ALL);
		edits = co_rewrite(kit_program, &kit_judgement, NULL);
		ck_assert_ptr_nonnull(edits);
		after = co_edits_apply(kit_program, edits, &bytes);
		ck_assert_ptr_nonnull(after);
		free(after);
		co_edits_free(edits);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("coalesce_tool/rewrite");
	TCase *cases = tcase_create("rewrite");
	SRunner *runner;
	int failed;

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, NULL, kit_end);
	tcase_add_test(cases, malloc_and_free_are_rewritten);
	tcase_add_test(cases, qualified_names_are_rewritten);
	tcase_add_loop_test(cases, scopes_and_sizes_select_the_call, 0, 9);
	tcase_add_test(cases, file_without_a_gain_is_unchanged);
	tcase_add_test(cases, one_call_in_a_macro_keeps_all);
	tcase_add_test(cases, each_name_must_be_a_rewritten_call);
	tcase_add_loop_test(cases, one_name_that_is_not_such_a_call_keeps_all, 0, 6);
	tcase_add_test(cases, comments_and_strings_are_unchanged);
	tcase_add_test(cases, new_without_a_verdict_uses_the_header);
	tcase_add_test(cases, numbers_and_strings_are_skipped);
	tcase_add_loop_test(cases, new_expressions_are_rewritten, 0, 7);
	tcase_add_test(cases, new_with_arguments_is_unchanged);
	tcase_add_loop_test(cases, kmalloc_is_rewritten, 0, 7);
	tcase_add_test(cases, kmalloc_of_a_warp_or_a_lane_is_rewritten);
	tcase_add_test(cases, instances_get_the_common_verdict);
	tcase_add_test(cases, wrong_positions_change_nothing);
	tcase_add_loop_test(cases, include_goes_after_the_other_includes, 0, 11);
	tcase_add_test(cases, include_that_exists_is_not_added);
	tcase_add_test(cases, random_texts_do_not_crash);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
