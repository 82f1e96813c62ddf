/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces.h - which parts of an address range are backed by memory, and in which pieces.
 *
 * A piece is mapped and unmapped as a whole. The table has a word for each unit of the range: a
 * piece's length in units at its first unit, otherwise 0. So finding the piece at an address and
 * the piece that follows takes a few loads, and a range that is mostly empty costs no memory.
 *
 * A piece may be mapped at several addresses, in one range or in several. These are a ring: a second
 * table has the next address of the same memory at each piece's first unit, 0 if there is no other.
 *
 * Bound: O(1) to put and take; first and at are O(units of one piece), and whole that of the pieces
 * at both ends, however many are between.
 */
#ifndef MAM_SOURCE_PIECES_H
#define MAM_SOURCE_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mam/mam.h>

struct mam_piece {
	uint64_t base;
	uint64_t bytes;
};

struct mam_pieces {
	uint64_t base;  /* of the range; lock: none, set at init */
	uint64_t units; /* of the range; lock: none, set at init */
	unsigned unit_shift;
	uint32_t *length; /* of the piece that begins at each unit; 0: no piece begins there */
	uint64_t *twin;   /* next address of that piece's memory; 0: it has no other address */
	size_t table_bytes;
	size_t twin_bytes; /* of that table */
};

/* mam_pieces_init - an empty range. base and bytes are multiples of `unit`, a power of two. */
enum mam_status mam_pieces_init(struct mam_pieces *pieces, uint64_t base, uint64_t bytes,
				uint64_t unit);
void mam_pieces_fini(struct mam_pieces *pieces);

void mam_pieces_put(struct mam_pieces *pieces, uint64_t base, uint64_t bytes);
void mam_pieces_take(struct mam_pieces *pieces, uint64_t base);

/* mam_pieces_first - the lowest piece that is entirely within [from, to); false: there is none. */
bool mam_pieces_first(const struct mam_pieces *pieces, uint64_t from, uint64_t to,
		      struct mam_piece *piece);

/* mam_pieces_at - the piece that contains an address. pre: there is one. */
struct mam_piece mam_pieces_at(const struct mam_pieces *pieces, uint64_t address);

/*
 * mam_pieces_whole - bytes of the pieces that are entirely within [from, to). pre: pieces cover all of
 * it, without gaps; the first and the last of them may extend beyond it.
 */
uint64_t mam_pieces_whole(const struct mam_pieces *pieces, uint64_t from, uint64_t to);

/* mam_pieces_tile - whether pieces cover [from, to) exactly, without gaps. */
bool mam_pieces_tile(const struct mam_pieces *pieces, uint64_t from, uint64_t to);

/*
 * The ranges that may contain a ring: returns the i-th one, or NULL after the last one. A range
 * without a table is skipped.
 */
typedef struct mam_pieces *mam_pieces_fn(void *user, unsigned i);

/* mam_pieces_has_twin - whether the memory of the piece at `base` has another address. */
static inline bool mam_pieces_has_twin(const struct mam_pieces *pieces, uint64_t base)
{
	return pieces->twin[(base - pieces->base) >> pieces->unit_shift] != 0;
}

/* mam_pieces_twin - where the next address of the piece at `base` is stored; NULL: in no range. */
uint64_t *mam_pieces_twin(mam_pieces_fn *range, void *user, uint64_t base);

/*
 * mam_pieces_link - the piece at `to`, which has no twin, has the memory of the one at `from`.
 * mam_pieces_unlink - the piece at `base` leaves its ring.
 */
void mam_pieces_link(mam_pieces_fn *range, void *user, uint64_t from, uint64_t to);
void mam_pieces_unlink(mam_pieces_fn *range, void *user, uint64_t base);

#endif
