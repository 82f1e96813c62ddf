/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as compile_commands.json for mam coalesce -p, and as a file of options that it names: a
 * list of commands, or one error. The commands, written as JSON again, are read as the same ones, and
 * so is a command whose flag is the text of the file of options.
 *
 * Input: two bytes for the length of the file of options, which is named "o", its text, then the JSON.
 */
#include <fcntl.h>
#include <malloc.h>

#include "coalesce/builds.h"
#include "fuzz.h"

#define JSON "compile_commands.json"

static void put_file(const char *name, const void *data, size_t bytes)
{
	FILE *file = fopen(name, "wb");

	require(file && fwrite(data, 1, bytes, file) == bytes && fclose(file) == 0,
		"cannot write a file");
}

static bool read_builds(struct co_builds *builds)
{
	struct fuzz_heard heard;
	size_t errors = 0;
	bool good;

	fuzz_heard_begin(&heard);
	good = co_builds_read(".", builds);
	fuzz_heard_end(&heard);
	for (const char *line = heard.said; *line;
	     line += strcspn(line, "\n"), line += *line == '\n')
		errors += strncmp(line + strcspn(line, ":"), ": error: ", 9) == 0;
	require(errors == !good, "a failure without a message, or a message without one");
	require(heard.printed_bytes == 0, "messages on stdout");
	fuzz_heard_free(&heard);
	return good;
}

static void put_text(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc(*text, file);
	}
	fputc('"', file);
}

/* False: a second reading differs, because a path is relative or a flag names a file of options. */
static bool write_builds(const struct co_builds *builds)
{
	FILE *file = fopen(JSON, "wb");
	bool same = true;

	require(file != NULL, "cannot write a file");
	fputc('[', file);
	for (size_t i = 0; i < builds->count; i++) {
		const struct co_build *build = &builds->builds[i];

		fputs(i ? ",{\"directory\":" : "{\"directory\":", file);
		put_text(file, build->folder);
		fputs(",\"file\":", file);
		put_text(file, build->file);
		fputs(",\"arguments\":[\"cc\"", file);
		same = same && build->file[0] == '/';
		for (size_t k = 0; k < build->flag_count; k++) {
			fputc(',', file);
			put_text(file, build->flags[k]);
			same = same && !strstr(build->flags[k], "-opt");
		}
		fputs("]}", file);
	}
	fputs("]\n", file);
	require(fclose(file) == 0, "cannot write a file");
	return same;
}

static void check_same(const struct co_build *a, const struct co_build *b)
{
	require(strcmp(a->file, b->file) == 0, "another file");
	require(strcmp(a->folder, b->folder) == 0, "another folder");
	require(a->flag_count == b->flag_count, "another number of flags");
	for (size_t i = 0; i < a->flag_count; i++)
		require(strcmp(a->flags[i], b->flags[i]) == 0, "another flag");
	require(co_build_is_cuda(a) == co_build_is_cuda(b), "another language");
}

/* Builds have many flags, each of which is kept in memory of its own. */
static void check_memory(const struct co_build *build)
{
	for (size_t i = 0; i < build->flag_count; i++)
		require(malloc_usable_size((void *)build->flags[i]) < strlen(build->flags[i]) + 64,
			"a flag keeps more memory than it needs");
}

static void check_again(const struct co_builds *builds)
{
	struct co_builds again;

	if (!write_builds(builds))
		return;
	require(read_builds(&again), "the commands are refused when written again");
	require(again.count == builds->count, "another number of files");
	for (size_t i = 0; i < builds->count; i++)
		check_same(&builds->builds[i], &again.builds[i]);
	(void)co_builds_find(&again, "o");
	co_builds_free(&again);
}

static void check_flag(const uint8_t *text, size_t length)
{
	char file[] = "/a.cu", folder[] = "/", flag[1024];
	const char *flags[] = { flag };
	struct co_build build = { file, folder, flags, 1 };

	if (length < sizeof(flag) - 1) {
		snprintf(flag, sizeof(flag), "-%.*s", (int)length, (const char *)text);
		check_again(&(struct co_builds){ &build, 1 });
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static char folder[FUZZ_FOLDER_BYTES];
	struct fuzz_bytes input = { data, data + bytes };
	size_t length = fuzz_number(&input, 2);
	/* libFuzzer's own files may have relative names. */
	int before = open(".", O_RDONLY | O_CLOEXEC);
	struct co_builds builds;
	bool good;

	if (!folder[0])
		fuzz_folder_make(folder);
	require(before >= 0 && chdir(folder) == 0, "cannot enter a folder");
	length = length < fuzz_left(&input) ? length : fuzz_left(&input);
	put_file("o", input.next, length);
	put_file(JSON, input.next + length, fuzz_left(&input) - length);
	good = read_builds(&builds);
	for (size_t i = 0; i < builds.count; i++)
		check_memory(&builds.builds[i]);
	if (good)
		check_again(&builds);
	co_builds_free(&builds);
	check_flag(input.next, length);
	require(fchdir(before) == 0 && close(before) == 0, "cannot leave a folder");
	return 0;
}
