/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_env.h - convert the options of `mam run` to the environment that libmam-preload.so reads.
 */
#ifndef TOOLS_RUN_ENV_H
#define TOOLS_RUN_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/args.h"

#define RUN_ENV_UNSET (UINT64_MAX - 1)

/* Texts: NULL if the option was not given; the environment variable is then left unchanged. */
struct run_settings {
	const char *stats, *leaks; /* "": print to stderr; otherwise a file */
	const char *limit_shared;  /* "": a file of its own */
	const char *trace;
	const char *profile;    /* "": the default name */
	const char *oom_report; /* folder, or "no" */
	const char *source, *free, *capture, *ipc, *children, *nvtx, *log;
	const char *route;
	uint64_t chunk, growth, limit, pass_above, profile_rate; /* RUN_ENV_UNSET: not given */
	bool who;
	bool disable;
};

/* Words that are accepted in place of sizes. */
extern const struct args_word run_env_largest[], run_env_none[];

/* False: a setting is invalid (reported). */
bool run_env_set(const struct run_settings *settings);

/* Set a file name as the object expects it: absolute, and writable. */
bool run_env_file(const char *option, const char *variable, const char *file);

/*
 * Set the folder for out-of-memory reports. If it is not given, and standard error is a terminal, it
 * is the user's folder for such files. False: it cannot be used (reported).
 */
bool run_env_oom(const struct run_settings *settings);

/* Set the file of a limit that processes share; NULL: no file, "": a new one. */
bool run_limit_set(const char *file);

#endif
