/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h - from an address to another, for all lanes of all kernels at the same time.
 */
#ifndef MAM_COALESCE_MAP_H
#define MAM_COALESCE_MAP_H

#include "heap/port.h"

struct mam_kmap {
	uint32_t shift;
};

/* Bytes for a map that holds `entries`. */
MAM_KBOTH size_t mam_map_bytes(uint32_t entries)
{
	(void)entries;
	return sizeof(struct mam_kmap);
}

/* By the host or one lane, in zeroed memory of that size. */
MAM_KBOTH void mam_map_format(struct mam_kmap *map, uint32_t entries)
{
	map->shift = entries;
}

#endif
