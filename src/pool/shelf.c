/* SPDX-License-Identifier: Apache-2.0 */
/* shelf.c - the rarer questions to bins and trees together; shelf.h has the story. */
#include "pool/shelf.h"

#include "base/bits.h"
#include "base/pages.h"

#define ALIGNED_TRIES 8 /* tight holes looked at before one that is sure to do */

#define PAGE ((size_t)4096)

_Static_assert((MAM_SIZEBINS + MAM_SIZEFOREST_TREES) * sizeof(uint32_t) <= PAGE,
	       "bins and roots fit a page");

enum mam_status mam_shelf_init(struct mam_shelf *shelf, size_t granule)
{
	uint32_t *page = mam_pages_map(PAGE);

	shelf->page = page;
	if (page == NULL)
		return MAM_ERROR_OUT_OF_HOST_MEMORY;
	mam_sizebins_init(&shelf->bins, granule, page);
	mam_sizeforest_init(&shelf->forest, granule, page + MAM_SIZEBINS);
	return MAM_OK;
}

void mam_shelf_fini(struct mam_shelf *shelf)
{
	if (shelf->page != NULL)
		mam_pages_unmap(shelf->page, PAGE);
	*shelf = (struct mam_shelf){ 0 };
}

static bool holds(const struct mam_segment *segment, uint64_t bytes, uint64_t alignment)
{
	uint64_t skip = mam_round_up(segment->base, alignment) - segment->base;

	return segment->bytes >= bytes && segment->bytes - bytes >= skip;
}

/* The first that fits, size by size upwards, giving up after `tries` holes. */
static uint32_t scan_aligned(const struct mam_shelf *shelf, const struct mam_records *segments,
			     uint64_t bytes, uint64_t alignment, uint64_t tries)
{
	uint32_t first = mam_shelf_best(shelf, segments, bytes);
	uint32_t at;

	while (first != 0) {
		for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
			if (holds(mam_segment_at(segments, at), bytes, alignment))
				return at;
			if (--tries == 0)
				return 0;
		}
		first = mam_shelf_best(shelf, segments,
				       mam_segment_at(segments, first)->bytes +
					       ((uint64_t)1 << shelf->bins.granule_shift));
	}
	return 0;
}

uint32_t mam_shelf_best_aligned(const struct mam_shelf *shelf, const struct mam_records *segments,
				uint64_t bytes, uint64_t alignment)
{
	uint64_t granule = (uint64_t)1 << shelf->bins.granule_shift;
	uint32_t found = scan_aligned(shelf, segments, bytes, alignment, ALIGNED_TRIES);

	if (found == 0)
		found = mam_shelf_best(shelf, segments, bytes + alignment - granule);
	if (found == 0)
		found = scan_aligned(shelf, segments, bytes, alignment, UINT64_MAX);
	return found;
}

uint32_t mam_shelf_below(const struct mam_shelf *shelf, const struct mam_records *segments,
			 uint64_t bytes)
{
	uint32_t found = mam_sizeforest_below(&shelf->forest, segments, bytes);

	return found != 0 ? found : mam_sizebins_below(&shelf->bins, bytes);
}

uint32_t mam_shelf_largest(const struct mam_shelf *shelf, const struct mam_records *segments)
{
	return mam_shelf_below(shelf, segments, UINT64_MAX);
}

uint32_t mam_shelf_largest_inner(const struct mam_shelf *shelf, const struct mam_records *segments)
{
	uint32_t first = mam_shelf_largest(shelf, segments);
	uint32_t at;

	while (first != 0) {
		for (at = first; at != 0; at = mam_segment_at(segments, at)->peer_next) {
			if (mam_segment_at(segments, at)->next != 0)
				return at;
		}
		first = mam_shelf_below(shelf, segments, mam_segment_at(segments, first)->bytes);
	}
	return 0;
}

const char *mam_shelf_check(const struct mam_shelf *shelf, const struct mam_records *segments,
			    uint64_t *count)
{
	uint64_t total = 0;
	const char *fault =
		mam_sizeforest_check(&shelf->forest, segments, segments->touched, &total);

	if (fault == NULL)
		fault = mam_sizebins_check(&shelf->bins, segments, segments->touched, &total);
	if (fault == NULL)
		*count = total;
	return fault;
}
