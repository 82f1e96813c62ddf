/* SPDX-License-Identifier: Apache-2.0 */
/* sizebins.c - what is not on the hot path of sizebins.h, and the check of peers. */
#include "pool/sizebins.h"

#include <string.h>

void mam_sizebins_init(struct mam_sizebins *bins, size_t granule, uint32_t *first)
{
	memset(bins, 0, sizeof(*bins));
	bins->first = first;
	bins->granule_shift = (unsigned)__builtin_ctzll(granule);
}

uint32_t mam_sizebins_below(const struct mam_sizebins *bins, uint64_t bytes)
{
	uint64_t bin = (bytes - 1) >> bins->granule_shift; /* the largest that may be in question */
	uint64_t word;
	uint64_t left;

	if (bin >= MAM_SIZEBINS)
		bin = MAM_SIZEBINS - 1;
	word = bin / 64;
	left = bins->full[word] & ~(uint64_t)0 >> (63 - bin % 64);
	while (left == 0) {
		if (word-- == 0)
			return 0;
		left = bins->full[word];
	}
	return bins->first[word * 64 + 63 - (unsigned)__builtin_clzll(left)];
}

const char *mam_sizebins_check(const struct mam_sizebins *bins, const struct mam_records *segments,
			       uint64_t most, uint64_t *count)
{
	const char *fault = NULL;
	uint64_t bin;

	for (bin = 0; fault == NULL && bin < MAM_SIZEBINS; bin++) {
		bool full = (bins->full[bin / 64] >> bin % 64 & 1) != 0;

		if (full != (bins->first[bin] != 0))
			return "a bin's bit does not say whether it is empty";
		fault = mam_peers_check(segments, bins->first[bin], bin << bins->granule_shift,
					most, count);
	}
	return fault;
}

const char *mam_peers_check(const struct mam_records *segments, uint32_t first, uint64_t bytes,
			    uint64_t most, uint64_t *count)
{
	uint32_t prev = 0;
	uint32_t at;

	for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
		const struct mam_segment *segment = mam_segment_at(segments, at);

		if (segment->peer_prev != prev)
			return "a list of equal holes is damaged";
		if (segment->bytes != bytes)
			return "a hole is listed under another size";
		if (++*count > most)
			return "more holes are listed than there are records";
		prev = at;
	}
	return NULL;
}
