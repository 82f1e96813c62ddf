/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.h - table-driven command line parsing. The same table is the source of the help text.
 *
 * A subcommand keeps its settings in one struct, fills it with the defaults, and passes a table
 * with one row per option: the field that it sets, and its description in one sentence.
 */
#ifndef TOOLS_ARGS_H
#define TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum args_kind {
	ARGS_FLAG,    /* no value; the field is a bool */
	ARGS_WORD,    /* one of `words`; uint64_t */
	ARGS_COUNT,   /* a number of at least 1; uint64_t */
	ARGS_BYTES,   /* 512, 64K, 64KiB, 1.5G; uint64_t */
	ARGS_TEXT,    /* any text; const char * */
	ARGS_OPTIONAL /* --name or --name=TEXT; const char *, "" without a value */
};

/* A word that is accepted in place of a number: "largest". */
struct args_word {
	const char *text; /* NULL ends the list */
	uint64_t value;
};

struct args_option {
	const char *name; /* without the dashes; NULL ends the table */
	char letter;      /* 0: none */
	enum args_kind kind;
	size_t offset;                 /* of the field in the settings */
	const char *value;             /* the value's name in help; NULL for flags */
	const struct args_word *words; /* NULL: none */
	const char *doc;               /* for help; '\n' starts a new line */
};

struct args_command {
	const char *name;                  /* "mam replay" */
	const char *use;                   /* "[OPTION]... FILE..." */
	const char *intro;                 /* what the command does, in a few lines */
	const char *outro;                 /* examples */
	const struct args_option *options; /* `--help` is added automatically */
	bool stops;                        /* options end at the first operand, as in mam run */
};

/*
 * args_parse - parse argv[1] and the following into `settings`, and move the operands to the end of
 * argv.
 *
 * True: continue; *first is the index of the first operand. False: exit with *status, either
 * because the help text was requested and printed, or because of an error that was reported.
 */
bool args_parse(const struct args_command *command, int argc, char **argv, void *settings,
		int *first, int *status);

/*
 * args_store - store the value of one option of a table in its field; `text` is ignored for a flag.
 * False: the value is invalid (reported).
 */
bool args_store(const struct args_option *option, const char *text, void *settings);

/* args_help - print the help text on standard output. */
void args_help(const struct args_command *command);

/* args_bytes - parse a size. False: it is not a size, or does not fit in 64 bits. */
bool args_bytes(const char *text, uint64_t *bytes);

#endif
