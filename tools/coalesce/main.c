/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the program that implements `mam coalesce`: it finds allocations that all threads of a
 * block or a warp make together, reports and rewrites them.
 *
 * 1. Each file is read as a compiler would read it, with the flags after --.
 * 2. All device allocations are judged and reported.
 * 3. With --fix, -o or --diff the file is rewritten where that is proven to be correct. Collective
 *    allocations that are not rewritten are reported on standard error.
 * Files are analyzed one by one. If one cannot be read, the others are still reported, but --fix
 * changes none.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "builds.h"
#include "command.h"
#include "coalesce/rewrite/decide.h"
#include "coalesce/rewrite/diff.h"
#include "fix.h"
#include "kit/args.h"
#include "kit/message.h"
#include "kit/whole_file.h"
#include "lint.h"
#include "report.h"

#define LIBRARY_MAX 64
#define WHY_BYTES 1024

enum format { TEXT, CLANG, SARIF };

struct settings {
	const char *output, *library, *build;
	uint64_t format;
	bool plain, diff, fix, dump;
};

/* The whole command. */
struct run {
	const struct settings *settings;
	const char *const *library;
	const char *const *flags; /* after -- */
	size_t flag_count;
	struct co_builds builds;
	struct co_fixes fixes;
	struct co_tally tally;
	int home;   /* the folder in which the command was started */
	bool sarif; /* a result was printed */
};

static const struct args_word format_words[] = {
	{ "text", TEXT },
	{ "clang", CLANG },
	{ "sarif", SARIF },
	{ NULL, 0 },
};

static const struct args_option options[] = {
	{ "build", 'p', ARGS_TEXT, offsetof(struct settings, build), "DIR", NULL,
	  "take each file's flags from DIR/compile_commands.json; without FILE, all its\n"
	  "CUDA files" },
	{ "format", 0, ARGS_WORD, offsetof(struct settings, format), "NAME", format_words,
	  "text (default), clang (file:line:column: warning: ..., for editors) or sarif" },
	{ "plain", 0, ARGS_FLAG, offsetof(struct settings, plain), NULL, NULL,
	  "print for scripts: file, line, function, block|warp|none, uniform|varying|-, reason" },
	{ "fix", 0, ARGS_FLAG, offsetof(struct settings, fix), NULL, NULL,
	  "rewrite all files in place, and keep each old one as FILE.orig" },
	{ "output", 'o', ARGS_TEXT, offsetof(struct settings, output), "FILE", NULL,
	  "write the rewritten file to FILE; only with one input file" },
	{ "diff", 0, ARGS_FLAG, offsetof(struct settings, diff), NULL, NULL,
	  "print only the changes, as a unified diff" },
	{ "library", 0, ARGS_TEXT, offsetof(struct settings, library), "NAME,...", NULL,
	  "name functions defined elsewhere that take the coalesce parameter last" },
	{ "tree", 0, ARGS_FLAG, offsetof(struct settings, dump), NULL, NULL,
	  "print only the program as the command understands it" },
	{ NULL, 0, ARGS_FLAG, 0, NULL, NULL, NULL },
};

static const struct args_command command = {
	"mam coalesce",
	"[OPTION]... [FILE.cu]... [-- COMPILER-FLAG...]",
	"Find allocations in CUDA kernels that all threads of a block, or of a warp, make "
	"together,\n"
	"and rewrite them so that one request serves all and neighbors' memory is adjacent.\n"
	"Only proven cases are rewritten. No GPU and no CUDA toolkit is needed.\n",
	"  mam coalesce app.cu                        list the allocations with reasons\n"
	"  mam coalesce --diff app.cu -- -I include   print the changes\n"
	"  mam coalesce -o app2.cu app.cu             rewrite; compile with -I of mam's headers\n"
	"  mam coalesce -p build --fix                rewrite all CUDA files of a build\n"
	"More in mam-coalesce(1).\n",
	options,
	false,
};

static bool is_name(const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:";
	static const char all[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_:0123456789";

	return *text != '\0' && strchr(letters, *text) != NULL && text[strspn(text, all)] == '\0';
}

/* Splits the list in place; a NULL ends it. False: it is invalid, and an error was printed. */
static bool split(char *text, const char *names[LIBRARY_MAX + 1])
{
	size_t count = 0;
	char *name, *rest = text;

	while (text != NULL && (name = strsep(&rest, ",")) != NULL) {
		if (!is_name(name)) {
			message_error("invalid function name '%s' in --library; separate names "
				      "with commas",
				      name);
			return false;
		}
		if (count == LIBRARY_MAX) {
			message_error("--library names more than %d functions", LIBRARY_MAX);
			return false;
		}
		names[count++] = name;
	}
	names[count] = NULL;
	return true;
}

static int no_memory(void)
{
	message_error("out of memory");
	return STATUS_BAD;
}

static bool is_told(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	message_error("cannot write to standard output");
	return false;
}

static bool write_whole(const char *path, const char *text, size_t bytes)
{
	struct whole_file whole;
	FILE *file = whole_file_open(&whole, path, "the rewritten file");

	if (file == NULL)
		return false;
	return whole_file_close(&whole, fwrite(text, 1, bytes, file) == bytes);
}

static int rewrite(struct run *run, const struct co_program *program, const struct co_edits *edits)
{
	const struct settings *settings = run->settings;
	int status = STATUS_GOOD;
	size_t bytes, i;
	char *text = co_edits_apply(program, edits, &bytes);

	if (text == NULL)
		return no_memory();
	for (i = 0; i < edits->left_count; i++)
		fprintf(stderr, "%s\n", edits->left[i]);
	if (settings->diff &&
	    !co_diff_put(stdout, program->path, program->path, program->text, text))
		status = STATUS_BAD;
	/* If the command fails, no output file is created. */
	if (status == STATUS_GOOD && settings->output != NULL &&
	    (!is_told() || !write_whole(settings->output, text, bytes)))
		status = STATUS_BAD;
	if (settings->fix && status == STATUS_GOOD &&
	    (bytes != program->bytes || memcmp(text, program->text, bytes) != 0)) {
		if (!co_fixes_add(&run->fixes, program->path, text, bytes))
			return no_memory();
		return status;
	}
	free(text);
	return status;
}

static void report(struct run *run, const struct co_program *program,
		   const struct co_decision *decision)
{
	const struct settings *settings = run->settings;

	if (settings->format == CLANG)
		co_lint_put(stdout, program, decision);
	else if (settings->format == SARIF)
		co_sarif_put(stdout, program, decision, &run->sarif);
	else
		co_report_put(stdout, program, decision, settings->plain, &run->tally);
}

/*
 * Reads a file with the flags of the build, in the build's folder, and those of the command. NULL:
 * reported.
 */
static struct co_program *read_file(const struct run *run, const char *path)
{
	const struct co_build *build =
		run->settings->build != NULL ? co_builds_find(&run->builds, path) : NULL;
	size_t count = build != NULL ? build->flag_count : 0;
	const char **flags = calloc(count + run->flag_count + 1, sizeof(*flags));
	struct co_program *program = NULL;
	char why[WHY_BYTES] = "", *kept;
	size_t i;

	if (flags == NULL) {
		(void)no_memory();
		return NULL;
	}
	if (run->settings->build != NULL && build == NULL && access(path, R_OK) == 0)
		message_warning(
			"%s/compile_commands.json does not compile '%s': it is read without "
			"flags",
			run->settings->build, path);
	for (i = 0; i < count; i++)
		flags[i] = build->flags[i];
	for (i = 0; i < run->flag_count; i++)
		flags[count + i] = run->flags[i];
	if (build != NULL && chdir(build->folder) != 0) {
		message_error("cannot enter '%s', where '%s' is compiled: %s", build->folder, path,
			      strerror(errno));
		free(flags);
		return NULL;
	}
	program = co_program_read(build != NULL ? build->file : path, flags,
				  count + run->flag_count, why, sizeof(why));
	if (build != NULL && fchdir(run->home) != 0) {
		message_error("cannot return to the current folder: %s", strerror(errno));
		co_program_free(program);
		free(flags);
		return NULL;
	}
	free(flags);
	if (program == NULL) {
		message_error("%s", why);
		return NULL;
	}
	kept = co_text_new(program, path, strlen(path));
	if (kept != NULL)
		program->path = kept;
	return program;
}

static int treat(struct run *run, const char *path)
{
	const struct settings *settings = run->settings;
	struct co_program *program = read_file(run, path);
	struct co_decision decision;
	int status = STATUS_GOOD;

	if (program == NULL)
		return STATUS_BAD;
	if (settings->dump) {
		co_program_put(program, stdout);
		co_program_free(program);
		return STATUS_GOOD;
	}
	if (!co_decide(program, run->library, &decision)) {
		co_program_free(program);
		return no_memory();
	}
	if (!settings->diff)
		report(run, program, &decision);
	if (settings->diff || settings->fix || settings->output != NULL)
		status = rewrite(run, program, decision.edits);
	co_decision_free(&decision);
	co_program_free(program);
	return status;
}

/* The path as it is seen from the current folder. */
static const char *shown(const char *path)
{
	static char home[PATH_MAX];
	size_t length;

	if (home[0] == '\0' && getcwd(home, sizeof(home)) == NULL)
		return path;
	length = strlen(home);
	return strncmp(path, home, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

static int treat_build(struct run *run, size_t *count)
{
	int status = STATUS_GOOD, one;
	size_t i, k;

	for (i = 0; i < run->builds.count; i++) {
		const struct co_build *build = &run->builds.builds[i];

		for (k = 0; k < i && strcmp(run->builds.builds[k].file, build->file) != 0;)
			k++;
		if (k < i || !co_build_is_cuda(build))
			continue;
		++*count;
		one = treat(run, shown(build->file));
		status = one != STATUS_GOOD ? one : status;
	}
	if (*count == 0) {
		message_error("%s/compile_commands.json compiles no CUDA file",
			      run->settings->build);
		return STATUS_BAD;
	}
	return status;
}

static int write_fixes(struct run *run, int status)
{
	size_t i;

	if (status != STATUS_GOOD) {
		message_error("--fix has changed no file");
		return status;
	}
	if (!is_told() || !co_fixes_write(&run->fixes))
		return STATUS_BAD;
	for (i = 0; i < run->fixes.count; i++)
		fprintf(stderr, "%s: rewritten; the old one is %s\n",
			shown(run->fixes.fixes[i].path), shown(run->fixes.fixes[i].backup));
	return STATUS_GOOD;
}

/* Removes the flags from argv; returns the number of arguments before them. */
static int find_flags(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i;
	return argc;
}

/* The output must not overwrite the input, which may be only half read. */
static bool is_same_file(const char *one, const char *other)
{
	struct stat first, second;

	return stat(one, &first) == 0 && stat(other, &second) == 0 &&
	       first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

static bool is_fine(const struct settings *settings, char **files, int count)
{
	if (count == 0 && settings->build == NULL) {
		message_error("no file was named; see mam coalesce --help");
		return false;
	}
	if (settings->dump && (settings->diff || settings->fix || settings->output != NULL)) {
		message_error("--tree rewrites nothing: leave out --diff, --fix and -o");
		return false;
	}
	if (settings->fix && (settings->diff || settings->output != NULL)) {
		message_error("--fix rewrites in place: leave out --diff and -o");
		return false;
	}
	if (settings->plain && settings->format != TEXT) {
		message_error("--plain and --format exclude each other");
		return false;
	}
	if (settings->output != NULL && count == 0) {
		message_error("-o writes one file: name one");
		return false;
	}
	if (settings->output != NULL && count > 1) {
		message_error("-o writes one file, but %d were named: name one", count);
		return false;
	}
	if (settings->output != NULL && is_same_file(settings->output, files[0])) {
		message_error("-o '%s' is the file that is read: give another name",
			      settings->output);
		return false;
	}
	return true;
}

static int treat_all(struct run *run, char **files, size_t count)
{
	const struct settings *settings = run->settings;
	int status = STATUS_GOOD, one;
	size_t i;

	if (settings->build != NULL) {
		run->home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (!co_builds_read(settings->build, &run->builds))
			return STATUS_BAD;
	}
	if (settings->format == SARIF && !settings->diff)
		co_sarif_begin(stdout);
	for (i = 0; i < count; i++) {
		one = treat(run, files[i]);
		status = one != STATUS_GOOD ? one : status;
	}
	if (count == 0)
		status = treat_build(run, &count);
	if (settings->format == SARIF && !settings->diff)
		co_sarif_end(stdout);
	if (settings->fix)
		status = write_fixes(run, status);
	if (status == STATUS_GOOD && !settings->plain && !settings->diff && !settings->dump &&
	    settings->format == TEXT)
		co_report_sum(stdout, &run->tally, count);
	return status;
}

int main(int argc, char **argv)
{
	const char *library[LIBRARY_MAX + 1];
	struct settings settings = { .output = NULL };
	const int end = find_flags(argc, argv), flags = end < argc ? end + 1 : argc;
	struct run run = { .settings = &settings,
			   .library = library,
			   .flags = (const char *const *)argv + flags,
			   .flag_count = (size_t)(argc - flags),
			   .home = -1 };
	char *names = NULL;
	int first, status;

	message_begin("mam coalesce");
	if (!args_parse(&command, end, argv, &settings, &first, &status))
		return status;
	if (!is_fine(&settings, argv + first, end - first))
		return STATUS_BAD;
	if (settings.library != NULL && (names = strdup(settings.library)) == NULL)
		return no_memory();
	status = split(names, library) ? STATUS_GOOD : STATUS_BAD;
	if (status == STATUS_GOOD)
		status = treat_all(&run, argv + first, (size_t)(end - first));
	free(names);
	co_builds_free(&run.builds);
	co_fixes_free(&run.fixes);
	if (run.home >= 0)
		close(run.home);
	if (status == STATUS_GOOD && !is_told())
		return STATUS_BAD;
	return status;
}
