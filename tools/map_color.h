/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_color.h - which colour a block of some size has in a heap map.
 *
 * The scale is the same in every picture, so that two of them can be held side by side.
 */
#ifndef TOOLS_MAP_COLOR_H
#define TOOLS_MAP_COLOR_H

#include <stdint.h>

#define MAP_COLOR_FIRST 9     /* the scale begins at 2^9 bytes */
#define MAP_COLOR_PER_POWER 2 /* colours from one power of two to the next */
#define MAP_COLORS 49         /* so it ends at 2^33 bytes; what is larger has the last colour */

struct map_rgb {
	unsigned char red, green, blue;
};

unsigned int map_color_of(uint64_t bytes); /* a number below MAP_COLORS */
struct map_rgb map_color_rgb(unsigned int color);

#endif
