/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the environment variables that mam reads, as a table.
 *
 * The library reads its options through this table, so the table is always right. `mam info
 * --options` prints it, and a test compares the manual page mam(7) with it. The library reads the
 * environment once, when it first needs a value, and never in set-user-id programs. An invalid
 * value is reported in one sentence, whatever MAM_LOG is, and the default is used; mam run does not
 * start its program then.
 */
#ifndef MAM_OPTIONS_H
#define MAM_OPTIONS_H

#include <mam/mam.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mam_option_row {
	size_t size;          /* sizeof(struct mam_option_row), of the library */
	const char *name;     /* "MAM_CHUNK" */
	const char *kind;     /* "bool", "bytes", "power" of two, "percent", "text" or "choice" */
	const char *values;   /* choice: its words, as "a|b"; bytes: a word for a size; or NULL */
	const char *fallback; /* the default, as a user would write it */
	const char *doc;      /* one sentence */
};

/* All options. `count` receives the number of rows. */
MAM_API const struct mam_option_row *const *mam_options(size_t *count);

/*
 * The value in effect, as text: "yes" or "no" for a bool, otherwise as it was given, or the
 * default. NULL: unknown option. The text lives as long as the process.
 */
MAM_API const char *mam_option_value(const char *name);

/*
 * The origin of that value: "environment", "default", or "default, refused" if the environment has
 * an invalid one. NULL: unknown option. Prints nothing: the first call that reads a value reports
 * what is wrong in the environment.
 */
MAM_API const char *mam_option_origin(const char *name);

/*
 * The value in effect, as a number: a size in bytes (SIZE_MAX for the word allowed besides sizes),
 * a bool as 0 or 1, a choice as the index of its word from 0, a text as 0. Unknown option: 0.
 */
MAM_API uint64_t mam_option_number(const char *name);

#ifdef __cplusplus
}
#endif
#endif
