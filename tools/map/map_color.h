/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_color.h - the color of a block in a heap map: by size, by age, or by category.
 *
 * The scales are the same in every picture, so that pictures can be compared.
 */
#ifndef TOOLS_MAP_COLOR_H
#define TOOLS_MAP_COLOR_H

#include <stdint.h>
#include <stdio.h>

#define MAP_COLOR_FIRST 9     /* the scale starts at 2^9 bytes */
#define MAP_COLOR_PER_POWER 2 /* colors from one power of two to the next */
#define MAP_COLORS 49         /* so it ends at 2^33 bytes; larger blocks have the last color */

#define MAP_AGE_PER_POWER 2 /* by the lifetime in events; the scale starts at 1 event */
#define MAP_AGES 37         /* and ends at 2^18 */

#define MAP_KINDS 8 /* colors for streams, threads and the like; all others share one more */

struct map_rgb {
	unsigned char red, green, blue;
};

unsigned int map_color_of(uint64_t bytes); /* a number below MAP_COLORS */
struct map_rgb map_color_rgb(unsigned int color);

unsigned int map_color_of_age(uint64_t events);       /* a number below MAP_AGES */
struct map_rgb map_color_age_rgb(unsigned int color); /* MAP_AGES: never freed */

struct map_rgb map_color_kind_rgb(unsigned int kind); /* MAP_KINDS: any of the others */

/* map_color_text - "#rrggbb". */
struct map_color_text {
	char text[8];
};
struct map_color_text map_color_text(struct map_rgb rgb);

/* map_color_put - write a member of a JSON object: a list of colors, for the scripts of a page. */
void map_color_put(FILE *file, const char *name, struct map_rgb (*color_of)(unsigned int),
		   unsigned int colors);

#endif
