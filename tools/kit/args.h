/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - a command line read by a table. The table is the help text too.
 *
 * A subcommand keeps its settings in one struct, fills it with the defaults, and gives a table with
 * one row an option: where in the struct it goes, and what it does in one sentence.
 */
#ifndef TOOLS_ARGS_H
#define TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum args_kind {
	ARGS_FLAG,  /* no value; the field is a bool */
	ARGS_WORD,  /* one of `words`; uint64_t */
	ARGS_COUNT, /* a number from 1 up; uint64_t */
	ARGS_BYTES, /* 512, 64K, 64KiB, 1.5G; uint64_t */
	ARGS_TEXT,  /* anything; const char * */
	ARGS_OPTIONAL /* --name or --name=TEXT; const char *, "" without a text */
};

/* A word that may stand for a number: "largest". */
struct args_word {
	const char *text; /* NULL ends the list */
	uint64_t value;
};

struct args_option {
	const char *name; /* without the dashes; NULL ends the table */
	char letter;      /* 0: none */
	enum args_kind kind;
	size_t offset;                 /* of its field in the settings */
	const char *value;             /* what help calls its value; NULL for flags */
	const struct args_word *words; /* NULL: none */
	const char *doc;               /* for help; '\n' begins a new line */
};

struct args_command {
	const char *name;                  /* "mam replay" */
	const char *use;                   /* "[OPTION]... FILE..." */
	const char *intro;                 /* what it does, in a few lines */
	const char *outro;                 /* examples */
	const struct args_option *options; /* `--help` comes by itself */
	bool stops;                        /* options end at the first operand, as in mam run */
};

/*
 * args_parse - fill `settings` from argv[1] on and leave the operands last in argv.
 *
 * True: go on; *first is the index of the first operand. False: end now with *status, either
 * because help was asked for and printed, or because something is wrong and was said.
 */
bool args_parse(const struct args_command *command, int argc, char **argv, void *settings,
		int *first, int *status);

/*
 * args_store - put the value of one option of a table in its place; `text` of a flag is not read.
 * False: it is no such value, which was said.
 */
bool args_store(const struct args_option *option, const char *text, void *settings);

/* args_help - print the help text on standard output. */
void args_help(const struct args_command *command);

/* args_bytes - read a size. False: it is none, or does not fit. */
bool args_bytes(const char *text, uint64_t *bytes);

#endif
