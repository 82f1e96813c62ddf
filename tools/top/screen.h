/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - the terminal of mam top, by ncurses.
 */
#ifndef TOOLS_TOP_SCREEN_H
#define TOOLS_TOP_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "top/model.h"

/* screen_is_built - whether mam was built with ncurses. */
bool screen_is_built(void);

/*
 * screen_run - show the processes until the user quits, or for `count` intervals of `interval_ms`;
 * 0: any number. Returns the exit status; errors were reported.
 */
int screen_run(struct top_model *model, uint64_t interval_ms, uint64_t count);

#endif
