/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.h - comma-separated names, as options take them.
 */
#ifndef MAM_TOOLS_BENCH_LISTS_H
#define MAM_TOOLS_BENCH_LISTS_H

#include <stdbool.h>
#include <stddef.h>

/* bench_in_list - return true if the list has `name`; false if the list is NULL */
bool bench_in_list(const char *list, const char *name);

/*
 * bench_check_list - return true if each name of the list is known; otherwise copy the first
 * unknown one to `unknown`, cut to `bytes`. `known` is called with `context`. A NULL list is valid.
 */
bool bench_check_list(const char *list, bool (*known)(const char *name, int context), int context,
		      char *unknown, size_t bytes);

#endif
