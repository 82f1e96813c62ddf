/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_color.h - which colour a block has in a heap map: by size, by age, or by what it belongs to.
 *
 * The scales are the same in every picture, so that two of them can be held side by side.
 */
#ifndef TOOLS_MAP_COLOR_H
#define TOOLS_MAP_COLOR_H

#include <stdint.h>

#define MAP_COLOR_FIRST 9     /* the scale begins at 2^9 bytes */
#define MAP_COLOR_PER_POWER 2 /* colours from one power of two to the next */
#define MAP_COLORS 49         /* so it ends at 2^33 bytes; what is larger has the last colour */

#define MAP_AGE_PER_POWER 2 /* of the events a block lives; the scale begins at 1 event */
#define MAP_AGES 37         /* and ends at 2^18 */

#define MAP_KINDS 8 /* colours of streams, threads and the like; all others share one more */

struct map_rgb {
	unsigned char red, green, blue;
};

unsigned int map_color_of(uint64_t bytes); /* a number below MAP_COLORS */
struct map_rgb map_color_rgb(unsigned int color);

unsigned int map_color_of_age(uint64_t events); /* a number below MAP_AGES */
struct map_rgb map_color_age_rgb(unsigned int color); /* MAP_AGES: never freed */

struct map_rgb map_color_kind_rgb(unsigned int kind); /* MAP_KINDS: one of the others */

#endif
