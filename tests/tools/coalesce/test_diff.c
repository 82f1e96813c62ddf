/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_diff.c - unified diffs by diff(1): known ones; random ones, applied by our own reader and by
 * patch(1), none longer than necessary; texts with nothing in common; odd paths; and errors.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coalesce/rewrite/diff.h"
#include "tools/failing.h"

#define LINES_MAX 40
#define TEXT_MAX (LINES_MAX * 8)

static char *shown;

/* The diff of two texts, valid until the next call. */
static const char *diff(const char *before, const char *after)
{
	size_t bytes;
	FILE *file;

	free(shown);
	file = open_memstream(&shown, &bytes);
	ck_assert_ptr_nonnull(file);
	ck_assert(co_diff_put(file, "a.cu", "b.cu", before, after));
	fclose(file);
	return shown;
}

static void begin(void)
{
	failing_left = -1;
}

static void end(void)
{
	failing_left = -1;
	free(shown);
	shown = NULL;
}

#define HEAD "--- a.cu\n+++ b.cu\n"

START_TEST(equal_texts_have_no_diff)
{
	ck_assert_str_eq(diff("", ""), "");
	ck_assert_str_eq(diff("a\nb\n", "a\nb\n"), "");
	ck_assert_str_eq(diff("a", "a"), "");
}
END_TEST

START_TEST(one_changed_line_gives_one_hunk)
{
	ck_assert_str_eq(diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n"),
			 HEAD "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
	ck_assert_str_eq(diff("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nx\n5\n"),
			 HEAD "@@ -2,4 +2,5 @@\n 2\n 3\n 4\n+x\n 5\n");
	ck_assert_str_eq(diff("1\n2\n", "2\n"), HEAD "@@ -1,2 +1 @@\n-1\n 2\n");
}
END_TEST

START_TEST(empty_texts_are_diffed)
{
	ck_assert_str_eq(diff("", "a\nb\n"), HEAD "@@ -0,0 +1,2 @@\n+a\n+b\n");
	ck_assert_str_eq(diff("a\n", ""), HEAD "@@ -1 +0,0 @@\n-a\n");
}
END_TEST

START_TEST(last_line_without_a_newline_is_noted)
{
	ck_assert_str_eq(diff("a\nb", "a\nb\n"),
			 HEAD "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n");
	ck_assert_str_eq(diff("a\nb\n", "a\nb"),
			 HEAD "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n");
	ck_assert_str_eq(diff("a\nb", "c\nb"),
			 HEAD "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n");
}
END_TEST

/* Six kept lines between two changes are in one hunk, seven separate two hunks. */
START_TEST(nearby_changes_share_one_hunk)
{
	ck_assert_str_eq(diff("a\n1\n2\n3\n4\n5\n6\nb\n", "A\n1\n2\n3\n4\n5\n6\nB\n"),
			 HEAD "@@ -1,8 +1,8 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n-b\n+B\n");
	ck_assert_str_eq(diff("a\n1\n2\n3\n4\n5\n6\n7\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\nB\n"),
			 HEAD "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n"
			      "@@ -6,4 +6,4 @@\n 5\n 6\n 7\n-b\n+B\n");
}
END_TEST

/* True: it succeeded. */
static bool diff_of(const char *path_before, const char *path_after)
{
	size_t bytes;
	FILE *file;
	bool done;

	free(shown);
	file = open_memstream(&shown, &bytes);
	ck_assert_ptr_nonnull(file);
	done = co_diff_put(file, path_before, path_after, "a\n", "b\n");
	fclose(file);
	return done;
}

START_TEST(path_with_a_blank_ends_with_a_tab)
{
	ck_assert(diff_of("my file.cu", "b.cu"));
	ck_assert_str_eq(shown, "--- my file.cu\t\n+++ b.cu\n@@ -1 +1 @@\n-a\n+b\n");
}
END_TEST

START_TEST(odd_paths_are_not_expanded)
{
	ck_assert(diff_of("--help", "$(false); `'*.cu"));
	ck_assert_str_eq(shown, "--- --help\n+++ $(false); `'*.cu\t\n@@ -1 +1 @@\n-a\n+b\n");
	ck_assert(diff_of("a\n+b.cu", "\"\\ \x7f"));
	ck_assert_str_eq(shown, "--- \"a\\012+b.cu\"\n+++ \"\\042\\134 \\177\"\n"
				"@@ -1 +1 @@\n-a\n+b\n");
	ck_assert(diff_of("\303\244.cu", ""));
	ck_assert_str_eq(shown, "--- \303\244.cu\n+++ \n@@ -1 +1 @@\n-a\n+b\n");
}
END_TEST

/* ---- random texts ---------------------------------------------------------------------------- */

static unsigned int seed;

static unsigned int any(unsigned int below)
{
	seed = seed * 1103515245u + 12345u;
	return (seed >> 12) % below;
}

/* Few different lines, so that many are equal; the last one may have no newline. */
static void make(char *text)
{
	unsigned int lines = any(LINES_MAX), kinds = 1 + any(6);

	*text = '\0';
	while (lines--)
		text += sprintf(text, "%c\n", 'a' + any(kinds));
	if (any(4) == 0)
		strcpy(text, "end");
}

/* The other text, with some lines removed, inserted, or changed. */
static void make_like(char *text, const char *other)
{
	const char *line, *next;

	*text = '\0';
	for (line = other; *line; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (any(8) == 0 && strlen(text) + 8 < TEXT_MAX)
			strcat(text, "new\n");
		if (any(8))
			strncat(text, line, (size_t)(next - line));
	}
}

/* Up to the end of a line, without the newline; `at` moves to the next line. */
static const char *line_end(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : line + strlen(line);
}

struct reader {
	const char *at;                    /* of the diff */
	char old[TEXT_MAX], new[TEXT_MAX]; /* as given by the diff */
	long changes;
};

/* One line of a hunk. */
static void read_line(struct reader *reader, const char *next)
{
	size_t bytes = (size_t)(next - reader->at) - 1;

	if (strncmp(next, "\\ No newline at end of file\n", 28) == 0)
		bytes--;
	if (*reader->at != '+')
		strncat(reader->old, reader->at + 1, bytes);
	if (*reader->at != '-')
		strncat(reader->new, reader->at + 1, bytes);
	reader->changes += *reader->at != ' ';
}

static void take_lines(char *text, const char **from, long *line, long up_to)
{
	for (; *line < up_to; (*line)++) {
		const char *next = line_end(*from);

		strncat(text, *from, (size_t)(next - *from));
		*from = next;
	}
}

static void skip_lines(const char **from, long *line, long count)
{
	for (; count--; (*line)++)
		*from = line_end(*from);
}

/* "from,count" in the sense of lines that are skipped, and lines that follow. */
static const char *read_range(const char *at, long *from, long *count)
{
	char *rest;

	*from = strtol(at, &rest, 10);
	*count = 1;
	if (*rest == ',')
		*count = strtol(rest + 1, &rest, 10);
	*from -= *count != 0;
	return rest;
}

/* Reads a diff like patch(1): both texts must result from it, with the text between the hunks. */
static long read_diff(const char *text, const char *before, const char *after)
{
	struct reader reader = { .at = text };
	long old_line = 0, new_line = 0, old_from, old_count, new_from, new_count;
	const char *rest = before;

	ck_assert_int_eq(strncmp(text, HEAD, strlen(HEAD)), 0);
	for (reader.at += strlen(HEAD); *reader.at;) {
		ck_assert_int_eq(strncmp(reader.at, "@@ -", 4), 0);
		reader.at = read_range(reader.at + 4, &old_from, &old_count);
		reader.at = read_range(reader.at + 2, &new_from, &new_count);
		ck_assert_int_eq(strncmp(reader.at, " @@\n", 4), 0);
		reader.at += 4;
		ck_assert_int_eq(old_from - old_line, new_from - new_line);
		new_line += old_from - old_line;
		take_lines(reader.new, &rest, &old_line, old_from);
		skip_lines(&rest, &old_line, old_count);
		new_line += new_count;
		reader.old[0] = '\0';
		while (old_count || new_count) {
			const char *next = line_end(reader.at);

			ck_assert(strchr(" +-", *reader.at) && *reader.at);
			old_count -= *reader.at != '+';
			new_count -= *reader.at != '-';
			read_line(&reader, next);
			reader.at = next;
			if (*reader.at == '\\')
				reader.at = line_end(reader.at);
		}
		ck_assert_int_eq(old_count, 0);
		ck_assert_int_eq(new_count, 0);
		/* The old text of the hunk must be there, up to its end. */
		ck_assert(strlen(reader.old) <= (size_t)(rest - before));
		ck_assert_int_eq(strncmp(rest - strlen(reader.old), reader.old, strlen(reader.old)),
				 0);
		reader.old[0] = '\0';
	}
	strcat(reader.new, rest);
	ck_assert_str_eq(reader.new, after);
	return reader.changes;
}

static size_t count_lines(const char *text, const char *lines[LINES_MAX * 2])
{
	size_t count = 0;

	for (; *text; text = line_end(text))
		lines[count++] = text;
	lines[count] = text;
	return count;
}

/* The minimum number of changed lines: all except the longest common subsequence. */
static long min_changes(const char *before, const char *after)
{
	static long common[LINES_MAX * 2][LINES_MAX * 2];
	const char *old[LINES_MAX * 2], *new[LINES_MAX * 2];
	size_t olds = count_lines(before, old), news = count_lines(after, new);

	memset(common, 0, sizeof(common));
	for (size_t i = olds; i-- > 0;) {
		for (size_t k = news; k-- > 0;) {
			size_t bytes = (size_t)(old[i + 1] - old[i]);
			bool same = bytes == (size_t)(new[k + 1] - new[k]) &&
				    memcmp(old[i], new[k], bytes) == 0;

			common[i][k] = same ? common[i + 1][k + 1] + 1
				       : common[i + 1][k] > common[i][k + 1] ? common[i + 1][k]
									     : common[i][k + 1];
		}
	}
	return (long)(olds + news) - 2 * common[0][0];
}

START_TEST(random_texts_are_reproduced_by_minimal_diffs)
{
	char before[TEXT_MAX * 2], after[TEXT_MAX * 2];

	for (seed = 1; seed < 60000; seed += 101) {
		unsigned int kept = seed;

		make(before);
		if (any(2))
			make(after);
		else
			make_like(after, before);
		if (strcmp(before, after) != 0)
			ck_assert_int_eq(read_diff(diff(before, after), before, after),
					 min_changes(before, after));
		seed = kept;
	}
}
END_TEST

/* ---- patch(1) -------------------------------------------------------------------------------- */

static void write_file(const char *name, const char *text)
{
	FILE *file = fopen(name, "w");

	ck_assert_ptr_nonnull(file);
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

static void assert_file(const char *name, const char *text)
{
	static char room[TEXT_MAX * 2];
	FILE *file = fopen(name, "r");

	if (!file) { /* patch removes empty files */
		ck_assert_str_eq(text, "");
		return;
	}
	room[fread(room, 1, sizeof(room) - 1, file)] = '\0';
	fclose(file);
	ck_assert_str_eq(room, text);
}

START_TEST(patch_applies_the_diffs)
{
	char folder[] = "diff.XXXXXX", before[TEXT_MAX * 2], after[TEXT_MAX * 2];

	if (system("patch --version > /dev/null 2>&1") != 0)
		return;
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	for (seed = 5; seed < 5 + 40 * 11; seed += 11) {
		unsigned int kept = seed;

		make(before);
		make_like(after, before);
		write_file("a.cu", before);
		write_file("d", diff(before, after));
		if (strcmp(before, after) != 0)
			ck_assert_int_eq(system("patch -s -F0 a.cu d > said 2>&1"), 0);
		assert_file("a.cu", after);
		unlink("a.cu");
		seed = kept;
	}
	unlink("d");
	unlink("said");
	ck_assert_int_eq(chdir(".."), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}
END_TEST

/* ---- limits and errors ----------------------------------------------------------------------- */

/* 20,000 lines each, of which none, or every third, is also in the other text. */
START_TEST(distant_texts_are_diffed)
{
	enum { LINES = 20000 };
	char *before = calloc(LINES, 16), *after = calloc(LINES, 16), *a = before, *b = after;
	struct rusage used;
	long removed = 0, added = 0, kept = 0;

	ck_assert(before && after);
	for (int i = 0; i < LINES; i++) {
		a += sprintf(a, "old %d\n", i);
		b += sprintf(b, "%s %d\n", _i && i % 3 == 0 ? "old" : "new", i);
	}
	diff(before, after);
	ck_assert_int_eq(getrusage(RUSAGE_CHILDREN, &used), 0);
	ck_assert_int_lt(used.ru_utime.tv_sec + used.ru_stime.tv_sec, 5);
	for (const char *line = shown + strlen(HEAD); *line; line = line_end(line)) {
		removed += *line == '-';
		added += *line == '+';
		kept += *line == ' ';
	}
	ck_assert_int_eq(removed, added);
	ck_assert_int_eq(removed, LINES - kept);
	ck_assert_int_ge(kept, _i ? LINES / 3 : 0);
	free(before);
	free(after);
}
END_TEST

START_TEST(out_of_memory_gives_no_diff)
{
	char *text = NULL;
	size_t bytes;
	long enough = 0;
	FILE *file = open_memstream(&text, &bytes);

	ck_assert_ptr_nonnull(file);
	for (;; enough++) {
		failing_left = enough;
		if (co_diff_put(file, "a.cu", "b.cu", "a\nb\nc\n", "a\nx\nc\n"))
			break;
		failing_left = -1;
		fflush(file);
		ck_assert_uint_eq(bytes, 0);
	}
	failing_left = -1;
	fclose(file);
	ck_assert_int_ge(enough, 2);
	ck_assert_str_eq(text, HEAD "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n");
	free(text);
}
END_TEST

static char folder[] = "diff.XXXXXX";

/* In an empty folder, a script is the only diff(1); NULL: there is none. */
static void replace_diff(const char *script)
{
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(setenv("PATH", ".", 1), 0);
	if (!script)
		return;
	file = fopen("diff", "w");
	ck_assert_ptr_nonnull(file);
	fprintf(file, "#!/bin/sh\n%s\n", script);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(chmod("diff", 0700), 0);
}

static void leave_folder(void)
{
	unlink("diff");
	unlink("said");
	ck_assert_int_eq(chdir(".."), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

static const struct {
	const char *script, *said; /* in one line on stderr */
} failures[] = {
	{ NULL, "cannot run 'diff': No such file or directory" },
	{ "echo half; exit 2", "cannot run 'diff': exit status 2" },
	{ "echo half; kill -9 $$", "cannot run 'diff': Killed" },
};

START_TEST(diff_failures_are_reported)
{
	char said[256] = "";

	replace_diff(failures[_i].script);
	ck_assert_ptr_nonnull(freopen("said", "w+", stderr));
	ck_assert(!diff_of("a.cu", "b.cu"));
	ck_assert_str_eq(shown, "");
	rewind(stderr);
	said[fread(said, 1, sizeof(said) - 1, stderr)] = '\0';
	ck_assert_ptr_nonnull(strstr(said, failures[_i].said));
	ck_assert_ptr_eq(strchr(said, '\n'), said + strlen(said) - 1);
	leave_folder();
}
END_TEST

/* The system then reaps children by itself. */
START_TEST(ignored_sigchld_does_not_matter)
{
	signal(SIGCHLD, SIG_IGN);
	ck_assert_str_eq(diff("a\n", "b\n"), HEAD "@@ -1 +1 @@\n-a\n+b\n");
}
END_TEST

/* diff(1) translates the note on a last line without a newline. */
START_TEST(locale_does_not_matter)
{
	ck_assert_int_eq(setenv("LC_ALL", "de_DE.UTF-8", 1), 0);
	replace_diff("echo $LC_ALL");
	ck_assert_str_eq(diff("a", "b"), "C\n");
	leave_folder();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("coalesce_tool/diff");
	TCase *cases = tcase_create("diff");
	SRunner *runner;
	int failed;

	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, begin, end);
	tcase_add_test(cases, equal_texts_have_no_diff);
	tcase_add_test(cases, one_changed_line_gives_one_hunk);
	tcase_add_test(cases, empty_texts_are_diffed);
	tcase_add_test(cases, last_line_without_a_newline_is_noted);
	tcase_add_test(cases, nearby_changes_share_one_hunk);
	tcase_add_test(cases, path_with_a_blank_ends_with_a_tab);
	tcase_add_test(cases, odd_paths_are_not_expanded);
	tcase_add_test(cases, random_texts_are_reproduced_by_minimal_diffs);
	tcase_add_test(cases, patch_applies_the_diffs);
	tcase_add_loop_test(cases, distant_texts_are_diffed, 0, 2);
	tcase_add_test(cases, out_of_memory_gives_no_diff);
	tcase_add_loop_test(cases, diff_failures_are_reported, 0,
			    sizeof(failures) / sizeof(failures[0]));
	tcase_add_test(cases, ignored_sigchld_does_not_matter);
	tcase_add_test(cases, locale_does_not_matter);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
