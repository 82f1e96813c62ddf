/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the environment variables that mam reads, as a table.
 *
 * The table is the code's own: what it says is what the library does. `mam info --options` prints
 * it and the manual page mam(7) is checked against it. Values are read from the environment once,
 * when the first of them is needed, and not in set-user-id programs. A value that is not allowed is
 * reported in one sentence, whatever MAM_LOG says, and the default is used; mam run does not start
 * its program then.
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
	const char *kind;     /* "bool", "bytes", "power" (bytes, 2 to the n), "text" or "choice" */
	const char *values;   /* choice: its words, as "a|b"; bytes: a word beside sizes; or NULL */
	const char *fallback; /* the default, as one would write it */
	const char *doc;      /* one sentence */
};

/* All options. `count` receives how many rows the array has. */
MAM_API const struct mam_option_row *const *mam_options(size_t *count);

/*
 * The value in effect, as text: of a bool "yes" or "no", else as it was given, or the default.
 * NULL: no such option. The text lives as long as the process.
 */
MAM_API const char *mam_option_value(const char *name);

/*
 * Where that value is from: "environment", "default", or "default, refused" where the environment
 * has one that is not allowed. NULL: no such option. Prints nothing: what is wrong in the
 * environment is reported by the first call that reads a value.
 */
MAM_API const char *mam_option_origin(const char *name);

/*
 * The value in effect, as a number: a size in bytes (SIZE_MAX for the word beside sizes), a bool as
 * 0 or 1, a choice as the place of its word counted from 0, a text as 0. No such option: 0.
 */
MAM_API uint64_t mam_option_number(const char *name);

#ifdef __cplusplus
}
#endif
#endif
