/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_color.c - the color of a block in a heap map: by size, by age, or by category.
 *
 * Sizes: nine colors of similar lightness, which stand out from a white and from a black page; the
 * colors between are mixed from the two neighbors. Cold is small, warm is large.
 *
 * Ages: seven colors of decreasing lightness, so that their order is visible to color-blind people.
 * A block that was never freed is gray.
 *
 * Kinds: eight colors, found by search: of all sets with a lightness between 0.52 and 0.84, this
 * one maximizes the distance (in OKLab) of the two most similar colors, also for people with
 * protanopia, deuteranopia or tritanopia. They have no order.
 */
#include "map/map_color.h"

#include <math.h>

#define STOPS 9
#define AGE_STOPS 7

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

static const struct map_rgb age_stops[AGE_STOPS] = {
	{ 0xf2, 0xc9, 0x4c }, /* 1 event */
	{ 0xf0, 0x9a, 0x45 }, /* 8 */
	{ 0xe2, 0x6a, 0x55 }, /* 64 */
	{ 0xc0, 0x4d, 0x7c }, /* 512 */
	{ 0x90, 0x48, 0xa0 }, /* 4,096 */
	{ 0x60, 0x50, 0xb4 }, /* 32,768 */
	{ 0x3f, 0x5f, 0xae }, /* 262,144 */
};

static const struct map_rgb never_freed = { 0x8a, 0x94, 0xa3 };

static const struct map_rgb kinds[MAP_KINDS + 1] = {
	{ 0x36, 0x90, 0xe3 }, { 0xc4, 0x60, 0x16 }, { 0x96, 0xdd, 0xb6 },
	{ 0xf0, 0xc5, 0x43 }, { 0x5b, 0x5a, 0xbc }, { 0x93, 0x52, 0x67 },
	{ 0x42, 0xc2, 0xe6 }, { 0xcf, 0x97, 0x6a }, { 0x8a, 0x94, 0xa3 },
};

_Static_assert((MAP_COLORS - 1) % (STOPS - 1) == 0, "the stops divide the scale evenly");
_Static_assert((MAP_AGES - 1) % (AGE_STOPS - 1) == 0, "the stops divide the scale evenly");

/* The step of a scale that starts at 2^first. */
static unsigned int step_of(double number, int first, int per_power, unsigned int steps)
{
	double place = (log2(number) - first) * per_power + 0.5;

	if (place < 0)
		return 0;
	return place >= steps ? steps - 1 : (unsigned int)place;
}

unsigned int map_color_of(uint64_t bytes)
{
	return step_of((double)bytes + 0.5, MAP_COLOR_FIRST, MAP_COLOR_PER_POWER, MAP_COLORS);
}

unsigned int map_color_of_age(uint64_t events)
{
	return step_of((double)events + 1e-6, 0, MAP_AGE_PER_POWER, MAP_AGES);
}

static unsigned char mix(unsigned char a, unsigned char b, unsigned int step, unsigned int steps)
{
	return (unsigned char)((a * (steps - step) + b * step + steps / 2) / steps);
}

/* Color number `color` of a scale whose stops are `steps` colors apart. */
static struct map_rgb between(const struct map_rgb *scale, unsigned int stops_count,
			      unsigned int steps, unsigned int color)
{
	unsigned int low = color / steps;
	const struct map_rgb *a = &scale[low], *b = &scale[low + 1 < stops_count ? low + 1 : low];

	return (struct map_rgb){ mix(a->red, b->red, color % steps, steps),
				 mix(a->green, b->green, color % steps, steps),
				 mix(a->blue, b->blue, color % steps, steps) };
}

struct map_rgb map_color_rgb(unsigned int color)
{
	return between(stops, STOPS, (MAP_COLORS - 1) / (STOPS - 1), color);
}

struct map_rgb map_color_age_rgb(unsigned int color)
{
	if (color >= MAP_AGES)
		return never_freed;
	return between(age_stops, AGE_STOPS, (MAP_AGES - 1) / (AGE_STOPS - 1), color);
}

struct map_rgb map_color_kind_rgb(unsigned int kind)
{
	return kinds[kind < MAP_KINDS ? kind : MAP_KINDS];
}

struct map_color_text map_color_text(struct map_rgb rgb)
{
	struct map_color_text color;

	snprintf(color.text, sizeof(color.text), "#%02x%02x%02x", rgb.red, rgb.green, rgb.blue);
	return color;
}

void map_color_put(FILE *file, const char *name, struct map_rgb (*color_of)(unsigned int),
		   unsigned int colors)
{
	fprintf(file, "\"%s\":[", name);
	for (unsigned int i = 0; i < colors; i++)
		fprintf(file, "%s\"%s\"", i ? "," : "", map_color_text(color_of(i)).text);
	fputs("],\n", file);
}
