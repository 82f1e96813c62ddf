/* SPDX-License-Identifier: Apache-2.0 */
/* peers.c - check a list of segments of equal size; see peers.h. */
#include "index/peers.h"

const char *mam_peers_check(const struct mam_records *segments, uint32_t first, uint64_t bytes,
			    uint64_t max, uint64_t *count)
{
	uint32_t prev = 0;
	uint32_t at;

	for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
		const struct mam_segment *segment = mam_segment_at(segments, at);

		if (segment->peer_prev != prev)
			return "a list of free blocks of equal size is corrupt";
		if (segment->bytes != bytes)
			return "a free block is in the list of another size";
		if (++*count > max)
			return "the free lists contain more blocks than there are records";
		prev = at;
	}
	return NULL;
}
