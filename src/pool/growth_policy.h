/* SPDX-License-Identifier: Apache-2.0 */
/*
 * growth_policy.h - growth policy of a pool on a range: how much memory it may have, and in pieces of
 * which size it requests more.
 *
 * There are two costs. A byte of free memory is unavailable to other users of the device, and a
 * driver call costs the same for a small piece as for a large one. Small pieces waste nothing, as
 * every free block then consists of whole pieces. Large pieces need few calls.
 *
 *  1. Budget: while the pool has less than its peak live bytes plus one percent, it maps new
 *     memory. Above that, it moves free pieces. So mapped memory never exceeds the peak need by
 *     more than that, unless free bytes do not form whole pieces.
 *  2. Piece: a sixth of the mean live block, 8 MiB to 64 MiB. A block leaves about one partly used
 *     piece at its end, so the waste is in proportion to the live memory.
 *
 * Found by replaying PyTorch traces of three training runs with the call costs of an H100: peak
 * physical over peak live bytes, and milliseconds in the driver. 2 % of the run time of these
 * programs is 247 ms (gpt2) and 42 ms (gnn).
 *
 *                                              gpt2          gnn           resnet50
 *   one range, pieces of 2 MiB                 1.015  799    1.015  508    1.015  123
 *   one range, 16 MiB                          1.025  106    1.015   59    1.014   24
 *   one range, 64 MiB                          1.040   37    1.028   24    1.015   16
 *   one range, halving towards the end         1.064   82    1.057   35    1.005   55
 *   separate small range, 8 MiB                1.016  206    1.016  116    1.013   39
 *   separate small range, 32 MiB               1.036   58    1.016   24    1.008   19
 *   the same, an 8th of the request            1.026   90    1.017   52    1.008   38
 *   the same, a 6th of the mean block          1.016  198    1.013   24    1.008   39
 *
 * These numbers are from a model with a budget of a 70th. Those of this code before step 3, by
 * budget:
 *   a 64th                                     1.018  210    1.013   27    1.013   39
 *   a 72nd                                     1.019  228    1.012   32    1.005   39
 *   a 96th                                     1.017  207    1.010   32    1.010   39
 *   a 102nd                                    1.016  201    1.010   31    1.010   40   <- this
 *   a 112th                                    1.020  206    1.010   31    1.009   39
 *
 *  3. Ahead: a request below 1 MiB maps as much as the budget allows, or a 1024th, up to one piece.
 *
 * Milliseconds to allocate 16 GiB in blocks of up to 1 MiB: 505 if each request maps what it lacks,
 * 322 if it maps as much as the budget allows, 312 with a 2048th, 229 with a 1024th (the traces
 * then have 1.016 219, 1.010 31, 1.010 38), 141 with a 512th (gnn 1.014). Larger requests map no
 * more than they lack: with 8 MiB at a time, Robson's first program with words of 2 MiB reserved
 * 1.6 times its live bytes, and 1.01 times without.
 *
 *  4. Together: a growth also maps what other threads wait for, requests of up to 32 MiB each and as
 *     much for all, in one piece. Of a map's 60 us only 2 depend on its size. Each thread maps its
 *     own memory otherwise, in turn: 16 threads that fill a new pool with blocks of up to 4 MiB
 *     needed 260 maps for their first 4,000 operations, in place of 40.
 *
 * A budget that grew when moving was expensive did worse: with random blocks of up to 64 MiB it
 * rose to a sixth, and pieces moved as often.
 *
 * Separating blocks of 1 to 8, 16 or 32 MiB from larger ones also did worse: each kind then has
 * free bytes that the other cannot use.
 */
#ifndef MAM_POOL_GROWTH_POLICY_H
#define MAM_POOL_GROWTH_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#define MAM_GROWTH_POLICY_PIECE_MIN ((uint64_t)8 << 20)
#define MAM_GROWTH_POLICY_PIECE_MAX ((uint64_t)64 << 20)
#define MAM_GROWTH_POLICY_PIECE_SHARE 6
#define MAM_GROWTH_POLICY_SLACK_SHARE 102
#define MAM_GROWTH_POLICY_AHEAD_SHARE 1024
#define MAM_GROWTH_POLICY_SLACK_MIN ((uint64_t)2 << 20)
#define MAM_GROWTH_POLICY_SHARED_MAX ((uint64_t)32 << 20)

/* mam_growth_policy_budget - how many bytes the pool may have for a peak of `need` live bytes. */
static inline uint64_t mam_growth_policy_budget(uint64_t need)
{
	uint64_t slack = need / MAM_GROWTH_POLICY_SLACK_SHARE;

	return need + (slack > MAM_GROWTH_POLICY_SLACK_MIN ? slack : MAM_GROWTH_POLICY_SLACK_MIN);
}

/*
 * mam_growth_policy_ahead - how many bytes it may have after a small request, given `held` and the
 * budget.
 */
static inline uint64_t mam_growth_policy_ahead(uint64_t held, uint64_t budget)
{
	uint64_t ahead = held + budget / MAM_GROWTH_POLICY_AHEAD_SHARE;

	return ahead > budget ? ahead : budget;
}

/*
 * mam_growth_policy_shares - whether another thread maps the memory for a request that waits.
 * mam_growth_policy_shared - bytes to map for a request that lacks `lack` while others wait for
 * `waiting`.
 */
static inline bool mam_growth_policy_shares(uint64_t bytes)
{
	return bytes <= MAM_GROWTH_POLICY_SHARED_MAX;
}

static inline uint64_t mam_growth_policy_shared(uint64_t lack, uint64_t waiting, uint64_t unit)
{
	uint64_t bytes = lack + waiting;

	if (bytes > MAM_GROWTH_POLICY_SHARED_MAX)
		bytes = MAM_GROWTH_POLICY_SHARED_MAX;
	bytes -= bytes % unit;
	return waiting != 0 && bytes > lack ? bytes : lack;
}

/*
 * mam_growth_policy_piece - size of the largest new piece, with `bytes` live in `blocks`, in units of
 * `unit`.
 */
static inline uint64_t mam_growth_policy_piece(uint64_t bytes, uint64_t blocks, uint64_t unit)
{
	uint64_t piece = blocks != 0 ? bytes / blocks / MAM_GROWTH_POLICY_PIECE_SHARE : 0;

	if (piece > MAM_GROWTH_POLICY_PIECE_MAX)
		piece = MAM_GROWTH_POLICY_PIECE_MAX;
	if (piece < MAM_GROWTH_POLICY_PIECE_MIN)
		piece = MAM_GROWTH_POLICY_PIECE_MIN;
	piece -= piece % unit;
	return piece != 0 ? piece : unit;
}

#endif
