/* SPDX-License-Identifier: Apache-2.0 */
/*
 * device_player.h - runs one cell of `mam bench device`, by a worker on a simulated GPU.
 */
#ifndef MAM_TESTS_TOOLS_DEVICE_PLAYER_H
#define MAM_TESTS_TOOLS_DEVICE_PLAYER_H

#include "bench/device/device_play.h"

#define PLAYER_HEAP (UINT64_C(1) << 20)

/* The worker's last messages: why it lost its device, and its notes, one per line; "" for none. */
extern char player_trouble[512], player_notes[4096];

/* player_setup - all of mam's list, and the two allocators of the tests, "example" and "broken" */
void player_setup(void);
/* player_setup_suite - the suite's list, and "broken" */
void player_setup_suite(const struct device_suite *suite);
/* player_cell - on PLAYER_HEAP, with all lanes */
struct device_cell player_cell(unsigned int work, uint32_t askers, uint32_t min, uint32_t max,
			       uint32_t rounds);
/* player_play - NULL: all except the broken one */
void player_play(const char *name, struct device_cell cell);
/* player_value - of the last cell; -1: there is no such row */
double player_value(const char *allocator, const char *metric);
/*
 * player_check_all - every allocator that takes part has no errors, and a value above 0 for this
 * metric
 */
void player_check_all(const char *metric, bool mixed, bool frees);
/* player_check_broken - it was found wrong, with a note, and has no such metric */
void player_check_broken(const char *metric);

#endif
