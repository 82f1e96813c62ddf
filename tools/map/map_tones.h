/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map_tones.h - which colour each block of a still has: by size, stream, thread or age.
 *
 * A tone is a small number of a colour. Size and age are scales. Streams and threads are kinds:
 * those with most blocks have a tone each, all others share MAP_KINDS.
 */
#ifndef TOOLS_MAP_TONES_H
#define TOOLS_MAP_TONES_H

#include "map/map.h"
#include "map/map_color.h"
#include "map/map_view.h"

struct map_kind {
	char name[64];
	uint64_t blocks;     /* count */
	uint64_t peak_bytes; /* live at the peak, as asked for */
};

struct map_tones {
	unsigned char *of; /* each block's */
	unsigned int count; /* tones are below it */
	struct map_rgb (*rgb)(unsigned int tone);
	struct map_kind kinds[MAP_KINDS + 1]; /* by tone; those of no blocks are not there */
	uint64_t distinct;                    /* count of kinds, the others one by one */
	bool unknown;                         /* the trace does not say it */
};

/* map_tones_make - `view`: one that colours the map. False: no memory, nothing to give back. */
bool map_tones_make(const struct map *map, enum map_view view, struct map_tones *tones);
void map_tones_fini(struct map_tones *tones);

#endif
