/* SPDX-License-Identifier: Apache-2.0 */
/*
 * args.c - table-driven command line parsing on top of getopt_long().
 */
#include "kit/args.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "kit/message.h"

#define OPTIONS_MAX 32
#define HELP_VALUE (OPTIONS_MAX + 1)
#define DOC_COLUMN 26

/* Returns the binary logarithm of the unit at *text and moves *text past it; -1: not a unit. */
static int take_unit(const char **text)
{
	static const char units[] = "KMGTPE";
	const char *at = *text, *unit;
	int shift = 0;

	if (*at && *at != 'B') {
		unit = strchr(units, *at >= 'a' ? *at - 'a' + 'A' : *at);
		if (!unit)
			return -1;
		shift = 10 * (int)(unit - units + 1);
		at++;
		if (*at == 'i')
			at++;
	}
	*text = *at == 'B' ? at + 1 : at;
	return shift;
}

bool args_bytes(const char *text, uint64_t *bytes)
{
	const char *digits = text + strspn(text, "0123456789"), *rest = digits;
	double fraction = 0;
	uint64_t whole, unit, part;
	int shift;

	errno = 0;
	whole = strtoull(text, NULL, 10);
	if (digits == text || errno)
		return false;
	if (*rest == '.') {
		rest += 1 + strspn(rest + 1, "0123456789");
		fraction = strtod(digits, NULL);
	}
	shift = take_unit(&rest);
	if (shift < 0 || *rest || whole > UINT64_MAX >> shift || (*digits == '.' && shift == 0))
		return false;
	unit = UINT64_C(1) << shift;
	part = (uint64_t)(fraction * (double)unit);
	/* As a double, many nines after the point round up to 1. */
	*bytes = (whole << shift) + (part < unit ? part : unit - 1);
	return true;
}

static bool is_word(const struct args_option *option, const char *text, uint64_t *value)
{
	for (const struct args_word *word = option->words; word && word->text; word++) {
		if (strcmp(word->text, text) == 0) {
			*value = word->value;
			return true;
		}
	}
	return false;
}

static bool is_count(const char *text, uint64_t *value)
{
	char *rest;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*value = strtoull(text, &rest, 10);
	return !*rest && !errno && *value > 0;
}

/* The words of an option as a phrase for a message: "on, off or auto". */
static const char *list_words(const struct args_option *option, char *text, size_t bytes)
{
	size_t used = 0;

	*text = '\0';
	for (const struct args_word *word = option->words; word->text && used < bytes; word++)
		used += (size_t)snprintf(text + used, bytes - used, "%s%s",
					 word == option->words ? ""
					 : word[1].text        ? ", "
							       : " or ",
					 word->text);
	return text;
}

bool args_store(const struct args_option *option, const char *text, void *settings)
{
	void *field = (char *)settings + option->offset;
	char words[120];

	switch (option->kind) {
	case ARGS_FLAG: *(bool *)field = true; return true;
	case ARGS_TEXT: *(const char **)field = text; return true;
	case ARGS_OPTIONAL: *(const char **)field = text ? text : ""; return true;
	case ARGS_WORD:
		if (is_word(option, text, field))
			return true;
		message_error("--%s expects %s, not '%s'", option->name,
			      list_words(option, words, sizeof(words)), text);
		return false;
	case ARGS_COUNT:
		if (is_word(option, text, field) || is_count(text, field))
			return true;
		message_error("--%s expects a number of at least 1, not '%s'", option->name, text);
		return false;
	case ARGS_BYTES:
		if (is_word(option, text, field) || args_bytes(text, field))
			return true;
		message_error("--%s expects a size like 512, 64K or 80G, not '%s'", option->name,
			      text);
		return false;
	}
	return false;
}

/* The tables that getopt_long() expects, made from ours. */
struct getopt_tables {
	char letters[3 * OPTIONS_MAX + 8];
	struct option names[OPTIONS_MAX + 2];
};

static void make_tables(const struct args_command *command, struct getopt_tables *tables)
{
	char *letter = tables->letters;
	size_t i = 0;

	memset(tables, 0, sizeof(*tables));
	if (command->stops)
		*letter++ = '+';
	*letter++ = ':';
	*letter++ = 'h';
	for (; i < OPTIONS_MAX && command->options[i].name; i++) {
		const struct args_option *option = &command->options[i];

		tables->names[i].name = option->name;
		tables->names[i].has_arg = option->kind == ARGS_FLAG       ? no_argument
					   : option->kind == ARGS_OPTIONAL ? optional_argument
									   : required_argument;
		tables->names[i].val = (int)i + 1;
		if (!option->letter)
			continue;
		*letter++ = option->letter;
		if (option->kind != ARGS_FLAG)
			*letter++ = ':';
		if (option->kind == ARGS_OPTIONAL)
			*letter++ = ':';
	}
	tables->names[i].name = "help";
	tables->names[i].has_arg = no_argument;
	tables->names[i].val = HELP_VALUE;
}

static const struct args_option *find(const struct args_command *command, int value)
{
	if (value <= OPTIONS_MAX)
		return &command->options[value - 1];
	for (const struct args_option *option = command->options; option->name; option++)
		if (option->letter == value)
			return option;
	return NULL;
}

/* Report the word that getopt_long() just rejected. */
static void complain(const struct args_command *command, int answer, char **argv)
{
	const char *word = argv[optind - 1];

	if (answer == ':')
		message_error("option '%s' requires a value; see '%s --help'", word, command->name);
	else if (optopt > OPTIONS_MAX && strncmp(word, "--", 2) != 0)
		message_error("unknown option '-%c'; see '%s --help'", optopt, command->name);
	else
		message_error("unknown option '%s'; see '%s --help'", word, command->name);
}

/*
 * A value that begins with two dashes and is an argument of its own is almost always the next
 * option, or the "--" that ends the options, after a forgotten value. --NAME=VALUE accepts any
 * value.
 */
static bool is_option_instead(const struct args_option *option, char **argv)
{
	if (optarg == NULL || optarg != argv[optind - 1] || strncmp(optarg, "--", 2) != 0)
		return false;
	message_error("option '--%s' requires a value, but '%s' follows; to use that as the value "
		      "write '--%s=%s'",
		      option->name, optarg, option->name, optarg);
	return true;
}

bool args_parse(const struct args_command *command, int argc, char **argv, void *settings,
		int *first, int *status)
{
	const struct args_option *option;
	struct getopt_tables tables;
	int answer;

	make_tables(command, &tables);
	opterr = 0;
	optind = 0; /* GNU: reset the state of an earlier scan */
	*status = STATUS_BAD;
	while ((answer = getopt_long(argc, argv, tables.letters, tables.names, NULL)) != -1) {
		if (answer == 'h' || answer == HELP_VALUE) {
			args_help(command);
			*status = STATUS_GOOD;
			return false;
		}
		option = find(command, answer);
		if (!option) { /* '?' or ':' */
			complain(command, answer, argv);
			return false;
		}
		if (is_option_instead(option, argv) || !args_store(option, optarg, settings))
			return false;
	}
	*first = optind;
	return true;
}

static void help_option(char letter, const char *name, const char *value, bool optional,
			const char *doc)
{
	int column = printf(letter ? "  -%c, " : "      ", letter);

	if (optional)
		column += printf("--%s[=%s]", name, value);
	else
		column += printf("--%s%s%s", name, value ? " " : "", value ? value : "");
	if (column >= DOC_COLUMN) {
		putchar('\n');
		column = 0;
	}
	printf("%*s", DOC_COLUMN - column, "");
	for (; *doc; doc++) {
		putchar(*doc);
		if (*doc == '\n')
			printf("%*s", DOC_COLUMN, "");
	}
	putchar('\n');
}

void args_help(const struct args_command *command)
{
	printf("Usage: %s %s\n%s\n", command->name, command->use, command->intro);
	for (const struct args_option *option = command->options; option->name; option++)
		help_option(option->letter, option->name, option->value,
			    option->kind == ARGS_OPTIONAL, option->doc);
	help_option('h', "help", NULL, false, "print this text");
	if (command->outro)
		printf("\n%s", command->outro);
}
