/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces.h - which parts of an address range are backed by memory, and in which pieces.
 *
 * A piece is mapped and unmapped as a whole. The table has a word for each unit of the range: a
 * piece's length in units at its first unit, otherwise 0. So finding the piece at an address and
 * the piece that follows takes a few loads, and a range that is mostly empty costs no memory.
 *
 * Bound: O(1) to put and take; first is O(units of the piece that contains `from`).
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
	size_t table_bytes;
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

/* mam_pieces_tile - whether pieces cover [from, to) exactly, without gaps. */
bool mam_pieces_tile(const struct mam_pieces *pieces, uint64_t from, uint64_t to);

#endif
