/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lists.h - names with commas between, as options take them.
 */
#ifndef MAM_TOOLS_BENCH_LISTS_H
#define MAM_TOOLS_BENCH_LISTS_H

#include <stdbool.h>
#include <stddef.h>

/* bench_in_list - is `name` one of the list's? NULL: no */
bool bench_in_list(const char *list, const char *name);

/*
 * bench_check_list - is each name of the list known? The first that is not is answered in `unknown`, cut to `bytes`.
 * `known` is asked with `context`. NULL: yes
 */
bool bench_check_list(const char *list, bool (*known)(const char *name, int context), int context,
		      char *unknown, size_t bytes);

#endif
