/* SPDX-License-Identifier: Apache-2.0 */
/*
 * info_check.c - `mam info --check PROGRAM`: list the ways in which a program can reach CUDA, and
 * report for each whether `mam run` can intercept it.
 *
 * 1. Find the program as the shell would; for a script, inspect its interpreter (program.c).
 * 2. From there follow the libraries that each file needs, and theirs, as the dynamic linker finds
 *    them. Like the linker, load only one file per name.
 * 3. For each way, record the first file that uses it:
 *      runtime symbols  needs libcudart.so
 *      driver symbols   needs libcuda.so
 *      lookups          names libcuda.so among its constants and imports dlsym: so do programs with
 *                       the CUDA runtime linked in
 *      plugins          imports dlopen, so it may load files that no file names
 *
 * libcuda and libcudart themselves are not inspected. No code of the program runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "info/info.h"
#include "kit/message.h"
#include "run/program.h"

#define PLACES_MAX 1024
#define MISSING_MAX 16

enum way { WAY_RUNTIME, WAY_DRIVER, WAY_LOOKUP, WAY_PLUGIN, WAY_COUNT };

static const struct {
	const char *key, *label, *fate;
} ways[] = {
	[WAY_RUNTIME] = { "route.runtime", "runtime symbols", "intercepted" },
	[WAY_DRIVER] = { "route.driver", "driver symbols", "intercepted" },
	[WAY_LOOKUP] = { "route.lookup", "lookups", "intercepted" },
	[WAY_PLUGIN] = { "route.plugins", "plugins",
			 "intercepted; if opened with RTLD_DEEPBIND: with --route=audit" },
};

struct missing {
	const char *name;
	const struct elf_place *by;
};

struct walk {
	const struct program *program;
	struct elf_place *places[PLACES_MAX]; /* [0] is that of the program */
	const char *names[PLACES_MAX];        /* as spelled by the first file that needs it */
	size_t count, done;
	const struct elf_place *first[WAY_COUNT]; /* the first file that uses the way; NULL: none */
	const char *library[WAY_COUNT];           /* the library that it needs */
	struct missing missing[MISSING_MAX];
	size_t missing_count;
};

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

static bool begins(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static void note(struct walk *walk, enum way way, const struct elf_place *place,
		 const char *library)
{
	if (walk->first[way] != NULL)
		return;
	walk->first[way] = place;
	walk->library[way] = library;
}

static bool is_known(const struct walk *walk, const char *name)
{
	for (size_t i = 1; i < walk->count; i++)
		if (strcmp(walk->names[i], name) == 0)
			return true;
	for (size_t i = 0; i < walk->missing_count; i++)
		if (strcmp(walk->missing[i].name, name) == 0)
			return true;
	return false;
}

static void add(struct walk *walk, const struct elf_place *by, const char *name)
{
	struct elf_place *place;

	if (is_known(walk, name) || walk->count == PLACES_MAX)
		return;
	place = calloc(1, sizeof(*place));
	if (place == NULL)
		return;
	if (!elf_find(name, by, walk->places[0], place->path)) {
		free(place);
		if (walk->missing_count < MISSING_MAX)
			walk->missing[walk->missing_count++] = (struct missing){ name, by };
		return;
	}
	elf_read(place->path, &place->elf);
	walk->places[walk->count] = place;
	walk->names[walk->count++] = name;
}

static void look_at(struct walk *walk, const struct elf_place *place)
{
	const struct elf *elf = &place->elf;

	for (size_t i = 0; i < elf->needed_count; i++) {
		const char *name = base(elf->needed[i]);

		if (begins(name, "libcudart.so"))
			note(walk, WAY_RUNTIME, place, name);
		else if (begins(name, "libcuda.so"))
			note(walk, WAY_DRIVER, place, name);
		else
			add(walk, place, elf->needed[i]);
	}
	if (elf->imports_dlsym && walk->first[WAY_LOOKUP] == NULL &&
	    elf_mentions(place->path, "libcuda.so"))
		note(walk, WAY_LOOKUP, place, NULL);
	if (elf->imports_dlopen)
		note(walk, WAY_PLUGIN, place, NULL);
}

static bool is_python(const struct program *program)
{
	return begins(base(program->place.path), "python") ||
	       begins(base(program->found), "python");
}

static void print_way(const struct walk *walk, enum way way, bool plain)
{
	const char *who, *library = walk->library[way];

	if (walk->first[way] == NULL)
		return;
	who = base(walk->first[way]->path);
	if (plain)
		printf("%s\t%s\n", ways[way].key, who);
	else if (library != NULL)
		info_line(false, "", ways[way].label, "%s, needed by %s: %s", library, who,
			  ways[way].fate);
	else
		info_line(false, "", ways[way].label, "%s %s: %s", who,
			  way == WAY_LOOKUP ? "looks up the driver itself, like a statically "
					      "linked CUDA runtime"
					    : "loads libraries at run time",
			  ways[way].fate);
}

/* Print the word for scripts, and the sentence for people. */
static void print_answer(const struct walk *walk, bool plain)
{
	static const char *const answers[][2] = {
		{ "no", "mam run cannot intercept its calls" },
		{ "yes", "mam run intercepts its CUDA memory" },
		{ "depends", "it depends on its imports; mam run intercepts their CUDA calls" },
		{ "depends",
		  "it depends on the programs that it starts; mam run intercepts those too" },
		{ "depends", "no file names CUDA; libraries loaded at run time are intercepted" },
		{ "unused", "no file names CUDA, and no library is loaded at run time" },
	};
	const char *const *answer;

	if (walk->program->bar != PROGRAM_OPEN)
		answer = answers[0];
	else if (walk->first[WAY_RUNTIME] || walk->first[WAY_DRIVER] || walk->first[WAY_LOOKUP])
		answer = answers[1];
	else if (is_python(walk->program))
		answer = answers[2];
	else if (walk->program->is_script)
		answer = answers[3];
	else
		answer = walk->first[WAY_PLUGIN] ? answers[4] : answers[5];
	if (walk->program->bar == PROGRAM_OPEN || plain)
		info_line(plain, "answer", "answer", "%s", answer[plain ? 0 : 1]);
	else
		info_line(false, "", "answer", "%s: %s", answer[1],
			  program_bar_text(walk->program->bar));
}

static void print_all(const struct walk *walk, bool plain)
{
	const struct program *program = walk->program;

	info_line(plain, "program", "program", "%s", program->found);
	if (program->is_script)
		info_line(plain, "interpreter", "interpreter", "%s", program->place.path);
	if (plain)
		info_line(true, "bar", "", "%s", program_bar_word(program->bar));
	for (int way = 0; way < WAY_COUNT; way++)
		print_way(walk, (enum way)way, plain);
	for (size_t i = 0; i < walk->missing_count; i++)
		info_line(plain, "missing", "not found", "%s%s%s", walk->missing[i].name,
			  plain ? "\t" : ", needed by ", base(walk->missing[i].by->path));
	if (!plain)
		info_line(false, "", "inspected", "%zu file%s", walk->count,
			  walk->count == 1 ? "" : "s");
	print_answer(walk, plain);
}

int info_check(const char *name, bool plain)
{
	static struct program program;
	static struct walk walk;

	if (!program_look(name, &program)) {
		message_error("cannot inspect '%s': the file or its interpreter is missing, "
			      "unreadable or not an executable",
			      name);
		program_release(&program);
		return STATUS_BAD;
	}
	walk.program = &program;
	walk.places[walk.count++] = &program.place;
	for (; program.bar == PROGRAM_OPEN && walk.done < walk.count; walk.done++)
		look_at(&walk, walk.places[walk.done]);
	print_all(&walk, plain);
	for (size_t i = 1; i < walk.count; i++) {
		elf_release(&walk.places[i]->elf);
		free(walk.places[i]);
	}
	program_release(&program);
	return program.bar == PROGRAM_OPEN ? STATUS_GOOD : STATUS_FAILED;
}
