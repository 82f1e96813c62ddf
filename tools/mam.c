/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mam.c - the command `mam`: look up the subcommand in a table and run it.
 */
#include <mam/mam.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "kit/message.h"

static const struct subcommand {
	const char *name;
	const char *speaker; /* prefix of its messages */
	int (*main)(int argc, char **argv);
	const char *doc;
} subcommands[] = {
	{ "run", "mam run", run_main, "run a CUDA program with its memory from a pool" },
	{ "replay", "mam replay", replay_main,
	  "play an allocation trace through a pool; no GPU needed" },
	{ "profile", "mam profile", profile_main, "show the code that uses GPU memory" },
	{ "share", "mam share", share_main,
	  "run programs that do not fit on a GPU together: they take turns" },
	{ "top", "mam top", top_main, "show the GPU memory of running programs" },
	{ "bench", "mam bench", bench_main, "compare pools with other allocators" },
	{ "coalesce", "mam coalesce", coalesce_main,
	  "find and rewrite allocations that a block's threads make together" },
	{ "ctl", "mam ctl", ctl_main, "control a running program: trim, limit, dump, suspend" },
	{ "info", "mam info", info_main,
	  "print version, devices and options; check a program; combine --stats" },
	{ "exporter", "mam exporter", exporter_main,
	  "print the memory of all processes as metrics for Prometheus" },
};

#define SUBCOMMANDS (sizeof(subcommands) / sizeof(subcommands[0]))

static int print_version(void)
{
	printf("mam %s\n", mam_version());
	return STATUS_GOOD;
}

static int print_help(void)
{
	printf("Usage: mam COMMAND [ARGUMENT]...\n"
	       "Serve allocations of GPU memory from pools, without a driver call for each.\n\n");
	for (size_t i = 0; i < SUBCOMMANDS; i++)
		printf("  mam %-8s %s\n", subcommands[i].name, subcommands[i].doc);
	printf("\nTry one of these:\n"
	       "  mam run --stats ./app                   serve its cudaMalloc from a pool\n"
	       "  mam replay t.trace.gz                   how much memory would a pool need?\n"
	       "  mam replay --map heap.html t.trace.gz   draw an interactive heap map\n"
	       "  mam info --self-test                    test a pool on this GPU\n\n"
	       "'mam help COMMAND' prints the options of a command, 'mam version' the version.\n"
	       "The manual is in 'man mam' and 'man 7 mam'.\n");
	return STATUS_GOOD;
}

static const struct {
	const char *name;
	int (*main)(void);
} words[] = {
	{ "--help", print_help },     { "-h", print_help },           { "help", print_help },
	{ "version", print_version }, { "--version", print_version }, { "-V", print_version },
};

/* A failed write to stdout, such as a full disk or a closed pipe, is an error too. */
static int finish(int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	message_error("cannot write to standard output");
	return STATUS_BAD;
}

static const struct subcommand *find(const char *name)
{
	for (size_t i = 0; i < SUBCOMMANDS; i++)
		if (strcmp(name, subcommands[i].name) == 0)
			return &subcommands[i];
	return NULL;
}

static bool is_word(const char *name)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(name, words[i].name) == 0)
			return true;
	return false;
}

/*
 * "mam help COMMAND" is "mam COMMAND --help"; "mam help bench NAME" does the same for one
 * benchmark. More arguments are rejected: mam run would start them.
 */
static int help_with(int count, char **names)
{
	char option[] = "--help", *words_of[4] = { names[0], NULL };
	const struct subcommand *command = find(names[0]);
	int used = 1;

	if (command == NULL) {
		message_error("'%s' is not a mam command; see 'mam --help'", names[0]);
		return STATUS_BAD;
	}
	if (count > 1 && command->main == bench_main)
		words_of[used++] = names[1];
	if (count > used) {
		message_error("unexpected argument '%s'; see 'mam %s --help'", names[used],
			      names[0]);
		return STATUS_BAD;
	}
	words_of[used++] = option;
	message_begin(command->speaker);
	return command->main(used, words_of);
}

int main(int argc, char **argv)
{
	const struct subcommand *command;

	if (argc < 2)
		return finish(print_help());
	command = find(argv[1]);
	if (command != NULL) {
		message_begin(command->speaker);
		return finish(command->main(argc - 1, argv + 1));
	}
	if (argc > 2 && strcmp(argv[1], "help") == 0 && !is_word(argv[2]))
		return finish(help_with(argc - 2, argv + 2));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(argv[1], words[i].name) == 0)
			return finish(words[i].main());
	message_error("'%s' is not a mam command; see 'mam --help'", argv[1]);
	return STATUS_BAD;
}
