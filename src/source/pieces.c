/* SPDX-License-Identifier: Apache-2.0 */
/* pieces.c - implements pieces.h. */
#include "source/pieces.h"

#include <assert.h>

#include "base/bits.h"
#include "base/pages.h"

#define PAGE ((size_t)4096)

enum mam_status mam_pieces_init(struct mam_pieces *pieces, uint64_t base, uint64_t bytes,
				uint64_t unit)
{
	pieces->base = base;
	pieces->unit_shift = (unsigned)__builtin_ctzll(unit);
	pieces->units = bytes >> pieces->unit_shift;
	pieces->table_bytes = mam_round_up(pieces->units * sizeof(*pieces->length), PAGE);
	pieces->twin_bytes = mam_round_up(pieces->units * sizeof(*pieces->twin), PAGE);
	pieces->length = mam_pages_map(pieces->table_bytes);
	pieces->twin = mam_pages_map(pieces->twin_bytes);
	if (pieces->length != NULL && pieces->twin != NULL)
		return MAM_OK;
	mam_pieces_fini(pieces);
	return MAM_ERROR_OUT_OF_HOST_MEMORY;
}

void mam_pieces_fini(struct mam_pieces *pieces)
{
	if (pieces->length != NULL)
		mam_pages_unmap(pieces->length, pieces->table_bytes);
	if (pieces->twin != NULL)
		mam_pages_unmap(pieces->twin, pieces->twin_bytes);
	*pieces = (struct mam_pieces){ 0 };
}

void mam_pieces_put(struct mam_pieces *pieces, uint64_t base, uint64_t bytes)
{
	pieces->length[(base - pieces->base) >> pieces->unit_shift] =
		(uint32_t)(bytes >> pieces->unit_shift);
}

void mam_pieces_take(struct mam_pieces *pieces, uint64_t base)
{
	pieces->length[(base - pieces->base) >> pieces->unit_shift] = 0;
}

bool mam_pieces_first(const struct mam_pieces *pieces, uint64_t from, uint64_t to,
		      struct mam_piece *piece)
{
	uint64_t unit = (uint64_t)1 << pieces->unit_shift;
	uint64_t at = (mam_round_up(from, unit) - pieces->base) >> pieces->unit_shift;
	uint64_t end = (mam_round_down(to, unit) - pieces->base) >> pieces->unit_shift;

	while (at < end && pieces->length[at] == 0)
		at++;
	if (at >= end || pieces->length[at] > end - at)
		return false;
	piece->base = pieces->base + (at << pieces->unit_shift);
	piece->bytes = (uint64_t)pieces->length[at] << pieces->unit_shift;
	return true;
}

struct mam_piece mam_pieces_at(const struct mam_pieces *pieces, uint64_t address)
{
	uint64_t at = (address - pieces->base) >> pieces->unit_shift;

	while (pieces->length[at] == 0)
		at--;
	return (struct mam_piece){ pieces->base + (at << pieces->unit_shift),
				   (uint64_t)pieces->length[at] << pieces->unit_shift };
}

uint64_t mam_pieces_whole(const struct mam_pieces *pieces, uint64_t from, uint64_t to)
{
	uint64_t unit = (uint64_t)1 << pieces->unit_shift;
	uint64_t at = (mam_round_up(from, unit) - pieces->base) >> pieces->unit_shift;
	uint64_t end = (mam_round_down(to, unit) - pieces->base) >> pieces->unit_shift;
	uint64_t last = end;

	while (at < end && pieces->length[at] == 0)
		at++;
	if (at >= end)
		return 0;
	while (pieces->length[--last] == 0)
		continue;
	if (last + pieces->length[last] != end) /* the last piece extends beyond it */
		end = last;
	return (end - at) << pieces->unit_shift;
}

bool mam_pieces_tile(const struct mam_pieces *pieces, uint64_t from, uint64_t to)
{
	uint64_t at = (from - pieces->base) >> pieces->unit_shift;
	uint64_t end = (to - pieces->base) >> pieces->unit_shift;

	while (at < end && pieces->length[at] != 0) {
		uint64_t next = at + pieces->length[at];

		while (++at < next && at < end)
			if (pieces->length[at] != 0)
				return false; /* one piece begins inside another */
		at = next;
	}
	return at == end;
}

uint64_t *mam_pieces_twin(mam_pieces_fn *range, void *user, uint64_t base)
{
	struct mam_pieces *pieces;

	for (unsigned i = 0; (pieces = range(user, i)) != NULL; i++) {
		uint64_t unit = (base - pieces->base) >> pieces->unit_shift;

		if (pieces->twin != NULL && base >= pieces->base && unit < pieces->units)
			return &pieces->twin[unit];
	}
	return NULL;
}

/* The same for a piece of a ring, or one that joins it: such a piece is in a range. */
static uint64_t *slot_of(mam_pieces_fn *range, void *user, uint64_t base)
{
	uint64_t *slot = mam_pieces_twin(range, user, base);

	assert(slot != NULL);
	return slot;
}

void mam_pieces_link(mam_pieces_fn *range, void *user, uint64_t from, uint64_t to)
{
	uint64_t *first = slot_of(range, user, from);
	uint64_t *second = slot_of(range, user, to);

	*second = *first != 0 ? *first : from;
	*first = to;
}

void mam_pieces_unlink(mam_pieces_fn *range, void *user, uint64_t base)
{
	uint64_t *slot = slot_of(range, user, base);
	uint64_t next = *slot, at = next;
	uint64_t *last;

	if (next == 0)
		return;
	while (*(last = slot_of(range, user, at)) != base)
		at = *last;
	*last = at != next ? next : 0; /* one is left: it has no other address */
	*slot = 0;
}
