/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - options of the example programs: --NAME NUMBER, each within its range, and --help.
 * C11 and C++11.
 */
#ifndef EXAMPLES_OPTIONS_H
#define EXAMPLES_OPTIONS_H

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct example_option {
	const char *name, *what;
	uint64_t min, max;
	uint64_t value; /* the default, and then the given value */
};

static inline void example_help(const char *name, const char *about,
				const struct example_option *options)
{
	printf("Usage: %s [--OPTION NUMBER]...\n%s\n\n", name, about);
	for (; options->name; options++)
		printf("  --%-10s %s: %llu to %llu; default %llu\n", options->name, options->what,
		       (unsigned long long)options->min, (unsigned long long)options->max,
		       (unsigned long long)options->value);
}

/* False: not a number, or out of range. */
static inline int example_number(struct example_option *option, const char *text)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || value < option->min ||
	    value > option->max)
		return 0;
	option->value = value;
	return 1;
}

/* An option without a name ends the array. May exit: --help, status 0; an error, status 2. */
static inline void example_options(const char *name, const char *about,
				   struct example_option *options, int argc, char **argv)
{
	struct example_option *option;
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0) {
			example_help(name, about, options);
			exit(fflush(stdout) ? 1 : 0);
		}
	for (i = 1; i < argc; i += 2) {
		for (option = options; option->name; option++)
			if (strncmp(argv[i], "--", 2) == 0 &&
			    strcmp(argv[i] + 2, option->name) == 0)
				break;
		if (!option->name) {
			fprintf(stderr, "%s: error: unknown option '%s'; see '%s --help'\n", name,
				argv[i], name);
			exit(2);
		}
		if (!argv[i + 1] || !example_number(option, argv[i + 1])) {
			fprintf(stderr,
				"%s: error: invalid value '%s' for --%s: expected %llu to %llu\n",
				name, argv[i + 1] ? argv[i + 1] : "", option->name,
				(unsigned long long)option->min, (unsigned long long)option->max);
			exit(2);
		}
	}
}

#endif
