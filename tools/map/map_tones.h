/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_tones.h - the color of each block in a static map: by size, stream, thread or age.
 *
 * A tone is a small number that stands for a color. Size and age are scales. Streams and threads
 * are kinds: those with most blocks have a tone each, all others share MAP_KINDS.
 */
#ifndef TOOLS_MAP_TONES_H
#define TOOLS_MAP_TONES_H

#include "map/map.h"
#include "map/map_color.h"
#include "map/map_view.h"

struct map_kind {
	char name[64];
	uint64_t blocks;     /* count */
	uint64_t peak_bytes; /* live at the peak, in requested sizes */
};

struct map_tones {
	unsigned char *of;  /* for each block */
	unsigned int count; /* every tone is less */
	struct map_rgb (*rgb)(unsigned int tone);
	struct map_kind kinds[MAP_KINDS + 1]; /* by tone; those without blocks are omitted */
	uint64_t distinct;                    /* number of kinds, with each of the others counted */
	bool unknown;                         /* the trace does not have it */
};

/*
 * map_tones_make - `view` is one that colors the map. False: out of memory, and nothing needs to be
 * freed.
 */
bool map_tones_make(const struct map *map, enum map_view view, struct map_tones *tones);
void map_tones_fini(struct map_tones *tones);

#endif
