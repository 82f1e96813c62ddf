/* SPDX-License-Identifier: Apache-2.0 */
/*
 * program.c - find a program as execvp() does, and inspect it as the kernel and the dynamic linker
 * do.
 *
 * 1. Search the folders of PATH for a name without a slash.
 * 2. "#!" names an interpreter, and "#!/usr/bin/env NAME" another one on the PATH. At most a few
 *    such steps are followed, as in the kernel.
 * 3. The dynamic linker starts in secure mode, without LD_PRELOAD, if the file grants privileges
 *    that the caller does not have: set-user-id, set-group-id, file capabilities.
 */
#define _GNU_SOURCE /* strchrnul */
#include "run/program.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPTS_MAX 5
#define LINE_BYTES 256 /* the kernel reads at most this much of a script's first line */

static bool is_program(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool find(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");

	if (*name == '\0' || strlen(name) >= PATH_MAX)
		return false;
	if (strchr(name, '/') != NULL) {
		strcpy(path, name);
		return is_program(path);
	}
	for (list = list == NULL ? "/bin:/usr/bin" : list;; list = strchrnul(list, ':') + 1) {
		int length = (int)(strchrnul(list, ':') - list);

		if (snprintf(path, PATH_MAX, "%.*s%s%s", length, list, length > 0 ? "/" : "",
			     name) < PATH_MAX &&
		    is_program(path))
			return true;
		if (list[length] == '\0')
			return false;
	}
}

/* Read the first line of a script, without the "#!". False: not a script. */
static bool read_line(const char *path, char line[LINE_BYTES])
{
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t got = file < 0 ? -1 : read(file, line, LINE_BYTES - 1);

	if (file >= 0)
		close(file);
	if (got < 2 || line[0] != '#' || line[1] != '!')
		return false;
	line[got] = '\0';
	line[strcspn(line, "\n")] = '\0';
	memmove(line, line + 2, strlen(line + 2) + 1);
	return true;
}

static char *next_word(char **rest)
{
	return strtok_r(NULL, " \t\r", rest);
}

/* The program that `env` starts, which follows its options and assignments. NULL: none is given. */
static const char *behind_env(char **rest)
{
	char *word;

	while ((word = next_word(rest)) != NULL && (*word == '-' || strchr(word, '=') != NULL)) {
		if (strcmp(word, "-u") == 0 || strcmp(word, "-C") == 0)
			next_word(rest);
	}
	return word;
}

/* Replace a script by its interpreter. False: the interpreter does not exist. */
static bool follow(char *line, char path[PATH_MAX])
{
	char *rest, *word = strtok_r(line, " \t\r", &rest);
	const char *name, *last;

	if (word == NULL)
		return false;
	last = strrchr(word, '/');
	if (strcmp(last == NULL ? word : last + 1, "env") == 0) {
		name = behind_env(&rest);
		if (name != NULL)
			return find(name, path);
	}
	/* The kernel treats it as a path even without a slash. */
	return snprintf(path, PATH_MAX, "%s", word) < PATH_MAX && is_program(path);
}

static bool sets_user(const struct stat *status)
{
	return ((status->st_mode & S_ISUID) && status->st_uid != getuid()) ||
	       ((status->st_mode & S_ISGID) && (status->st_mode & S_IXGRP) &&
		status->st_gid != getgid());
}

static enum program_bar bar_of_file(const char *path)
{
	struct statvfs system;
	struct stat status;

	if (stat(path, &status) != 0 || statvfs(path, &system) != 0 || (system.f_flag & ST_NOSUID))
		return PROGRAM_OPEN;
	if (sets_user(&status))
		return PROGRAM_SET_USER;
	/* Root has all capabilities already. */
	if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
		return PROGRAM_CAPABILITIES;
	return PROGRAM_OPEN;
}

static enum program_bar bar_of_elf(const struct elf *elf)
{
	switch (elf->kind) {
	case ELF_STATIC: return PROGRAM_STATIC;
	case ELF_OTHER: return PROGRAM_OTHER;
	case ELF_BROKEN: return PROGRAM_BROKEN;
	case ELF_NONE: return PROGRAM_NOT_ELF;
	default:
		return elf->interpreter[0] != '\0' && strstr(elf->interpreter, "/ld-linux") == NULL
			       ? PROGRAM_OTHER_C
			       : PROGRAM_OPEN;
	}
}

bool program_look(const char *name, struct program *program)
{
	char line[LINE_BYTES];

	memset(program, 0, sizeof(*program));
	if (!find(name, program->found))
		return false;
	strcpy(program->place.path, program->found);
	for (int i = 0; read_line(program->place.path, line); i++) {
		program->is_script = true;
		if (i == SCRIPTS_MAX || !follow(line, program->place.path))
			return false;
	}
	if (elf_read(program->place.path, &program->place.elf) == ELF_UNREADABLE)
		return false;
	program->bar = bar_of_elf(&program->place.elf);
	if (program->bar == PROGRAM_OPEN)
		program->bar = bar_of_file(program->place.path);
	return true;
}

void program_release(struct program *program)
{
	elf_release(&program->place.elf);
}

static const struct {
	const char *word, *text;
} bars[] = {
	[PROGRAM_OPEN] = { "none", "" },
	[PROGRAM_STATIC] = { "static", "it is linked without a shared C library" },
	[PROGRAM_SET_USER] = { "set-user-id",
			       "it is set-user-id or set-group-id, and the dynamic linker then "
			       "ignores LD_PRELOAD" },
	[PROGRAM_CAPABILITIES] = { "capabilities",
				   "it has file capabilities, and the dynamic linker then ignores "
				   "LD_PRELOAD" },
	[PROGRAM_OTHER_C] = { "other-c-library", "its C library is not glibc" },
	[PROGRAM_OTHER] = { "other-machine", "it is for another type of machine" },
	[PROGRAM_NOT_ELF] = { "not-elf", "it is neither an ELF file nor a script" },
	[PROGRAM_BROKEN] = { "broken", "it is a broken ELF file" },
};

const char *program_bar_text(enum program_bar bar)
{
	return bars[bar].text;
}

const char *program_bar_word(enum program_bar bar)
{
	return bars[bar].word;
}
