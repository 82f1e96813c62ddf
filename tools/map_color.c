/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_color.c - which colour a block of some size has in a heap map.
 *
 * Nine colours of similar lightness, so that they stand out from a white page and from a black one;
 * those between are mixed of their two neighbours. Cold is small, warm is large.
 */
#include "map_color.h"

#include <math.h>

#define STOPS 9

static const struct map_rgb stops[STOPS] = {
	{ 0x7a, 0x88, 0xd6 }, /* 512 B */
	{ 0x4c, 0x93, 0xe0 }, /* 4 KiB */
	{ 0x2f, 0xae, 0xc6 }, /* 32 KiB */
	{ 0x35, 0xb5, 0x8a }, /* 256 KiB */
	{ 0x86, 0xbd, 0x45 }, /* 2 MiB */
	{ 0xdc, 0xb1, 0x2e }, /* 16 MiB */
	{ 0xec, 0x87, 0x36 }, /* 128 MiB */
	{ 0xdf, 0x55, 0x4e }, /* 1 GiB */
	{ 0xb0, 0x42, 0x86 }, /* 8 GiB */
};

_Static_assert((MAP_COLORS - 1) % (STOPS - 1) == 0, "stops are so many colours apart");

unsigned int map_color_of(uint64_t bytes)
{
	double place = (log2((double)bytes + 0.5) - MAP_COLOR_FIRST) * MAP_COLOR_PER_POWER + 0.5;

	if (place < 0)
		return 0;
	return place >= MAP_COLORS ? MAP_COLORS - 1 : (unsigned int)place;
}

static unsigned char mix(unsigned char a, unsigned char b, unsigned int step, unsigned int steps)
{
	return (unsigned char)((a * (steps - step) + b * step + steps / 2) / steps);
}

struct map_rgb map_color_rgb(unsigned int color)
{
	const unsigned int steps = (MAP_COLORS - 1) / (STOPS - 1);
	unsigned int low = color / steps;
	const struct map_rgb *a = &stops[low], *b = &stops[low + 1 < STOPS ? low + 1 : low];

	return (struct map_rgb){ mix(a->red, b->red, color % steps, steps),
				 mix(a->green, b->green, color % steps, steps),
				 mix(a->blue, b->blue, color % steps, steps) };
}
