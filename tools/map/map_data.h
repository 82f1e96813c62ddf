/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_data.h - the blocks of a heap map as text that the page's scripts unpack (map/data.js).
 */
#ifndef TOOLS_MAP_DATA_H
#define TOOLS_MAP_DATA_H

#include "map/map.h"

/* map_data_unit - the largest power of two that divides all sizes and places. */
uint64_t map_data_unit(const struct map *map);

/* map_data_put - write the blocks, and the time of each event. Errors remain set in `file`. */
void map_data_put(FILE *file, const struct map *map);

#endif
