/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_env.h - what `mam run` was told, as the environment that libmam-preload.so reads.
 */
#ifndef TOOLS_RUN_ENV_H
#define TOOLS_RUN_ENV_H

#include <stdbool.h>
#include <stdint.h>

#include "kit/args.h"

#define RUN_ENV_UNSET (UINT64_MAX - 1)

/* Texts: NULL where the option was not given, and the environment stays as it is. */
struct run_settings {
	const char *stats, *leaks; /* "": on standard error; else a file */
	const char *trace;
	const char *free, *capture, *ipc, *children, *nvtx, *log;
	const char *route;
	uint64_t chunk, growth, limit, pass_above; /* RUN_ENV_UNSET: not given */
	bool who;
	bool disable;
};

/* Words in place of sizes. */
extern const struct args_word run_env_largest[], run_env_none[];

/* False: something is wrong, and that was said. */
bool run_env_set(const struct run_settings *settings);

/* A file's name as the object is to read it: absolute, and one that can be written to. */
bool run_env_file(const char *option, const char *variable, const char *file);

#endif
