/* SPDX-License-Identifier: Apache-2.0 */
/*
 * footing.h - how much memory a pool on a range may stand on, and in what pieces it asks for more.
 *
 * Two prices: a byte of memory that lies free is lost to everybody, and a call to the driver costs
 * the same for a small piece as for a large one. Small pieces waste nothing, as every hole is made
 * of whole ones; large ones are few.
 *
 *  1. Budget: while the pool holds less than its peak of live bytes and a hundredth more, new
 *     memory is taken; above, free pieces are moved. So the memory held never exceeds the largest
 *     need there was by more than that, unless free bytes are in no whole piece.
 *  2. Piece: a sixth of the mean live block, 8 MiB to 64 MiB. A block leaves at most about one
 *     piece cut at its end, so the waste is in proportion to what is there.
 *
 * Found by replaying PyTorch's traces of three training runs with what calls cost on an H100:
 * physical peak over peak of live bytes, and milliseconds in the driver. 2 % of the time those
 * programs ran is 247 ms (gpt2) and 42 ms (gnn).
 *
 *                                              gpt2          gnn           resnet50
 *   one range, pieces of 2 MiB                 1.015  799    1.015  508    1.015  123
 *   one range, 16 MiB                          1.025  106    1.015   59    1.014   24
 *   one range, 64 MiB                          1.040   37    1.028   24    1.015   16
 *   one range, halving towards the end         1.064   82    1.057   35    1.005   55
 *   small ones apart, 8 MiB                    1.016  206    1.016  116    1.013   39
 *   small ones apart, 32 MiB                   1.036   58    1.016   24    1.008   19
 *   small ones apart, an 8th of the request    1.026   90    1.017   52    1.008   38
 *   small ones apart, a 6th of the mean block  1.016  198    1.013   24    1.008   39
 *
 * Those are of a model with a budget of a 70th; of this code before 3, by the budget:
 *   a 64th                                     1.018  210    1.013   27    1.013   39
 *   a 72nd                                     1.019  228    1.012   32    1.005   39
 *   a 96th                                     1.017  207    1.010   32    1.010   39
 *   a 102nd                                    1.016  201    1.010   31    1.010   40   <- this
 *   a 112th                                    1.020  206    1.010   31    1.009   39
 *
 *  3. Ahead: a request below 1 MiB brings as much as the budget allows, or a 1024th, up to a piece.
 *
 * With 16 GiB in blocks of up to 1 MiB, ms until they stand: what each request lacks 505, as far as
 * the budget allows 322, a 2048th 312, a 1024th 229 (the traces 1.016 219, 1.010 31, 1.010 38), a
 * 512th 141 (gnn 1.014). Larger requests bring no more than they lack: Robson's first program, in
 * words of 2 MiB, held 1.6 times its live bytes with 8 MiB at a time, and 1.01 times without.
 *
 * A budget that widened while moving cost much lost: with random blocks of up to 64 MiB it went to
 * a sixth, and pieces moved as often.
 *
 * Blocks of 1 to 8, 16 or 32 MiB apart from larger ones as well lost: each kind then keeps free
 * bytes the other cannot use.
 */
#ifndef MAM_POOL_FOOTING_H
#define MAM_POOL_FOOTING_H

#include <stdint.h>

#define MAM_FOOTING_PIECE_LEAST ((uint64_t)8 << 20)
#define MAM_FOOTING_PIECE_MOST ((uint64_t)64 << 20)
#define MAM_FOOTING_PIECE_SHARE 6
#define MAM_FOOTING_SLACK_SHARE 102
#define MAM_FOOTING_AHEAD_SHARE 1024
#define MAM_FOOTING_SLACK_LEAST ((uint64_t)2 << 20)

/* mam_footing_budget - how many bytes may be held for `need` live ones (the most there ever were). */
static inline uint64_t mam_footing_budget(uint64_t need)
{
	uint64_t slack = need / MAM_FOOTING_SLACK_SHARE;

	return need + (slack > MAM_FOOTING_SLACK_LEAST ? slack : MAM_FOOTING_SLACK_LEAST);
}

/* mam_footing_ahead - how many bytes may be held after a small request, for `held` and a budget. */
static inline uint64_t mam_footing_ahead(uint64_t held, uint64_t budget)
{
	uint64_t ahead = held + budget / MAM_FOOTING_AHEAD_SHARE;

	return ahead > budget ? ahead : budget;
}

/* mam_footing_piece - the largest new piece, with `bytes` live in `blocks`, in units of `unit`. */
static inline uint64_t mam_footing_piece(uint64_t bytes, uint64_t blocks, uint64_t unit)
{
	uint64_t piece = blocks != 0 ? bytes / blocks / MAM_FOOTING_PIECE_SHARE : 0;

	if (piece > MAM_FOOTING_PIECE_MOST)
		piece = MAM_FOOTING_PIECE_MOST;
	if (piece < MAM_FOOTING_PIECE_LEAST)
		piece = MAM_FOOTING_PIECE_LEAST;
	piece -= piece % unit;
	return piece != 0 ? piece : unit;
}

#endif
