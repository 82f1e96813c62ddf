/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - the program that implements `mam coalesce`: it finds allocations that all threads of a
 * block or a warp make together, reports and rewrites them.
 *
 * 1. Each file is read as a compiler would read it, with the flags after --.
 * 2. All device allocations are judged and reported.
 * 3. With -o or --diff the file is rewritten where that is proven to be correct. Collective
 *    allocations that are not rewritten are reported on standard error.
 * Files are independent of each other. The first file that cannot be read or written ends the
 * command.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "command.h"
#include "coalesce/rewrite/decide.h"
#include "coalesce/rewrite/diff.h"
#include "kit/args.h"
#include "kit/message.h"
#include "kit/whole_file.h"
#include "report.h"

#define LIBRARY_MAX 64
#define WHY_BYTES 1024

struct settings {
	const char *output, *library;
	bool plain, diff, dump;
};

static const struct args_option options[] = {
	{ "plain", 'p', ARGS_FLAG, offsetof(struct settings, plain), NULL, NULL,
	  "print for scripts: file, line, function, block|warp|none, uniform|varying|-, reason" },
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
	"[OPTION]... FILE.cu... [-- COMPILER-FLAG...]",
	"Find allocations in CUDA kernels that all threads of a block, or of a warp, make "
	"together,\n"
	"and rewrite them so that one request serves all and neighbors' memory is adjacent.\n"
	"Only proven cases are rewritten. No GPU and no CUDA toolkit is needed.\n",
	"  mam coalesce app.cu                        list the allocations with reasons\n"
	"  mam coalesce --diff app.cu -- -I include   print the changes\n"
	"  mam coalesce -o app2.cu app.cu             rewrite; compile with -I of mam's headers\n"
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
	message_error("memory ran out");
	return STATUS_BAD;
}

static bool is_told(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return true;
	message_error("standard output cannot be written");
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

static int rewrite(const struct settings *settings, const struct co_program *program,
		   const struct co_edits *edits)
{
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
	free(text);
	return status;
}

static int treat(const struct settings *settings, const char *path, const char *const *flags,
		 size_t flag_count, const char *const *library, struct co_tally *tally)
{
	struct co_decision decision;
	struct co_program *program;
	char why[WHY_BYTES] = "";
	int status = STATUS_GOOD;

	program = co_program_read(path, flags, flag_count, why, sizeof(why));
	if (program == NULL) {
		message_error("%s", why);
		return STATUS_BAD;
	}
	if (settings->dump) {
		co_program_put(program, stdout);
		co_program_free(program);
		return STATUS_GOOD;
	}
	if (!co_decide(program, library, &decision)) {
		co_program_free(program);
		return no_memory();
	}
	if (!settings->diff)
		co_report_put(stdout, program, &decision, settings->plain, tally);
	if (settings->diff || settings->output != NULL)
		status = rewrite(settings, program, decision.edits);
	co_decision_free(&decision);
	co_program_free(program);
	return status;
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
	if (count == 0) {
		message_error("no file was named; see mam coalesce --help");
		return false;
	}
	if (settings->dump && (settings->diff || settings->output != NULL)) {
		message_error("--tree rewrites nothing: leave out --diff and -o");
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

int main(int argc, char **argv)
{
	const char *library[LIBRARY_MAX + 1];
	struct settings settings = { .output = NULL };
	const int end = find_flags(argc, argv), flags = end < argc ? end + 1 : argc;
	struct co_tally tally = { 0, 0, 0, 0, 0 };
	int first, status, i;
	char *names = NULL;

	message_begin("mam coalesce");
	if (!args_parse(&command, end, argv, &settings, &first, &status))
		return status;
	if (!is_fine(&settings, argv + first, end - first))
		return STATUS_BAD;
	if (settings.library != NULL && (names = strdup(settings.library)) == NULL)
		return no_memory();
	status = split(names, library) ? STATUS_GOOD : STATUS_BAD;
	for (i = first; i < end && status == STATUS_GOOD; i++)
		status = treat(&settings, argv[i], (const char *const *)argv + flags,
			       (size_t)(argc - flags), library, &tally);
	if (status == STATUS_GOOD && !settings.plain && !settings.diff && !settings.dump)
		co_report_sum(stdout, &tally, (size_t)(end - first));
	free(names);
	if (status == STATUS_GOOD && !is_told())
		return STATUS_BAD;
	return status;
}
